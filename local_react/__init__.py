"""local_react: a ReAct loop that runs a GGUF model on your own machine.

    from local_react import Model, run, tool

The names in `__all__` are the public interface. They are imported when they are first used, so that `import local_react`
is quick and loads no llama.cpp.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from local_react.version import VERSION as __version__

_HOMES = {
    "errors": (
        "ConstraintCompileTimeout", "ConstraintError", "ContextOverflow", "DecodeError", "GrammarError", "LocalReactError",
        "ModelError", "ModelFileError", "PromptError", "SettingsError",
        "TemplateError", "ToolError", "TraceError",
    ),
    "language.step": ("Answer", "Call", "Malformed", "Observation", "Step"),
    "language.protocol": ("Protocol",),
    "language.signature": ("Parameter", "Signature"),
    "language.parse": ("parse_step",),
    "language.prompt": ("Exemplar",),
    "tools.grounded": ("Grounded",),
    "tools.tool": ("Tool", "tool"),
    "tools.toolbox": ("Toolbox",),
    "llama.model": ("Model",),
    "llama.sampling": ("Sampling",),
    "decode.scripted": ("ScriptedModel",),
    "guards": ("Guards",),
    "trace": ("Trace",),
    "runs": ("run", "run_many"),
}
_HOME_OF = {name: f"local_react.{home}" for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'local_react' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


