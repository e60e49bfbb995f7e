"""The script for single calls, on a model with random weights."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from benchmarks.bfcl_calls import main
from tests.random_models import make_model

ROW = {
    "id": "mine_0", "question": "Add 2 and 3.",
    "functions": [{"name": "math.add", "description": "Add.", "parameters": {"type": "dict", "properties": {
        "a": {"type": "integer"}, "b": {"type": "integer"},
    }, "required": ["a", "b"]}}],
    "ground_truth": [{"math.add": {"a": [2], "b": [3]}}],
}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    model = make_model(tmp_path / "tiny.gguf", tokenizer="bpe", add_bos_token=True)
    rows = tmp_path / "mine.jsonl"
    rows.write_text("".join(json.dumps({**ROW, "id": f"mine_{n}"}) + "\n" for n in range(3)))
    arms = tmp_path / "arms.toml"
    arms.write_text('[[arm]]\nname = "bare"\nn_exemplars = 0\n[[arm]]\nname = "narrow"\nn_exemplars = 0\nnarrows = ["numbers"]\n')
    return {"model": str(model), "rows": str(rows), "arms": str(arms), "out": str(tmp_path / "out.jsonl")}


def invoke(files, *more):
    options = [f"--{name}={value}" for name, value in files.items()]
    return CliRunner().invoke(main, [*options, "--n-ctx=1024", *more])


def test_all_arms_and_their_vote_are_counted_in_the_last_line_and_nothing_is_asked_twice(files):
    first = invoke(files, "--vote=narrow,bare")
    assert first.exit_code == 0, first.output
    tallies = json.loads(first.stdout.splitlines()[-1])
    assert [(each["arm"], each["category"], each["right"]["n"]) for each in tallies] == [
        ("bare", "mine", 3), ("narrow", "mine", 3), ("vote", "mine", 3),
    ]  # fmt: skip
    with open(files["out"]) as file:
        assert len(file.readlines()) == 6
    again = invoke(files, "--vote=narrow,bare")
    assert json.loads(again.stdout.splitlines()[-1]) == tallies
    with open(files["out"]) as file:
        assert len(file.readlines()) == 6


def test_some_rows_can_be_taken(files):
    tallies = json.loads(invoke(files, "--arm=bare", "--take=::2").stdout.splitlines()[-1])
    assert [each["right"]["n"] for each in tallies] == [2]


@pytest.mark.parametrize(
    ("option", "said"),
    [("--take=a", "is no slice"), ("--arm=x", "no arm 'x'"), ("--rows=/missing.jsonl", "can't be read")],
)
def test_wrong_options_end_in_one_message(files, option, said):
    result = invoke(files, option)
    assert result.exit_code == 1
    assert said in result.output
