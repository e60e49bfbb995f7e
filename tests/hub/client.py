"""The real command line with the real huggingface-hub, in a process of its own that asks a local hub.

huggingface-hub reads its environment when it is imported, and waits seconds between its tries. So one process serves many
calls: it is started with the environment of the local hub, its waits are taken away, and it fetches in small pieces, so that
a small file can be cut in the middle. Nothing else of huggingface-hub is changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.local_hub import LocalHub

ROOT = Path(__file__).parents[2]
PIECE = 4096

SERVE = f"""
import json, sys, time
time.sleep = lambda seconds: None
from huggingface_hub import constants
constants.DOWNLOAD_CHUNK_SIZE = {PIECE}
from click.testing import CliRunner
from local_react.cli import main
for line in sys.stdin:
    args, environment = json.loads(line)
    result = CliRunner().invoke(main, args, env=environment)
    print(json.dumps([result.exit_code, result.stdout, result.stderr]), flush=True)
"""

COMMAND = "from local_react.cli import main; main()"


@dataclass(frozen=True)
class Result:
    """What a call came to."""

    exit_code: int
    stdout: str
    stderr: str


def environment_for(folder: Path, endpoint: str, **changes: str) -> dict[str, str]:
    """An environment whose caches and settings are in `folder`, and whose hub is `endpoint`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        inherited.pop(name, None)
    return inherited | {
        "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"),
        "HF_HOME": str(folder / "hf"), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*",
        "HF_HUB_ETAG_TIMEOUT": "2", "HF_HUB_DOWNLOAD_TIMEOUT": "1", "PYTHONPATH": str(ROOT),
    } | changes


def write_registry(folder: Path, text: str) -> None:
    """The user's own registry in `folder`."""
    path = folder / "config" / "local_react" / "models.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run_once(folder: Path, endpoint: str, *args: str, changes: dict[str, str] | None = None, before: str = "") -> Result:
    """Run the command in a fresh process; `before` is code that runs first in it."""
    child = subprocess.run(
        [sys.executable, "-c", f"{before}\n{COMMAND}", *args], capture_output=True, text=True, timeout=60, cwd=folder,
        env=environment_for(folder, endpoint, **(changes or {})),
    )
    return Result(child.returncode, child.stdout, child.stderr)


class Client:
    """A process that serves calls of the command line."""

    def __init__(self, folder: Path, hub: LocalHub, **changes: str) -> None:
        self.folder = folder
        self.log = folder / "client.log"
        self._log = self.log.open("a")
        self._child = subprocess.Popen(
            [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True,
            env=environment_for(folder, hub.endpoint, **changes), cwd=folder,
        )

    def __call__(self, *args: str, token: str | None = None) -> Result:
        """Run `local-react ARGS`, with a token or without."""
        print(json.dumps([args, {"HF_TOKEN": token}]), file=self._child.stdin, flush=True)
        line = self._child.stdout.readline()
        assert line, self.log.read_text()
        return Result(*json.loads(line))

    @property
    def blobs(self) -> list[Path]:
        """Everything in the cache that has content, finished or not."""
        return [path for path in (self.folder / "hf" / "hub").rglob("blobs/*") if path.is_file()]

    def close(self) -> None:
        """End the process."""
        self._child.communicate(timeout=30)
        self._log.close()
