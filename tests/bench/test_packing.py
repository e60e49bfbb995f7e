"""Packed results: read and gone on with like those that were packed, and never half written."""

from __future__ import annotations

import pytest

from local_react import SettingsError
from local_react.bench.packing import pack
from local_react.bench.results import EPISODES, MARK, PACKED, Missed, Results, open_results
from tests.bench.test_results import fill


def test_packed_folders_are_read_and_gone_on_with_like_those_that_were_packed(tmp_path):
    one, other = fill(tmp_path / "one", 1), fill(tmp_path / "other", 2)
    with open(tmp_path / "other" / EPISODES, "ab") as file:
        file.write(b"{half a line")
    pack([tmp_path / "one", tmp_path / "other"], tmp_path / "packed")
    assert sorted(path.name for path in (tmp_path / "packed").iterdir()) == [f"one{PACKED}", f"other{PACKED}", MARK]
    results = Results(tmp_path / "packed")
    assert list(results) == [*one, other[1]] and results.n_damaged == 1, "an episode that is in both counts once"
    with open_results(tmp_path / "packed") as writer:
        assert writer.done == {recorded.item.key for recorded in other}
        writer.miss("model x", "It is broken.")
    assert list(results) == [*one, other[1], Missed("model x", "It is broken.")]
    pack([tmp_path / "one"], tmp_path / "some", arms=("repair",))
    assert list(Results(tmp_path / "some")) == []
    pack([tmp_path / "other"], tmp_path / "same", arms=("repair", one[0].item.arm.name))
    assert len(list(Results(tmp_path / "same").episodes())) == 2
    pack([tmp_path / "packed"], tmp_path / "again")
    assert list(Results(tmp_path / "again")) == list(results)


def test_what_can_not_be_packed_or_read_packed_is_told(tmp_path):
    fill(tmp_path / "a" / "run", 1)
    fill(tmp_path / "b" / "run", 1)
    with pytest.raises(SettingsError, match="same name"):
        pack([tmp_path / "a" / "run", tmp_path / "b" / "run"], tmp_path / "packed")
    with pytest.raises(SettingsError, match="no folder with results"):
        pack([tmp_path / "absent"], tmp_path / "packed")
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="can't be written"):
        pack([tmp_path / "a" / "run"], tmp_path / "file")
    pack([tmp_path / "a" / "run"], tmp_path / "packed")
    with pytest.raises(SettingsError, match="into itself"):
        pack([tmp_path / "packed"], tmp_path / "packed")
    path = tmp_path / "packed" / f"run{PACKED}"
    for damaged in (path.read_bytes()[:-20], b"no archive"):
        path.write_bytes(damaged)
        with pytest.raises(SettingsError, match="can't be read"):
            list(Results(tmp_path / "packed"))


def test_what_can_not_be_read_leaves_what_was_packed_before(tmp_path):
    recorded = fill(tmp_path / "run", 1)
    pack([tmp_path / "run"], tmp_path / "packed")
    (tmp_path / "run" / EPISODES).unlink()
    (tmp_path / "run" / EPISODES).mkdir()
    with pytest.raises(SettingsError, match="can't be read"):
        pack([tmp_path / "run"], tmp_path / "packed")
    assert list(Results(tmp_path / "packed")) == recorded
    assert sorted(path.name for path in (tmp_path / "packed").iterdir()) == [MARK, f"run{PACKED}"]
