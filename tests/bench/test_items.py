"""Keys of items: whatever can change the outcome changes the key, and nothing else does."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local_react.bench.arms import CONSTRAINED, FREE
from local_react.bench.items import Item, read_item, read_task, write_task
from local_react.language.step import Call
from tests.bench.colours import Colours

MODEL = {"name": "tiny.gguf", "sha256": "ab" * 32, "n_ctx": 512, "n_batch": 512, "n_threads": 1, "n_gpu_layers": 0,
         "flash_attention": None, "type_k": "f16", "type_v": "f16"}
TASK = Colours().tasks(1)[0]
ITEM = Item(model=MODEL, arm=FREE, task=TASK, seed=0, temperature=0.0, limits={"max_steps": 3, "max_step_tokens": 50})

CHANGES = {
    "the model's hash": {"model": MODEL | {"sha256": "cd" * 32}},
    "the window": {"model": MODEL | {"n_ctx": 1024}},
    "the layers on the GPU": {"model": MODEL | {"n_gpu_layers": 5}},
    "the arm": {"arm": CONSTRAINED},
    "one guard": {"arm": replace(FREE, guards=(("min_calls", 1),))},
    "the seed": {"seed": 1},
    "the temperature": {"temperature": 0.7},
    "a limit": {"limits": {"max_steps": 4, "max_step_tokens": 50}},
    "the batch": {"n_parallel": 2},
    "the question": {"task": replace(TASK, question="Which colour?")},
    "the acceptable answers": {"task": replace(TASK, answers=("red", "rot"))},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_setting_is_a_new_key(what):
    assert replace(ITEM, **CHANGES[what]).key != ITEM.key


@pytest.mark.parametrize(
    "changes",
    [
        {"model": MODEL | {"name": "renamed.gguf"}},
        {"model": MODEL | {"buffers": {"CPU": 3}}},
        {"arm": replace(FREE, name="another")},
        {"limits": {"max_step_tokens": 50, "max_steps": 3}},
    ],
)
def test_names_and_order_change_no_key(changes):
    assert replace(ITEM, **changes).key == ITEM.key


def test_a_model_without_a_hash_is_known_by_its_name():
    scripted = replace(ITEM, model={"name": "scripted"})
    assert scripted.key != replace(ITEM, model={"name": "other"}).key
    assert scripted.model_name == "scripted"


@pytest.mark.parametrize("item", [ITEM, replace(ITEM, arm=replace(CONSTRAINED, guards=(("min_calls", 1), ("max_steps", 2))))])
def test_what_was_written_is_read_again(item):
    written = json.loads(json.dumps(item.write()))
    assert read_item(written) == item
    assert written["key"] == read_item(written).key


def test_a_task_with_all_its_fields_is_read_again():
    task = replace(TASK, path=(Call("look", {"thing": "1"}), Call("paint", {"thing": "1", "colour": "x"})))
    assert read_task(json.loads(json.dumps(write_task(task)))) == task
