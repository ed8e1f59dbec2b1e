"""Enumerations on a Ray cluster: the same regions in the same order, whatever dies."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from searching import assert_same_columns, random_network
from tropicell import (
    Box,
    CheckpointError,
    IncompleteError,
    InvalidInputError,
    count_regions,
    enumerate_regions,
)
from tropicell.search import cluster

ray = pytest.importorskip("ray", reason="the extra 'ray' is not installed")

#: Seconds after which a cluster that does not get on is given up.
LIMIT = 100.0

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "FIRST_LIMIT", 1000)
    monkeypatch.setattr(cluster, "LAST_LIMIT", 4000)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Two machines, as far as Ray can tell, with one core each."""
    from ray.cluster_utils import Cluster

    patch = pytest.MonkeyPatch()
    patch.setenv("RAY_worker_niceness", "0")  # else other tests keep the cores to themselves
    # Ray kills tasks on a machine whose memory is nearly full, and starts them again, for ever.
    patch.setenv("RAY_memory_monitor_refresh_ms", "0")
    before = signal.getsignal(signal.SIGTERM)
    memory = {"num_cpus": 1, "object_store_memory": 80 * 2**20}
    found = Cluster(initialize_head=True, head_node_args=memory | {"include_dashboard": False})
    found.add_node(**memory)
    signal.signal(signal.SIGTERM, before)  # the head has made it its own
    yield found
    ray.shutdown()
    found.shutdown()
    signal.signal(signal.SIGTERM, before)
    patch.undo()


def test_a_job_is_the_same_whoever_does_it(tmp_path: Path) -> None:
    network, domain = random_network([2, 60, 60, 1]), Box(-2, 2)
    task = cluster.task_of("cells", network, domain, "exact", store=True)
    names = []
    for _ in range(2):
        plan = cluster.ClusterPlan("k", network, domain, "cells", "exact", str(tmp_path), ())
        outcome = cluster.do_job(plan, "0a", [task.root()], 600)
        names.append([(part, (tmp_path / part.name).read_bytes()) for part in outcome.parts])
        assert outcome.regions >= 600
        assert outcome.left
    assert names[0] == names[1]


def kill_a_task() -> None:
    """Kill a worker process while it is at work."""
    psutil = pytest.importorskip("psutil")
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.name().startswith("ray::do_job"):
                process.kill()
                return


@pytest.mark.posix
def test_a_machine_that_dies_loses_nothing(nodes: Any, tmp_path: Path) -> None:
    network, domain = random_network([2, 100, 100, 100, 1]), Box(-3, 3)
    expected = enumerate_regions(network, domain)
    folder = tmp_path / "run"
    died_at = []

    def kill_one() -> None:
        until = time.monotonic() + LIMIT
        while len(list(folder.glob("*.parquet"))) < 3:
            if time.monotonic() > until:
                return
            time.sleep(0.01)
        died_at.append(len(list(folder.glob("*.parquet"))))
        kill_a_task()
        nodes.remove_node(nodes.list_all_nodes[-1], allow_graceful=False)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    stored = enumerate_regions(
        network,
        domain,
        out=folder,
        engine_backend="ray",
        address=nodes.address,
        max_seconds=LIMIT,
    )
    killer.join(LIMIT)
    assert not killer.is_alive()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert stored.complete
    assert stored.stats["tasks"] > 2 * died_at[0]
    assert_same_columns(stored.to_regions(), expected)
    assert sorted(map(str, folder.glob("*.parquet"))) == sorted(stored.files)

    # With what is left of the cluster: a budget ends a run, the same call goes on.
    ray.init(address=nodes.address, log_to_driver=False)
    parts = enumerate_regions(
        network, domain, out=tmp_path / "two", engine_backend="ray", max_regions=9000
    )
    assert not parts.complete
    assert 9000 < len(parts) < len(expected)
    whole = enumerate_regions(
        network, domain, out=tmp_path / "two", engine_backend="ray", max_seconds=LIMIT
    )
    assert_same_columns(whole.to_regions(), expected)
    with pytest.raises(CheckpointError, match="its kind is"):
        enumerate_regions(network, domain, out=folder)

    count = count_regions(network, domain, engine_backend="ray", max_seconds=LIMIT)
    assert count == len(expected)
    with pytest.raises(IncompleteError):
        count_regions(network, domain, engine_backend="ray", max_regions=1000)


def test_what_does_not_work_is_said(tmp_path: Path) -> None:
    network = random_network([2, 3, 1])
    with pytest.raises(InvalidInputError, match="give out"):
        enumerate_regions(network, engine_backend="ray")
    with pytest.raises(InvalidInputError, match="'threads' or 'ray'"):
        enumerate_regions(network, engine_backend="dask")  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="does not go together with checkpoints"):
        count_regions(network, engine_backend="ray", checkpoint=tmp_path)
    with pytest.raises(InvalidInputError, match="does not go together with 'traverse'"):
        count_regions(network, engine_backend="ray", engine="traverse")
