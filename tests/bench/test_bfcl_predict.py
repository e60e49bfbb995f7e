"""Single calls from a model with random weights: constrained ones always fit, whatever the arm."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.bfcl import Row, judge_row, row_toolbox
from local_react.bench.bfcl_predict import Caller
from local_react.bench.call_arm import CallArm
from local_react.bench.narrowing import WAYS
from local_react.bench.voices import N_SEQUENCES, Choir
from local_react.decode.engines import make_engine
from local_react.errors import SettingsError
from local_react.form import Form
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.chat import CHATML
from local_react.language.step import Call, Malformed
from local_react.language.template import ChatTemplate
from local_react.llama.sampling import Sampling

ROW = Row(
    id="test_0", category="test", question="How far is it from Lyon to Ghent in miles, by 2 wheels and 31.5 km an hour?",
    functions=(
        {"name": "geo.distance", "description": "The distance of two cities.", "parameters": {"type": "dict", "properties": {
            "start": {"type": "string", "description": "Where from."},
            "end": {"type": "string", "description": "Where to."},
            "unit": {"type": "string", "enum": ["km", "miles", "feet"], "description": "The unit."},
            "wheels": {"type": "integer", "description": "How many wheels."},
            "stops": {"type": "array", "items": {"type": "string"}, "description": "Stops. Default is none."},
        }, "required": ["start", "end", "wheels"]}},
        {"name": "finish", "description": "End.", "parameters": {"type": "dict", "properties": {
            "how": {"type": "string", "description": "How."}
        }, "required": ["how"]}},
    ),
    ground_truth={"geo.distance": {"start": ["Lyon"], "end": ["Ghent"], "unit": ["miles", ""], "wheels": [2], "stops": [""]}},
)  # fmt: skip

ARMS = [
    CallArm(name="keyword"),
    CallArm(name="json", arguments="json"),
    CallArm(name="positional", arguments="positional", picks_exemplars=True),
    CallArm(name="thinking", thinks=True),
    CallArm(name="guided", guidance=0.7),
    CallArm(name="orders", n_orders=2, guidance=1.0),
    CallArm(name="narrow", narrows=WAYS, description="list"),
    CallArm(name="bare", n_exemplars=0, instructions="", description="name"),
    CallArm(name="chatting", chats=True, n_exemplars=1),
    CallArm(name="thinking, guided and narrow", thinks=True, guidance=1.0, narrows=WAYS, description="usage"),
]  # fmt: skip


def predict(model, arms, rows=(ROW,)):
    n_beam_sequences = max(arm.n_beam_sequences for arm in arms)
    with model.context(N_SEQUENCES * max(arm.n_voices for arm in arms) + n_beam_sequences) as context:
        caller = Caller(
            Choir(context, model.vocabulary, n_beam_sequences), model.vocabulary, context.sampler(Sampling()), iter(range(10**6)).__next__,
            make_engine("llguidance", model.vocabulary), Form(template=ChatTemplate(CHATML)),
        )
        return [caller.predict(row, arm) for arm in arms for row in rows]


@pytest.mark.parametrize("arm", ARMS, ids=lambda arm: arm.name)
def test_a_constrained_call_fits_whatever_the_model(tiny_model, arm):
    (prediction,) = predict(tiny_model, [arm])
    tools = row_toolbox(ROW)
    assert isinstance(prediction.action, Call), prediction
    assert not isinstance(fit_arguments(prediction.action.arguments, tools[prediction.action.name]), Misfit)
    assert judge_row(ROW, prediction.action).reason != "no_call"
    assert prediction.row_id == ROW.id and prediction.n_prompt > 20
    assert (prediction.thought is not None) >= arm.thinks or prediction.thought == ""


def test_a_narrow_call_says_only_what_the_question_says(tiny_model):
    rows = [replace(ROW, functions=ROW.functions[:1])]
    (prediction,) = predict(tiny_model, [CallArm(name="narrow", narrows=WAYS)], rows)
    arguments = prediction.action.arguments
    assert arguments["wheels"] == 2
    assert arguments["start"] in ROW.question and arguments["end"] in ROW.question
    assert arguments.get("unit", "miles") in ("miles", "km")


def test_a_free_model_with_random_weights_writes_no_call(tiny_model):
    (prediction,) = predict(tiny_model, [CallArm(name="free", constrained=False)])
    assert isinstance(prediction.action, Malformed)
    assert prediction.n_forced == 0 and prediction.n_sampled > 0


def test_the_same_row_and_arm_give_the_same_prediction(tiny_model):
    arms = [CallArm(name="keyword"), CallArm(name="guided", guidance=0.7), CallArm(name="keyword")]
    first, _, again = predict(tiny_model, arms)
    assert first.text == again.text and first.action == again.action


def test_the_voices_of_an_arm_are_its_orders_and_one_that_is_blind():
    assert [arm.n_voices for arm in ARMS] == [1, 1, 1, 1, 2, 3, 1, 1, 1, 2]


def words(*values):
    return {"type": "string", "enum": list(values), "description": "Which."}


SHORT = replace(
    ROW, question="Paint the hall red.", ground_truth={"paint": {"colour": ["red"], "room": ["hall"], "coats": ["", "one"]}},
    functions=(
        {"name": "paint", "description": "Paint.", "parameters": {"type": "dict", "properties": {
            "colour": words("red", "green", "blue"), "room": words("hall", "attic"), "coats": words("one", "two"),
        }, "required": ["colour", "room"]}},
        {"name": "clean", "description": "Clean.", "parameters": {"type": "dict", "properties": {
            "room": words("hall", "attic", "cellar"), "how": words("wet", "dry"),
        }, "required": ["room"]}},
    ),
)
CHOICES = [
    CallArm(name=" ".join(chooses), chooses=chooses, n_exemplars=0)
    for chooses in (("tools",), ("samples",), ("encodings",), ("samples", "tools", "encodings"))
]


@pytest.mark.parametrize("changes", [{}, {"guidance": 0.7, "arguments": "json"}], ids=str)
def test_the_likeliest_of_the_candidates_is_taken(tiny_model, changes):
    arms = [replace(arm, **changes) for arm in (replace(CHOICES[0], name="greedy", chooses=()), *CHOICES)]
    plain, *found = predict(tiny_model, arms, [SHORT])
    assert (plain.n_candidates, found[0].n_candidates) == (1, 2), "a greedy call of each tool"
    # Sums in batches of another shape are a little different, and so a token of a random model may be.
    assert found[-1].logprob >= max(each.logprob for each in found[:-1]) - 0.05
    assert found[-1].n_candidates >= max(each.n_candidates for each in found[:-1])
    assert found[-1].n_sampled > found[0].n_sampled > plain.n_sampled > 0
    for each in found:
        assert judge_row(SHORT, each.action).reason not in ("no_call", "wrong_type"), each


def test_a_choice_is_the_same_each_time_and_written_as_the_arm_writes_calls(tiny_model):
    arm = replace(CHOICES[-1], arguments="json")
    first, again = predict(tiny_model, [arm, arm], [SHORT])
    assert (first.text, first.action, first.n_candidates) == (again.text, again.action, again.n_candidates)
    assert first.text.startswith((" paint[{", " clean[{"))


def test_an_arm_that_thinks_thinks_once_and_chooses_behind_it(tiny_model):
    arms = [CallArm(name="x", thinks=True, n_exemplars=0), CallArm(name="y", thinks=True, n_exemplars=0, chooses=("tools",))]
    plain, chosen = predict(tiny_model, arms, [SHORT])
    assert chosen.thought == plain.thought is not None
    assert isinstance(chosen.action, Call) and chosen.n_candidates == 2


def test_of_one_tool_alone_there_is_one_greedy_call(tiny_model):
    rows = [replace(SHORT, functions=SHORT.functions[:1])]
    plain, chosen = predict(tiny_model, [CallArm(name="plain"), CallArm(name="choosing", chooses=("tools",))], rows)
    assert chosen.n_candidates == 1 and chosen.action.name == plain.action.name == "paint"


@pytest.mark.parametrize(
    ("arm", "said"), [(CallArm(name="x"), "no engine"), (CallArm(name="x", constrained=False, chats=True), "no form")]
)
def test_what_an_arm_lacks_is_said(tiny_model, arm, said):
    with tiny_model.context(N_SEQUENCES) as context:
        caller = Caller(Choir(context, tiny_model.vocabulary), tiny_model.vocabulary, context.sampler(Sampling()), lambda: 0.0)
        with pytest.raises(SettingsError, match=said):
            caller.predict(ROW, arm)
