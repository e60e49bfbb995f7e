"""The rows that are asked for: by file and folder, category, position."""

from __future__ import annotations

import json

import pytest

from local_react.bench.bfcl_rows import choose_rows
from local_react.errors import SettingsError

FUNCTION = {"name": "paint", "description": "Paint.", "parameters": {"type": "dict", "properties": {}, "required": []}}


@pytest.fixture
def folder(tmp_path):
    for category, n in (("simple", 7), ("live_simple", 5), ("multiple", 2)):
        lines = [
            {"id": f"{category}_{row}", "question": "Paint it.", "functions": [FUNCTION], "ground_truth": [{"paint": {}}]}
            for row in range(n)
        ]
        (tmp_path / f"{category}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "notes.txt").write_text("no rows")
    return tmp_path


@pytest.mark.parametrize(
    ("places", "choice", "ids"),
    [
        (["multiple.jsonl"], {}, ["multiple_0", "multiple_1"]),
        (["multiple.jsonl", "simple.jsonl"], {"n_rows": 1}, ["multiple_0", "simple_0"]),
        (["simple.jsonl"], {"every": 3}, ["simple_0", "simple_3", "simple_6"]),
        (["simple.jsonl"], {"every": 3, "n_rows": 2}, ["simple_0", "simple_3"]),
        ([""], {"n_rows": 1}, ["live_simple_0", "multiple_0", "simple_0"]),
        ([""], {"categories": ["simple"], "every": 4}, ["simple_0", "simple_4"]),
        ([""], {"categories": ["simple", "live_simple"], "n_rows": 1}, ["live_simple_0", "simple_0"]),
    ],
)
def test_rows_are_chosen_by_place_category_and_position(folder, places, choice, ids):
    assert [row.id for row in choose_rows([folder / place for place in places], **choice)] == ids


def test_rows_of_other_categories_are_not_even_read(folder):
    (folder / "irrelevance.jsonl").write_text("damaged")
    assert len(choose_rows([folder], categories=["multiple"])) == 2
    with pytest.raises(SettingsError, match="irrelevance.jsonl, line 1"):
        choose_rows([folder])


@pytest.mark.parametrize(
    ("places", "choice", "said"),
    [
        (["absent.jsonl"], {}, "no file .*absent.jsonl"),
        ([""], {"categories": ["simpel"]}, "no rows of the category simpel"),
        (["multiple.jsonl"], {"categories": ["simple"]}, "files hold multiple"),
        (["empty"], {}, "holds no .json"),
        (["empty.jsonl"], {}, "No rows are left"),
    ],
)
def test_a_choice_that_leaves_nothing_is_refused(folder, places, choice, said):
    (folder / "empty").mkdir()
    (folder / "empty.jsonl").write_text("")
    with pytest.raises(SettingsError, match=said):
        choose_rows([folder / place for place in places], **choice)
