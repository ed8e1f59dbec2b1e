"""Kernels: what users hear while they are compiled, caches that fail, entries, debuggers."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pkgutil
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeGuard

import numba
import numpy as np
import pytest

import tropicell
from children import run_python, without_rights
from tropicell._runtime import jit


def kernel_of(module: str) -> Callable[[int], int]:
    """A new kernel, not compiled yet."""

    def plus_one(n: int) -> int:
        return n + 1

    plus_one.__module__ = module
    kernel: Any = numba.njit(plus_one)
    return kernel


def heard(work: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> int:
    """How often something is said during some work."""
    capsys.readouterr()
    work()
    return capsys.readouterr().err.count("tropicell: compiling")


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has been said yet, and will be at once."""
    monkeypatch.setattr(jit._NOTICE, "_said", False)
    monkeypatch.setattr(jit, "_PATIENCE", 0.0)


@pytest.mark.usefixtures("_impatient")
def test_compiling_is_announced_once(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = kernel_of("tropicell.first"), kernel_of("tropicell.second")
    assert heard(lambda: first(1), capsys) == 1
    assert heard(lambda: second(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_kernels_of_others_are_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = kernel_of("tropicellular.automata")
    assert heard(lambda: kernel(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_what_is_there_or_takes_no_time_is_not_announced(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "_PATIENCE", 3600.0)
    kernel = kernel_of("tropicell.quick")
    assert heard(lambda: kernel(1), capsys) == 0
    jit._NOTICE._timer.join(60)
    assert not jit._NOTICE._timer.is_alive()  # nobody waits for nothing
    monkeypatch.setattr(jit, "_PATIENCE", 0.0)
    assert heard(lambda: kernel(1), capsys) == 0


@pytest.mark.usefixtures("_impatient")
def test_compiling_needs_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(jit.threading.Timer, "start", refuse)
    assert kernel_of("tropicell.alone")(1) == 2


# --- caches that can't be used --------------------------------------------------------------------

#: A kernel of the package that takes no time to compile, and what became of it.
CALL = """
import numpy as np
import tropicell
from tropicell._runtime._hashing import _hash as kernel
kernel(np.ones(2, np.uint64))
print(sum(kernel.stats.cache_hits.values()), tropicell.__file__)
"""

#: The same kernel in a file of its own.
KERNEL = """
from tropicell._runtime.jit import kernel

@kernel
def twice(x):
    return 2 * x
"""


@pytest.fixture
def package() -> Iterator[Path]:
    """A copy of the package without compiled kernels, in a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        source = Path(tropicell.__file__).parent
        ignored = shutil.ignore_patterns("*.nbi", "*.nbc", "*.pyc")
        shutil.copytree(source, folder / "tropicell", ignore=ignored)
        yield folder
        set_writable(folder, True)


def set_writable(folder: Path, on: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode) | 0o444 | (0o111 if path.is_dir() else 0)
        path.chmod(mode | 0o200 if on else mode & ~0o222)


def call(package: Path, **options: Any) -> tuple[int, str]:
    """How many kernels came from the cache, and what was said, where HOME can't be written to."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    environment |= {"PYTHONPATH": str(package), "HOME": str(package)}
    done = run_python("-c", CALL, cwd="/", env=environment, **options)
    hits, _, where = done.stdout.partition(" ")
    assert Path(where.strip()).is_relative_to(package)
    return int(hits), done.stderr


@pytest.mark.posix
def test_read_only_package_and_home(package: Path) -> None:
    set_writable(package, False)
    hits, said = call(package, **without_rights())
    assert hits == 0
    assert said.count("tropicell: compiled kernels can't be kept") == 1
    assert said.count("NUMBA_CACHE_DIR") == 1
    # kernels that were compiled when an image was made are used, and there is nothing to say
    set_writable(package, True)
    assert call(package)[0] == 0
    set_writable(package, False)
    assert call(package, **without_rights()) == (1, "")


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """A kernel in a file, with one entry in its cache; a call loads it as a new process would."""
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    (tmp_path / "kernels.py").write_text(KERNEL)

    def load() -> Any:
        space: dict[str, Any] = {"__name__": "tropicell.kernels"}
        file = tmp_path / "kernels.py"
        exec(compile(file.read_text(), str(file), "exec"), space)
        return space["twice"]

    assert load()(2) == 4
    return load


def hits(kernel: Any) -> int:
    return sum(kernel.stats.cache_hits.values())


def test_damaged_caches_are_compiled_anew(kernels: Callable[[], Any], tmp_path: Path) -> None:
    kernel = kernels()
    assert kernel(2) == 4
    assert hits(kernel) == 1
    files = sorted((tmp_path / "__pycache__").glob("*.nb?"))
    assert [file.suffix for file in files] == [".nbc", ".nbi"]
    for file in files:
        content = file.read_bytes()
        middle = len(content) // 2
        flipped = bytes([*content[:middle], content[middle] ^ 1, *content[middle + 1 :]])
        for damaged in (b"", content[:middle], content[:-1], flipped, b"\x80"):
            file.write_bytes(damaged)
            kernel = kernels()
            assert kernel(3) == 6
            assert hits(kernel) == 0
            kernel = kernels()  # mended
            assert kernel(3) == 6
            assert hits(kernel) == 1


def test_data_of_another_kernel_are_not_used(kernels: Callable[[], Any], tmp_path: Path) -> None:
    """As two processes leave them that choose the same name at the same time."""
    assert kernels()(2.5) == 5.0
    first, second = sorted((tmp_path / "__pycache__").glob("*.nbc"))
    shutil.copy(second, first)
    kernel = kernels()
    assert kernel(2) == 4
    assert isinstance(kernel(2), int)
    assert hits(kernel) == 0


def test_a_full_disk_is_said_once(
    kernels: Callable[[], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jit._said_not_kept, "is_set", iter([False, True]).__next__)
    monkeypatch.setattr(jit._CheckedFile, "_save_data", full)
    shutil.rmtree(tmp_path / "__pycache__")
    capsys.readouterr()
    kernel = kernels()
    assert [kernel(2), kernel(2.5)] == [4, 5.0]
    assert capsys.readouterr().err.count("No space left on device") == 1


_CALLS = """
from tropicell._runtime.jit import kernel

@kernel
def entry(x):
    return x + 1

@kernel(inner=True)
def between(x):
    return 2 * entry(x)

@kernel
def outer(x):
    return between(x)
"""


def test_an_entry_point_that_is_loaded_while_an_inner_kernel_is_compiled(tmp_path: Path) -> None:
    """It was taken for a part of that one, and had no machine code when it was called itself."""
    (tmp_path / "calls.py").write_text(_CALLS)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    one = run_python("-c", "import calls; print(calls.entry(1))", env=environment)
    assert one.stdout == "2\n"
    both = "import calls; print(calls.outer(1), calls.entry(1))"
    assert run_python("-c", both, env=environment).stdout == "4 2\n"


# --- late kernels ---------------------------------------------------------------------------------

_LATE = """
from __future__ import annotations
from threading import Thread
from typing import NamedTuple
import numpy as np
from tropicell._runtime.jit import kernel

class Room(NamedTuple):
    numbers: object
    name: int

@kernel(late=True)
def rare(room, n: int, factor=2.0) -> int:
    for i in range(n):
        room.numbers[i] += factor
    return int(room.numbers.sum())

@kernel(late=True)
def bad(x) -> int:
    return x.no_such_thing

@kernel(late=True)
def note(to) -> None:
    to[0] = 5.0

@kernel(late=True)
def half(x) -> float:
    return x

@kernel(inner=True)
def between(room, n):
    return rare(room, n) + rare(room, n=1, factor=1.0) if n > 1 else 0

@kernel
def outer(room, n):
    return between(room, n)

@kernel
def wrong(x):
    return bad(x) if x > 0 else -1

@kernel
def both(to, n):
    note(to)
    return half(n) / 2

def room():
    return Room(np.zeros(3), 1)

def say(*what):
    print(*what, flush=True)
"""

_LATE_CALLS = """
from late import *
say(outer(room(), 1), len(rare.overloads), wrong(-1), len(bad.overloads))
found = []
threads = [Thread(target=lambda: found.append(outer(room(), 2))) for _ in range(3)]
[one.start() for one in threads], [one.join() for one in threads]
say(found, len(rare.overloads), sum(rare.stats.cache_hits.values()))
to = np.zeros(1)
say(both(to, 3), to)
"""


@pytest.fixture
def late(tmp_path: Path) -> Callable[[str], Any]:
    """Run a script beside a module with late kernels."""
    (tmp_path / "late.py").write_text(_LATE)
    places = os.pathsep.join([str(tmp_path), str(Path(tropicell.__file__).parents[1])])
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": places}
    return lambda script: run_python("-c", script, env=environment)


def test_late_kernels_are_compiled_when_they_are_called(late: Callable[[str], Any]) -> None:
    first, second = late(_LATE_CALLS), late(_LATE_CALLS)
    assert first.stdout == "0 0 -1 0\n[9, 9, 9] 2 0\n1.5 [5.]\n"
    assert second.stdout == "0 0 -1 0\n[9, 9, 9] 2 2\n1.5 [5.]\n"  # from the disk
    assert not first.stderr


def test_a_late_kernel_that_can_not_be_compiled(late: Callable[[str], Any]) -> None:
    found = late("""
from late import *
try:
    wrong(1)
except RuntimeError as error:
    say(error)
""")
    assert found.stdout == "bad could not be compiled\n"
    assert "no_such_thing" in found.stderr


def test_ctrl_c_while_a_late_kernel_is_compiled(late: Callable[[str], Any]) -> None:
    found = late("""
from late import *
def interrupted(_):
    raise KeyboardInterrupt
compile, rare.compile = rare.compile, interrupted
try:
    outer(room(), 2)
except KeyboardInterrupt:
    say("stopped")
rare.compile = compile
say(outer(room(), 2))
""")
    assert found.stdout == "stopped\n9\n"


def test_options_of_kernels_are_compared_as_before() -> None:
    """What Numba calls equal stays equal."""
    flags: Any = numba.core.compiler.Flags
    one, same, other, unset = flags(), flags(), flags(), flags()
    one.release_gil = same.release_gil = True
    other.release_gil = False
    assert one == same
    assert hash(one) == hash(same) == hash(tuple(sorted(one.values())))
    assert one != other
    assert other == unset  # that is the default
    assert one != 1


# --- kernels that are called with the same types again and again ---------------------------------


def test_only_the_first_call_looks_at_types() -> None:
    looked = []

    class Watched:
        """A compiled function that notes when it is asked to look."""

        def __init__(self) -> None:
            self._function: Any = numba.njit(lambda x: x.sum())
            self.overloads = self._function.overloads
            self.typeof_pyval = self._function.typeof_pyval

        def __call__(self, *arguments: Any) -> Any:
            looked.append(arguments)
            return self._function(*arguments)

    watched = Watched()
    entry = jit.Entry(watched)
    assert [entry(np.full(n, 2.0)) for n in range(4)] == [0, 2, 4, 6]
    assert len(looked) == 1
    assert jit.Entry(watched)(np.full(3, 2.0)) == 6  # known from the other
    assert len(looked) == 1
    assert jit.Entry(watched)(np.full(3, 2)) == 6
    assert len(looked) == 2


def test_entries_of_a_kernel_for_several_types() -> None:
    function: Any = numba.njit(lambda x: x + x)
    for _ in range(2):
        for x in (1, 1.5, np.array([2, 3]), (1, 2)):
            np.testing.assert_array_equal(jit.Entry(function)(x), x + x)


# --- the stamp, and debuggers ---------------------------------------------------------------------


def used_by_kernels(tree: ast.Module) -> Iterator[Path]:
    """The files of the package that the kernels of a file take names from."""
    package = Path(tropicell.__file__).parent
    imported = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tropicell."):
            place = package.joinpath(*str(node.module).split(".")[1:])
            for alias in node.names:
                file = place / alias.name if place.is_dir() else place
                imported[alias.asname or alias.name] = file.with_suffix(".py")
    for node in kernels_in(tree):
        names = {part.id for body in node.body for part in ast.walk(body) if is_name(part)}
        yield from (imported[name] for name in names & imported.keys())


def is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def kernels_in(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions with a decorator of `tropicell._runtime.jit`."""
    found = []
    for node in tree.body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            named = decorator.func if isinstance(decorator, ast.Call) else decorator
            if is_name(named) and named.id in ("kernel", "template"):
                found.append(node)
    return found


def test_the_stamp_is_of_all_that_kernels_are_made_of() -> None:
    """A change of a kernel, or of a constant that kernels use, compiles anew what is made of it."""
    package = Path(tropicell.__file__).parent
    count = 0
    for file in package.rglob("*.py"):
        tree = ast.parse(file.read_text("utf-8"))
        if not kernels_in(tree):
            continue
        count += len(kernels_in(tree))
        stamped = jit._made_of(file)
        assert file in stamped, f"{file} has kernels, so its name must begin with an underscore"
        for used in used_by_kernels(tree):
            assert jit._made_of(used) <= stamped, f"{file}: kernels use names of {used}"
            assert used in stamped, f"{file}: kernels use names of {used}"
    assert count > 100


def test_a_stamp_leaves_out_what_a_kernel_can_not_use() -> None:
    package = Path(tropicell.__file__).parent
    proofs = jit._made_of(package / "certificate" / "_plane.py")
    assert package / "geometry" / "_double.py" in proofs
    assert not any("engines" in file.parts for file in proofs)


SLOW = """
import json, sys
import numpy as np
from tropicell import Box, CachedPredictor, Network, RegionLocator, count_many, enumerate_regions
rng = np.random.default_rng(0)
found = []
for sizes in ([1, 4, 1], [2, 4, 3, 1], [3, 4, 3, 1], [5, 4, 1]):
    pairs = list(zip(sizes, sizes[1:]))
    network = Network.mlp(
        [rng.normal(size=(n, m)) for m, n in pairs], [rng.normal(size=n) for _, n in pairs]
    )
    regions = enumerate_regions(network, Box(-1, 1), workers=2)
    points = rng.uniform(-1, 1, (5, sizes[0]))
    found += [
        sorted(regions.texts()),
        regions.certify().complete,
        CachedPredictor(network).predict(points).tolist(),
        RegionLocator(regions).predict(points).tolist(),
        count_many([network] * 2, Box(-1, 1)).tolist(),
    ]
print(json.dumps(found))
"""


def test_kernels_are_plain_python_for_debuggers() -> None:
    """And do the same then; floating-point sums may differ in their last digits."""
    slow, fast = (
        json.loads(run_python("-W", "error", "-c", SLOW, env=os.environ | more).stdout)
        for more in ({"NUMBA_DISABLE_JIT": "1"}, {})
    )
    for one, other in zip(slow, fast, strict=True):
        if isinstance(one, list) and not isinstance(one[0], str):
            np.testing.assert_allclose(one, other, rtol=1e-12)
        else:
            assert one == other


def test_all_kernels_are_for_something_in_words() -> None:
    for found in pkgutil.walk_packages(tropicell.__path__, "tropicell."):
        if not found.name.rpartition(".")[2].startswith("_"):
            continue
        for value in vars(importlib.import_module(found.name)).values():
            function = getattr(value, "py_func", None)
            if function is not None and function.__module__ == found.name:
                assert "tropicell" not in jit._purpose(function)
                assert "." not in jit._purpose(function), found.name
