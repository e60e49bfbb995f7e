"""`python -m local_react` is the command `local-react`."""

from __future__ import annotations

import sys

from local_react.cli import main

if __name__ == "__main__":
    sys.exit(main(prog_name="local-react"))
