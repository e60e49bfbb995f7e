"""`local-react doctor`: is everything there, and does a model write?

Each check is a line: what it is, what was found, whether that is well. Repairs nothing.
"""

from __future__ import annotations

import math
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from local_react.cli.options import MODEL, with_settings
from local_react.cli.settings_file import with_settings_file
from local_react.cli.setup import Settings, load_model
from local_react.cli.streams import Hint, open_console, take_stdout
from local_react.cli.text import make_visible, write_json
from local_react.decode.completion import Completion
from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.errors import LocalReactError
from local_react.llama.build import RECIPES, describe_build, fitting_recipe
from local_react.llama.devices import Device, list_devices
from local_react.llama.files import installed_models
from local_react.llama.memory import available_memory, show_bytes
from local_react.llama.model import Model
from local_react.llama.placement import Placement
from local_react.llama.sampling import Sampling
from local_react.runs import AnyModel
from local_react.version import VERSION

PACKAGES = ("llama-cpp-python", "llguidance", "outlines-core", "huggingface-hub", "numpy")
SMOKE_PROMPT = "The capital of France is"
SMOKE_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    found: str
    is_well: bool = True


@click.command("doctor")
@with_settings(MODEL)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON on stdout.  [default: a list]")
@with_settings_file
@click.pass_context
def doctor_command(context: click.Context, as_json: bool, **settings: Any) -> None:
    """Check the installation and the model.

    Exits with 1 if something is wrong.
    """
    answers = take_stdout(context)
    log = open_console(sys.stderr)
    checks = []
    for check in _check_all(settings, Hint(log)):
        checks.append(check)
        if not as_json:
            answers.write(make_visible(f"{'ok ' if check.is_well else 'BAD'}  {check.name}: {check.found}"))
    is_well = all(check.is_well for check in checks)
    if as_json:
        answers.write(write_json({"is_well": is_well, "checks": [asdict(check) for check in checks]}, answers.encoding))
    context.exit(0 if is_well else 1)


def _check_all(settings: Settings, hint: Hint) -> Iterator[Check]:
    yield Check("local_react", VERSION)
    yield Check("python", f"{platform.python_version()} on {platform.platform()}")
    yield from map(_check_package, PACKAGES)
    build = describe_build()
    yield Check("llama.cpp build", build.flags)
    yield Check("devices", "; ".join(map(_show_device, list_devices())) or "this build doesn't show them")
    yield from _check_offload(build.has_gpu_offload)
    yield Check("threads", str(settings["threads"] or build.n_threads))
    available = available_memory()
    yield Check("memory", "the system doesn't tell" if available is None else f"{show_bytes(available)} available")
    found = installed_models()
    yield Check("embedded models", ", ".join(f"{name} ({path})" for name, path in found.items()) or "none")
    yield from _check_model(settings, hint)


def _show_device(device: Device) -> str:
    size = f", {show_bytes(device.free)} of {show_bytes(device.total)} free" if device.total else ""
    return f"{device.name} ({device.description}{size})"


def _check_offload(can_offload: bool) -> Iterator[Check]:
    """Whether GPUs can be used, and how to get a build that can."""
    fitting = fitting_recipe()
    hope = "there is no sign of a GPU here" if fitting is None else f"the build for {fitting} would fit this machine"
    yield Check("GPU offload", "yes" if can_offload else f"no, this build of llama.cpp computes on the CPU; {hope}")
    for name, recipe in RECIPES.items():
        yield Check(f"build for {name} ({recipe.gpus})", recipe.command)


def _check_package(name: str) -> Check:
    try:
        return Check(name, version(name))
    except PackageNotFoundError:
        return Check(name, f"not installed; install it with `pip install {name}`", False)


def _check_model(settings: Settings, hint: Hint) -> Iterator[Check]:
    """Load the model and let it write a few tokens: damaged weights give numbers that are none, or no text."""
    try:
        model = load_model(settings, hint)
        hint.show("Writing a few tokens …")
        completion = _complete(model)
    except LocalReactError as error:
        yield Check("model", str(error), False)
        return
    finally:
        hint.clear()
    if isinstance(model, Model):
        yield from _show_placement(model.placement)
    yield _judge(model, completion)


def _show_placement(placement: Placement) -> Iterator[Check]:
    """What llama.cpp did with the model, by its own log."""
    layers = f"{placement.n_offloaded} of {placement.n_layers or '?'} on GPUs"
    yield Check("layers", "; ".join([layers, *placement.devices]))
    if placement.flash_attention is not None:
        yield Check("flash attention", "on" if placement.flash_attention else "off")
    if placement.n_ctx is not None:
        yield Check("window", f"{placement.n_ctx:,} tokens")
    for buffer in placement.buffers:
        yield Check(f"{buffer.kind.replace('_', ' ')} on {buffer.device}", show_bytes(buffer.size))


def _judge(model: AnyModel, completion: Completion) -> Check:
    if not all(math.isfinite(entry.logprob) for entry in completion.logprobs):
        return Check("model", f"{model.name} computes numbers that are none: the file is damaged. Get it again.", False)
    if not completion.text.strip():
        return Check("model", f"{model.name} writes nothing: the file is probably damaged. Get it again.", False)
    return Check("model", f"{model.name} goes on {SMOKE_PROMPT!r} with {completion.text!r}")


def _complete(model: AnyModel) -> Completion:
    """A greedy completion of a few tokens."""
    vocabulary = model.vocabulary
    start = [vocabulary.bos] if vocabulary.wants_bos and vocabulary.bos is not None else []
    with model.context(1) as context:
        decoder = Decoder(context, vocabulary)
        transcript = decoder.open(start + vocabulary.tokenize(SMOKE_PROMPT))
        generation = Generation(
            transcript, decoder.sampler(Sampling()), StopScanner(), max_tokens=SMOKE_TOKENS,
            n_top_logprobs=None if model.name == "scripted" else 0,
        )
        decoder.start(generation)
        while generation.completion is None:
            decoder.step()
        decoder.close(transcript)
    return generation.completion
