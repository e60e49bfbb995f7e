"""The settings of a run: one table, from which come options, environment variables and the keys of a TOML file.

Invariant: a setting has one name everywhere (`max_steps` in the file, --max-steps, LOCAL_REACT_MAX_STEPS), and its default
is that of the object which it sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import Field, dataclass, fields
from typing import Any

import click

from local_react.decode.engines import ENGINES
from local_react.form import AUTO
from local_react.guards import Guards
from local_react.language.native.formats import formats
from local_react.language.protocol import AUTO as UNCHOSEN, presets
from local_react.language.thinking import CHOICES
from local_react.llama.memory import KV_TYPES
from local_react.llama.metadata import SAMPLING_KEYS
from local_react.llama.sampling import Sampling
from local_react.steering import REACHES

PREFIX = "LOCAL_REACT_"
"""What the environment variable of each setting begins with."""


class Limit(click.ParamType):
    """A number, or "none" for no limit. `number` is int or float."""

    def __init__(self, number: type[int] | type[float]) -> None:
        self.number = number
        self.name = "integer or none" if number is int else "seconds or none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """None for "none"."""
        if isinstance(value, str) and value.lower() == "none":
            return None
        try:
            return self.number(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor none.", param, ctx)


class Layers(click.ParamType):
    """A number of layers, "all", or "auto" for as many as there is room for."""

    name = "integer, all or auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """None for "auto", -1 for "all"."""
        if isinstance(value, str) and value.lower() in LAYER_WORDS:
            return LAYER_WORDS[value.lower()]
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor {' nor '.join(LAYER_WORDS)}.", param, ctx)


LAYER_WORDS: dict[str, int | None] = {"auto": None, "all": -1}
"""What can stand for a number of layers, and what `Model.load` takes for it."""


class _Shares(click.ParamType):
    """Numbers between commas."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return value if isinstance(value, tuple) else tuple(float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} must be numbers between commas, such as 3,1.", param, ctx)


class _Names(click.ParamType):
    """A text of which several may be given; in an environment variable they stand between commas."""

    name = "text"
    envvar_list_splitter = ","

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value.strip()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. A switch has a second option --no-…; those that are not `in_files` can only be given as options."""

    name: str
    help: str
    type: Any = click.STRING
    default: Any = None
    is_switch: bool = False
    is_repeatable: bool = False
    in_files: bool = True
    metavar: str | None = None

    @property
    def flags(self) -> str:
        """The option's spelling."""
        flag = f"--{self.name.replace('_', '-')}"
        return f"{flag}/--no-{flag[2:]}" if self.is_switch else flag

    def decorate(self, command: Callable[..., Any]) -> Callable[..., Any]:
        """Give the option to a command."""
        help = self.help
        how = {"type": self.type, "default": self.default, "show_default": self.default is not None}
        if self.is_switch:
            how = {"default": self.default}
            help += {True: "  [default: on]", False: "  [default: off]"}.get(self.default, "")
        if self.is_repeatable:
            how |= {"multiple": True, "default": ()}
        return click.option(
            self.flags, self.name, help=help, metavar=self.metavar,
            envvar=f"{PREFIX}{self.name.upper()}" if self.in_files else None, **how,
        )(command)


MODEL = (
    Setting("model", "A GGUF file, a name that `local-react models list` shows, or scripted:FILE.json, a list of completions "
            "to replay (tests your tools without a model).  [default: smollm2]", metavar="PATH|NAME"),
    Setting("n_ctx", "The window in tokens.  [default: 4096, or what the model was trained on if that is less]", click.INT),
    Setting("threads", "Threads to compute with.  [default: all cores up to 4, else half of them]", click.INT),
    Setting("batch", "Tokens in a batch, at most.  [default: 512]", click.INT),
    Setting("gpu_layers", "Layers on the GPU: a number, all, or auto for what it has room for.  [default: auto]", Layers(),
            metavar="N|all|auto"),
    Setting("main_gpu", "The number of the GPU that takes the whole model.  [default: none, all GPUs share it]", click.INT),
    Setting("tensor_split", "The share of each GPU, such as 3,1.  [default: by their memory]", _Shares(), metavar="N,N,…"),
    Setting("flash_attention", "Flash attention.  [default: what llama.cpp chooses]", is_switch=True),
    Setting("type_k", "The type of the keys in the KV cache.", click.Choice(list(KV_TYPES)), "f16"),
    Setting("type_v", "The type of the values in the KV cache.", click.Choice(list(KV_TYPES)), "f16"),
    Setting("force_memory", "Load the model even where there is too little memory for it.", default=False, is_switch=True),
)
TOOLS = (
    Setting("tools", "Where tools are: a Python file, module:name, or demo. May be given several times.  [default: none]",
            _Names(), is_repeatable=True, metavar="FILE.py|MODULE:NAME|demo"),
)
PROMPT = (
    Setting("protocol", "The wire format of a step.", click.Choice(list(presets())), next(presets())),
    Setting("native_format", "How the model writes calls under --protocol native; auto: as its chat template shows.",
            click.Choice([UNCHOSEN, *formats()]), UNCHOSEN),
    Setting("arguments", "How arguments are written.", click.Choice(["keyword", "positional", "json"]), "keyword"),
    Setting("exemplars", "Worked examples in the prompt: default, none, or a JSON file.", default="default",
            metavar="default|none|FILE.json"),
    Setting("template", "The form of the prompt: auto for the model's own chat template, none for plain text, or a file.",
            default=AUTO, metavar="auto|none|FILE"),
    Setting("think", "Think before the first step: on, off, or auto for what the template has.", click.Choice(list(CHOICES)),
            CHOICES[0]),
    Setting("instructions", "What the prompt begins with.  [default: a general instruction]", metavar="TEXT|@FILE"),
)

_LIMITS = {
    "max_steps": "Steps of a run, at most; none for no limit.",
    "max_step_tokens": "Tokens of one step, at most.",
    "max_thought_tokens": "Tokens of a thought, at most, under a constraint; none for no limit of its own.",
    "max_think_tokens": "Tokens of a think block, at most; none for no limit of its own.",
    "max_tokens": "Tokens that the model writes in a run, at most.  [default: none]",
    "time_limit": "Seconds that a run takes, at most.  [default: none]",
    "compile_limit": "Seconds that a constraint takes to compile, at most; none for no limit.",
    "min_calls": "An answer before this many calls is refused.",
    "observation_tokens": "An observation is cut to this many tokens; none for never.",
    "max_malformed": "So many malformed steps running end the run; none for never.",
    "max_repeats": "So many refused repetitions end the run; none for never.",
}
_SWITCHES = {
    "stop_strings": "End a step where the model begins a label that only the program may write.",
    "one_action": "End a step behind its first complete call.",
    "parse_notices": "Explain a malformed step to the model.",
    "unknown_tool_notices": "Tell the model which tools there are when it calls another.",
    "repeated_calls": "Refuse a call that was just made.",
    "final_answer": "Ask for the answer before the last step.",
    "tool_time_limits": "Give each tool its time limit.",
}
# A settings file may lie in a folder that somebody else filled: what runs without being asked is said on the command line.
_APPROVAL = (
    Setting("approval", "Ask before calling a tool that needs approval.", default=True, is_switch=True, in_files=False),
)
GUARD_FIELDS = {"time_limit": "time_limit_s", "compile_limit": "compile_limit_s"}
"""The settings whose name differs from the field of `Guards`."""

_GUARDS = {field.name: field for field in fields(Guards)}


def _limit(name: str, help: str) -> Setting:
    field = _GUARDS[GUARD_FIELDS.get(name, name)]
    type = click.INT if "None" not in str(field.type) else Limit(float if "float" in str(field.type) else int)
    return Setting(name, help, type, field.default)


GUARDS = (
    *(_limit(name, help) for name, help in _LIMITS.items()),
    *(Setting(name, help, default=_GUARDS[name].default, is_switch=True) for name, help in _SWITCHES.items()),
    *_APPROVAL,
)
_SAMPLING = {
    "temperature": "0 is greedy: always the likeliest token.",
    "top_k": "Sample from so many likeliest tokens; 0 for all.",
    "top_p": "Sample from the likeliest tokens of this probability; 1 for all.",
    "min_p": "Leave out tokens below this share of the likeliest one; 0 for none.",
    "typical_p": "Locally typical sampling; 1 is off.",
    "repeat_penalty": "Make repeated tokens less likely; 1 is off.",
    "frequency_penalty": "The same, by how often; 0 is off.",
    "presence_penalty": "The same, once; 0 is off.",
    "penalty_last_n": "So many last tokens count for the penalties.",
    "seed": "The seed of the sampler.",
}


def _draw(field: Field) -> Setting:
    others = "the author's, else " if field.name in SAMPLING_KEYS.values() else ""
    number = click.FLOAT if isinstance(field.default, float) else click.INT
    return Setting(field.name, f"{_SAMPLING[field.name]}  [default: {others}{field.default}]", number)


SAMPLING_SOURCES = ("model", "greedy")
SAMPLING = (
    Setting("sampling", "What is not given is as the model's author recommends it in the file, or greedy.",
            click.Choice(SAMPLING_SOURCES), SAMPLING_SOURCES[0]),
    *(_draw(field) for field in fields(Sampling)),
)
CONSTRAINT = (
    Setting("constrain", "Hold the model to valid calls.", default=False, is_switch=True),
    Setting("reach", "What --constrain holds: the action, the step with its thought, or only the step after a malformed one.",
            click.Choice(list(REACHES)), REACHES[0]),
    Setting("engine", "What computes the constraint.", click.Choice(list(ENGINES)), next(iter(ENGINES))),
    Setting("grammar", "Hold the steps to the GBNF grammar in this file, not to the tools; turns --constrain on. It describes "
            "a whole step, the line of an action or what follows its label, and is the same at each step: neither --min-calls "
            "nor --ground can change it.  [default: none]", metavar="FILE.gbnf"),
    Setting("ground", "Let texts with a pattern take only values that the run has shown.", default=False, is_switch=True),
    Setting("explain", "Keep in the trace how each token of an action came about.", default=False, is_switch=True),
)
RUN = (
    Setting("strict", "Read only the documented line, without repairs.", default=False, is_switch=True),
    Setting("logprobs", "Keep log-probabilities in the trace, with so many likeliest tokens.  [default: off]",
            click.IntRange(min=0)),
    Setting("trace", "Write the trace to this file, as the run goes.  [default: none]", metavar="FILE"),
)
SETTINGS = {setting.name: setting for group in (MODEL, TOOLS, PROMPT, GUARDS, SAMPLING, CONSTRAINT, RUN) for setting in group}
"""Every setting by name."""


def with_settings(*groups: Sequence[Setting]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the options of these groups, in order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed([setting for group in groups for setting in group]):
            command = setting.decorate(command)
        return command

    return decorate
