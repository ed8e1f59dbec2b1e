"""The server: strangers get nothing, nonsense a message, and a closed tab ends the training."""

from __future__ import annotations

import io
import json
import runpy
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from tropicell import Box, InvalidInputError, Network, count_regions, load, play, save
from tropicell.cli.parser import build_parser
from tropicell.playground import keep
from tropicell.playground.frames import packed, unpacked
from tropicell.playground.keep import _STILL

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
client = pytest.importorskip("websockets.sync.client", reason="websockets is not installed")
exceptions = pytest.importorskip("websockets.exceptions")

#: Seconds after which something that must come has not.
PATIENCE = 240.0

#: A request for a websocket.
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dHJvcGljZWxsLXBsYXkhIQ==",
}


@pytest.fixture
def player() -> Iterator[Any]:
    served = play(data="xor", widths=(4, 4), skips=[(1, 3)], samples=50, open_browser=False)
    yield served
    served.close()


def parts(player: Any) -> tuple[str, str]:
    address = urlsplit(player.url)
    return address.netloc, parse_qs(address.query)["token"][0]


def get(player: Any, path: str, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    host, _ = parts(player)
    connection = HTTPConnection(host, timeout=PATIENCE)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in ({"Host": host} | headers).items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, dict(answer.getheaders())


@contextmanager
def talk(player: Any, **changes: Any) -> Iterator[Any]:
    host, token = parts(player)
    options = {"origin": f"http://{host}", "token": token, "headers": {}} | changes
    url = f"ws://{host}/socket?token={options['token']}"
    with client.connect(
        url,
        origin=options["origin"],
        additional_headers=options["headers"],
        max_size=2**26,
        proxy=None,
        open_timeout=PATIENCE,
    ) as socket:
        yield socket


def listen(socket: Any, wanted: Any) -> Any:
    """The next message for which `wanted` gives something; frames are answered as drawn."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        message = socket.recv(timeout=PATIENCE)
        if isinstance(message, bytes):
            header, data = unpacked(message)
            if "step" in header:
                socket.send(json.dumps({"do": "drawn", "frame": header["number"]}))
            found = wanted(header, data)
        else:
            found = wanted(json.loads(message), b"")
        if found is not None:
            return found
    raise AssertionError("nothing came")


def frame(header: Any, _: bytes) -> Any:
    return header if "pictures" in header else None


def error(header: Any, _: bytes) -> Any:
    return header.get("error")


def file(header: Any, data: bytes) -> Any:
    return data if "file" in header else None


def test_the_page_is_whole_and_asks_nobody(player: Any) -> None:
    _, token = parts(player)
    status, content, headers = get(player, f"/?token={token}")
    text = content.decode()
    assert status == 200
    assert "Tropicell <span>play" in text
    assert "{{" not in text
    assert 'src="' not in text.replace("data:", "")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert get(player, f"/other?token={token}")[0] == 404


def test_strangers_get_nothing(player: Any) -> None:
    host, token = parts(player)
    port = host.rpartition(":")[2]
    refused = [
        ("/", {}),
        ("/?token=", {}),
        ("/?token=wrong", {}),
        (f"/?token={token}&token={token}", {}),
        (f"/?token={token}", {"Host": f"evil.example:{port}"}),
        (f"/?token={token}", {"Host": "127.0.0.1"}),
        (f"/?token={token}", {"Origin": "http://evil.example"}),
        (f"/?token={token}", {"Origin": "null"}),
        ("/socket", {}),
    ]
    for path, headers in refused:
        status, content, _ = get(player, path, **headers)
        assert (status, content) == (403, b"Forbidden"), (path, headers)
    # the same name rebound to this machine, with the token and an origin that fits
    evil = {"Host": f"evil.example:{port}", "Origin": f"http://evil.example:{port}"}
    for headers in (evil, evil | {"Host": host}, {}):
        status, content, _ = get(player, f"/socket?token={token}", **UPGRADE, **headers)
        assert (status, content) == (403, b""), headers


@pytest.mark.parametrize(
    "changes",
    [
        {"token": "wrong"},
        {"token": ""},
        {"origin": "http://evil.example"},
        {"origin": None},
        {"headers": {"Origin": "http://127.0.0.1"}, "origin": None},
    ],
)
def test_strangers_get_no_socket(player: Any, changes: dict[str, Any]) -> None:
    with (
        pytest.raises(exceptions.InvalidStatus, match="403"),
        talk(player, **changes) as socket,
    ):
        socket.recv(timeout=1)


def test_nonsense_gets_a_message_and_nothing_breaks(player: Any) -> None:
    wide = io.BytesIO()  # ten thousand neurons
    np.savez(wide, W0=np.ones((10_000, 2)), b0=np.ones(10_000), W1=np.ones((1, 10_000)))
    nonsense = [
        "{",
        "[]",
        "null",
        "[" * 100_000,
        "x" * 2_000_000,
        b"",
        b"\xff\xff\xff\xff",
        packed({"do": "upload", "name": "net.onnx"}, b"no model"),
        packed({"do": "upload", "name": "net.npz"}, b"no model"),
        packed({"do": "upload", "name": "net.pkl"}, b"\x80\x04."),
        packed({"do": "upload", "name": "net.npz"}, b"PK\x03\x04" + bytes(100)),
        packed({"do": "upload", "name": "wide.npz"}, wide.getvalue()),
        packed({"do": "upload", "name": "data.csv"}, b"\xff\xfe\xfa"),
        packed({"do": "upload", "name": "data.csv"}, b"nan,0,a\n1,1,b\n"),
        packed({"do": "upload", "name": "data.csv"}, b"a,b\n1,2\n"),
        packed({"do": "upload", "name": "data.csv"}, b""),
        packed({"do": "upload", "name": 7}, b"x"),
        {"do": "dance"},
        {"do": ["play"]},
        {"do": "step", "steps": -1},
        {"do": "step", "steps": 1e99},
        {"do": "settings", "values": {"widths": [100, 100, 100, 9700]}},
        {"do": "settings", "values": {"widths": [64] * 8}},
        '{"do": "settings", "values": {"learning_rate": NaN}}',
        '{"do": "settings", "values": {"learning_rate": Infinity}}',
        {"do": "settings", "values": {"widths": [10**4000]}},
        {"do": "settings", "values": {"widths": [1e308] * 5000}},
        {"do": "settings", "values": {"skips": [[2, 1]]}},
        {"do": "settings", "values": [["seed", 1]]},
        {"do": "settings", "values": {"points": [[1, 2]]}},
        '{"do": "settings", "values": {"skips": [[1e999, 3]]}}',
        {"do": "weight", "network": "skips", "place": 0, "value": 10**400},
        {"do": "weight", "network": "skips", "place": 0, "value": True},
        {"do": "settings", "values": {"seed": "1; import os"}},
        {"do": "weight", "network": "skips", "place": 10**9, "value": 1},
        {"do": "weight", "network": "skips", "place": 0, "value": "1"},
        '{"do": "weight", "network": "skips", "place": 0, "value": NaN}',
        {"do": "weight", "network": "../etc", "place": 0, "value": 1},
        {"do": "keep", "what": "../../secret"},
        {"do": "keep", "what": "gif"},
    ]
    with talk(player) as socket:
        for message in nonsense:
            socket.send(json.dumps(message) if isinstance(message, dict) else message)
            said = listen(socket, error)
            assert isinstance(said, str), message
            assert 0 < len(said) <= 500
            assert "Traceback" not in said
        before = player.session.training.step
        socket.send(json.dumps({"do": "step"}))
        assert listen(socket, lambda h, _: h if h.get("step", 0) > before else None)


def test_counts_are_those_of_the_library(player: Any) -> None:
    with talk(player) as socket:
        for steps in (1, 9, 40):
            at = player.session.training.step + steps
            socket.send(json.dumps({"do": "step", "steps": steps}))
            got = listen(socket, lambda h, _, at=at: h if h.get("step") == at else None)
            for picture in got["pictures"]:
                network = player.session.training.network(picture["name"])
                assert picture["whole"] == count_regions(network)
                assert picture["regions"] == count_regions(network, Box(-1.5, 1.5))


def test_a_closed_tab_ends_the_training(player: Any) -> None:
    with talk(player) as socket:
        socket.send(json.dumps({"do": "play"}))
        listen(socket, lambda h, _: h if h.get("step", 0) > 8 else None)
        assert player.session.running
    until = time.monotonic() + PATIENCE
    while player.session.running and time.monotonic() < until:
        time.sleep(0.01)
    assert not player.session.running
    step = player.session.training.step
    time.sleep(0.2)
    assert player.session.training.step == step
    player.step(3)  # and Python can go on
    assert player.session.training.step == step + 3


def test_a_closed_tab_ends_what_it_asked_for(player: Any) -> None:
    with talk(player) as socket:
        listen(socket, frame)
        socket.send(json.dumps({"do": "step", "steps": 100_000}))
        until = time.monotonic() + PATIENCE
        while player.session.training.step == 0 and time.monotonic() < until:
            time.sleep(0.001)
    player.pause()  # comes after it
    assert 0 < player.session.training.step < 100_000


def test_a_message_that_is_too_large_ends_the_connection_only(player: Any) -> None:
    with talk(player) as socket:
        listen(socket, frame)
        with suppress(exceptions.ConnectionClosed):
            socket.send(bytes(2**26 + 1))
        with pytest.raises(exceptions.ConnectionClosed):
            listen(socket, error)
    with talk(player) as socket:
        listen(socket, frame)


def test_another_tab_takes_over(player: Any) -> None:
    with talk(player) as first:
        listen(first, frame)
        with talk(player) as second:
            assert "elsewhere" in listen(first, error)
            with pytest.raises(exceptions.ConnectionClosed):
                listen(first, error)
            second.send(json.dumps({"do": "play"}))
            assert listen(second, lambda h, _: h if h.get("step", 0) > 1 else None)


def test_what_is_kept(player: Any, tmp_path: Path) -> None:
    with talk(player) as socket:
        socket.send(json.dumps({"do": "record", "on": True}))
        for _ in range(3):
            at = player.session.training.step + 10
            socket.send(json.dumps({"do": "step", "steps": 10}))
            listen(socket, lambda h, _, at=at: h if h.get("step") == at else None)
        kept = {}
        for what in ("film", "gif", "script", "notebook", "network", *MP4):
            socket.send(json.dumps({"do": "keep", "what": what}))
            kept[what] = listen(socket, file)
    assert kept["film"].startswith(b"<!")
    assert b"step 30" in kept["film"]
    assert b"without skips" in kept["film"]
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(kept["gif"]))
    shots = player.session.training.step // 10 + 1
    assert image.n_frames == shots
    for film in MP4:
        assert kept[film][4:8] == b"ftyp"
        assert frames_of(kept[film], tmp_path / "film.mp4") == shots + _STILL
    (tmp_path / "net.npz").write_bytes(kept["network"])
    assert load(tmp_path / "net.npz") == player.network
    (tmp_path / "run.py").write_bytes(kept["script"])
    assert runpy.run_path(str(tmp_path / "run.py"))["training"].network() == player.network
    assert json.loads(kept["notebook"])["nbformat"] == 4


#: Whether there is a library for it.
MP4 = ["mp4"] if find_spec("imageio_ffmpeg") else []


def frames_of(film: bytes, path: Path) -> int:
    """How many pictures an MP4 has."""
    path.write_bytes(film)
    return int(pytest.importorskip("imageio_ffmpeg").count_frames_and_secs(str(path))[0])


def test_without_a_library_for_mp4(player: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    drawn: list[Any] = []
    monkeypatch.setattr(keep, "draw", lambda *arguments: drawn.append(arguments))
    with talk(player) as socket:
        socket.send(json.dumps({"do": "record", "on": True}))
        socket.send(json.dumps({"do": "keep", "what": "mp4"}))
        said = listen(socket, error)
    assert "pip install 'tropicell[mp4]'" in said
    assert not drawn  # it says so at once


def test_a_film_in_which_skips_come_and_go(player: Any) -> None:
    """All its pictures show the same networks, and are as large as each other."""
    sizes = set()
    session = player.session
    with talk(player) as socket:
        listen(socket, frame)
        for command in (
            {"do": "record", "on": True},
            {"do": "settings", "values": {"skips": []}},
            {"do": "step", "steps": 2},
        ):
            socket.send(json.dumps(command))
        listen(socket, lambda h, _: h if h.get("film") == 2 else None)
    shots = session.call(lambda: list(session._shots)).result()
    assert [set(shot.networks) for shot in shots] == [{"skips", "plain"}, {"skips"}]
    colours = {}
    for bands in (True, False):  # as in a GIF, and with every shade, as in an MP4
        images = keep._images(session.training, shots, "value", lambda *_: None, bands=bands)
        sizes |= {image.size for image in images}
        colours[bands] = len(images[0].getcolors(2**20))
    assert len(sizes) == 1
    assert colours[False] > 2 * colours[True]


def test_a_long_film_is_thinned_out(player: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "_MOST_FILM", 100)
    training = player.session.training
    shots = []
    for _ in range(12):
        networks = {name: (each.plan, each.vector) for name, each in training.learners.items()}
        shots.append(keep.Shot(training.step, networks, {}))
        player.step()
    page = keep.film(training, shots, lambda *_: None)
    shown = [step for step in range(12) if f'"step {step}"' in page]
    assert 1 < len(shown) < 12
    assert shown[0] == 0
    assert shown[-1] == 11


def test_files_of_ones_own(player: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    small = Network.mlp([rng.normal(size=(5, 2)), rng.normal(size=(1, 5))])
    large = Network.mlp([rng.normal(size=(5, 4)), rng.normal(size=(3, 5))])
    save(small, tmp_path / "small.npz")
    large.to_onnx(tmp_path / "large.onnx")
    np.savez(tmp_path / "plane.npz", points=rng.normal(size=(3, 4)))

    def upload(socket: Any, name: str, content: bytes) -> Any:
        socket.send(packed({"do": "upload", "name": name}, content))
        return listen(socket, lambda h, _: h if "settings" in h or "error" in h else None)

    with talk(player) as socket:
        listen(socket, frame)
        about = upload(socket, "points.csv", b"x,y,l\n0,0,red\n5,1,blue\n")
        assert about["settings"]["points"] == [[0.0, 0.0, 1.0], [5.0, 1.0, -1.0]]
        assert upload(socket, "small.npz", (tmp_path / "small.npz").read_bytes())["given"]
        assert player.network == small
        assert upload(socket, "large.onnx", (tmp_path / "large.onnx").read_bytes())["given"]
        x = np.array([[0.5, -0.25]])
        np.testing.assert_allclose(player.network(x), large([[0.5, -0.25, 0, 0]]))
        upload(socket, "plane.npz", (tmp_path / "plane.npz").read_bytes())
        points = np.load(tmp_path / "plane.npz")["points"]
        np.testing.assert_allclose(player.network([[1.0, 0.0]]), large([points[1]]), rtol=1e-6)
        socket.send(json.dumps({"do": "step", "steps": 5}))
        assert listen(socket, lambda h, _: h if h.get("step") == 5 else None)


def test_a_module_of_torch(player: Any, tmp_path: Path) -> None:
    """As `.pt2`, with the outputs that it had."""
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.LeakyReLU(), torch.nn.Linear(5, 1))
    x = torch.tensor([[0.5, -0.25], [1.0, 2.0]])
    torch.export.save(torch.export.export(module, (x[:1],)), tmp_path / "net.pt2")
    with talk(player) as socket:
        content = (tmp_path / "net.pt2").read_bytes()
        socket.send(packed({"do": "upload", "name": "net.pt2"}, content))
        said = listen(socket, lambda h, _: h.get("note") or h.get("error"))
    assert said.startswith("net.pt2: Network(2 → 5 → 1")
    expected = module(x).detach().numpy()
    np.testing.assert_allclose(player.network(x.numpy()), expected, rtol=1e-5, atol=1e-6)


def test_from_python(tmp_path: Path) -> None:
    network = Network.mlp([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]])
    player = play(network, ([[0.0, 0.0], [1.0, 1.0]], ["a", "b"]), open_browser=False)
    try:
        assert player.network == network
        assert player.settings.points == ((0.0, 0.0, -1.0), (1.0, 1.0, 1.0))
        assert player.url in player._repr_html_().replace("&amp;", "&")
        player.step(2)
        assert player.network != network
        with pytest.raises(InvalidInputError, match="learning_rate"):
            player.set(learning_rate=-1.0)
        port = int(urlsplit(player.url).port or 0)
        with pytest.raises(InvalidInputError, match=f"port {port}"):
            play(open_browser=False, port=port)
    finally:
        player.close()
    for data in ([[0.0, 1.0]], ([[0.0, 0.0]], [1, 2]), "planets"):
        with pytest.raises(InvalidInputError):
            play(data=data, open_browser=False)
    with pytest.raises(InvalidInputError, match="data: there are no points"):
        play(data=np.zeros((0, 3)), open_browser=False)
    with pytest.raises(InvalidInputError, match="port 'http'"):
        play(open_browser=False, port="http")  # type: ignore[arg-type]
    # labels are words, whatever is in them, and NumPy's numbers are numbers
    words = ['the "first", say', "b", "b"]
    player = play(
        data=(np.eye(3, 2), np.array(words)),
        widths=np.array([3, np.int64(3)]),
        skips=[np.array([1, 3])],
        seed=np.int64(7),
        learning_rate=np.float32(0.5),
        open_browser=False,
    )
    assert [label for _, _, label in player.settings.points] == [1.0, -1.0, -1.0]
    assert (player.settings.widths, player.settings.skips) == ((3, 3), ((1, 3),))
    assert (player.settings.seed, player.settings.learning_rate) == (7, 0.5)
    player.close()
    with pytest.raises(InvalidInputError, match="one input"):
        play(Network.mlp([[[1.0]], [[1.0]]]), open_browser=False)
    # of a larger network the plane of the first two inputs
    player = play(Network.mlp([[[1.0, -1.0, 2.0]], [[1.0]]]), open_browser=False)
    assert player.network([2.0, 1.0]) == [1.0]
    player.close()


def test_a_flood_of_commands_is_carried_out(player: Any) -> None:
    """Each of them; and a page is told when the server ends."""
    with talk(player) as socket:
        for number in range(3000):
            command = {"do": "settings", "values": {"seed": number}, "number": number}
            socket.send(json.dumps(command))
        assert listen(socket, lambda h, _: True if h.get("answered") == 2999 else None)
        assert player.settings.seed == 2999
        player.close()
        with pytest.raises(exceptions.ConnectionClosedOK, match="1001"):
            listen(socket, error)


def test_the_command_has_its_options() -> None:
    arguments = build_parser().parse_args(["play", "net.npz", "--data", "moons", "--no-browser"])
    assert (arguments.action, arguments.model, arguments.data) == ("play", "net.npz", "moons")
