"""What an installed wheel must be able to do, with its core dependencies alone."""

import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np

import tropicell as tc


def main() -> None:
    rng = np.random.default_rng(0)
    sizes = [2, 8, 8, 1]
    weights = [rng.normal(size=(n, m)) for m, n in pairwise(sizes)]
    network = tc.Network.mlp(weights, [rng.normal(size=n) for n in sizes[1:]])
    regions = tc.enumerate_regions(network, tc.Box(-1, 1))
    assert regions.complete
    assert np.isclose(regions.volumes.sum(), 4)
    assert len(regions) == tc.count_regions(network, tc.Box(-1, 1), engine="halfspaces")

    tc.explore(regions, "smoke.html")
    regions.save("smoke.npz")
    assert len(tc.load_regions("smoke.npz")) == len(regions)
    tc.enumerate_regions(network, tc.Box(-1, 1)).certify().save("smoke-proof.npz")
    check = [sys.executable, "-m", "tropicell.verify_certificate", "smoke-proof.npz"]
    said = subprocess.run(check, check=True, capture_output=True, text=True).stdout
    assert said.startswith("proved: complete"), said
    assert files("tropicell").joinpath("py.typed").is_file()
    assert Path(tc.__file__).is_relative_to(sys.prefix), f"not the installed package: {tc.__file__}"
    print(f"smoke test passed: {len(regions)} regions")


if __name__ == "__main__":
    main()
