"""Some thousand attacks on the checker of certificates, as `benchmarks/attack_certificates.py`
runs a hundred thousand of them; and proof that the attacks can succeed.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from fuzz.attacks import CHANGES, Case, case, opened, seeds
from fuzz.judge import Outcome, judge
from tropicell import verify_certificate

CASES, PARTS = 3000, 4


def attacked(checker: ModuleType, numbers: range, path: Path) -> list[tuple[Case, Outcome]]:
    """The cases with which something is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [(x, judge(x, checker, path)) for x in map(case, numbers)]
    assert any(outcome.verdict == "refused" for _, outcome in found)
    return [(x, outcome) for x, outcome in found if outcome.verdict not in ("refused", "true")]


def weaker(tmp_path: Path, check: str, instead: str) -> ModuleType:
    """The checker with something else in place of a check."""
    source = Path(verify_certificate.__file__).read_text(encoding="utf-8")
    assert source.count(check) == 1
    path = tmp_path / "weaker.py"
    path.write_text(source.replace(check, instead), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("weaker", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_attacked_is_valid(tmp_path: Path) -> None:
    for name, content in seeds().items():
        outcome = judge(Case(name, (), None, content), verify_certificate, tmp_path / "seed.npz")
        assert outcome.verdict == "true", (name, outcome)
        # taken apart and put together again it is the same
        again = Case(name, (), None, opened(content).content())
        assert judge(again, verify_certificate, tmp_path / "seed.npz").verdict == "true"
    assert len({opened(content).header["bits"] for content in seeds().values()}) > 1


@pytest.mark.parametrize("part", range(PARTS))
def test_no_false_certificate_is_accepted(part: int, tmp_path: Path) -> None:
    size = CASES // PARTS
    numbers = range(part * size, (part + 1) * size)
    assert attacked(verify_certificate, numbers, tmp_path / "case.npz") == []


def test_the_same_cases_every_time() -> None:
    assert [case(i) for i in range(50)] == [case(i) for i in range(50)]
    assert len({text for i in range(50) for text in case(i).changes}) > 30
    assert len(CHANGES) > 30


@pytest.mark.parametrize(
    ("check", "instead", "numbers"),
    [
        ("array.dtype.str in kinds and ", "", range(500, 600)),
        ("require(inside, ", "require(True, ", range(100)),
        ("require(on and (moved or other == -1), ", "require(True, ", range(100)),
        ("require(not left, ", "require(True, ", range(100)),
        ("min(f[: len(given)]) >= 0 and ", "", range(100)),
        ('sys.exit(0 if found["complete"] else 3)', "", range(60)),
        ("fits and 1 <= bits <= 8 and not any(n >> used for n in codes)", "True", range(100)),
    ],
)
def test_attacks_can_succeed(check: str, instead: str, numbers: range, tmp_path: Path) -> None:
    """Without one of its checks the checker accepts something that is not true."""
    checker = weaker(tmp_path, check, instead)
    found = attacked(checker, numbers, tmp_path / "case.npz")
    assert any(outcome.verdict == "false" for _, outcome in found)
