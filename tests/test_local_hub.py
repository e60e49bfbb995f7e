"""The hub of the tests: huggingface-hub's own calls take it for the real one."""

from __future__ import annotations

import pytest
from huggingface_hub import HfApi, get_hf_file_metadata
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from tests.local_hub import COMMIT, local_hub


def test_the_real_client_reads_its_answers():
    with local_hub() as hub:
        served = hub.add("o/r", "d/f.gguf", b"GGUF" * 10)
        hub.add("o/closed", "f.gguf", b"GGUF", is_gated=True)
        api = HfApi(endpoint=hub.endpoint, token=False)
        info = api.model_info("o/r")
        assert (info.id, info.sha, [sibling.rfilename for sibling in info.siblings]) == ("o/r", COMMIT, ["d/f.gguf"])
        [listed] = api.list_repo_tree("o/r")
        assert (listed.path, listed.size, listed.lfs.sha256) == ("d/f.gguf", 40, served.tag)
        found = get_hf_file_metadata(f"{hub.endpoint}/o/r/resolve/main/d/f.gguf", token=False, endpoint=hub.endpoint)
        assert (found.commit_hash, found.etag, found.size) == (COMMIT, served.tag, 40)
        assert found.location.startswith(hub.storage)
        with pytest.raises(RepositoryNotFoundError):
            api.model_info("o/none")
        with pytest.raises(GatedRepoError):
            get_hf_file_metadata(f"{hub.endpoint}/o/closed/resolve/main/f.gguf", token=False, endpoint=hub.endpoint)
