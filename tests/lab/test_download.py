"""Downloads from a server of our own: whole, cut off, continued, damaged."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

import data_sets
from tropicell.errors import ModelFileError
from tropicell.lab import data
from tropicell.lab.data import PublicFile, download, load_available

CONTENT = np.random.default_rng(0).bytes(700_000)
MD5 = hashlib.md5(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves files; may break off, ignore ranges, or lie."""

    files: dict[str, bytes]
    breaks: list[int]
    ranges: bool
    asked: list[str | None]

    def do_GET(self) -> None:
        name, wanted = self.path.lstrip("/"), self.headers["Range"]
        self.asked.append(wanted)
        if name not in self.files:
            self.send_error(404)
            return
        content, start = self.files[name], 0
        if wanted and self.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206)
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = self.breaks.pop(0) if self.breaks else len(content)
        self.wfile.write(content[start:end])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[tuple[type[Handler], str]]:
    handler = type("Fresh", (Handler,), {"files": {"f": CONTENT}, "breaks": [], "asked": []})
    handler.ranges = True
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield handler, f"http://127.0.0.1:{running.server_address[1]}/"
    running.shutdown()
    running.server_close()
    thread.join()


def test_a_file_arrives_once(server, tmp_path) -> None:
    handler, address = server
    file = PublicFile("f", MD5, (address + "f",))
    path = download(file, tmp_path / "new" / "folder", progress=True)
    assert path.read_bytes() == CONTENT
    download(file, path.parent)
    assert handler.asked == [None]
    assert [p.name for p in path.parent.iterdir()] == ["f"]


def test_a_broken_connection_is_continued(server, tmp_path) -> None:
    handler, address = server
    handler.breaks = [300_000, 500_000]
    path = download(PublicFile("f", MD5, (address + "f",)), tmp_path)
    assert path.read_bytes() == CONTENT
    assert handler.asked == [None, "bytes=300000-", "bytes=500000-"]


def test_what_arrived_is_kept_for_the_next_call(server, tmp_path) -> None:
    handler, address = server
    handler.breaks = [100_000, 200_000, 300_000]
    file = PublicFile("f", MD5, (address + "f",))
    with pytest.raises(ModelFileError, match="holds the first 300000 bytes") as caught:
        download(file, tmp_path)
    assert "f.part" in str(caught.value)
    assert not (tmp_path / "f").exists()
    download(file, tmp_path)
    assert handler.asked[-1] == "bytes=300000-"
    assert (tmp_path / "f").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_everything_again(server, tmp_path) -> None:
    handler, address = server
    handler.ranges, handler.breaks = False, [100_000]
    assert download(PublicFile("f", MD5, (address + "f",)), tmp_path).read_bytes() == CONTENT


def test_a_complete_part_only_gets_its_name(server, tmp_path) -> None:
    _, address = server
    (tmp_path / "f.part").write_bytes(CONTENT)
    assert download(PublicFile("f", MD5, (address + "f",)), tmp_path).read_bytes() == CONTENT


def test_a_wrong_file_is_refused_and_the_next_address_tried(server, tmp_path) -> None:
    handler, address = server
    handler.files["bad"] = CONTENT[::-1]
    bad = PublicFile("f", MD5, (address + "bad",))
    with pytest.raises(ModelFileError, match=f"that of the public file is {MD5}"):
        download(bad, tmp_path)
    assert not list(tmp_path.iterdir()), "nothing of it may stay"
    good = PublicFile("f", MD5, (address + "absent", address + "bad", address + "f"))
    assert download(good, tmp_path).read_bytes() == CONTENT
    (tmp_path / "f").write_bytes(CONTENT[:-1])
    with pytest.raises(ModelFileError, match="unfinished or damaged"):
        download(good, tmp_path)


def test_nobody_answers(tmp_path) -> None:
    with pytest.raises(ModelFileError, match=r"could not be downloaded.*put it into"):
        download(PublicFile("f", MD5, ("http://127.0.0.1:9/f",)), tmp_path)


def test_data_sets_are_fetched_only_when_asked_for(server, tmp_path, monkeypatch) -> None:
    handler, address = server
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    arrays = data_sets.write_mnist(source)
    data_sets.accept(monkeypatch, source)
    handler.files |= {path.name: path.read_bytes() for path in source.iterdir()}
    local = tuple(
        PublicFile(file.name, file.md5, (address + file.name,)) for file in data.MNIST_FILES
    )
    kinds = data._KINDS | {"mnist": data.replace(data._KINDS["mnist"], files=local)}
    monkeypatch.setattr(data, "_KINDS", kinds)
    Path(target).mkdir()
    with pytest.raises(ModelFileError, match=r"holds no MNIST"):
        load_available(("mnist",), target)
    assert handler.asked == []
    found, missing = load_available(("mnist",), target, fetch=True)
    np.testing.assert_array_equal(found["mnist"].y_train, arrays["y_train"])
    assert missing == []
