"""The environment of a report: what bears on the figures, and nothing that names a person or a place."""

from __future__ import annotations

import json
import platform

import pytest

from local_react.bench.environment import describe_environment, write_command


def test_it_tells_what_bears_on_the_figures():
    found = describe_environment()
    assert json.loads(json.dumps(found)) == found
    assert found["cpu"] and found["cores"] >= 1
    assert found["packages"]["llama-cpp-python"] and "numpy" in found["packages"]
    assert found["llama.cpp build"] and isinstance(found["GPU offload"], bool)


def test_it_names_no_host_and_no_folder():
    text = json.dumps(describe_environment())
    assert "/" not in text
    assert f'"{platform.node()}' not in text


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (["/usr/bin/local-react", "bench", "run"], "local-react bench run"),
        (["local-react", "--model", "/home/me/models/a b.gguf"], "local-react --model 'a b.gguf'"),
        (["local-react", "--output=/tmp/out", "--arm=free"], "local-react --output=out --arm=free"),
        (["local-react", "results/one"], "local-react results/one"),
        ([], ""),
    ],
)
def test_a_command_keeps_no_absolute_path(words, written):
    assert write_command(words) == written
