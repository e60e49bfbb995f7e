"""What a loaded model says about itself."""

from __future__ import annotations

from pathlib import Path

from local_react.llama.metadata import author_sampling
from local_react.llama.model import Model
from tests.random_models import make_model


def test_templates_are_there_by_name_at_any_length(tmp_path: Path) -> None:
    long = "{# é #}" + "x" * 300_000
    path = make_model(tmp_path / "m.gguf", chat_template=long, changes={"tokenizer.chat_template.tool_use": "{{ tools }}"})
    with Model.load(path, n_threads=1) as model:
        assert model.chat_template() == long
        assert model.chat_template("tool_use") == "{{ tools }}"
        assert model.chat_template("rag") is None
        assert model.metadata["general.architecture"] == "llama"


def test_a_model_without_a_template_has_none(tiny_model: Model) -> None:
    assert tiny_model.chat_template() is None
    assert author_sampling(tiny_model.metadata) == {}


def test_the_authors_sampling_has_the_names_of_our_fields() -> None:
    metadata = {
        "general.sampling.temp": "0.600000", "general.sampling.top_k": "20", "general.sampling.penalty_repeat": "1.05",
        "general.sampling.sequence": "top_k;temp", "general.sampling.top_p": "inf", "general.sampling.min_p": "few",
    }
    assert author_sampling(metadata) == {"temperature": 0.6, "top_k": 20, "repeat_penalty": 1.05}
