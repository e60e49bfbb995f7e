"""The demo's exemplars fit its tools, look like their results, and give nothing away."""

import json

import pytest

from local_react.language.prompt import build_prompt, check_exemplar
from local_react.language.protocol import Protocol, presets
from local_react.language.step import Answer, Call
from local_react.tools.demo import SupportDesk, demo_tools
from local_react.tools.demo_exemplars import demo_exemplars
from local_react.tools.result import describe_error, render_result
from local_react.tools.toolbox import Toolbox

EXEMPLARS = demo_exemplars()


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "desk.sqlite3"


def observations(tool):
    steps = [step for exemplar in EXEMPLARS for step in exemplar.steps]
    return [step.observation for step in steps if isinstance(step.action, Call) and step.action.name == tool]


@pytest.mark.parametrize("name", [name for name in presets() if Protocol.preset(name).has_tools])
def test_they_fit_the_tools_under_every_protocol(name, database):
    toolbox = Toolbox(demo_tools(database))
    for exemplar in EXEMPLARS:
        check_exemplar(exemplar, Protocol.preset(name), toolbox)
    assert EXEMPLARS[0].question in build_prompt("Who?", Protocol.preset(name), toolbox, EXEMPLARS).text


def test_one_runs_smoothly_and_one_recovers():
    smooth, failing = EXEMPLARS
    assert not any(step.observation.is_error for step in smooth.steps[:-1])
    assert [step.observation.is_error for step in failing.steps[:-1]] == [True, False]
    assert failing.steps[0].action.arguments == failing.steps[1].action.arguments
    assert all(isinstance(exemplar.steps[-1].action, Answer) for exemplar in EXEMPLARS)


def test_the_observations_have_the_shape_of_real_results(database):
    desk = SupportDesk(database, tracking_failures=0)
    order, parcel = observations("lookup_order")[0], observations("get_tracking")[1]
    for observation, result in ((order, desk.lookup_order("A095")), (parcel, desk.get_tracking("A100"))):
        shown, real = json.loads(observation.text), json.loads(render_result(result))
        assert [(key, type(value)) for key, value in shown.items()] == [(key, type(value)) for key, value in real.items()]
        assert render_result(shown) == observation.text


def test_the_error_is_the_real_one(database):
    with pytest.raises(TimeoutError) as caught:
        SupportDesk(database).get_tracking("A100")
    assert observations("get_tracking")[0].text == f"Error: {describe_error(caught.value)}"


def test_they_speak_of_no_row_of_the_demo(database):
    desk = SupportDesk(database, tracking_failures=0)
    for exemplar in EXEMPLARS:
        call = exemplar.steps[0].action
        with pytest.raises(LookupError):
            getattr(desk, call.name)(**call.arguments)
    assert not any(word in repr(EXEMPLARS) for word in ("A100", "cus_8812", "TRK-5820", "Lyon"))
