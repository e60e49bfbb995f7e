"""The introductions' prompt and loop: the format is sketched, one session shown, and what can't be read ends the run."""

from __future__ import annotations

import pytest

from local_react import ScriptedModel, run, tool
from local_react.bench.arms import ARMS, find_arm
from local_react.bench.introductions import describe_format
from local_react.language.prompt import Exemplar, build_prompt
from local_react.language.protocol import Protocol
from local_react.language.step import Answer, Call, Observation, Step

PROTOCOL = Protocol.preset("answer")


@tool
def look(thing: str) -> str:
    """Look at a thing."""
    return "red"


WORKED = Exemplar("Which colour has thing 1?", (
    Step(Call("look", {"thing": "1"}, "I look."), Observation("red")), Step(Answer("red", "So.")),
))


def go(arm, *script):
    options = find_arm(arm).options((WORKED,), {"max_steps": 3})
    return run("Which colour has thing 7?", model=ScriptedModel(script), tools=[look], **options)


@pytest.mark.parametrize("protocol", [PROTOCOL, Protocol.preset("answer", action="Handlung", observation="Befund")])
def test_the_sketch_has_a_line_for_each_label_in_the_order_of_a_run(protocol):
    lines = describe_format(protocol).splitlines()
    wanted = [protocol.label(kind) for kind in ("question", "thought", "action", "observation")]
    assert [line.split(":")[0] + ":" for line in lines if line.startswith(tuple(wanted))] == wanted


def test_the_tools_follow_with_one_session_and_the_question_comes_last():
    options = find_arm("introductions").options((WORKED, WORKED), {})
    tools = {look.name: look}
    prompt = build_prompt("Why?", options["protocol"], tools, options["exemplars"], instructions=options["instructions"])
    text = prompt.text
    assert text.startswith(describe_format(PROTOCOL)) and options["exemplars"] == (WORKED,)
    assert text.index("look[thing]") < text.index("Which colour has thing 1?") < text.rindex(PROTOCOL.label("answer"))
    assert text.endswith(f"{PROTOCOL.label('question')} Why?\n{PROTOCOL.label('thought')}")
    assert text.count(PROTOCOL.label("observation")) == 2, "in the sketch, and in the session"


def test_a_step_that_can_not_be_read_ends_the_run_and_nothing_is_explained():
    trace = go("introductions", " I wonder about thing 7.\nAnswer the question yourself")
    assert (trace.ending, len(trace.steps)) == ("parse_failed", 1)
    assert trace.steps[0].observation is None, "no notice explains it"


def test_the_stop_alone_keeps_an_observation_from_being_forged():
    script = " I look.\nAction: look[7]\nObservation: blue\nAnswer: blue"
    stopped, forged = go("introductions", script, " So.\nAnswer: red"), go("introductions-no-stop", script, " So.\nAnswer: red")
    assert stopped.answer == forged.answer == "red"
    assert (stopped.steps[0].action, forged.steps[0].action) == (Call("look", {"thing": "7"}, "I look."),) * 2
    assert [each.steps[0].action.forged_observation for each in (stopped, forged)] == [False, True]


def test_arms_without_instructions_of_their_own_keep_their_keys():
    told = {name for name, arm in ARMS.items() if "instructions" in arm.settings()}
    assert told == {"introductions", "introductions-no-stop"}
