"""What happens on one page: commands come in, frames and messages go out, a thread trains."""

from __future__ import annotations

import tempfile
import threading
import time
import zipfile
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from tropicell._runtime import interruption
from tropicell._runtime.arrays import FloatArray
from tropicell.errors import InvalidInputError, TropicellError
from tropicell.importers.files import SLICE_ARRAYS, load, load_slice
from tropicell.network.activations import BY_NAME
from tropicell.network.domains import Slice
from tropicell.network.network import Network
from tropicell.playground import settings as limits
from tropicell.playground.data import read_csv
from tropicell.playground.frames import frame_of, packed
from tropicell.playground.keep import KEPT, Shot, keep
from tropicell.playground.settings import Settings
from tropicell.playground.training import Plan, Training

#: Frames a second at most, and frames that may be on their way to the page.
_PACE, _AHEAD = 60.0, 2

#: Frames of a film: with more, every other one is left out.
_MOST_SHOTS = 240

#: Settings that need other weights, so that the run begins again.
_ANEW = ("widths", "activation", "init", "scale", "seed")

#: Steps after which a command is looked for, and commands that may wait.
_CHUNK, _MOST_WAITING = 10, 1000

#: Characters of an error on the page.
_MOST_WORDS = 500

T = TypeVar("T")


class Viewer(Protocol):
    """A page that looks at a session."""

    def send(self, message: dict[str, Any] | bytes) -> None:
        """Hand over a message; returns at once."""


@dataclass
class _Looking:
    """A page: numbers of its last frames, sent and drawn, and of its last wish."""

    viewer: Viewer
    sent: int = 0
    drawn: int = 0
    answered: int = 0

    @property
    def has_room(self) -> bool:
        """Whether it can take one more frame now."""
        return self.sent - self.drawn < _AHEAD


class Session:
    """One run, its commands, and the thread that does both.

    Parameters
    ----------
    settings : Settings
    network : Network, optional
        What to begin with, instead of what settings say about layers and weights.

    Examples
    --------
    >>> session = Session(Settings(widths=(4, 4), skips=(), data="xor"))
    >>> session.do({"do": "step", "steps": 5}).result()
    >>> session.training.step
    5
    >>> session.close()
    """

    def __init__(self, settings: Settings, network: Network | None = None) -> None:
        self._commands: deque[tuple[Callable[[], Any], Future[Any]]] = deque()
        self._woken = threading.Condition()
        self._closed = False
        self._page: _Looking | None = None
        self._asking: Viewer | None = None  # the page whose command is carried out
        self._stale = True
        self._shots: list[Shot] = []
        self._every = 1  # of the frames, how many go into the film
        self._frames = 0
        self.recording = False
        self.running = False
        self.version = 0  # of what the page was told; frames say to which they belong
        self.training = Training(_fitting(settings, network), network)
        self._thread = threading.Thread(target=self._work, name="tropicell-play", daemon=True)
        self._thread.start()

    # --- from other threads -------------------------------------------------------------------

    def do(
        self, command: Mapping[str, Any], data: bytes = b"", viewer: Viewer | None = None
    ) -> Future[None]:
        """Have a command carried out, after those that came before it.

        Parameters
        ----------
        command, data
            As `_COMMANDS` knows them.
        viewer : Viewer, optional
            The page that wants it: if it goes away, the command ends, too.
        """

        def carry_out() -> None:
            self._asking = viewer
            self._carry_out(command, data)

        return self.call(carry_out)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Have something done by the thread, between two steps; at once if it has ended."""
        done: Future[T] = Future()
        with self._woken:
            if not self._closed:
                self._commands.append((work, done))
                self._woken.notify()
                return done
        done.set_result(work())
        return done

    @property
    def viewer(self) -> Viewer | None:
        """The page that looks at it."""
        page = self._page
        return None if page is None else page.viewer

    @property
    def is_full(self) -> bool:
        """Whether so many commands wait that a page should wait, too."""
        return not self._closed and len(self._commands) >= _MOST_WAITING

    def attach(self, viewer: Viewer) -> Viewer | None:
        """Show this session on a page; returns the page that had it before."""
        with self._woken:
            before, self._page = self._page, _Looking(viewer)
        self.do({"do": "hello"})
        return None if before is None else before.viewer

    def detach(self, viewer: Viewer) -> None:
        """The page is gone: nobody looks, so nothing is trained."""
        with self._woken:
            if self._page is None or self._page.viewer is not viewer or self._closed:
                return
            self._page = None
        self.do({"do": "pause"})

    def close(self) -> None:
        """End the thread, and wait until it has ended."""
        with self._woken:
            self._closed = True
            self._woken.notify()
        self._thread.join()
        for _, done in self._commands:
            done.cancel()

    # --- the thread ---------------------------------------------------------------------------

    def _work(self) -> None:
        due = 0.0
        while True:
            with self._woken:
                while not (self._closed or self._commands or self._has_work()):
                    self._woken.wait()
                wait = due - time.perf_counter()
                if self.running and not self._commands and not self._closed and wait > 0:
                    self._woken.wait(wait)
                if self._closed:
                    return
            self._obey()
            now = time.perf_counter()
            if self.running and now >= due:
                due = now + 1 / _PACE
                if not self._guarded(self._train):
                    self._stale = True  # the last frame said that training goes on
            # at once if there was no room for a frame before: the page waits for it
            if self._stale and self._has_room():
                self._guarded(self._show)

    def _has_work(self) -> bool:
        return self.running or (self._stale and self._has_room())

    def _has_room(self) -> bool:
        return self._page is not None and self._page.has_room

    def _obey(self) -> None:
        while True:
            with self._woken:
                if not self._commands or self._closed:
                    return
                work, done = self._commands.popleft()
            try:
                done.set_result(work())
            except TropicellError as error:
                self._tell({"error": shortened(error)})
                done.set_exception(error)
            except Exception as error:
                # a defect of ours: the page lives on, and says what to report
                text = f"{type(error).__name__}: {shortened(error)}"
                self._tell({"error": text})
                done.set_exception(error)

    def _guarded(self, work: Callable[[], None]) -> bool:
        """Do it; if that fails, the page is told, and training ends."""
        try:
            work()
        except Exception as error:  # whatever it is, the page lives on
            self.running = self._stale = False
            text = shortened(error) if isinstance(error, TropicellError) else repr(error)
            self._tell({"error": text, "running": False})
            return False
        return True

    def _train(self) -> None:
        left = self.training.settings.speed
        while left and not self._commands and not self._closed:
            now = min(left, _CHUNK)
            self.training.advance(now)
            left -= now
        self._stale = True

    def _show(self) -> None:
        page = self._page
        if page is None:
            return
        self._stale = False
        self._shoot()
        frame = frame_of(
            self.training,
            number=page.sent + 1,
            version=self.version,
            running=self.running,
            recording=self.recording,
            film=len(self._shots),
            answered=page.answered,
        )
        page.sent += 1
        page.viewer.send(frame)

    def _shoot(self) -> None:
        """One more picture of the film, unless it has this one."""
        training = self.training
        if not self.recording or (self._shots and self._shots[-1].step == training.step):
            return
        self._frames += 1
        if self._frames % self._every:
            return
        if len(self._shots) >= _MOST_SHOTS:
            self._shots = self._shots[::2]
            self._every *= 2
        networks: dict[str, tuple[Plan, FloatArray]] = {
            name: (each.plan, each.vector.copy()) for name, each in training.learners.items()
        }
        losses = {name: training.measures(name)["loss"] for name in networks}
        self._shots.append(Shot(training.step, networks, losses))

    def _tell(self, message: dict[str, Any] | bytes) -> None:
        page = self._page
        if page is not None:
            page.viewer.send(message)

    # --- commands -----------------------------------------------------------------------------

    def _carry_out(self, command: Mapping[str, Any], data: bytes) -> None:
        name = command.get("do") if isinstance(command, Mapping) else None
        action = _COMMANDS.get(name) if isinstance(name, str) else None
        if action is None:
            raise InvalidInputError(
                f"there is no command {str(name)[:40]!r}; there are {', '.join(_COMMANDS)}"
            )
        number, page = command.get("number"), self._page
        if type(number) is int and page is not None and page.viewer is self._asking:
            page.answered = number
        action(self, command, data)

    def network(self) -> Network:
        """The network of the run that is on now; for `call`."""
        return self.training.network()

    def _hello(self, _: Mapping[str, Any], __: bytes) -> None:
        self._describe()

    def _drawn(self, command: Mapping[str, Any], _: bytes) -> None:
        """A frame is on the screen; those before it are, or were left out."""
        page, number = self._page, command.get("frame")
        if page is not None and type(number) is int and page.viewer is self._asking:
            page.drawn = max(page.drawn, min(number, page.sent))

    def _play(self, _: Mapping[str, Any], __: bytes) -> None:
        self.running = True

    def _pause(self, _: Mapping[str, Any], __: bytes) -> None:
        self.running, self._stale = False, True

    def _step(self, command: Mapping[str, Any], _: bytes) -> None:
        steps = command.get("steps", 1)
        if isinstance(steps, bool) or not isinstance(steps, int) or not 0 < steps <= 100_000:
            raise InvalidInputError("steps: expected a whole number from 1 to 100,000")
        self.running, self._stale = False, True
        for _step in range(0, steps, _CHUNK):
            if self._nobody_waits():
                return
            self.training.advance(min(_CHUNK, steps))
            steps -= _CHUNK

    def _reset(self, _: Mapping[str, Any], __: bytes) -> None:
        self._begin(self.training.settings, self.training.given)
        self._describe()

    def _settings(self, command: Mapping[str, Any], _: bytes) -> None:
        try:
            self._change(command.get("values", {}), anew=command.get("all") is True)
        finally:
            self._describe()  # also where it was refused: the page's fields show it

    def _change(self, values: Any, *, anew: bool) -> None:
        before, given = self.training.settings, self.training.given
        settings = (Settings() if anew else before).changed(values)
        if not anew and all(getattr(before, key) == getattr(settings, key) for key in _ANEW):
            self.training.change(settings)
            return
        structure = ("widths", "activation", "init", "scale")
        same = all(getattr(before, key) == getattr(settings, key) for key in structure)
        self._begin(settings, given if same and not anew else None)

    def _weight(self, command: Mapping[str, Any], _: bytes) -> None:
        name, place, value = (command.get(key) for key in ("network", "place", "value"))
        if not isinstance(name, str) or type(place) is not int:
            raise InvalidInputError("weight: expected a network, a place and a number")
        self.training.set_weight(name, place, limits.as_number("weight", value))
        self._stale = True

    def _record(self, command: Mapping[str, Any], _: bytes) -> None:
        on = command.get("on") is True
        if on and not self.recording:
            self._shots, self._every, self._frames = [], 1, 0
        self.recording, self._stale = on, True
        if on:
            self._shoot()

    def _keep(self, command: Mapping[str, Any], _: bytes) -> None:
        what = command.get("what")
        if what not in KEPT:
            raise InvalidInputError(f"keep: expected one of {', '.join(KEPT)}")
        colouring = command.get("colouring", "value")
        file, kept = keep(str(what), self.training, self._shots, str(colouring), self._progress)
        self._tell({"busy": None})
        self._tell(packed({"file": file}, kept))

    def _progress(self, done: int, of: int) -> None:
        self._tell({"busy": [done, of]})
        if self._nobody_waits():
            raise InvalidInputError("the page is closed")

    def _nobody_waits(self) -> bool:
        """Whether what is being done is for a page that has gone, or all is over."""
        return self._closed or (self._asking is not None and self._asking is not self.viewer)

    def _upload(self, command: Mapping[str, Any], data: bytes) -> None:
        """A CSV file, a model, or a slice for the model that is there."""
        name = command.get("name")
        if not isinstance(name, str):
            raise InvalidInputError("upload: expected a file's name and its content")
        if not data:
            raise InvalidInputError(f"{name}: the file is empty")
        suffix = Path(name).suffix.lower()
        settings = self.training.settings
        if suffix in (".csv", ".txt", ".tsv"):
            try:
                text = data.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise InvalidInputError(f"{name}: not a text in UTF-8") from None
            points = read_csv(text)
            self.training.change(settings.changed({"points": points, "data": "own"}))
            self._describe()
            kinds = "numbers" if self.training.settings.learns_numbers else "classes"
            count = len({label for _, _, label in points})
            what = "one class" if count == 1 else f"{count} {kinds}"
            self._tell({"note": f"{name}: {len(points):,} points, {what}"})
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"model{suffix}"
            path.write_bytes(data)
            with interruption.time_limit(60):
                self._open(path, name)

    def _open(self, path: Path, name: str) -> None:
        given = self.training.given
        note = f"{name}: "
        try:
            if path.suffix == ".npz" and SLICE_ARRAYS & _names(path):
                if given is None:
                    raise InvalidInputError(f"{name} is a slice: load the network first")
                network = whole_of(given).restrict(load_slice(path))
            else:
                network = load(path)
        except (ValueError, OSError, zipfile.BadZipFile) as error:
            text = str(error).replace(str(path), name)
            raise InvalidInputError(text if name in text else f"{name}: {text}") from None
        if network.n_inputs != 2:
            note += f"{network.n_inputs} inputs, shown on the plane of the first two; "
            network = first_plane(network)
        self._begin(_fitting(self.training.settings, network), network)
        self._describe()
        self._tell({"note": note + repr(network)})

    def _begin(self, settings: Settings, network: Network | None) -> None:
        fitting = _fitting(settings, network)
        self.training = Training(fitting, network)
        # a network that was loaded begins with its own skips, and has now those that were chosen
        self.training.change(replace(fitting, skips=settings.skips))
        self.running = False
        self._shots, self.recording = [], False

    def _describe(self) -> None:
        """Tell the page what it looks at, and have it drawn."""
        self._stale = True
        answered = 0 if self._page is None else self._page.answered
        self.version += 1
        self._tell(describe(self.training) | {"answered": answered, "version": self.version})


_COMMANDS: dict[str, Callable[[Session, Mapping[str, Any], bytes], None]] = {
    "hello": Session._hello,
    "drawn": Session._drawn,
    "play": Session._play,
    "pause": Session._pause,
    "step": Session._step,
    "reset": Session._reset,
    "settings": Session._settings,
    "weight": Session._weight,
    "record": Session._record,
    "keep": Session._keep,
    "upload": Session._upload,
}


def shortened(error: Exception) -> str:
    """What an error says, in as many words as fit on a page.

    Examples
    --------
    >>> len(shortened(ValueError("9" * 10_000)))
    500
    """
    text = str(error)
    return text if len(text) <= _MOST_WORDS else text[: _MOST_WORDS - 1] + "…"


def _names(path: Path) -> set[str]:
    """The arrays of an npz file."""
    with zipfile.ZipFile(path) as file:
        return {name.removesuffix(".npy") for name in file.namelist()}


def describe(training: Training) -> dict[str, Any]:
    """What the page must know besides frames: settings, layers, matrices, points."""
    plan, data = training.learners["skips"].plan, training.data
    return {
        "settings": training.settings.plain(),
        "skips": plan.skips,
        "possible": training.possible_skips,
        "given": None if training.given is None else repr(training.given),
        "widths": plan.widths,
        "activations": [activation.name for activation in plan.activations],
        "terms": [
            [[t.source, t.slot.start, t.slot.rows, t.slot.columns, t.size] for t in terms]
            for terms in plan.terms
        ],
        "biases": [bias.start for bias in plan.biases],
        "low": data.low.tolist(),
        "high": data.high.tolist(),
        "points": np.column_stack([data.x, data.y]).ravel().round(6).tolist(),
        "loss": training.settings.resolved_loss,
        "choices": {
            "activation": list(BY_NAME),
            "init": limits.INITIALISATIONS,
            "data": limits.DATA,
            "optimiser": limits.OPTIMISERS,
            "penalty": limits.PENALTIES,
            "loss": limits.LOSSES,
        },
        "defaults": Settings().plain(),
        "most": [limits.MOST_LAYERS, limits.MOST_WIDE, limits.MOST_NEURONS],
    }


def first_plane(network: Network) -> Network:
    """A network on the plane of its first two inputs, the others are 0.

    Examples
    --------
    >>> first_plane(Network.mlp([[[1.0, 2.0, 3.0]], [[1.0]]])).n_inputs
    2
    """
    if network.n_inputs < 2:
        raise InvalidInputError("the page shows the plane, and this network has one input only")
    return network.restrict(Slice(np.zeros(network.n_inputs), np.eye(2, network.n_inputs)))


def whole_of(network: Network) -> Network:
    """A network without its embedding: all inputs that it has."""
    inputs = network.layers[0].affine.terms[0].shape[1] if network.layers else network.n_inputs
    return Network(inputs, network.layers, network.output)


def _fitting(settings: Settings, network: Network | None) -> Settings:
    """Settings that say what a given network is, as far as they can."""
    if network is None:
        return settings
    try:
        return replace(settings, widths=network.widths, skips=tuple(sorted(network.skips)))
    except InvalidInputError:  # larger than what the page builds
        return replace(settings, skips=())
