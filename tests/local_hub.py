"""A model hub on this machine, for the real huggingface-hub: the parts of the Hugging Face API that its downloads use.

Model info, file lists, resolve with redirects to another host, HEAD, ranges, ETags, the hub's error codes, gated and missing
repositories, refused tokens, and transfers that break, stall or lie. Written after the requests of huggingface_hub 2.4
(`file_download.py`, `utils/_http.py`). It answers on loopback only, and knows no upload.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34
GOOD_TOKEN, STRANGER_TOKEN, BAD_TOKEN = "hf_goodgoodgood", "hf_strangerstranger", "hf_badbadbadbad"
"""Tokens: of an account that has accepted every licence, of one that has accepted none, and one that nobody made."""


@dataclass
class Served:
    """A file of a repository, and the faults that its next transfers have, each used once.

    `cut` ends a transfer after so many bytes, `stall` waits so many seconds before the body, `status` answers with that
    number instead. `claimed_size` and `claimed_sha256` are what the hub says of it, if not the truth; `etag` is in place of
    the hash for a file that isn't stored as a large one.
    """

    data: bytes
    is_gated: bool = False
    claimed_size: int | None = None
    claimed_sha256: str | None = None
    etag: str | None = None
    cuts: list[int] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    head_statuses: list[int] = field(default_factory=list)
    ignores_ranges: bool = False

    @property
    def tag(self) -> str:
        """What the hub calls the file's content."""
        return self.etag or self.claimed_sha256 or hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True)
class Request:
    """A request as it came: `host` is the one it was sent to, `token` the one it carried."""

    method: str
    host: str
    path: str
    range: str | None
    token: str | None


@dataclass
class LocalHub:
    """The hub's repositories (`{"owner/name": {"file.gguf": Served}}`), and the requests that came."""

    endpoint: str
    storage: str
    files: dict[str, dict[str, Served]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, repository: str, file: str, data: bytes, **faults: object) -> Served:
        """Put a file into a repository."""
        served = Served(data, **faults)  # type: ignore[arg-type]
        self.files.setdefault(repository, {})[file] = served
        return served

    def transfers(self, file: str) -> list[Request]:
        """The requests for the content of a file."""
        return [request for request in self.requests if request.method == "GET" and request.path.endswith(f"/{file}")]


class _Answering(BaseHTTPRequestHandler):
    """Answers one request. The hub is 127.0.0.1, its storage is localhost: another host, which must get no token."""

    protocol_version = "HTTP/1.1"
    hub: LocalHub

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        host = self.headers.get("Host", "").split(":")[0]
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        with self.hub.lock:
            self.hub.requests.append(Request(self.command, host, path, self.headers.get("Range"), token))
        parts = path.strip("/").split("/")
        if parts[0] == "storage" and host == "localhost":
            self._send_content("/".join(parts[1:3]), "/".join(parts[3:]))
        elif parts[:2] == ["api", "models"] and len(parts) >= 4:
            self._describe("/".join(parts[2:4]), is_tree=parts[4:5] == ["tree"])
        elif parts[2:3] == ["resolve"] and len(parts) > 4:
            self._resolve("/".join(parts[:2]), parts[3], "/".join(parts[4:]), token)
        else:
            self._send(404)

    def _resolve(self, repository: str, revision: str, name: str, token: str | None) -> None:
        files = self.hub.files.get(repository)
        served = (files or {}).get(name)
        if token is not None and token not in (GOOD_TOKEN, STRANGER_TOKEN):
            self._send(401, {"X-Error-Message": "Invalid credentials in Authorization header"})
        elif files is None:
            self._send(404 if token else 401, {"X-Error-Code": "RepoNotFound"})
        elif any(file.is_gated for file in files.values()) and token != GOOD_TOKEN:
            self._send(403 if token else 401, {"X-Error-Code": "GatedRepo"})
        elif revision not in ("main", COMMIT):
            self._send(404, {"X-Error-Code": "RevisionNotFound"})
        elif served is None:
            self._send(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        elif self.command == "HEAD" and served.head_statuses:
            self._send(served.head_statuses.pop(0))
        else:
            size = len(served.data) if served.claimed_size is None else served.claimed_size
            self._send(302, {
                "Location": f"{self.hub.storage}/storage/{repository}/{name}", "X-Repo-Commit": COMMIT,
                "X-Linked-Size": str(size), "X-Linked-Etag": f'"{served.tag}"', "ETag": f'"{COMMIT}"',
            })

    def _send_content(self, repository: str, name: str) -> None:
        served = self.hub.files[repository][name]
        if served.statuses:
            self._send(served.statuses.pop(0))
            return
        start = 0
        asked = self.headers.get("Range")
        if asked and not served.ignores_ranges:
            start = int(asked.removeprefix("bytes=").split("-")[0])
        body = served.data[start:]
        headers = {
            "ETag": f'"{served.tag}"', "Accept-Ranges": "bytes", "Content-Length": str(len(body)),
            "Content-Disposition": f'inline; filename="{name}";',
        }
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(served.data) - 1}/{len(served.data)}"
        self.send_response(206 if start else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if served.stalls:
            time.sleep(served.stalls.pop(0))
        cut = served.cuts.pop(0) if served.cuts else None
        try:
            self.wfile.write(body if cut is None else body[:cut])
        except OSError:
            pass  # whoever asked has gone
        if cut is not None:
            self.close_connection = True

    def _describe(self, repository: str, *, is_tree: bool) -> None:
        files = self.hub.files.get(repository)
        if files is None:
            self._send(404, {"X-Error-Code": "RepoNotFound"})
            return
        listed = [
            {"type": "file", "path": name, "size": len(file.data), "oid": "0" * 40,
             "lfs": {"oid": file.tag, "size": len(file.data), "pointerSize": 134}}
            for name, file in files.items()
        ]
        info = {
            "id": repository, "sha": COMMIT, "private": False, "gated": any(file.is_gated for file in files.values()),
            "siblings": [{"rfilename": name} for name in files], "tags": ["gguf"], "downloads": 0, "likes": 0,
        }
        self._send(200, body=json.dumps(listed if is_tree else info).encode())

    def _send(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"") -> None:
        self.send_response(status)
        for key, value in (headers or {}).items():
            self.send_header(key, value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def local_hub() -> Iterator[LocalHub]:
    """A running hub, until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answering)
    server.daemon_threads = True
    port = server.server_address[1]
    hub = LocalHub(f"http://127.0.0.1:{port}", f"http://localhost:{port}")
    server.RequestHandlerClass = type("Answering", (_Answering,), {"hub": hub})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
