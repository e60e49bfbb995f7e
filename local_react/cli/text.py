"""Text from outside, made harmless for a terminal.

Invariant: nothing that `make_visible` or `write_json` returns can move the cursor, change a colour, ring, hide or
reorder other text, or fail to be written as UTF-8. What was there is shown by a visible sign, never dropped.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1, tab and line feed aside
    "\u202a-\u202e\u2066-\u2069"  # change the writing direction of other text
    "\u2028\u2029\ud800-\udfff"  # line breaks to some readers; halves of pairs
    "\U000e0000-\U000e007f]"  # letters that nobody sees
)


def make_visible(text: str) -> str:
    """The text with a sign in place of each character that would act: ␛ for escape, U+FFFD for half a surrogate pair."""
    return _ACTING.sub(lambda found: _sign(ord(found[0])), text.replace("\r\n", "\n"))


def _sign(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"


def write_json(value: Any, encoding: str = "utf-8") -> str:
    """One line of JSON; characters that act are escaped, which means the same to every reader, and so are all beyond ASCII
    where `encoding` hasn't got one of them."""
    line = json.dumps(value, ensure_ascii=False, default=str)
    try:
        line.encode(encoding, "surrogatepass")
    except UnicodeEncodeError:
        line = json.dumps(value, default=str)
    return _ACTING.sub(lambda found: _escape(ord(found[0])), line)


def _escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
