"""Running a matrix: interrupted and gone on with, it ends with the results of a run that wasn't."""

from __future__ import annotations

import itertools
from typing import Annotated

import pytest

from local_react import Grounded, ModelFileError, ScriptedModel, SettingsError, Toolbox
from local_react.bench.execution import Execution, without_grounding
from local_react.bench.matrix import make_matrix
from local_react.bench.results import Missed, Recorded, Results, open_results
from local_react.language.step import Call
from local_react.llama.model import Model
from tests.bench.colours import Colours, answer, look
from tests.random_models import make_model

VALUES = {"models": ["scripted"], "arms": ["free", "lenient"], "worlds": ["colours"], "n_tasks": 3, "limits": {"max_steps": 3}}
WORLDS = {"colours": Colours()}


def scripted(name: str = "scripted") -> ScriptedModel:
    """A model that looks at thing 0 and answers red, whatever is asked."""
    return ScriptedModel(list(itertools.chain.from_iterable([look("0"), answer("red")] for _ in range(100))))


def execute(folder, values=VALUES, load=scripted, **options):
    with open_results(folder) as writer:
        return Execution(make_matrix(values), WORLDS, writer, load=load, clock=lambda: 0.0, **options).run()


def keys(folder) -> list[str]:
    return [recorded.item.key for recorded in Results(folder).episodes()]


def test_every_item_is_run_and_judged_once(tmp_path):
    seen = []
    progress = execute(tmp_path, on_progress=seen.append)
    assert (progress.n_total, progress.n_done, progress.n_before, progress.n_unanswered, progress.n_missed) == (6, 6, 0, 0, 0)
    episodes = list(Results(tmp_path).episodes())
    assert [(one.item.arm.name, one.item.task.id) for one in episodes] == [
        (arm, f"colours-0-{n}") for arm in ("free", "lenient") for n in range(3)
    ]
    assert [one.is_right for one in episodes] == [True, False, False] * 2
    assert len(set(keys(tmp_path))) == 6
    done = [one.n_done for one in seen]
    assert done == sorted(done) and done[0] == 0 and done[-1] == 6


def outcomes(folder):
    """All but the token ids, which a scripted model hands out as it goes."""
    return [(one.item, one.trace.steps, one.trace.ending, one.trace.answer, one.is_right) for one in Results(folder).episodes()]


@pytest.mark.parametrize("n_before", [0, 1, 4, 6])
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, n_before):
    execute(tmp_path / "whole")

    def interrupt(progress):
        if progress.n_done == n_before and progress.n_total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "broken", on_progress=interrupt)
    assert len(keys(tmp_path / "broken")) == n_before
    progress = execute(tmp_path / "broken")
    assert (progress.n_before, progress.n_done) == (n_before, 6)
    assert outcomes(tmp_path / "broken") == outcomes(tmp_path / "whole")


def test_a_finished_run_runs_nothing_again_and_a_changed_setting_runs_anew(tmp_path):
    execute(tmp_path)
    assert execute(tmp_path, load=lambda name: ScriptedModel([])).n_before == 6
    more = execute(tmp_path, VALUES | {"limits": {"max_steps": 2}})
    assert (more.n_before, more.n_done) == (0, 6)
    assert len(set(keys(tmp_path))) == 12


def test_a_model_that_can_not_be_loaded_is_recorded_and_the_rest_goes_on(tmp_path):
    def load(name):
        if name == "broken":
            raise ModelFileError(name, "is damaged", "Get it again.")
        return scripted()

    progress = execute(tmp_path, VALUES | {"models": ["broken", "scripted"]}, load)
    assert (progress.n_total, progress.n_done, progress.n_missed) == (12, 6, 6)
    missed, *others = Results(tmp_path)
    assert missed == Missed("model broken", "broken: is damaged. Get it again.")
    assert len(others) == 6 and all(isinstance(one, Recorded) for one in others)


def test_an_episode_that_can_not_be_run_is_recorded_and_the_rest_goes_on(tmp_path):
    progress = execute(tmp_path, load=lambda name: ScriptedModel([look("0"), answer("red")]))
    assert (progress.n_done, progress.n_missed) == (1, 5)
    missed = [entry for entry in Results(tmp_path) if isinstance(entry, Missed)]
    assert len(missed) == 5 and "colours-0-1" in missed[0].what and "completion left" in missed[0].why


def test_a_run_stops_where_it_is_told_to(tmp_path):
    asked = iter([False, False, True])
    assert execute(tmp_path, should_stop=lambda: next(asked)).n_done == 2


def test_what_a_world_can_not_give_an_arm_is_told_before_anything_runs(tmp_path):
    with pytest.raises(SettingsError, match="wants 4 exemplars"):
        execute(tmp_path, VALUES | {"arms": ["free-exemplars-4"]}, load=lambda name: pytest.fail("loaded"))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("tiny") / "random.gguf", add_bos_token=True)


TINY = VALUES | {"arms": ["free", "constrained"], "temperatures": [1.0], "seeds": [1, 2], "n_tasks": 2,
                 "limits": {"max_steps": 2, "max_step_tokens": 40, "max_thought_tokens": 4}}


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_a_run_on_a_real_model_repeats_and_never_is_malformed_under_a_constraint(tmp_path, tiny, n_parallel):
    values = TINY | {"n_parallel": n_parallel}
    for name in ("one", "other"):
        execute(tmp_path / name, values, lambda name: Model.load(tiny, n_threads=1))
    one, other = [[recorded.trace.events for recorded in Results(tmp_path / name).episodes()] for name in ("one", "other")]
    assert one == other and len(one) == 8
    for recorded in Results(tmp_path / "one").episodes():
        assert recorded.trace.events[0]["settings"]["seed"] == recorded.item.seed
        if recorded.item.arm.constrain:
            assert not [event for event in recorded.trace.events if event.get("kind") == "malformed"]


def test_a_batch_that_was_interrupted_is_run_again_whole(tmp_path, tiny):
    """Alone, the rest of a batch would compute other sums than with it."""
    values = TINY | {"n_parallel": 2, "arms": ["constrained"], "seeds": [1]}

    def load(name):
        return Model.load(tiny, n_threads=1)

    def interrupt(progress):
        if progress.n_done == 1:
            raise KeyboardInterrupt

    execute(tmp_path / "whole", values, load)
    with pytest.raises(KeyboardInterrupt):
        execute(tmp_path / "broken", values, load, on_progress=interrupt)
    execute(tmp_path / "broken", values, load)
    whole, broken = [list(Results(tmp_path / name)) for name in ("whole", "broken")]
    assert whole == broken and len(whole) == 2


class Marked(Colours):
    """The same, with a grounded thing."""

    def toolbox(self, task):
        def look(thing: Annotated[str, Grounded(r"\d+")]) -> str:
            """Look at a thing."""
            return "red"

        return Toolbox([look])


@pytest.mark.parametrize(("arm", "grounded"), [("constrained", []), ("grounded", ["look.thing"])])
def test_what_a_world_marks_is_grounded_in_arms_that_say_so_only(tmp_path, tiny, arm, grounded):
    values = TINY | {"arms": [arm], "seeds": [1], "limits": TINY["limits"] | {"min_calls": 1}}
    with open_results(tmp_path) as writer:
        Execution(make_matrix(values), {"colours": Marked()}, writer, load=lambda name: Model.load(tiny, n_threads=1)).run()
    episodes = list(Results(tmp_path).episodes())
    assert len(episodes) == 2
    for recorded in episodes:
        start = recorded.trace.events[0]
        assert start["settings"]["grounded"] == grounded
        assert ("x-grounded" in str(start["toolbox"])) == bool(grounded)
        calls = [step.action for step in recorded.trace.steps if isinstance(step.action, Call)]
        assert calls
        if grounded:
            assert {call.arguments["thing"] for call in calls} == {recorded.item.task.question[-2]}


def test_tools_without_their_marks_are_told_alike():
    toolbox = Marked().toolbox(WORLDS["colours"].tasks(1)[0])
    bare = without_grounding(toolbox)
    assert bare.fingerprint == toolbox.fingerprint
    assert bare["look"].parameters[0].grounding is None and toolbox["look"].parameters[0].grounding
    assert bare.dispatch(Call("look", {"thing": "x"})).result().text == "red"
