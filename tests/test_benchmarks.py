"""The speed benchmark, in small: what it compares is comparable, and its report is whole. No time is judged here."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import pytest
from rich.console import Console

from benchmarks import bare, constraint_speed, figures, loops, runtime_speed, trail
from local_react.decode.scripted import ScriptedModel
from local_react.llama.model import Model
from tests.random_models import make_model

STEPS = [
    *(f" Go to {room}, so I read the note in {room}.\nAction: read_note[{room}]" for room in trail.ROOMS),
    " Finish with silver, so I finish with silver.\nAction: finish[silver]",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = make_model(tmp_path_factory.mktemp("tiny") / "random.gguf", add_bos_token=True)
    with Model.load(path, n_threads=1, n_ctx=2048, flash_attention=False) as model:
        yield model


@pytest.fixture(scope="module")
def llama(model: Model) -> Iterator[llama_cpp.Llama]:
    llama = loops.load_binding(model)
    yield llama
    llama.close()


def test_the_runtime_and_the_loop_of_the_introductions_hold_the_same_conversation() -> None:
    """Given what a model writes on the trail, both read it alike and end with the answer, in eight steps."""
    script = iter(STEPS)
    by_text = loops.converse_by_text(lambda text: next(script))
    assert by_text == loops.Conversation(tuple(STEPS), trail.WORD)
    trace = loops.converse(ScriptedModel([f"{step}\n" for step in STEPS]))
    assert loops.read_conversation(trace) == by_text
    assert len(trace.steps) == trail.N_STEPS


@pytest.mark.parametrize("one_action", [True, False])
def test_both_hand_the_model_the_same_text(one_action: bool) -> None:
    seen: list[str] = []
    script = iter(STEPS)

    def complete(text: str) -> str:
        seen.append(text)
        return next(script)

    loops.converse_by_text(complete)
    ending = "\n" if one_action else "\nObservation:"
    trace = loops.converse(ScriptedModel([f"{step}{ending}" for step in STEPS]), one_action=one_action)
    transcript = "".join(event["text"] for event in trace.events if event["event"] == "tokens")
    assert all(transcript.startswith(text) for text in seen)
    assert len(seen) == trail.N_STEPS


@pytest.mark.parametrize("step", ["", " I wonder.", " Go.\nAction: fly[home]", " An Action: read_note[kitchen]"])
def test_the_loop_of_the_introductions_gives_up_on_a_step_that_is_no_call(step: str) -> None:
    assert loops.converse_by_text(lambda text: step) == loops.Conversation((step,), None)


def test_the_bare_loop_finds_the_tokens_of_our_decoder(model: Model, llama: llama_cpp.Llama) -> None:
    prompt = bare.encode(model, bare.PROMPT)
    ids, seconds = bare.generate(model, prompt, 12)
    likeliest, bare_seconds = bare.decode(llama, prompt, ids)
    assert likeliest == ids
    assert len(ids) == 12
    assert seconds > 0 and bare_seconds > 0


def test_the_binding_reuses_its_cache_and_outlines_drops_it(model: Model, llama: llama_cpp.Llama) -> None:
    n_prompt = len(bare.encode(model, bare.PROMPT))
    evaluated = []
    for complete in (loops.complete_with_binding(llama), loops.complete_with_outlines(llama)):
        llama.reset()
        complete(bare.PROMPT)
        with loops.counted(llama) as counts:
            complete(bare.PROMPT)
        evaluated.append(counts.n_evaluated - counts.n_sampled + 1)
    assert evaluated == [1, n_prompt]


def test_counting_leaves_the_binding_as_it_was(llama: llama_cpp.Llama) -> None:
    with loops.counted(llama):
        assert "eval" in vars(llama)
    assert not {"eval", "sample"} & vars(llama).keys()


def test_a_run_after_forgetting_evaluates_its_prompt_again(model: Model) -> None:
    def evaluated() -> int:
        return loops.converse(model).evaluated

    loops.forget(model)
    first, warm = evaluated(), evaluated()
    loops.forget(model)
    assert warm < first == evaluated()


def test_the_runtime_evaluates_no_token_twice_whatever_the_model_writes(model: Model, llama: llama_cpp.Llama) -> None:
    figure = figures.count_conversation(model, llama)
    assert figure["counts"]["local_react"]["evaluates_no_token_twice"]
    assert figure["counts"]["local_react_to_label"]["evaluates_no_token_twice"]
    assert figure["same_texts"] == (not figure["other_texts"])
    assert not figure["is_whole"]


def test_parallel_episodes_take_fewer_decode_calls_in_every_round(model: Model) -> None:
    """The rounds share contexts, and a single run in the context of eight must still be a single run."""
    figure = figures.measure_parallel(model, n_rounds=2, advance=lambda: None)
    single, parallel = figure["n_decode_calls"]["single"], figure["n_decode_calls"]["parallel"]
    assert len(set(single)) == len(set(parallel)) == 1
    assert single[0] > 5 * parallel[0]


def test_the_last_line_of_the_output_is_the_report(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    output = tmp_path / "results" / "speed.json"
    assert runtime_speed.main(["--models", str(model.path), "--rounds", "1", "--output", str(output)]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out.splitlines()[-1])
    assert report == json.loads(output.read_text("utf-8"))
    assert "Speed of the runtime" in out
    assert "parallel" in err
    assert str(tmp_path) not in out and str(model.path.parent) not in out
    with_target = {path for path, _ in runtime_speed.find_figures(report, "met")}
    name = model.name.replace("_", " ")
    assert with_target == {
        "start, import", "start, help", f"{name}, decoder, ratio", f"{name}, conversation, ratio to binding",
        f"{name}, conversation, ratio to outlines", f"{name}, parallel, times fewer decode calls",
    }
    assert report["start"]["imports_llama_cpp"] is False


def test_a_missed_target_shows_in_the_table() -> None:
    figure = {"value": 1.2, "lowest": 1.1, "highest": 1.3, "n": 3, "at_most": 1.0, "met": False}
    printed = io.StringIO()
    Console(width=120, file=printed).print(runtime_speed.tabulate({"start": {"import": figure}, "models": {}}))
    assert "MISSED" in printed.getvalue()


@pytest.mark.parametrize("arguments", [["--rounds", "0"], ["--rounds", "x"], ["--speed"]])
def test_wrong_options_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        runtime_speed.main(arguments)
    assert exit.value.code == 2
    assert capsys.readouterr().err


def test_the_cost_of_a_constraint_is_measured_for_every_engine(tiny_model: Model) -> None:
    found = constraint_speed.compile_times(tiny_model, 1)
    assert set(found) == {"language", *constraint_speed.ENGINES}
    assert all(milliseconds > 0 for milliseconds in found.values())
    assert len(constraint_speed.fifty_tools(0)) == 50
    assert constraint_speed.fifty_tools(0) != constraint_speed.fifty_tools(1)
