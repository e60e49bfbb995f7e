"""A program of its own that has outlines-core build an index, and can be stopped.

    python -m local_react.decode.outlines_child [SECONDS]

outlines-core can't be interrupted, and some regular expressions take it hours. So the engine runs this, gives it the
expression on stdin and a time limit, and reads the pickled index from stdout. What outlines-core can't read makes it
exit with 1 and say so on stderr. After SECONDS it ends by itself, in case nobody is there any more to stop it. It imports
nothing of the package, to start in a hundredth of a second.
"""

from __future__ import annotations

import faulthandler
import pickle
import sys

from outlines_core import Index, Vocabulary

N_BYTES = 256
"""The tokens of the index: every byte; the number behind them stands for the end."""


def build_index(regex: str) -> Index:
    """The index of a regular expression over single bytes. Raises ValueError for what outlines-core can't compile."""
    return Index(regex, Vocabulary(N_BYTES, {bytes((byte,)): [byte] for byte in range(N_BYTES)}))


def main() -> None:
    """Read an expression in UTF-8, write its index."""
    if len(sys.argv) > 1:
        # The one clock that runs on while outlines-core computes.
        faulthandler.dump_traceback_later(float(sys.argv[1]), exit=True)
    try:
        index = build_index(sys.stdin.buffer.read().decode("utf-8"))
    except ValueError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(pickle.dumps(index))


if __name__ == "__main__":
    main()
