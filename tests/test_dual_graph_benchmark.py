"""What `benchmarks.dual_graph` checks, and what it says of it."""

from __future__ import annotations

from typing import Any

from benchmarks import dual_graph

from strategies import KINDS, random_network
from tropicell import Box, WholeSpace, enumerate_regions


def test_neighbours_boundary_by_boundary_are_those_of_the_graph() -> None:
    for kind in KINDS:
        for domain in (Box(-1, 1), WholeSpace()):
            regions = enumerate_regions(random_network(3, kind, 3, 2, 4), domain)
            for index in range(0, len(regions), 5):
                expected = set(regions.neighbours.of(index).tolist())
                assert dual_graph.neighbours_exactly(regions, index) == expected


def test_the_report_follows_from_the_data() -> None:
    ours = {"regions": 10, "edges": 12, "seconds": 1e-3, "graph_seconds": 1e-3, "complete": True}
    theirs = ours | {"seconds": 0.5, "graph_seconds": 0.1}
    data: dict[str, Any] = {
        "about": {"small": {"version": "0", "python": "3", "machine": "m", "load": 1.5}},
        "small": [{"case": "a", "results": {"Tropicell": ours, "relucent": theirs}}],
    }  # fmt: skip
    page = dual_graph.report(data)
    assert "with Tropicell 0, Python 3, m; load of the machine 1.5." in page
    assert "| a | relucent | 10 | 12 | 50,000.0 | 10,000.0 | 300 |" in page
    assert "agree where both are complete: a." in page
    theirs["edges"] = 13
    assert "agree where both are complete: nowhere." in dual_graph.report(data)
    data["small"][0]["edges in rationals"] = 12
    said = "a: 12 edges in rationals; Tropicell has these, relucent has +1."
    assert said in dual_graph.report(data)
    theirs["complete"] = False
    assert "10 †" in dual_graph.report(data)
