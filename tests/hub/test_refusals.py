"""Whatever huggingface-hub raises becomes one explanation that says what to do."""

from __future__ import annotations

import errno
import re

import pytest
from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

from local_react.hub.refusals import explain_refusal
from local_react.llama.registry import Entry

ENTRY = Entry(name="a", source="hf:o/r/f.gguf@v1", licence="MIT")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "doesn't fit on the disk"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "doesn't fit on the disk"),
        (PermissionError(errno.EACCES, "Permission denied"), r"can't be written to .* \(Permission denied\)"),
        (OSError("Consistency check failed: file should be of size 5"), "came incomplete"),
        (OSError("something else"), "can't be reached"),
        (HTTPError("[Errno -2] Name or service not known"), "can't be reached"),
        (LocalEntryNotFoundError("An error happened"), "can't be reached"),
        (OfflineModeIsEnabled("Cannot reach"), "can't be reached"),
        (RuntimeError("Data processing error"), "huggingface-hub failed with RuntimeError"),
    ],
)
def test_every_error_has_a_reason(error, reason):
    explained = explain_refusal(error, ENTRY)
    assert explained.path == "a"
    assert re.search(reason, explained.reason)
    assert explained.remedy.endswith(".")


@pytest.mark.parametrize("error", [HTTPError("hf_secret"), OSError("Bearer hf_secret"), ValueError("hf_secret")])
def test_no_text_of_an_error_that_may_hold_a_token_is_quoted(error):
    assert "hf_secret" not in str(explain_refusal(error, ENTRY))
