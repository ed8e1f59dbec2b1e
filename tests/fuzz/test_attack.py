"""Some thousand attacks on the checker of certificates, and proof that attacks can succeed.

`benchmarks/attack_certificates.py` runs a hundred thousand of them.
"""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from fuzz import attacks_on_content as content
from fuzz import attacks_on_form as form
from fuzz.attacks import CHANGES, Case, Change, case
from fuzz.certificates import opened, seeds
from fuzz.judge import Outcome, judge
from tropicell import verify_certificate

CASES, PARTS = 2000, 4

#: Checks of the program, and a proof that assumes what it is to prove.
FOLLOWS = 'require(not left, "an inequality does not follow from'
CIRCULAR = "self.bases.pop() and left[:1]"
#: An order of 64-bit numbers, which wrap around.
WRAPS = "(np.diff(self.kept) > 0).all()"


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
    for name, data in seeds().items():
        outcome = judge(Case(name, (), None, data), verify_certificate, tmp_path / "seed.npz")
        assert outcome.verdict == "true", (name, outcome)
        # taken apart and put together again it is the same
        again = Case(name, (), None, opened(data).content())
        assert judge(again, verify_certificate, tmp_path / "seed.npz").verdict == "true"
    assert len({opened(data).header["bits"] for data in seeds().values()}) > 1


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
    ("check", "instead", "change"),
    [
        ("array.dtype.str in kinds and ", "", form.forged),
        ("require(on and (moved or other == -1), ", "require(True, ", content.one_region_less),
        ("(moved or other == -1)", "True", content.one_region_less),
        ("b in regions if line > len(self.domain) else b == -1", "True", content.one_region_less),
        (f'{FOLLOWS} the facets")', "pass", content.one_region_less),
        (f'{FOLLOWS} those of its cell")', "pass", content.a_leaf_less),
        ("[path[line] for line in self.bases.pop() if line]", CIRCULAR, content.a_leaf_less),
        ("all(a < b for a, b in pairwise(self.kept))", WRAPS, content.one_input_at_most),
        ("some.rank() == whole.rank()", "True", form.too_few_inputs),
        ("min(f[: len(given)]) >= 0 and ", "", content.one_region_less),
        (" and not any(f[len(given) :])", "", content.one_region_less),
        ("len(set(self.patterns)) == len(codes) > 0", "True", content.repeated_region),
        ("require(inside, ", "require(True, ", content.domain),
        ("require(right, ", "require(True, ", content.flipped_neuron),
        ('self.digest.hexdigest() == self.header["fingerprint"]', "True", content.functions),
        ("(np.sort(breaks) == breaks).all() and ", "", content.functions),
        ("types == FIELDS and json.dumps(self.header) == text", "True", form.header),
        ('sys.exit(0 if found["complete"] else 3)', "", form.packing),
    ],
)
def test_attacks_can_succeed(check: str, instead: str, change: Change, tmp_path: Path) -> None:
    """Without one of its checks, the checker accepts something that is not true."""
    checker, path = weaker(tmp_path, check, instead), tmp_path / "case.npz"
    for number in range(2000):
        file = case(number, change)
        if judge(file, checker, path).verdict == "false":
            assert judge(file, verify_certificate, path).verdict in ("refused", "true")
            return
    pytest.fail("no file shows that the check is needed")
