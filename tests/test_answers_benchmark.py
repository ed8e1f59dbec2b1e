"""What `benchmarks.answers` measures, and what it says of it."""

from __future__ import annotations

from benchmarks import answers
from benchmarks.deep_networks import DeepCase

from tropicell import enumerate_regions


def test_answers_of_a_small_network_are_measured_and_reported() -> None:
    case = DeepCase("small", (2, 4, 4, 2))
    asked = [answer for answer in answers.ANSWERS if "10⁶" not in answer.name]
    rows = answers.measure(case, asked, 1, 1000, 60.0)
    assert [row["answer_name"] for row in rows] == [answer.name for answer in asked]
    regions = enumerate_regions(case.network(), case.domain(), progress=False)
    assert {row["regions"] for row in rows} == {len(regions)}
    about = {"version": "", "python": "", "machine": "", "load": 0, "rounds": 1}
    page = answers.report({"rows": rows, "about": about})
    assert page.count("small") >= len(rows)
    assert not answers.measure(case, asked, 1, 1, 60.0)


def test_verdicts_are_computed_from_what_was_measured() -> None:
    row = {"network": "a", "regions": 100, "enumerate": 1e-3, "answer": 2e-3, "own": 4e-3}
    ask = answers.ANSWERS[0].ask
    assert answers.share(answers.Answer("", ask, enumeration=1), row) == 2
    assert answers.share(answers.Answer("", ask, microseconds=20), row) == 1
    assert answers.share(answers.Answer("", ask, times_own=1, seconds=1), row) == 0.5
    assert answers.share(answers.Answer("", ask), row) is None
    assert answers.target(answers.Answer("", ask, microseconds=5)) == "≤ 5 µs a region"
