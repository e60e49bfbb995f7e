"""Pulling models with the real huggingface-hub from a hub on this machine that has every fault."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.terminal import run_on_terminal
from tests.hub.client import COMMAND, PIECE, Client, environment_for, run_once, write_registry
from tests.local_hub import BAD_TOKEN, COMMIT, GOOD_TOKEN, STRANGER_TOKEN, LocalHub, local_hub
from tests.random_models import make_model

FILE = "tiny.gguf"
PLAIN = '[[model]]\nname = "{name}"\nsource = "hf:tiny/{name}/tiny.gguf"\nlicence = "MIT"\n{more}\n'
NAMES = (
    "plain", "cut", "stalled", "unranged", "broken", "busy", "down", "wrong-size", "wrong-hash", "damaged", "gated", "page", "lies",
    "hidden", "unpublished", "removed", "kept", "sound",
)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> bytes:
    """A tiny model, longer than some pieces of a transfer."""
    path = make_model(tmp_path_factory.mktemp("tiny") / FILE, n_embd=32, n_head=1, n_layer=1)
    assert path.stat().st_size > 10 * PIECE
    return path.read_bytes()


@pytest.fixture(scope="module")
def hub() -> Iterator[LocalHub]:
    with local_hub() as running:
        yield running


@pytest.fixture(scope="module")
def client(tmp_path_factory, hub, data) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("client")
    entries = [PLAIN.format(name=name, more="") for name in NAMES if name not in ("wrong-size", "wrong-hash", "sound")]
    sha256 = hashlib.sha256(data).hexdigest()
    entries += [
        PLAIN.format(name="wrong-size", more="size = 5"),
        PLAIN.format(name="wrong-hash", more=f'sha256 = "{"0" * 64}"'),
        PLAIN.format(name="sound", more=f'size = {len(data)}\nsha256 = "{sha256}"'),
        PLAIN.format(name="disagrees", more="size = 7").replace("tiny/disagrees", "tiny/plain"),
        PLAIN.format(name="nowhere", more=""), PLAIN.format(name="no-file", more=""),
        PLAIN.format(name="old", more="").replace("tiny/old/tiny.gguf", "tiny/plain/tiny.gguf@v0"),
        PLAIN.format(name="pinned", more="").replace("tiny/pinned/tiny.gguf", f"tiny/plain/tiny.gguf@{COMMIT}"),
    ]
    write_registry(folder, "".join(entries))
    running = Client(folder, hub)
    yield running
    running.close()


def pulled(client: Client, name: str, **how) -> Path:
    result = client("models", "pull", name, **how)
    assert result.exit_code == 0, result.stderr
    return Path(result.stdout.strip())


def refused(client: Client, name: str, **how) -> str:
    """What a pull that must fail says; nothing may be left of it."""
    result = client("models", "pull", name, **how)
    assert (result.exit_code, result.stdout) == (2, ""), result
    assert client("models", "where", name).exit_code == 2, "something is under the final name"
    return result.stderr


# What goes well


def test_a_model_is_fetched_into_the_cache_of_the_hub_checked_and_found_by_its_name(hub, client, data):
    hub.add("tiny/plain", FILE, data)
    client("models", "remove", "plain", "--yes")
    assert "local-react models pull plain" in client("models", "where", "plain").stderr
    result = client("models", "pull", "plain")
    path = Path(result.stdout.strip())
    assert path == client.folder / f"hf/hub/models--tiny--plain/snapshots/{COMMIT}/{FILE}"
    assert path.read_bytes() == data
    assert "plain is here; its SHA-256 is the published one. Licence: MIT." in result.stderr
    assert client("models", "where", "plain").stdout == f"{path}\n"
    n_transfers = len(hub.transfers(FILE))
    again = client("models", "pull", "plain")
    assert "was here already" in again.stderr and again.stdout == result.stdout
    assert len(hub.transfers(FILE)) == n_transfers, "it was fetched again"
    assert pulled(client, "pinned") == path, "the commit that main stands for"


def test_what_the_registry_says_is_checked_too(hub, client, data):
    hub.add("tiny/sound", FILE, data)
    assert pulled(client, "sound").read_bytes() == data


def test_the_hub_gets_the_token_and_its_storage_on_another_host_does_not(hub, client, data):
    hub.add("tiny/gated", FILE, data, is_gated=True)
    before = len(hub.requests)
    assert pulled(client, "gated", token=GOOD_TOKEN).read_bytes() == data
    sent = {(request.host, request.token) for request in hub.requests[before:]}
    assert sent == {("127.0.0.1", GOOD_TOKEN), ("localhost", None)}
    assert client("models", "remove", "gated", "--yes").exit_code == 0


def test_a_transfer_that_breaks_is_resumed_where_it_broke(hub, client, data):
    hub.add("tiny/cut", FILE, data, cuts=[3 * PIECE, 2 * PIECE])
    before = len(hub.transfers(FILE))
    assert pulled(client, "cut").read_bytes() == data
    assert [request.range for request in hub.transfers(FILE)[before:]] == [None, f"bytes={3 * PIECE}-", f"bytes={5 * PIECE}-"]


def test_a_transfer_that_stalls_is_tried_again(hub, client, data):
    hub.add("tiny/stalled", FILE, data, stalls=[1.5])
    assert pulled(client, "stalled").read_bytes() == data


def test_a_storage_that_knows_no_ranges_sends_all_again(hub, client, data):
    hub.add("tiny/unranged", FILE, data, cuts=[3 * PIECE], ignores_ranges=True)
    assert pulled(client, "unranged").read_bytes() == data


def test_a_busy_hub_is_asked_again(hub, client, data):
    hub.add("tiny/busy", FILE, data, head_statuses=[429, 503, 429], statuses=[429])
    assert pulled(client, "busy").read_bytes() == data


def test_a_file_without_a_published_hash_is_said_to_be_unchecked(hub, client, data):
    hub.add("tiny/unpublished", FILE, data, etag="a" * 40)
    result = client("models", "pull", "unpublished")
    assert result.exit_code == 0 and "no SHA-256 was published to check it against" in result.stderr


def test_a_damaged_file_in_the_cache_is_seen_and_fetched_anew(hub, client, data):
    hub.add("tiny/damaged", FILE, data)
    path = pulled(client, "damaged")
    flipped = bytearray(data)
    flipped[-100] ^= 1
    path.resolve().write_bytes(flipped)
    verified = client("models", "verify", "damaged")
    assert verified.exit_code == 1 and "was recorded by the hub" in verified.stdout and "pull damaged" in verified.stderr
    assert "is here" in client("models", "pull", "damaged").stderr
    assert path.read_bytes() == data
    assert client("models", "verify", "damaged").exit_code == 0


def test_what_is_removed_is_gone_and_what_is_linked_elsewhere_is_kept(hub, client, data):
    hub.add("tiny/removed", FILE, data)
    path = pulled(client, "removed")
    blob = path.resolve()
    assert client("models", "remove", "removed", "--yes").exit_code == 0
    assert not path.exists() and not blob.exists()
    assert client("models", "remove", "removed", "--yes").exit_code == 2

    hub.add("tiny/kept", FILE, data)
    path = pulled(client, "kept")
    other = path.parent.with_name("f" * 40)
    other.mkdir()
    (other / FILE).symlink_to(f"../../blobs/{path.resolve().name}")
    assert client("models", "remove", "kept", "--yes").exit_code == 0
    assert not path.exists() and (other / FILE).read_bytes() == data


def test_a_sound_file_is_kept_where_the_registry_disagrees_with_its_hub(hub, client, data):
    """The cache is shared with other programs."""
    hub.add("tiny/plain", FILE, data)
    path = pulled(client, "plain")
    result = client("models", "pull", "disagrees")
    assert result.exit_code == 2 and "and 7 in the registry" in result.stderr and "correct your registry" in result.stderr
    assert path.read_bytes() == data


# What goes wrong


def test_a_transfer_that_breaks_each_time_leaves_nothing(hub, client, data):
    hub.add("tiny/broken", FILE, data, cuts=[0] * 50)
    before = client.blobs
    assert "can't be fetched" in refused(client, "broken")
    assert client.blobs == before


def test_a_hub_that_is_down_says_so(hub, client, data):
    hub.add("tiny/down", FILE, data, head_statuses=[503] * 50)
    assert "can't be had now: the hub answers 503" in refused(client, "down")


def test_another_size_or_hash_than_the_registrys_is_refused_before_anything_is_fetched(hub, client, data):
    hub.add("tiny/wrong-size", FILE, data)
    hub.add("tiny/wrong-hash", FILE, data)
    before = len(hub.transfers(FILE))
    assert f"has {len(data):,} bytes on the hub, and 5 in the registry" in refused(client, "wrong-size")
    assert f"and {'0' * 64} in the registry" in refused(client, "wrong-hash")
    assert len(hub.transfers(FILE)) == before


def test_a_file_that_is_not_what_the_hub_published_is_not_kept(hub, client, data):
    hub.add("tiny/lies", FILE, data, claimed_sha256="1" * 64)
    before = client.blobs
    assert f"and {'1' * 64} was published" in refused(client, "lies")
    hub.add("tiny/lies", FILE, data, claimed_size=len(data) + 1)
    assert "came incomplete" in refused(client, "lies")
    assert client.blobs == before


def test_a_page_in_place_of_a_model_is_not_kept(hub, client):
    hub.add("tiny/page", FILE, b"<!DOCTYPE html><html>Too many requests</html>" * 500, etag="b" * 40)
    before = client.blobs
    assert "is a web page saved as a model" in refused(client, "page")
    assert client.blobs == before


def test_a_gated_model_says_where_to_accept_its_licence(hub, client, data):
    hub.add("tiny/gated", FILE, data, is_gated=True)
    for token in (None, STRANGER_TOKEN):
        text = refused(client, "gated", token=token)
        assert "is gated: its licence must be accepted" in text
        assert f"Accept it at {hub.endpoint}/tiny/gated" in text and "HF_TOKEN" in text


def test_a_wrong_token_is_told_and_no_token_is_ever_printed(hub, client, data):
    hub.add("tiny/hidden", FILE, data)
    assert "it doesn't know the token that was sent" in refused(client, "hidden", token=BAD_TOKEN)
    told = client.log.read_text()
    for token in (BAD_TOKEN, STRANGER_TOKEN, GOOD_TOKEN):
        for name in ("hidden", "gated", "nowhere", "no-file"):
            result = client("models", "pull", name, token=token)
            told += result.stdout + result.stderr
    told += client.log.read_text()
    assert not [token for token in (BAD_TOKEN, STRANGER_TOKEN, GOOD_TOKEN) if token in told]
    for name in ("hidden", "gated"):
        client("models", "remove", name, "--yes")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere", "tiny/nowhere is not there, or private, or gated"),
        ("no-file", "tiny/no-file has no file 'tiny.gguf'"),
        ("old", "has no revision 'v0' on the hub any more"),
    ],
)
def test_what_is_not_on_the_hub_says_what_is_missing(hub, client, data, name, message):
    hub.add("tiny/plain", FILE, data)
    hub.add("tiny/no-file", "other.gguf", data)
    assert message in refused(client, name)


# Processes of their own


def test_without_a_network_the_error_tells_what_is_here(tmp_path):
    write_registry(tmp_path, PLAIN.format(name="plain", more=""))
    result = run_once(tmp_path, "http://127.0.0.1:9", "models", "pull", "plain")
    assert result.exit_code == 2
    assert "http://127.0.0.1:9 can't be reached" in result.stderr and "On this machine are: smollm2" in result.stderr


@pytest.mark.parametrize("endpoint", ["no address", "ftp://127.0.0.1"])
def test_a_wrong_address_of_the_hub_is_no_traceback(tmp_path, endpoint):
    write_registry(tmp_path, PLAIN.format(name="plain", more=""))
    result = run_once(tmp_path, endpoint, "models", "pull", "plain")
    assert result.exit_code == 2 and "Traceback" not in result.stderr, result.stderr
    assert "HF_ENDPOINT" in result.stderr


def test_offline_what_is_here_is_used_and_nothing_is_asked(hub, client, data):
    hub.add("tiny/plain", FILE, data)
    pulled(client, "plain")
    n_requests, offline = len(hub.requests), Client(client.folder, hub, HF_HUB_OFFLINE="1")
    here, absent = offline("models", "pull", "plain"), offline("models", "pull", "nowhere")
    offline.close()
    assert here.exit_code == 0 and "was here already" in here.stderr
    assert absent.exit_code == 2 and "HF_HUB_OFFLINE forbids" in absent.stderr and "plain" in absent.stderr
    assert len(hub.requests) == n_requests


def test_two_processes_that_pull_one_model_both_get_it_and_it_is_fetched_once(tmp_path, data):
    with local_hub() as hub:
        hub.add("tiny/plain", FILE, data, stalls=[0.8])
        write_registry(tmp_path, PLAIN.format(name="plain", more=""))
        command = [sys.executable, "-c", COMMAND, "models", "pull", "plain"]
        how = {"env": environment_for(tmp_path, hub.endpoint), "cwd": tmp_path, "stdout": subprocess.PIPE, "text": True}
        children = [subprocess.Popen(command, stderr=subprocess.PIPE, **how) for _ in range(2)]
        outputs = [child.communicate(timeout=60) for child in children]
    assert [child.returncode for child in children] == [0, 0], outputs
    assert outputs[0][0] == outputs[1][0] and Path(outputs[0][0].strip()).read_bytes() == data
    assert len(hub.transfers(FILE)) == 1


def test_on_a_terminal_a_bar_shows_how_far_it_is_and_in_a_pipe_none_does(tmp_path, data, hub, client):
    hub.add("tiny/plain", FILE, data)
    client("models", "remove", "plain", "--yes")
    assert "%" not in client("models", "pull", "plain").stderr
    write_registry(tmp_path, PLAIN.format(name="plain", more=""))
    changes = environment_for(tmp_path, hub.endpoint, TQDM_NCOLS="100", TQDM_NROWS="24")
    session = run_on_terminal("models", "pull", "plain", cwd=tmp_path, **changes)
    assert session.code == 0 and f"{FILE}: 100%" in session.output


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_an_interrupted_pull_leaves_nothing(tmp_path, data):
    with local_hub() as hub:
        hub.add("tiny/plain", FILE, data, stalls=[0.9])
        write_registry(tmp_path, PLAIN.format(name="plain", more=""))
        command = [sys.executable, "-c", COMMAND, "models", "pull", "plain"]
        child = subprocess.Popen(
            command, env=environment_for(tmp_path, hub.endpoint), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 30
        while not hub.transfers(FILE):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        output = child.communicate(timeout=30)
        assert child.returncode == 130 and "Interrupted." in output[1], output
    assert [path for path in (tmp_path / "hf").rglob("blobs/*")] == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource limits")
def test_a_full_disk_is_told_and_leaves_nothing(tmp_path, data):
    """A limit on the size of files stands in for the disk: the write fails as late, and in the same way."""
    with local_hub() as hub:
        hub.add("tiny/plain", FILE, data)
        write_registry(tmp_path, PLAIN.format(name="plain", more=""))
        before = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({len(data) // 2},) * 2)"
        result = run_once(tmp_path, hub.endpoint, "models", "pull", "plain", before=before)
    assert result.exit_code == 2 and "doesn't fit on the disk" in result.stderr, result.stderr
    assert [path for kind in ("blobs", "snapshots") for path in (tmp_path / "hf").rglob(f"{kind}/**/*") if path.is_file()] == []


def test_a_disk_without_room_is_refused_before_anything_is_fetched(tmp_path, data):
    with local_hub() as hub:
        hub.add("tiny/plain", FILE, data)
        write_registry(tmp_path, PLAIN.format(name="plain", more=""))
        before = "import shutil; shutil.disk_usage = lambda path: type('Usage', (), {'free': 5})"
        result = run_once(tmp_path, hub.endpoint, "models", "pull", "plain", before=before)
    assert result.exit_code == 2 and "are free on the disk" in result.stderr
    assert hub.transfers(FILE) == []
