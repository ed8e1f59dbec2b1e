"""What the commands do. Each takes the parsed arguments and returns the exit status."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tropicell._runtime.interruption import alarm, clock
from tropicell._runtime.paths import is_folder as folder_at
from tropicell._runtime.plain import did_you_mean
from tropicell._runtime.progress import bar_of
from tropicell.cli import output
from tropicell.cli.near import near, path, robustness
from tropicell.cli.options import domain_of, domain_text, is_folder, search_options
from tropicell.cli.show import engine_text, folder_summary, show, summary, where
from tropicell.errors import IncompleteError, InvalidInputError, TimeLimitError
from tropicell.importers.files import load
from tropicell.network.domains import Ball, Slice
from tropicell.network.network import Network
from tropicell.regions.files import FORMAT, load_regions
from tropicell.regions.regions import Regions

if TYPE_CHECKING:
    from tropicell.regions.stored.stored_regions import StoredRegions

__all__ = ["near", "path", "robustness", "show"]  # the commands that have modules of their own

DONE, NEGATIVE, NOT_COMPLETE = 0, 1, 3

#: What may end a search, in the words of the command line.
_ENDINGS = {
    **{name: f"--{name.replace('_', '-')}" for name in ("max_regions", "max_seconds", "max_bytes")},
    "SIGINT": "Ctrl-C",
    "MemoryError": "a lack of memory",
}

#: With more inputs that matter most searches of a whole domain do not end.
_MANY_INPUTS = 20

#: Numbers with more digits than this are given to scripts as a logarithm only.
_MOST_DIGITS = 300


def info(arguments: argparse.Namespace) -> int:
    """Layers, widths, skips, operators, neurons, bounds on the number of regions."""
    from tropicell.network.count_bounds import (  # noqa: PLC0415
        logarithm10,
        lower_bound,
        magnitude,
        upper_bound,
    )

    network = load(arguments.model)
    low, high = lower_bound(network), upper_bound(network)
    logarithm = logarithm10(high)
    kinds = Counter(
        name for layer in network.layers for name in [layer.activation.name] * layer.width
    )
    if arguments.json:
        output.write_json(
            {
                "inputs": network.n_inputs,
                "outputs": network.n_outputs,
                "widths": network.widths,
                "skips": network.skips,
                "neurons": network.n_neurons,
                "nonzero_weights": _weights(network),
                "activations": kinds,
                "regions_at_least": low,
                "regions_at_most": high if logarithm < _MOST_DIGITS else None,
                "regions_at_most_log10": logarithm,
            }
        )
        return DONE
    rows = [
        ["neurons", f"{network.n_neurons:,} in {_layers(network.depth)}"],
        ["weights", f"{_weights(network):,} that are not 0"],
        ["activations", ", ".join(f"{name} × {n:,}" for name, n in sorted(kinds.items())) or "–"],
        ["skips", ", ".join(f"{k}→{layer}" for k, layer in network.skips) or "–"],
        [
            "regions",
            f"from {magnitude(low)} to {magnitude(high)} in the whole space, by formulas alone",
        ],
    ]
    output.write(f"{network.diagram()}\n\n{output.table(rows)}")
    return DONE


def _weights(network: Network) -> int:
    """Weights and biases other than 0; those of small convolutions, which are matrices, often."""
    parts = [network.affine(layer) for layer in range(1, network.depth + 2)]
    arrays = [array for part in parts for array in (part.bias, *part.operators.values())]
    return sum(int(np.count_nonzero(a if isinstance(a, np.ndarray) else a.data)) for a in arrays)


def _layers(count: int) -> str:
    return "1 layer" if count == 1 else f"{count} layers"


def warmup(arguments: argparse.Namespace) -> int:
    """Compile kernels ahead of time."""
    from tropicell.cli import warmup as here  # noqa: PLC0415

    chosen = list(here.PARTS) if arguments.all else list(dict.fromkeys(arguments.parts))
    for name in chosen:
        if name not in here.PARTS:
            raise InvalidInputError(
                f"there is no part {name!r} to compile{did_you_mean(name, here.PARTS)}"
            )
    if arguments.workers is not None and arguments.workers < 1:
        raise InvalidInputError(f"--workers must be at least 1, not {arguments.workers}")
    chosen = chosen or list(here.USUAL)
    failed = {}
    started = time.perf_counter()
    with bar_of(len(chosen), " parts", None, patience=0.0) as bar:
        bar.set_description("compiling")
        for name, trouble in here.compile_parts(chosen, arguments.workers):
            bar.set_postfix_str(f"{name} is ready", refresh=False)
            bar.update()
            if trouble:
                failed[name] = trouble
    if arguments.json:
        ready = [name for name in chosen if name not in failed]
        output.write_json({"ready": ready, "failed": failed})
    else:
        for name, trouble in failed.items():
            output.note(f"{name}: {trouble}")
        seconds = time.perf_counter() - started
        output.write(f"{len(chosen) - len(failed)} of {len(chosen)} ready in {seconds:.0f} s")
    return NEGATIVE if failed else DONE


def count(arguments: argparse.Namespace) -> int:
    """The number of regions, or of merged regions."""
    from tropicell.search.enumeration import count_regions, enumerate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    told = _say_if_many_inputs(network, domain)
    started = clock()
    merged: int | None = None
    complete, by = True, None
    if arguments.merged:
        regions = enumerate_regions(network, domain, **search_options(arguments))
        found, complete = len(regions), regions.complete
        by = regions.stats.get("ended_by")
        if complete:
            try:
                with _rest_of_time(arguments, regions):
                    merged = len(regions.merged())
            except TimeLimitError as error:
                output.note(str(error))
    else:
        try:
            options = search_options(arguments)
            del options["max_bytes"]  # a count keeps nothing
            found = count_regions(network, domain, **options)
        except IncompleteError as error:
            found, complete, by = error.count, False, error.ended_by
    if arguments.json:
        result = {
            "regions": found,
            "complete": complete,
            "domain": domain_text(domain),
            "arithmetic": arguments.arithmetic,
            "seconds": clock() - started,
        }
        output.write_json(result | ({"merged": merged} if arguments.merged else {}))
    else:
        output.write(f"{output.regions_text(found, complete=complete)} in {domain_text(domain)}")
        if merged is not None:
            output.write(f"{merged:,} merged regions (pieces with one and the same map)")
    if not (found or complete or told) and arguments.slice is None:
        output.note(
            f"no region was found in that time. With {network.n_inputs} inputs, look at a line or "
            "a plane (--slice), or around a point (tropicell near)"
        )
    return max(_ended(complete, by), NEGATIVE if arguments.merged and merged is None else DONE)


def _say_if_many_inputs(network: Network, domain: Any) -> bool:
    """Say at once where people look whose networks have more inputs than a search can do."""
    if isinstance(domain, (Slice, Ball)) or not network.depth:
        return False
    inputs = network.n_inputs
    if all(source for source, _ in network.skips):  # only what the first layer sees matters
        inputs = min(inputs, network.widths[0])
    if inputs <= _MANY_INPUTS:
        return False
    output.note(
        f"with {network.n_inputs} inputs a search may not end. Look at a line or a plane "
        "(--slice), or around a point (--ball, tropicell near)"
    )
    return True


def estimate(arguments: argparse.Namespace) -> int:
    """About how many regions there are."""
    from tropicell.search.estimate import estimate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    found = estimate_regions(
        network, domain, max_seconds=arguments.max_seconds, seed=arguments.seed
    )
    if arguments.json:
        output.write_json(asdict(found) | {"domain": domain_text(domain)})
    else:
        output.write(f"{found} in {domain_text(domain)}")
    return DONE


def _ended(complete: bool, by: str | None = None) -> int:
    if not complete:
        what = _ENDINGS.get(by, by) if by else "a budget, Ctrl-C, SIGTERM or a lack of memory"
        output.note(f"not complete: {what} ended the search")
    return DONE if complete else NEGATIVE


def enumerate_(arguments: argparse.Namespace) -> int:
    """All regions, into a file or a folder."""
    if arguments.format == "parquet" or (arguments.format is None and is_folder(arguments.out)):
        return _stream(arguments)
    _check_place(arguments.out, ".npz")
    network, domain = load(arguments.model), domain_of(arguments)
    _say_if_many_inputs(network, domain)
    regions = _enumerated(network, domain, search_options(arguments))
    regions.save(arguments.out)
    if arguments.json:
        output.write_json(summary(regions) | {"file": arguments.out})
    else:
        found = output.regions_text(len(regions), complete=regions.complete)
        output.write(
            f"{found} in {domain_text(domain)}, found in "
            f"{regions.stats['seconds']:.2f} s ({regions.stats['engine']} engine, "
            f"{regions.stats['arithmetic']})\nengine: {engine_text(regions.stats)}\n"
            f"regions: {arguments.out}"
        )
    return _ended(regions.complete, regions.stats.get("ended_by"))


def _stream(arguments: argparse.Namespace) -> int:
    """All regions, into a folder, while they are found."""
    from tropicell.search.enumeration import enumerate_regions  # noqa: PLC0415

    network, domain = load(arguments.model), domain_of(arguments)
    _say_if_many_inputs(network, domain)
    stored: StoredRegions = enumerate_regions(
        network, domain, **search_options(arguments), out=arguments.out
    )
    if arguments.json:
        output.write_json(folder_summary(stored) | {"folder": arguments.out})
    else:
        found = output.regions_text(len(stored), complete=stored.complete)
        output.write(
            f"{found} in {domain_text(domain)}, {stored.nbytes:,} bytes "
            f"in {len(stored.files):,} files\nregions: {arguments.out}"
        )
    return _ended(stored.complete)


def _enumerated(network: Network, domain: Any, options: dict[str, Any]) -> Regions:
    from tropicell.search.enumeration import enumerate_regions  # noqa: PLC0415

    regions: Regions = enumerate_regions(network, domain, **options)
    return regions


def _check_place(path: str, suffix: str = "") -> None:
    """Refuse a place to write to before the work is done, not after."""
    place = Path(path)
    if suffix and place.suffix.lower() != suffix:
        raise InvalidInputError(f"--out {path}: expected a name that ends in {suffix}")
    folder = folder_at(place)
    if folder or not folder_at(place.parent):
        what = "is a folder" if folder else f"there is no folder {place.parent}"
        raise InvalidInputError(f"--out {path}: {what}")


def certify(arguments: argparse.Namespace) -> int:
    """A proof that regions are right and complete."""
    if arguments.out is not None:
        _check_place(arguments.out, ".npz")
    regions = regions_of(arguments)
    with _rest_of_time(arguments, regions):
        certificate = regions.certify(volumes=arguments.volumes, workers=arguments.workers)
    if arguments.out is not None and certificate.ok:
        certificate.save(arguments.out)
    if arguments.json:
        output.write_json(
            {
                "proved": certificate.ok,
                "complete": certificate.complete,
                "regions": len(regions),
                "failures": certificate.failures,
                "fingerprint": regions.network.fingerprint,
                "domain": where(regions),
                "volume": certificate.volume,
                "counts": certificate.counts,
                "seconds": certificate.seconds,
                "file": arguments.out if certificate.ok else None,
            }
        )
    else:
        output.write(str(certificate))
        if arguments.out is not None and certificate.ok:
            output.write(f"certificate: {arguments.out}")
    if not certificate.ok:
        return NEGATIVE
    return DONE if certificate.complete else NOT_COMPLETE


def play(arguments: argparse.Namespace) -> int:
    """The live page, until Ctrl-C."""
    import webbrowser  # noqa: PLC0415

    from tropicell.cli.options import read_slice  # noqa: PLC0415
    from tropicell.playground.server import play as open_page  # noqa: PLC0415

    domain = None if arguments.slice is None else read_slice(arguments.slice)
    player = open_page(
        arguments.model,
        _data_of(arguments.data),
        domain=domain,
        port=arguments.port,
        open_browser=False,
    )
    url = player.url
    if arguments.link is not None:
        url += "#" + arguments.link.rpartition("#")[2]
    if arguments.json:
        output.write_json({"url": url})
    else:
        output.write(f"{url}\nCtrl-C ends it.")
    try:
        if not arguments.no_browser:
            webbrowser.open(url)
        player.wait()
    except KeyboardInterrupt:
        pass
    finally:
        player.close()
    return DONE


def _data_of(text: str | None) -> Any:
    """The name of a set, or the rows of a CSV file."""
    if text is None or not text.lower().endswith((".csv", ".txt", ".tsv")):
        return text
    from tropicell._runtime.paths import in_file  # noqa: PLC0415
    from tropicell.playground.data import read_csv  # noqa: PLC0415

    with in_file(Path(text)):
        return [list(row) for row in read_csv(Path(text).read_text("utf-8-sig"))]


def compare(arguments: argparse.Namespace) -> int:
    """The largest difference of two networks."""
    from tropicell.analysis.comparison import compare as compared  # noqa: PLC0415

    domain = domain_of(arguments)
    one, other = load(arguments.model), load(arguments.other)
    with alarm(arguments.max_seconds):
        found = compared(one, other, domain, workers=arguments.workers)
    largest = abs(found.largest)  # never -0
    beyond = arguments.tolerance is not None and not largest <= arguments.tolerance
    if arguments.json:
        output.write_json(
            {
                "largest": largest,
                "unbounded": not np.isfinite(largest),
                "point": found.point,
                "output": found.output,
                "domain": domain_text(domain),
                "regions": len(found.regions),
                "complete": found.regions.complete,
                "within_tolerance": None if arguments.tolerance is None else not beyond,
            }
        )
    else:
        where = f" at {output.point_text(found.point)}" if np.isfinite(found.point).all() else ""
        output.write(
            f"largest difference in {domain_text(domain)}: {largest:.10g}{where}, "
            f"output y{found.output + 1}"
        )
    if beyond:
        output.note(f"the difference is beyond the tolerance {arguments.tolerance:g}")
    return max(_ended(found.regions.complete), NEGATIVE if beyond else DONE)


def plot(arguments: argparse.Namespace) -> int:
    """A picture of the regions."""
    from tropicell.cli.picture import check, draw  # noqa: PLC0415 - matplotlib is slow to import

    _check_place(arguments.out)
    regions = regions_of(arguments, lambda inputs: check(inputs, arguments))
    with _rest_of_time(arguments, regions):
        draw(regions, arguments)
    return _written(regions, arguments, "picture")


def explore(arguments: argparse.Namespace) -> int:
    """A page to explore the regions with."""
    from tropicell.explorer import explore as write_page  # noqa: PLC0415 - seldom needed
    from tropicell.explorer.shapes import check_inputs  # noqa: PLC0415

    _check_place(arguments.out, ".html")
    regions = regions_of(arguments, check_inputs)
    with _rest_of_time(arguments, regions):
        write_page(regions, arguments.out, open_browser=arguments.open)
    return _written(regions, arguments, "page")


def _written(regions: Regions, arguments: argparse.Namespace, kind: str) -> int:
    """Say how many regions a picture or page shows, and where it is."""
    if arguments.json:
        output.write_json(summary(regions) | {kind: arguments.out})
    else:
        shown = (
            f"{output.regions_text(len(regions), complete=regions.complete)} in {where(regions)}"
        )
        output.write(f"{shown}\n{kind}: {arguments.out}")
    return _ended(regions.complete, regions.stats.get("ended_by"))


@contextmanager
def _rest_of_time(arguments: argparse.Namespace, regions: Regions) -> Iterator[None]:
    """What is done with regions within the time that the search has left of ``--max-seconds``."""
    left = arguments.max_seconds
    if left is not None and not holds_regions(arguments.model):
        left = max(0.0, left - regions.stats["seconds"])
    try:
        if left is not None and not len(regions) and not regions.complete:
            raise TimeLimitError  # the time was over before the first region was found
        with alarm(left):
            yield
    except TimeLimitError:
        found = output.regions_text(len(regions), complete=regions.complete)
        raise TimeLimitError(
            f"the {arguments.max_seconds:g} seconds of --max-seconds are over: {found} were found, "
            "and there was no time for the rest; give more, or write them to a file first: "
            "tropicell enumerate"
        ) from None


def regions_of(
    arguments: argparse.Namespace, check: Callable[[int], None] = lambda _: None
) -> Regions:
    """The regions in a file, or those of the network in it.

    A search may take half of the time: what is found is to be drawn, or proved. `check` is given
    the number of coordinates, and refuses what can't be drawn before anything is searched.
    """
    if not holds_regions(arguments.model):
        network, domain = load(arguments.model), domain_of(arguments)
        check(domain.dimension if isinstance(domain, Slice) else network.n_inputs)
        options = search_options(arguments)
        if options["max_seconds"] is not None:
            options["max_seconds"] /= 2
        return _enumerated(network, domain, options)
    given = arguments.box, arguments.ball, arguments.slice
    if any(option is not None for option in given) or arguments.whole_space:
        raise InvalidInputError(
            f"{arguments.model}: holds regions, which have their domain already: leave out --box, "
            "--ball, --whole-space and --slice, or give a model"
        )
    regions = load_regions(arguments.model)
    check(regions.network.n_inputs)
    return regions


def holds_regions(path: str) -> bool:
    """Whether a file is one of ``tropicell enumerate``; only its header is read."""
    if Path(path).suffix.lower() != ".npz":
        return False
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
    except Exception:  # `load` says what is wrong with it
        return False
    return isinstance(header, dict) and header.get("format") == FORMAT


def demo(arguments: argparse.Namespace) -> int:
    """The bundled network, with a picture."""
    from tropicell.cli.demo import main  # noqa: PLC0415

    main(["--out", arguments.out])
    return DONE


def paper(arguments: argparse.Namespace) -> int:
    """The gain of each idea, or a network as polynomials."""
    from tropicell.cli.paper import run  # noqa: PLC0415

    return run(arguments)


def lab(arguments: argparse.Namespace) -> int:
    """An experiment, or all of them."""
    from tropicell.cli.lab import run  # noqa: PLC0415

    return run(arguments)


def completion(arguments: argparse.Namespace) -> int:
    """A script for the shell."""
    from tropicell.cli.completion import script  # noqa: PLC0415
    from tropicell.cli.parser import build_parser  # noqa: PLC0415

    print(script(build_parser(), arguments.shell))
    return DONE
