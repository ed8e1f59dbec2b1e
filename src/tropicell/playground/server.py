"""Serves the page to the browser of this machine, and to nobody else.

The server listens on 127.0.0.1 only, at a port that the system chooses, and asks for a random token
that is in the address of the page. Requests under another host's name (DNS rebinding) and from
pages of other origins are refused, whether they know the token or not.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode

import numpy as np
from numpy.typing import ArrayLike

from tropicell.errors import InvalidInputError, TropicellError, require
from tropicell.importers.models import as_network
from tropicell.network.domains import Slice
from tropicell.network.network import Network
from tropicell.playground.data import labelled
from tropicell.playground.frames import unpacked
from tropicell.playground.session import Session, first_plane
from tropicell.playground.settings import DATA, Settings

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.websockets import WebSocket

#: The largest message that is taken: a model.
_MOST_BYTES = 64 * 2**20
#: The largest text, which is never a model.
_MOST_TEXT = 2**20
#: Seconds until the server must be up, or down.
_PATIENCE = 20.0
#: Why a page hears nothing any more: another page has the run, or the server ends.
_ELSEWHERE, _GOODBYE = 4000, 1001
#: Seconds until a session that can't take another command is asked again.
_BREATH = 0.01

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src ws://{host}; base-uri 'none'; form-action 'none'"
)


class _Page:
    """A page at the other end of a websocket: what waits for it.

    Of frames and descriptions only the latest waits: each says all that there is to say.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._texts: deque[dict[str, Any] | bytes | int] = deque()
        self._frame: bytes | None = None
        self._description: dict[str, Any] | None = None
        self._news = asyncio.Event()

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Hand over a message, from any thread."""
        with self._lock:
            if isinstance(message, bytes) and not message[4:].startswith(b'{"file"'):
                self._frame = message
            elif isinstance(message, dict) and "settings" in message:
                self._description = message
            else:
                self._texts.append(message)
        self._wake()

    def end(self, code: int) -> None:
        """Nothing comes any more, and this is why."""
        with self._lock:
            self._texts.append(code)
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(self._news.set)

    async def messages(self) -> list[dict[str, Any] | bytes | int]:
        """All that waits; comes back when there is something."""
        await self._news.wait()
        self._news.clear()
        with self._lock:
            latest = [each for each in (self._description, self._frame) if each is not None]
            waiting = [*latest, *self._texts]
            self._texts.clear()
            self._frame = self._description = None
        return waiting


class _Doors:
    """Lets in who comes to this server's own name, from its own page, with its token."""

    def __init__(self, app: Any, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan" or self._welcome(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            headers = [(b"content-type", b"text/plain"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": b"Forbidden"})

    def _welcome(self, scope: Any) -> bool:
        hosts = [v.decode("latin-1") for k, v in scope["headers"] if k == b"host"]
        origins = [v.decode("latin-1") for k, v in scope["headers"] if k == b"origin"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return False
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            return False
        if scope["type"] == "websocket" and not origins:  # every browser says where it comes from
            return False
        tokens = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        return len(tokens) == 1 and secrets.compare_digest(tokens[0].encode(), self._token.encode())


def page_text(nonce: str) -> str:
    """The page, with its script and its style inside."""
    folder = files("tropicell.playground")
    read = {
        "style": (folder / "assets" / "play.css").read_text("utf-8"),
        "script": (folder / "assets" / "play.js").read_text("utf-8"),
        "nonce": nonce,
    }
    text = (folder / "page.html").read_text("utf-8")
    for name, value in read.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def make_app(session: Session, token: str, port: int) -> Starlette:
    """The application: a page and a websocket, behind doors."""
    require("starlette", extra="play", why="the live page")
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.responses import HTMLResponse  # noqa: PLC0415
    from starlette.routing import Route, WebSocketRoute  # noqa: PLC0415

    async def show(request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = _POLICY.format(nonce=nonce, host=request.headers["host"])
        headers = {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }
        return HTMLResponse(page_text(nonce), headers=headers)

    async def talk(websocket: WebSocket) -> None:
        await websocket.accept()
        mine = _Page(asyncio.get_running_loop())
        before = session.attach(mine)
        if isinstance(before, _Page):
            before.send({"error": "The page was opened elsewhere; this one has stopped."})
            before.end(_ELSEWHERE)
        sending = asyncio.create_task(_send_all(websocket, mine))
        try:
            await _receive_all(websocket, mine, session)
        finally:
            session.detach(mine)
            sending.cancel()

    return Starlette(
        routes=[Route("/", show), WebSocketRoute("/socket", talk)],
        middleware=[Middleware(_Doors, token=token, port=port)],
    )


async def _send_all(websocket: WebSocket, page: _Page) -> None:
    while True:
        for message in await page.messages():
            if isinstance(message, int):
                await websocket.close(message)
                return
            if isinstance(message, bytes):
                await websocket.send_bytes(message)
            else:
                await websocket.send_text(json.dumps(message, allow_nan=False))


async def _receive_all(websocket: WebSocket, page: _Page, session: Session) -> None:
    while True:
        message = await websocket.receive()
        if message["type"] == "websocket.disconnect":
            return
        try:
            text, data = message.get("text"), message.get("bytes")
            if text is not None:
                if len(text) > _MOST_TEXT:
                    raise ValueError("too long")
                command, content = json.loads(text, parse_constant=float), b""
            else:
                command, content = unpacked(data or b"")
            if not isinstance(command, Mapping):
                raise ValueError("not an object")
        except (ValueError, RecursionError) as error:
            page.send({"error": f"a message that is none: {str(error)[:80]}"})
            continue
        while session.is_full:  # nothing that somebody does is lost: what comes waits in the socket
            await asyncio.sleep(_BREATH)
        with suppress(TropicellError):  # only where all has ended: otherwise the session says it
            session.do(command, content, page)


class Player:
    """A live page, and what Python does with it.

    `play` makes one. A notebook shows it as the page itself.

    Attributes
    ----------
    url : str
        The page's address, with its token. Whoever has it can use the page, on this machine.
    session : Session
        What happens on the page.

    Examples
    --------
    >>> from tropicell import play
    >>> player = play(data="moons", widths=(6, 6), open_browser=False)
    >>> player.step(20)
    >>> player.network
    Network(2 → 6 → 6 → 1, skips 1→3)
    >>> player.set(learning_rate=0.05)
    >>> player.start()
    >>> player.pause()
    >>> player.reset()
    >>> player.close()
    >>> player.wait()  # for its end, which has come
    """

    def __init__(self, session: Session, port: int = 0) -> None:
        uvicorn: Any = require("uvicorn", extra="play", why="the live page")
        require("websockets", extra="play", why="the live page")
        self.session = session
        token = secrets.token_urlsafe(24)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._socket.bind(("127.0.0.1", port))
        except (OSError, OverflowError, TypeError) as error:
            self._socket.close()
            session.close()
            raise InvalidInputError(f"port {port!r} can't be used: {error}") from None
        number = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{number}/?{urlencode({'token': token})}"
        config = uvicorn.Config(
            make_app(session, token, number),
            log_level="error",
            lifespan="off",
            ws="websockets-sansio",
            ws_max_size=_MOST_BYTES,
            ws_per_message_deflate=False,
            timeout_graceful_shutdown=2,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="tropicell-server", daemon=True)
        self._thread.start()
        until = time.monotonic() + _PATIENCE
        while not self._server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)

    def _serve(self) -> None:
        with suppress(asyncio.CancelledError):  # a connection that did not end in time
            asyncio.run(self._server.serve(sockets=[self._socket]))

    @property
    def network(self) -> Network:
        """The network as it is now."""
        return self.session.call(self.session.network).result()

    @property
    def settings(self) -> Settings:
        """The settings as they are now."""
        return self.session.training.settings

    def start(self) -> None:
        """Train, as the page's button does."""
        self.session.do({"do": "play"}).result()

    def pause(self) -> None:
        """Stop training."""
        self.session.do({"do": "pause"}).result()

    def step(self, steps: int = 1) -> None:
        """Train for some steps, and wait for them."""
        self.session.do({"do": "step", "steps": steps}).result()

    def reset(self) -> None:
        """Back to the first weights."""
        self.session.do({"do": "reset"}).result()

    def set(self, **values: Any) -> None:
        """Change settings; see `tropicell.playground.settings.Settings`."""
        self.session.do({"do": "settings", "values": values}).result()

    def wait(self) -> None:
        """Until the server ends, or Ctrl-C."""
        while self._thread.is_alive():
            self._thread.join(0.2)

    def close(self) -> None:
        """End the training and the server."""
        page = self.session.viewer
        if isinstance(page, _Page):
            page.end(_GOODBYE)
        self.session.close()
        self._server.should_exit = True
        self._thread.join(_PATIENCE)
        self._socket.close()

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="Tropicell play" src="{escape(self.url)}" width="100%" height="760" '
            'style="border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Player({self.url.partition('?')[0]})"


def play(
    network: Any = None,
    data: str | ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    *,
    domain: Slice | None = None,
    open_browser: bool | None = None,
    port: int = 0,
    **settings: Any,
) -> Player:
    """Open a live page on which a network is trained and its exact regions are seen.

    Parameters
    ----------
    network : Network, or what is imported as one, optional
        With two inputs; of a larger one a `domain` is shown, or else the plane of its first two
        inputs. Default: one that the page builds.
    data : str, array_like of shape (points, 3), or a pair (points, labels), optional
        ``"moons"``, ``"circles"``, ``"spirals"``, ``"xor"``, ``"phi1"`` … ``"phi4"``; or points
        with labels: two different ones are two classes, more are numbers to learn.
    domain : Slice, optional
        A plane in the inputs of a larger network.
    open_browser : bool, optional
        Default: yes, but not in notebooks, which show the page themselves.
    port : int
        Default: one that is free.
    **settings
        What the page begins with, such as ``widths``, ``skips``, ``learning_rate``; see
        `tropicell.playground.settings.Settings`.

    Returns
    -------
    Player
        It serves the page until it is closed, or until this process ends.

    Raises
    ------
    InvalidInputError
        Says which setting, label or port is not possible.

    Examples
    --------
    >>> player = play(data="circles", widths=(8, 8, 8), skips=[(1, 3)], open_browser=False)
    >>> player.step(10)
    >>> player.close()
    """
    given: Network | None = None
    if network is not None:
        given = as_network(network)
        if domain is not None:
            given = given.restrict(domain)
        elif given.n_inputs != 2:
            given = first_plane(given)
    values = dict(settings)
    if isinstance(data, str):
        values["data"] = data
    elif data is not None:
        values |= {"data": "own", "points": _points(data)}
    session = Session(Settings.read(values), given)
    player = Player(session, port)
    if open_browser or (open_browser is None and "ipykernel" not in sys.modules):
        webbrowser.open(player.url)
    return player


def _points(data: ArrayLike | tuple[ArrayLike, ArrayLike]) -> list[list[float]]:
    """Points and labels as rows; two classes become -1 and 1."""
    if isinstance(data, tuple) and len(data) == 2:
        places, labels = np.asarray(data[0], dtype=np.float64), np.asarray(data[1]).ravel()
    else:
        rows = np.asarray(data, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise InvalidInputError(
                f"data: expected rows of x, y and a label, or a pair (points, labels), got an "
                f"array of shape {rows.shape}; or one of {', '.join(DATA[:-1])}"
            )
        places, labels = rows[:, :2], rows[:, 2]
    if places.ndim != 2 or places.shape[1] != 2 or len(places) != len(labels):
        raise InvalidInputError(
            f"data: expected points of shape (n, 2) and n labels, got {places.shape} and "
            f"{labels.shape}"
        )
    return [list(row) for row in labelled(places.tolist(), labels.tolist(), "data")]
