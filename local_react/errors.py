"""Every exception that local_react raises on purpose.

    LocalReactError
    ├── ModelError                 the model can't be used
    │   ├── ModelFileError         the file is missing, damaged, foreign or too new
    │   └── DecodeError            llama.cpp refused to compute
    ├── ContextOverflow            the text doesn't fit the model's window
    ├── ToolError                  a tool can't be registered
    ├── ConstraintError            a constraint can't be kept, so the run stops
    │   └── ConstraintCompileTimeout   a grammar takes too long to compile
    ├── GrammarError               a language can't be built, or a grammar can't be used
    ├── PromptError                an exemplar or a question can't be used
    │   └── TemplateError          a chat template can't be used
    ├── TraceError                 a trace file can't be read, or can't be written any more
    └── SettingsError              an option has a value that makes no sense

They report the mistakes of the caller. What the *model* does wrong is never an exception: it is a
`Malformed` value in the step, told to the model, and the run goes on. Each message is one sentence
on what happened and one on what to do.
"""

from __future__ import annotations


class LocalReactError(Exception):
    """Anything that local_react raises on purpose."""


class ModelError(LocalReactError):
    """The model can't be used."""


class ModelFileError(ModelError):
    """The model file is missing, damaged, foreign, or newer than the installed llama.cpp."""

    def __init__(self, path: object, reason: str, remedy: str) -> None:
        super().__init__(f"{path}: {reason}. {remedy}")
        self.path = str(path)
        self.reason = reason
        self.remedy = remedy


class DecodeError(ModelError):
    """llama.cpp refused to compute a batch; its own words are quoted."""


class ContextOverflow(LocalReactError):
    """A text doesn't fit the model's window.

    `needed`, `available` and `window` are token counts.
    """

    def __init__(self, what: str, *, needed: int, available: int, window: int) -> None:
        super().__init__(
            f"{what} needs {needed:,} tokens, and {available:,} fit (the window is {window:,}). "
            "Load the model with a larger n_ctx, shorten the text, or give fewer tools or exemplars."
        )
        self.needed = needed
        self.available = available
        self.window = window


class ToolError(LocalReactError):
    """A tool can't be registered: its name, signature or schema is at fault."""


class ConstraintError(LocalReactError):
    """A constraint can't be kept: the run stops, and never goes on without it."""


class ConstraintCompileTimeout(ConstraintError):
    """A language takes too long to compile; the message names the tool to blame, where one is.

    `limit_s` is in seconds.
    """

    def __init__(self, engine: str, limit_s: float, *, tool: str | None = None) -> None:
        blamed = "no tool alone is to blame" if tool is None else f"the tool {tool} takes most of it"
        super().__init__(
            f"{engine} takes more than {limit_s:g} s to compile what the model may write: {blamed}. Take another engine, give "
            "that tool smaller limits (of length, count or nesting), or a higher compile_limit_s."
        )
        self.engine = engine
        self.limit_s = limit_s
        self.tool = tool


class GrammarError(LocalReactError):
    """A language can't be built from tools and protocol, or the text of a grammar can't be used.

    `rule`, `line` (from 1) and `position` (in characters, from 0) tell where in a text, None where there is none.
    """

    def __init__(
        self, message: str, *, rule: str | None = None, line: int | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.line = line
        self.position = position


class PromptError(LocalReactError):
    """A question or an exemplar can't be used."""


class TemplateError(PromptError):
    """A chat template can't be used: it is broken, goes past a limit, or can't hold the messages.

    `is_refusal` tells that the template itself raised an exception about the messages, a role that it doesn't know, say.
    """

    def __init__(self, message: str, *, is_refusal: bool = False) -> None:
        super().__init__(message)
        self.is_refusal = is_refusal


class TraceError(LocalReactError):
    """A trace file can't be read, or can't be written any more."""


class SettingsError(LocalReactError):
    """An option has a value that makes no sense."""
