"""What a run in the model's own format needs before its first step: the format, the prompts, the frames.

Invariant: the chat template is rendered once for each question and some times for the run, never for a step. Refuses a model
whose template says nothing about tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from local_react.decode.generate import VocabularyLike
from local_react.decode.scripted import ScriptedModel
from local_react.form import AUTO as OWN_TEMPLATE, NONE as PLAIN_TEXT, AnyModel, Form
from local_react.language.chat import close_thinking, with_thinking
from local_react.language.keywords import GROUNDED_KEY
from local_react.language.native.conversation import Chat, Frames, Schemas, build_native_prompt, cut_frames
from local_react.language.native.formats import choose_format, find_format, format_of
from local_react.language.native.standin import PLAIN
from local_react.language.prompt import Exemplar, Prompt
from local_react.language.protocol import AUTO, Protocol
from local_react.language.template import ChatTemplate
from local_react.llama.markup import MarkupVocabulary
from local_react.llama.vocabulary import Vocabulary
from local_react.setup import Setup
from local_react.tools.toolbox import Toolbox

SCRIPTED_FORMAT = "hermes"
"""What a script is read in where no format is named: it has no template that could show one."""


def template_for(protocol: Protocol, template: Any) -> Any:
    """The template option of a run: plain text is no form of a native one, so that stands for the model's own template."""
    return OWN_TEMPLATE if protocol.native is not None and template == PLAIN_TEXT else template


def with_format(setup: Setup, model: AnyModel) -> Setup:
    """The setup with the format that its protocol names, or that the chat template shows (`choose`).

    That of a run with labelled steps is left as it is.
    """
    if setup.protocol.native is None:
        return setup
    protocol, form = choose(setup.protocol, setup.form, model)
    return replace(setup, form=form, protocol=protocol)


def choose(protocol: Protocol, form: Form, model: AnyModel) -> tuple[Protocol, Form]:
    """The protocol with its format, and the form with a template.

    Raises SettingsError where there is no template, or where it shows none of the known formats.
    """
    name = str(protocol.native)
    if form.template is None and isinstance(model, ScriptedModel):
        form = replace(form, template=ChatTemplate(PLAIN))
        name = SCRIPTED_FORMAT if name == AUTO else name
    source = None if form.template is None else form.template.source
    if source is None or name == AUTO:
        format = choose_format(source, where=model.name)
    else:
        format = find_format(name)
    return replace(protocol, native=format.name), form


def spell_calls(vocabulary: VocabularyLike, protocol: Protocol) -> VocabularyLike:
    """The vocabulary by which the model's messages are read: control tokens that are markup of a call are text in it."""
    if protocol.native is None or not isinstance(vocabulary, Vocabulary):
        return vocabulary
    return MarkupVocabulary(vocabulary, format_of(protocol).markup)


def write_prompts(
    protocol: Protocol, form: Form, toolbox: Toolbox, questions: Sequence[str], exemplars: Sequence[Exemplar] = (), *,
    instructions: str | None = None, today: datetime | None = None,
) -> tuple[list[Prompt], Frames]:
    """The prompt of each question, and the frames that all of their episodes share; `choose` gives protocol and form."""
    assert form.template is not None
    chat = Chat(template=form.template, has_system=form.has_system, variables=form.variables, today=today)
    schemas = describe_tools(toolbox)
    frames = cut_frames(chat, format_of(protocol), schemas)
    prompts = [
        build_native_prompt(question, protocol, toolbox, schemas, chat, exemplars, instructions=instructions)
        for question in questions
    ]
    if form.tags is not None:
        prompts = [with_thinking(prompt, form.tags, is_empty=form.has_empty_block) for prompt in prompts]
        # The block before the first step has a budget and a scanner of its own. In a later one that the template had opened,
        # nothing the model writes would tell its thought from an answer.
        frames = replace(
            frames, after_result=close_thinking(frames.after_result, form.tags),
            after_notice=close_thinking(frames.after_notice, form.tags),
        )
    return prompts, frames


def describe_tools(toolbox: Toolbox) -> Schemas:
    """The tools as chat templates take them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name, "description": tool.description, "parameters": _without_marks(tool.schema),
            },
        }
        for tool in toolbox.values()
    ]


def _without_marks(schema: Any) -> Any:
    """A schema without what is for the constraint alone."""
    match schema:
        case Mapping():
            return {key: _without_marks(value) for key, value in schema.items() if key != GROUNDED_KEY}
        case list() | tuple():
            return [_without_marks(value) for value in schema]
    return schema
