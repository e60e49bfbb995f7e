"""The speed benchmark, in small: what it compares is comparable, and its report is whole. No time is judged here."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import llama_cpp
import pytest
from rich.console import Console

from benchmarks import (
    bare,
    constraint_figures,
    constraint_speed,
    dictation,
    figures,
    guidance_peer,
    loops,
    runtime_speed,
    trail,
)
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
    with Model.load(path, n_threads=1, n_ctx=4096, flash_attention=False) as model:
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
    monkeypatch.setattr(runtime_speed, "N_STARTS", 1)
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


@pytest.mark.parametrize("way", trail.TRAILS.values(), ids=list(trail.TRAILS))
def test_a_trail_is_walked_alike_by_the_runtime_and_by_the_introductions(way: trail.Trail) -> None:
    more = "".join(f", {name}={value}" for name, value in way.more.items())
    first = "room=" if more else ""
    steps = [
        *(f" So I read it.\nAction: read_note[{first}{room}{more}]" for room in trail.ROOMS), f" So.\nAction: finish[{trail.WORD}]"
    ]
    script = iter(steps)
    by_text = loops.converse_by_text(lambda text: next(script), way)
    assert by_text == loops.Conversation(tuple(steps), trail.WORD)
    assert loops.read_conversation(loops.converse(ScriptedModel([f"{step}\n" for step in steps]), way)) == by_text


def test_a_dictated_text_is_written_whatever_the_model_wants(model: Model) -> None:
    text = " So I read it.\nAction: get_tracking[A100]"
    with dictation.dictating(model, model.vocabulary.tokenize(f"{text}\nObservation:")):
        trace = constraint_figures.write_step("Where is it?", model, guards=constraint_figures.UNTIL_LABEL)
    assert trace.completions[0]["text"].rstrip("\n") == text
    assert trace.completions[0]["label"] == "Observation:"
    own = constraint_figures.write_step("Where is it?", model)
    assert own.completions[0]["text"] != trace.completions[0]["text"]


def test_compiling_is_measured_for_every_engine(model: Model) -> None:
    found = constraint_figures.measure_compiling(model, n_rounds=1, advance=lambda: None)
    assert set(found) == set(constraint_figures.ENGINES)
    assert all(figure["value"] > 0 for figure in found.values())
    assert len(constraint_figures.fifty_tools(0)) == 50
    assert constraint_figures.fifty_tools(0) != constraint_figures.fifty_tools(1)


def test_steps_are_valid_under_every_engine_and_timed_on_equal_terms(model: Model) -> None:
    prompts = constraint_speed.PROMPTS[:2]
    own = constraint_figures.measure_steps(model, prompts, n_rounds=1, advance=lambda: None)
    constrained = {name: arm for name, arm in own["arms"].items() if name != "free"}
    assert set(constrained) == set(constraint_figures.ENGINES)
    assert all(arm["n_malformed"] == 0 and arm["n_tokens"] > arm["n_sampled"] for arm in constrained.values())
    dictated = constraint_figures.measure_dictated(model, prompts, n_rounds=1, advance=lambda: None)
    assert len(dictated["texts"]) == 2
    assert all(figure["value"] > 0 for figure in dictated["ratios"].values())


def test_guidance_is_asked_for_the_steps_that_it_is_compared_on(model: Model, tmp_path: Path) -> None:
    """A stand-in for the Python of guidance's environment answers with what it was asked."""
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport json, sys\nasked = json.load(sys.stdin)\n"
        "texts = [prompt[-9:] + asked['label'] for prompt in asked['prompts']]\n"
        "print(json.dumps({'guidance': '0', 'llguidance': '0', 'seconds': 1.0, 'texts': texts}))\n"
    )
    python.chmod(0o755)
    found = guidance_peer.measure(model, constraint_speed.PROMPTS[:2], str(python), n_rounds=1, advance=lambda: None)
    assert found["n_steps"] == 2
    assert found["n_characters"]["guidance"] == 2 * len("\nThought:\nAction:")
    assert found["ratio"]["value"] > 0
