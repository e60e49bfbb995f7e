"""The form of a run's prompts: plain text, or the turns of a chat template, and the tokens of either.

It is chosen once for all questions of a run. Where the model's own template can't be used, another form takes its place,
and `note` says so. Invariant: only trusted pieces are tokenized with special tokens on, and BOS stands there once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Union

from local_react.decode.generate import VocabularyLike
from local_react.decode.scripted import ScriptedModel
from local_react.errors import SettingsError, TemplateError
from local_react.language.chat import CHATML, CHATML_TOKENS, to_chat, with_thinking
from local_react.language.markup import find_markup
from local_react.language.prompt import Piece, Prompt, count_parts
from local_react.language.sandbox import SOURCE_LIMIT
from local_react.language.template import ChatTemplate, Message
from local_react.language.thinking import CHOICES, SWITCHES, Choice, Family, ThinkTags, find_family, is_open
from local_react.llama.model import Model

AnyModel = Union[Model, ScriptedModel]
"""What a run can run on."""

AUTO, NONE = "auto", "none"
"""The templates that aren't files: the model's own, and plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How the prompts of a run are written: the default is plain text.

    `name` is "plain", "model", "chatml" or that of a file. Without `has_system` the user's message begins with the
    instructions. With `tags` a think block comes before the first step: for the model to write, or empty. `variables` are
    given to the template, and `note` is what the user should hear about the choice.
    """

    name: str = "plain"
    template: ChatTemplate | None = None
    has_system: bool = True
    tags: ThinkTags | None = None
    has_empty_block: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict)
    note: str | None = None

    def dress(self, prompt: Prompt, *, today: datetime | None = None) -> Prompt:
        """A plain prompt in this form. Raises TemplateError where the template can't hold it."""
        if self.template is not None:
            prompt = to_chat(prompt, self.template, has_system=self.has_system, today=today, variables=self.variables)
        return prompt if self.tags is None else with_thinking(prompt, self.tags, is_empty=self.has_empty_block)

    def describe(self) -> dict[str, Any]:
        """What a trace keeps of it."""
        thinks = self.tags is not None and not self.has_empty_block
        values = {"template": self.name, "think": asdict(self.tags) if thinks and self.tags else None}
        return values if self.note is None else values | {"template_note": self.note}


def choose_form(
    model: AnyModel, template: str | Path | ChatTemplate = AUTO, *, think: Choice = "auto",
    clock: Callable[[], float] = time.time,
) -> Form:
    """The form for a model: "auto" is its own template, "none" is plain text, anything else a template or its file.

    `think` says whether the model thinks before its first step: "auto" leaves that to the template, which may ask for the
    date of `clock` (in seconds). Raises SettingsError for a file that can't be read, and TemplateError for a given template
    that can't be used; the model's own one gives way.
    """
    if think not in CHOICES:
        raise SettingsError(f"think={think!r} means nothing. Use {', '.join(CHOICES)}.")
    if template == AUTO:
        return _choose_own(model, think, clock)
    if template == NONE:
        return _think_plainly(Form(), think, model)
    if not isinstance(template, ChatTemplate):
        template = ChatTemplate(_read(Path(template)), **_border_texts(model))
    return _fit(Form(name="given", template=template), think, read_date(clock), _family(template.source, model))


def read_date(clock: Callable[[], float]) -> datetime:
    """The local time of a clock that gives seconds, as templates print it."""
    return datetime.fromtimestamp(clock())


def _choose_own(model: AnyModel, think: Choice, clock: Callable[[], float]) -> Form:
    """The model's own template, or what takes its place."""
    if isinstance(model, ScriptedModel):
        return _think_plainly(Form(), think, model)
    source = model.chat_template()
    if source is None:
        return _think_plainly(Form(note=f"{model.name} has no chat template: the prompt is plain text."), think, model)
    today = read_date(clock)
    try:
        own = ChatTemplate(source, **_border_texts(model))
        return _fit(Form(name="model", template=own), think, today, _family(source, model))
    except TemplateError as error:
        is_chatml = all(_is_token(text, model) for text in CHATML_TOKENS)
        note = f"{model.name} has a chat template that can't be used: the prompt is {'chatml' if is_chatml else 'plain text'}"
        form = Form(note=f"{note}. ({error})")
        if not is_chatml:
            return _think_plainly(form, think, model)
        chatml = ChatTemplate(CHATML, **_border_texts(model))
        return _fit(replace(form, name="chatml", template=chatml), think, today, _family(source, model))


def _read(path: Path) -> str:
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(SOURCE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingsError(f"The chat template {path} can't be read: {reason}. Give a file, auto or none.") from error


def _border_texts(model: AnyModel) -> dict[str, str]:
    """The texts of the tokens that begin and end a text; a script has none."""
    if isinstance(model, ScriptedModel):
        return {"bos": "", "eos": ""}
    vocabulary = model.vocabulary
    texts = {"bos": vocabulary.bos, "eos": vocabulary.eos}
    return {name: "" if id is None else vocabulary.piece(id).decode("utf-8", "replace") for name, id in texts.items()}


def _is_token(text: str, model: Model) -> bool:
    ids = model.vocabulary.tokenize(text, special=True)
    return len(ids) == 1 and model.vocabulary.is_control(ids[0])


def _family(source: str | None, model: AnyModel) -> Family:
    metadata = {} if isinstance(model, ScriptedModel) else model.metadata
    names = [metadata.get("general.name", ""), metadata.get("general.basename", ""), model.name]
    return find_family(source, " ".join(names))


def _think_plainly(form: Form, think: Choice, model: AnyModel) -> Form:
    """Without a template, a model thinks first only where it is told to."""
    return replace(form, tags=_family(None, model).tags) if think == "on" else form


def _fit(form: Form, think: Choice, today: datetime | None, family: Family) -> Form:
    """The form with what the template can hold, and its way to think or not. Raises TemplateError where nothing fits."""
    template = form.template
    assert template is not None
    try:
        usual = _opened_turn(template, form.has_system, today)
    except TemplateError as error:
        try:
            usual = _opened_turn(template, False, today)
        except TemplateError:
            raise error from None
        form = replace(form, has_system=False)
    switches = [name for name in SWITCHES if name in template.variables]
    without = usual
    if switches and is_open(usual, family.tags) is None or think == "off":
        without = _opened_turn(template, form.has_system, today, **dict.fromkeys(switches, False))
    match is_open(usual, family.tags):
        case None:
            thinks = without != usual if switches else family.always
        case has_block:
            thinks = has_block
    variables = {} if think == "auto" else dict.fromkeys(switches, think == "on")
    if think == "off":
        is_needed = thinks and (without == usual or is_open(without, family.tags) is True)
        return replace(form, variables=variables, tags=family.tags if is_needed else None, has_empty_block=is_needed)
    return replace(form, variables=variables, tags=family.tags if thinks or think == "on" else None)


def _opened_turn(template: ChatTemplate, has_system: bool, today: datetime | None, **variables: Any) -> str:
    """How the template opens the assistant's turn. Raises TemplateError where it can't hold a system message and a question
    (or the question alone), or opens no turn."""
    messages = [Message("system", "Be brief."), Message("user", "Why?")]
    last = template.render(messages if has_system else messages[1:], today=today, **variables)[-1]
    if not last.is_trusted:
        raise TemplateError("The chat template opens no turn for the assistant. Give another one.")
    return last.text


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt in tokens: the ids, how many of them every prompt of the run begins with, and what each part costs.

    `has_bos` tells that a BOS was put in front that is no part of the text.
    """

    ids: tuple[int, ...]
    n_shared: int
    parts: Mapping[str, int]
    has_bos: bool


def encode(prompt: Prompt, vocabulary: VocabularyLike) -> Encoded:
    """The tokens of a prompt. No text that isn't trusted becomes a control token, also not across a border of pieces."""
    ids, parts = encode_pieces(prompt.pieces, vocabulary)
    shared, _ = encode_pieces(prompt.shared_pieces, vocabulary)
    n_shared = next((n for n, (one, other) in enumerate(zip(ids, shared)) if one != other), min(len(ids), len(shared)))
    # A template that writes BOS itself must not get two.
    has_bos = vocabulary.wants_bos and vocabulary.bos is not None and ids[:1] != [vocabulary.bos]
    if has_bos and vocabulary.bos is not None:
        ids, n_shared = [vocabulary.bos, *ids], n_shared + 1
    return Encoded(tuple(ids), n_shared, parts, has_bos)


def encode_pieces(pieces: Sequence[Piece], vocabulary: VocabularyLike) -> tuple[list[int], dict[str, int]]:
    """The ids of some pieces, without BOS, and how many of them begin in each part.

    Trusted text is cut at its control tokens; all that stands between two of them is tokenized in one, contents and
    template together, as it was when the model was trained.
    """
    ids: list[int] = []
    counts = dict.fromkeys((piece.part for piece in pieces), 0)
    run: list[Piece] = []

    def end_run() -> None:
        found = _tokenize_run(run, vocabulary)
        sizes = [len(vocabulary.piece(id)) for id in found]
        for part, count in count_parts(Prompt(tuple(run)), sizes).items():
            counts[part] += count
        ids.extend(found)
        run.clear()

    for piece in pieces:
        for part in _cut_at_control_tokens(piece, vocabulary) if piece.is_trusted else [piece]:
            if isinstance(part, Piece):
                run.append(part)
                continue
            end_run()
            ids.append(part)
            counts[piece.part] += 1
    end_run()
    return ids, counts


def encode_text(text: str, vocabulary: VocabularyLike) -> list[int]:
    """The ids of a text from outside, of which nothing becomes a control token, nor any other token of markup."""
    return _tokenize_run([Piece("", text)], vocabulary)


def _tokenize_run(run: Sequence[Piece], vocabulary: VocabularyLike) -> list[int]:
    """The ids of neighbouring pieces without control tokens. A name of markup that isn't the template's from end to end is
    cut behind its first sign: llama.cpp would make it a token of its own, with special tokens on or off."""
    text = "".join(piece.text for piece in run)
    trust = [(piece.is_trusted, len(piece.text)) for piece in run]
    ids: list[int] = []
    start = 0
    for place, name in find_markup(text):
        if not _is_trusted(trust, place, place + len(name)) and len(vocabulary.tokenize(name)) == 1:
            ids += vocabulary.tokenize(text[start : place + 1])
            start = place + 1
    return ids + vocabulary.tokenize(text[start:])


def _is_trusted(trust: Sequence[tuple[bool, int]], start: int, end: int) -> bool:
    """Whether all that stands between two places is trusted, in pieces of which trust and lengths are given."""
    at = 0
    for is_trusted, size in trust:
        if not is_trusted and at < end and start < at + size:
            return False
        at += size
    return True


def _cut_at_control_tokens(piece: Piece, vocabulary: VocabularyLike) -> list[Piece | int]:
    """The control tokens of a trusted piece as ids, and what stands between them as pieces."""
    parts: list[Piece | int] = []
    data = b""
    for id in vocabulary.tokenize(piece.text, special=True):
        if not vocabulary.is_control(id):
            data += vocabulary.piece(id)
            continue
        if data:
            parts.append(replace(piece, text=data.decode("utf-8", "replace")))
        parts.append(id)
        data = b""
    if data:
        parts.append(replace(piece, text=data.decode("utf-8", "replace")))
    return parts
