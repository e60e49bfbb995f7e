"""Arms of single calls from a file."""

from __future__ import annotations

import pytest

from local_react.bench.bfcl_arms import read_arms
from local_react.bench.call_arm import CallArm
from local_react.errors import SettingsError


def test_arms_are_read_from_a_file(tmp_path):
    path = tmp_path / "arms.toml"
    path.write_text(
        '[[arm]]\nname = "a"\n[[arm]]\nname = "b"\narguments = "json"\nnarrows = ["numbers", "choices"]\nguidance = 1\n'
    )
    assert read_arms(path) == {
        "a": CallArm(name="a"), "b": CallArm(name="b", arguments="json", narrows=("numbers", "choices"), guidance=1.0),
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[[arm]]"),
        ("[arm]\nname = 'a'", "[[arm]]"),
        ("x = 1\n[[arm]]\nname = 'a'", "[[arm]]"),
        ("arm = [3]", "arm 1"),
        ("[[arm]]", "name"),
        ("[[arm]]\nname = 'a'\nspeed = 3", "'speed'"),
        ("[[arm]]\nname = 'a'\narguments = 'xml'", "arguments"),
        ("[[arm]]\nname = 'a'\nnarrows = ['dates']", "narrows"),
        ("[[arm]]\nname = 'a'\nn_orders = 0", "n_orders"),
        ("[[arm]]\nname = 'a'\nn_exemplars = -1", "n_exemplars"),
        ("[[arm]]\nname = 'a'\nconstrained = false\nnarrows = ['texts']", "constrained"),
        ("[[arm]]\nname = 'a'\nconstrained = false\nchooses = ['tools']", "constrained"),
        ("[[arm]]\nname = 'a'\nchooses = ['oracles']", "chooses"),
        ("[[arm]]\nname = 'a'\n[[arm]]\nname = 'a'", "given before"),
        ("[[arm", "is no TOML"),
    ],
)
def test_what_is_no_arm_is_refused(tmp_path, text, said):
    path = tmp_path / "arms.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read_arms(path)
    assert said in str(caught.value)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="can't be read"):
        read_arms(tmp_path / "none.toml")
