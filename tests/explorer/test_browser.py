"""The page in a real browser: no error, no request, and the answers that Python gives."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.sparse as sp

from tropicell import Affine, Box, Layer, Network, Regions, Slice, enumerate_regions, explore
from tropicell.network.patterns import to_text

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the PATH: install it to run this"
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"


def network(seed: int) -> Network:
    rng = np.random.default_rng(seed)
    first = Affine({0: rng.normal(size=(8, 2))}, rng.normal(size=8))
    second = Affine({1: rng.normal(size=(8, 8)), 0: rng.normal(size=(8, 2))}, rng.normal(size=8))
    output = Affine({2: rng.normal(size=(3, 8)), 1: rng.normal(size=(3, 8))}, np.zeros(3))
    return Network(2, [Layer(first, "relu", EVIL), Layer(second, "hard_tanh")], output)


@pytest.fixture(scope="module")
def film() -> list[Regions]:
    return [enumerate_regions(network(seed), Box(-3, 3)) for seed in (0, 1)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def tab(browser: Any, film: list[Regions], tmp_path: Path) -> Iterator[Any]:
    """The page, loaded; at the end there must have been no error and no request."""
    points = film[0].witnesses[:5].astype(np.float64)
    file = explore(film, tmp_path / "page.html", labels=["start", EVIL], points=points)
    context = browser.new_context(viewport={"width": 1000, "height": 700}, accept_downloads=True)
    opened = context.new_page()
    opened.set_default_timeout(10_000)
    problems: list[str] = []
    requests: list[str] = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(file.as_uri())
    opened.wait_for_selector("html[data-ready]")
    yield opened
    assert problems == []
    assert [url for url in requests if not url.startswith(("blob:", "data:"))] == [file.as_uri()]
    assert opened.evaluate("() => window.evil === undefined")
    context.close()


def pixels(tab: Any) -> bytes:
    """The picture as it is now; a moment later than the last change."""
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
    return bytes(tab.locator("#stage").screenshot())


def shown_region(tab: Any) -> int:
    match = re.match(r"Region ([\d,]+)", tab.locator("#panel h2").inner_text())
    assert match
    return int(match[1].replace(",", ""))


def test_hover_and_click_show_the_region(tab: Any, film: list[Regions]) -> None:
    regions = film[0]
    for point in np.random.default_rng(5).uniform(-2, 2, size=(25, 2)):
        x, y = tab.evaluate("(p) => tropicell.toScreen(p)", point.tolist())
        tab.mouse.move(x, y)
        exact = tab.evaluate("([x, y]) => tropicell.toPlane(x, y)", [x, y])
        assert shown_region(tab) == regions.locate([exact])[0]
    index = int(regions.locate([[0.5, 0.25]])[0])
    tab.mouse.click(*tab.evaluate("() => tropicell.toScreen([0.5, 0.25])"))
    assert tab.locator("#panel .badge").inner_text() == "pinned"
    assert shown_region(tab) == index
    facts = tab.locator("#panel dd").all_inner_texts()
    assert facts[2] == str(len(regions.neighbours.of(index)))
    assert float(facts[1].replace("−", "-")) == pytest.approx(regions.volumes[index], rel=1e-4)
    layers = tab.locator("#panel .pattern code").all_inner_texts()
    assert "|".join(layers) == to_text(regions.packed[index], regions.network.widths)
    assert tab.locator("#panel .facets li").count() == regions.facet_lines.counts[index]
    assert EVIL in tab.locator("#panel .pattern").inner_text()
    map_ = np.reshape(list(tab.evaluate("(i) => [...tropicell.picture.map(i)]", index)), (3, 3))
    np.testing.assert_allclose(map_, regions.affine_maps[index], rtol=1e-12, atol=1e-12)


def test_patterns_and_neighbours_of_all_regions(tab: Any, film: list[Regions]) -> None:
    for number, regions in enumerate(film):
        tab.evaluate("(i) => tropicell.show(i)", number)
        patterns = tab.evaluate(
            "() => Array.from({length: tropicell.picture.count},"
            " (_, i) => [...tropicell.picture.pattern(i)])"
        )
        np.testing.assert_array_equal(patterns, regions.patterns)
        neighbours = tab.evaluate(
            "() => Array.from({length: tropicell.picture.count},"
            " (_, i) => tropicell.picture.neighbours(i).sort((a, b) => a - b))"
        )
        assert neighbours == [regions.neighbours.of(i).tolist() for i in range(len(regions))]


def test_search(tab: Any, film: list[Regions]) -> None:
    regions = film[0]
    for text, index in [
        ("1.25, -0.5", int(regions.locate([[1.25, -0.5]])[0])),
        (regions.texts()[7], 7),
    ]:
        tab.fill("#query", text)
        tab.press("#query", "Enter")
        assert tab.locator("#answer").inner_text() == f"Region {index}"
        assert shown_region(tab) == index
    for text, answer in [("99 99", "no region"), ("abc", "Type two numbers")]:
        tab.fill("#query", text)
        tab.press("#query", "Enter")
        assert answer in tab.locator("#answer").inner_text()


def test_controls_change_the_picture(tab: Any, film: list[Regions]) -> None:
    seen = [pixels(tab)]
    for colour in ("value", "gradient", "area", "bends"):
        tab.select_option("#colour", colour)
        seen.append(pixels(tab))
    tab.select_option("#output", "1")
    tab.select_option("#colour", "value")
    seen.append(pixels(tab))
    tab.check("#decision")
    seen.append(pixels(tab))
    tab.uncheck("#points")
    seen.append(pixels(tab))
    tab.select_option("#colour", "pattern")
    tab.select_option("#edges", "layers")
    seen.append(pixels(tab))
    tab.focus("#layer")
    tab.keyboard.press("Home")
    seen.append(pixels(tab))
    count = len(film[0].after_layer(1))
    assert tab.locator("#title").inner_text() == f"{count} linear regions after layer 1"
    tab.click("#theme")
    seen.append(pixels(tab))
    assert len(set(seen)) == len(seen)


def test_film(tab: Any, film: list[Regions]) -> None:
    before = pixels(tab)
    tab.mouse.click(*tab.evaluate("() => tropicell.toScreen([0.5, 0.25])"))
    tab.focus("#time")
    tab.keyboard.press("ArrowRight")
    tab.get_by_text(f"{len(film[1])} linear regions").wait_for()
    assert tab.locator("#time-label").inner_text() == EVIL
    assert shown_region(tab) == film[1].locate([tab.evaluate("() => tropicell.state.place")])[0]
    assert pixels(tab) != before
    tab.click("#play")
    tab.get_by_text(f"{len(film[0])} linear regions").wait_for()
    tab.click("#play")


def test_keys_wheel_and_download(tab: Any, film: list[Regions]) -> None:
    tab.focus("#regions")
    start = tab.evaluate("() => ({...tropicell.view})")
    for key in ("+", "+", "ArrowRight", "ArrowUp"):
        tab.keyboard.press(key)
    view = tab.evaluate("() => ({...tropicell.view})")
    assert view["zoom"] == pytest.approx(start["zoom"] * 1.25**2)
    assert view["x"] > start["x"]
    assert view["y"] > start["y"]
    tab.keyboard.press("Enter")
    assert shown_region(tab) == film[0].locate([[view["x"], view["y"]]])[0]
    tab.keyboard.press("Escape")
    tab.keyboard.press("0")
    assert tab.evaluate("() => ({...tropicell.view})") == start
    tab.mouse.move(300, 300)
    tab.mouse.wheel(0, -300)
    tab.mouse.down()
    tab.mouse.move(340, 320, steps=4)
    tab.mouse.up()
    assert tab.evaluate("() => tropicell.view.zoom") > start["zoom"]
    assert tab.evaluate("() => tropicell.state.pinned") == -1
    with tab.expect_download() as download:
        tab.click("#png")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    tab.click("#home")
    with tab.expect_download() as download:
        tab.click("#svg")
    drawing = ElementTree.parse(download.value.path()).getroot()
    assert len(drawing.findall(".//{*}path")) == len(film[0])


@pytest.mark.parametrize("kind", ["sparse network on a slice", "no layers"])
def test_unusual_networks(browser: Any, kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    if kind == "no layers":
        regions = enumerate_regions(Network(2, [], Affine({0: np.eye(2)}, [1, 2])), Box(-1, 1))
    else:
        first = Affine({0: sp.csr_array(rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.6))})
        last = Affine({1: rng.normal(size=(4, 9))})
        plane = Slice(rng.normal(size=5), rng.normal(size=(2, 5)), inside=Box(-2, 2))
        regions = enumerate_regions(Network(5, [Layer(first, "relu6")], last), plane)
    tab = browser.new_page()
    tab.goto(explore(regions, tmp_path / "page.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    maps = tab.evaluate("() => [...tropicell.picture.maps]")
    np.testing.assert_allclose(np.reshape(maps, regions.affine_maps.shape), regions.affine_maps)
    points = regions.witnesses.astype(np.float64).tolist()
    found = tab.evaluate("(points) => points.map((p) => tropicell.picture.locate(...p))", points)
    assert found == list(range(len(regions)))
    tab.close()


def test_two_pages_side_by_side_are_linked(
    browser: Any, film: list[Regions], tmp_path: Path
) -> None:
    file = explore(film, tmp_path / "two.html", labels=["with", EVIL], side_by_side=True)
    context = browser.new_context(viewport={"width": 1400, "height": 700})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.goto(file.as_uri())
    left, right = (opened.frame_locator("iframe").nth(i) for i in (0, 1))
    for frame in (left, right):
        frame.locator("html[data-ready]").wait_for(state="attached", timeout=10_000)
    assert [int(re.sub(r"\D", "", f.locator("#title").inner_text())) for f in (left, right)] == [
        len(film[0]),
        len(film[1]),
    ]
    # Choose a place and a colour on the right: the left shows the region there, coloured alike.
    place = film[1].witnesses[7]
    right.locator("#regions").hover()
    right.locator("#query").fill(f"{place[0]}, {place[1]}")
    right.locator("#query").press("Enter")
    right.locator("#colour").select_option("area")
    expected = int(film[0].locate(place[None])[0])
    script = """() => {
        const frames = [...document.querySelectorAll("iframe")];
        const pages = frames.map((frame) => frame.contentWindow.tropicell);
        return pages.map((p) => [p.state.pinned, p.state.colour, p.view.x, p.view.zoom]);
    }"""
    opened.wait_for_function(f"() => ({script})()[0][1] === 'area'")
    one, two = opened.evaluate(script)
    assert two[0] == 7
    assert one == [expected, *two[1:]]
    opened.screenshot(path=str(tmp_path / "two.png"))
    assert problems == []
    assert opened.evaluate("() => window.evil === undefined")
    context.close()
