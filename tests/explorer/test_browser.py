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
from tropicell.explorer import Mesh
from tropicell.network.patterns import to_text
from tropicell.plotting.plane import pre_activations

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH: install it to run this"),
    pytest.mark.timeout(1200),
]
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
    opened.set_default_timeout(120_000)
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


def drawn(tab: Any) -> None:
    """All that was asked for is on the screen, however long that takes."""
    frame = "await new Promise(requestAnimationFrame);"  # in which sizes are seen, and the next one
    tab.wait_for_function(f"async () => {{ {frame} {frame} return !tropicell.busy; }}")


def pixels(tab: Any) -> bytes:
    """The picture, when all is drawn."""
    drawn(tab)
    return bytes(tab.locator("#stage").screenshot(animations="disabled"))


def on_page(tab: Any, point: list[float]) -> list[float]:
    """Where a point of the plane is on the page."""
    return list(
        tab.evaluate(
            """(point) => {
                const box = document.getElementById("regions").getBoundingClientRect();
                const [x, y] = tropicell.toScreen(point);
                return [x + box.left, y + box.top];
            }""",
            point,
        )
    )


def shown_region(tab: Any) -> int:
    match = re.match(r"Region ([\d,]+)", tab.locator("#panel h2").inner_text())
    assert match
    return int(match[1].replace(",", ""))


def test_hover_and_click_show_the_region(tab: Any, film: list[Regions]) -> None:
    regions = film[0]
    for point in np.random.default_rng(5).uniform(-2, 2, size=(25, 2)):
        tab.mouse.move(*on_page(tab, point.tolist()))
        exact = tab.evaluate("() => tropicell.panes[0].over")
        index = regions.locate([exact])[0]
        assert shown_region(tab) == index
        told = tab.locator(".tooltip").inner_text()
        assert told.startswith(f"Region {index}\n")
    index = int(regions.locate([[0.5, 0.25]])[0])
    tab.mouse.click(*on_page(tab, [0.5, 0.25]))
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
    assert not tab.locator("#output").is_visible()
    tab.select_option("#colour", "value")
    tab.select_option("#output", "1")
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
    tab.mouse.click(*on_page(tab, [0.5, 0.25]))
    tab.focus("#time")
    tab.keyboard.press("ArrowRight")
    tab.get_by_text(f"{len(film[1])} linear regions").wait_for()
    assert tab.locator("#time-label").inner_text() == EVIL
    assert shown_region(tab) == film[1].locate([tab.evaluate("() => tropicell.state.place")])[0]
    assert pixels(tab) != before
    tab.click("#play")
    tab.get_by_text(f"{len(film[0])} linear regions").wait_for()
    tab.click("#play")


def test_the_picture_that_was_asked_for_last(tab: Any) -> None:
    """Also where decoding an earlier one takes longer."""
    shown = tab.evaluate(
        """async () => {
            const last = [1, 0, 1, 0].map((index) => tropicell.show(index));
            await Promise.all(last);
            return tropicell.state.index;
        }"""
    )
    assert shown == 0


def test_the_panel_keeps_what_is_pressed(tab: Any, film: list[Regions]) -> None:
    """A click that is on its way while a picture comes; and the keyboard, from region to region."""
    tab.fill("#query", film[0].texts()[7])
    tab.press("#query", "Enter")
    button = tab.locator(".facets button").first
    behind = int(button.inner_text().removeprefix("→ "))
    button.hover()
    tab.mouse.down()
    tab.evaluate("() => tropicell.show(0)")
    tab.mouse.up()
    assert shown_region(tab) == behind
    for _ in range(3):
        button.focus()
        before = shown_region(tab)
        tab.keyboard.press("Enter")
        assert shown_region(tab) in film[0].neighbours.of(before)
        place = "() => document.activeElement.getAttribute('aria-label')"
        assert tab.evaluate(place).startswith("go to neighbour ")


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
    assert tab.evaluate("() => tropicell.state.place") is None
    with tab.expect_download() as download:
        tab.click("#png")
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    tab.click("#home")
    drawing = saved_svg(tab)
    assert len(drawing.findall(".//{*}g[@class='regions']/{*}path")) == len(film[0])
    assert len(drawing.findall(".//{*}path[@class='edges']")) == 1


def saved_svg(tab: Any) -> ElementTree.Element:
    with tab.expect_download() as download:
        tab.click("#svg")
    return ElementTree.parse(download.value.path()).getroot()


def texts(element: ElementTree.Element, where: str) -> list[str]:
    return [text.text or "" for text in element.findall(f"{where}//{{*}}text")]


def test_a_saved_picture_has_axes_and_key(
    browser: Any, film: list[Regions], tmp_path: Path
) -> None:
    labels = ["a < b", "-1", "c", "c", "c"]
    points = film[0].witnesses[:5].astype(np.float64)
    file = explore(
        film,
        tmp_path / "two.html",
        labels=["one", "two"],
        side_by_side=True,
        points=points,
        point_labels=labels,
        settings={"colour": "value"},
    )
    size = {"width": 1400, "height": 700}
    with Page(browser, file, viewport=size, accept_downloads=True) as tab:
        tab.select_option("#edges", "layers")
        tab.check("#decision")
        drawing = saved_svg(tab)
        regions = drawing.findall(".//{*}g[@class='regions']")
        assert [len(each) for each in regions] == [len(each) for each in film]
        # the numbers along the axes are round, and where the picture has them
        for axis, name in (("axis-x", "x1"), ("axis-y", "x2")):
            for found in drawing.findall(f".//{{*}}g[@class='{axis}']"):
                words = texts(found, ".")
                assert words[-1] == name
                ticks = [float(word.replace("−", "-")) for word in words[:-1]]
                assert len(ticks) >= 3
                np.testing.assert_allclose(np.diff(ticks), ticks[1] - ticks[0])
        # edges: one path for the domain and for each layer, in the colours of the key
        colours = {
            path.get("data-layer"): path.get("stroke")
            for path in drawing.findall(".//{*}path[@class='edges']")
        }
        assert set(colours) == {"0", "1", "2"}
        boxes = {rect.get("fill") for rect in drawing.findall("./{*}rect")}
        assert {colours["1"], colours["2"]} <= boxes
        words = texts(drawing, ".")
        for word in ("value of y1", "layer 1", "layer 2", "a < b", "−1", "c", "decision boundary"):
            assert word in words
        assert any(word.startswith("one ") for word in words)
        key = tab.locator("#key").inner_text().split("\n")
        assert set(key) <= set(words)  # as on the page
        with tab.expect_download() as download:
            tab.click("#png")
        assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_numbers_far_from_zero_differ(browser: Any, tmp_path: Path) -> None:
    """Along the axes, where first digits are all alike; and a single region is one region."""
    network = Network.mlp([np.eye(2), [[1.0, 1.0]]], [[1.0, 1.0], [0.0]])
    regions = enumerate_regions(network, Box([1e6 - 1, 1e6 - 1], [1e6 + 1, 1e6 + 1]))
    file = explore(regions, tmp_path / "page.html")
    for address in ("", "#view=1000000.1,1000000.2,0.002"):
        with Page(browser, file, address, accept_downloads=True) as tab:
            assert tab.locator("#title").inner_text() == "1 linear region"
            drawing = saved_svg(tab)
            for axis in ("axis-x", "axis-y"):
                words = texts(drawing, f".//{{*}}g[@class='{axis}']")
                assert len(words) > 3
                assert len(set(words)) == len(words)


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
    tab.set_default_timeout(120_000)
    tab.goto(explore(regions, tmp_path / "page.html").as_uri())
    tab.wait_for_selector("html[data-ready]")
    maps = tab.evaluate("() => [...tropicell.picture.maps]")
    np.testing.assert_allclose(np.reshape(maps, regions.affine_maps.shape), regions.affine_maps)
    points = regions.witnesses.astype(np.float64).tolist()
    found = tab.evaluate("(points) => points.map((p) => tropicell.picture.locate(p))", points)
    assert found == list(range(len(regions)))
    tab.close()


class Page:
    """A page that is open, with all that it complains about."""

    def __init__(self, browser: Any, file: Path, address: str = "", **options: Any) -> None:
        self.problems: list[str] = []
        self.context = browser.new_context(**options)
        self.tab = self.context.new_page()
        self.tab.set_default_timeout(120_000)
        self.tab.on("console", lambda message: self.problems.append(message.text))
        self.tab.on("pageerror", lambda error: self.problems.append(str(error)))
        self.tab.goto(file.as_uri() + address)
        self.tab.wait_for_selector("html[data-ready]")

    def __enter__(self) -> Any:
        return self.tab

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is None:
            assert self.problems == []
            assert self.tab.evaluate("() => window.evil === undefined")
        self.context.close()


def test_pictures_side_by_side_share_controls(
    browser: Any, film: list[Regions], tmp_path: Path
) -> None:
    file = explore(film, tmp_path / "two.html", labels=["with", EVIL], side_by_side=True)
    with Page(browser, file, viewport={"width": 1400, "height": 700}) as tab:
        assert tab.locator("#colour").count() == 1
        captions = tab.locator(".pane figcaption").all_inner_texts()
        assert captions == [f"with {len(film[0])} regions", f"{EVIL} {len(film[1])} regions"]
        place = film[1].witnesses[7].astype(np.float64)
        tab.fill("#query", f"{place[0]}, {place[1]}")
        tab.press("#query", "Enter")
        expected = [int(regions.locate(place[None])[0]) for regions in film]
        assert tab.evaluate("() => tropicell.panes.map((pane) => pane.pinned)") == expected
        headings = tab.locator("#panel h2").all_inner_texts()
        assert [int(text.split()[1]) for text in headings] == expected
        # One ramp for both: its ends are the smallest and the largest of all values.
        tab.select_option("#colour", "value")
        ranges = tab.evaluate("() => tropicell.panes.map(({shades}) => [shades.low, shades.high])")
        assert ranges[0] == ranges[1]
        values = np.concatenate(
            [(regions.network(regions.corners.values[:, :2]))[:, 0] for regions in film]
        )
        np.testing.assert_allclose(ranges[0], [values.min(), values.max()], rtol=1e-5)
        # Both are moved by dragging one of them.
        before = tab.evaluate("() => tropicell.view.x")
        tab.mouse.move(*on_page(tab, [0.0, 0.0]))
        tab.mouse.down()
        tab.mouse.move(300, 300, steps=3)
        tab.mouse.up()
        assert tab.evaluate("() => tropicell.view.x") != before
        drawn(tab)
        places = tab.evaluate("() => tropicell.panes.map(({drawn}) => [drawn.x, drawn.y])")
        assert places[0] == places[1]


def test_the_address_keeps_the_view(browser: Any, film: list[Regions], tmp_path: Path) -> None:
    file = explore(film, tmp_path / "page.html", settings={"colour": "value"})
    size = {"width": 1000, "height": 700}
    with Page(browser, file, viewport=size) as tab:
        assert tab.locator("#colour").input_value() == "value"
        tab.select_option("#edges", "layers")
        tab.select_option("#output", "2")
        tab.click("#zoom-in")
        tab.mouse.click(*on_page(tab, [0.5, 0.25]))
        tab.focus("#time")
        tab.keyboard.press("ArrowRight")
        tab.wait_for_function("() => location.hash.includes('time=2')")
        assert "layers" in tab.evaluate("() => location.hash")
        tab.mouse.move(5, 5)
        address = tab.evaluate("() => location.hash")
        seen = pixels(tab)
        told = tab.locator("#panel h2").inner_text()
    with Page(browser, file, address, viewport=size) as tab:
        assert tab.locator("#panel h2").inner_text() == told
        assert pixels(tab) == seen
    # What is not as in the page's settings is said, though it is what other pages begin with.
    with Page(browser, file, viewport=size) as tab:
        tab.select_option("#colour", "pattern")
        tab.wait_for_function("() => location.hash.includes('colour=pattern')")
        address = tab.evaluate("() => location.hash")
        assert re.match(r"#view=[^&]*", address)
        assert "e-" not in address  # no −8.8818e−16
    with Page(browser, file, address, viewport=size) as tab:
        assert tab.locator("#colour").input_value() == "pattern"
        # another address in the open page: what it does not say is as usual
        tab.evaluate("() => { location.hash = 'edges=layers&layer=1&place=0.5,0.25'; }")
        tab.locator(".badge").wait_for()
        assert tab.locator("#colour").input_value() == "value"
        assert tab.locator("#edges").input_value() == "layers"
        assert tab.evaluate("() => tropicell.state.layer") == 1
        # also where the page writes its own in the same moment
        tab.evaluate(
            """() => {
                const own = location.hash;
                location.hash = "colour=area";
                history.replaceState(null, "", own);
            }"""
        )
        tab.locator(".badge").wait_for(state="detached")
        assert tab.evaluate("() => tropicell.state.layer") == 2
    # Nonsense in an address is ignored.
    nonsense = (
        "#view=1,nan,3&colour=%3Cb%3E&layer=-3&time=99&output=1e9&place=1&camera=a,b,c&cut=x9,7"
    )
    with Page(browser, file, nonsense, viewport=size) as tab:
        assert tab.locator("#colour").input_value() == "value"


def test_menus_that_do_nothing_are_hidden(browser: Any, tmp_path: Path) -> None:
    network = Network.mlp([[[1.0, 0.5], [0.5, -1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [1.0]])
    file = explore(enumerate_regions(network, Box(-1, 1)), tmp_path / "page.html")
    with Page(browser, file) as tab:
        hidden = ["#output", "#layer", "#decision", "#points", "#film", "#cut", "#apart", "#mesh"]
        assert [name for name in hidden if tab.locator(name).is_visible()] == []
        options = tab.locator("#colour option:not([hidden])").all_inner_texts()
        assert options == ["pattern", "value", "gradient norm", "area"]


def test_numbers_are_rounded_as_people_write_them(browser: Any, tmp_path: Path) -> None:
    rows = [[0.1 + 0.2 - 0.3, 1.0], [3e-7, 12345.678]]
    network = Network(2, [Layer(Affine({0: np.eye(2)}), "relu")], Affine({1: np.array(rows)}))
    file = explore(enumerate_regions(network, Box(-1, 1)), tmp_path / "page.html")
    with Page(browser, file) as tab:
        tab.fill("#query", "0.5, 0.5")
        tab.press("#query", "Enter")
        maps = [text.replace("\u00a0", " ") for text in tab.locator(".formula").all_inner_texts()]
        assert maps == ["y1 = x2", "y2 = 3·10⁻⁷ x1 + 12,350 x2"]


def test_points_have_the_colours_of_their_labels(
    browser: Any, film: list[Regions], tmp_path: Path
) -> None:
    points = [[0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]]
    options: Any = {"points": points, "point_labels": ["cat", EVIL, "cat"]}
    file = explore(film[0], tmp_path / "page.html", settings={"edges": "none"}, **options)
    with Page(browser, file) as tab:
        assert tab.locator("#key .item", has=tab.locator(".dot")).all_inner_texts() == [EVIL, "cat"]
        tones = tab.evaluate(
            """(points) => {
                const canvas = document.getElementById("regions");
                const { width, height, clientWidth } = canvas;
                const image = canvas.getContext("2d").getImageData(0, 0, width, height).data;
                return points.map((point) => {
                    const at = (v) => Math.round(v * width / clientWidth);
                    const [x, y] = tropicell.toScreen(point).map(at);
                    return [...image.slice(4 * (y * width + x), 4 * (y * width + x) + 4)].join();
                });
            }""",
            points,
        )
        assert tones[0] == tones[2] != tones[1]


def test_a_pin_leaves_the_colour_of_its_region(
    browser: Any, film: list[Regions], tmp_path: Path
) -> None:
    area = np.asarray(film[0].volumes)
    largest = film[0][int(area.argmax())]
    middle = largest.vertices.astype(np.float64).mean(axis=0).tolist()
    file = explore(film[0], tmp_path / "page.html", settings={"colour": "value", "edges": "none"})
    with Page(browser, file) as tab:
        pixel = """async (point) => {
            await new Promise(requestAnimationFrame);
            const canvas = document.getElementById("regions");
            const ratio = canvas.width / canvas.clientWidth;
            const [x, y] = tropicell.toScreen(point).map((v) => v * ratio);
            return canvas.getContext("2d").getImageData(x, y, 1, 1).data[3];
        }"""
        tab.fill("#query", largest.text)
        tab.press("#query", "Enter")
        assert tab.locator(".badge").is_visible()
        assert tab.evaluate(pixel, middle) == 0  # nothing is drawn over it


def test_the_diagram_shows_the_pattern(browser: Any, film: list[Regions], tmp_path: Path) -> None:
    file = explore(film[0], tmp_path / "page.html")
    with Page(browser, file) as tab:
        tab.fill("#query", film[0].texts()[7])
        tab.press("#query", "Enter")
        on = tab.locator("#diagrams circle.hidden").evaluate_all(
            "(all) => all.map((c) => c.classList.contains('off') ? 0 : 1)"
        )
        assert on == (film[0].patterns[7] > 0).astype(int).tolist()
        tab.click("#home")
        before = pixels(tab)
        tab.locator("#diagrams circle.hidden").first.hover()
        assert tab.evaluate("() => tropicell.state.neuron") == {"layer": 1, "index": 0}
        assert pixels(tab) != before
        # the same by keys
        tab.mouse.move(5, 5)
        tab.focus("#theme")
        assert tab.evaluate("() => tropicell.state.neuron") is None
        tab.locator("#diagrams .neurons").focus()
        tab.keyboard.press("ArrowRight")
        assert tab.evaluate("() => tropicell.state.neuron") == {"layer": 2, "index": 0}
        assert pixels(tab) != before


def test_surface(browser: Any, film: list[Regions], tmp_path: Path) -> None:
    file = explore(film[0], tmp_path / "page.html")
    with Page(browser, file, viewport={"width": 900, "height": 600}) as tab:
        tab.select_option("#colour", "value")
        tab.click("#surface-view")
        before = pixels(tab)
        box = tab.locator("#regions").bounding_box()
        found = 0
        for dx, dy in [(0.5, 0.5), (0.4, 0.6), (0.6, 0.6), (0.55, 0.45)]:
            tab.mouse.move(box["x"] + dx * box["width"], box["y"] + dy * box["height"])
            seen = tab.evaluate("() => [tropicell.panes[0].hovered, tropicell.panes[0].over]")
            if seen[0] >= 0:  # what the page says is under the mouse is where Python finds it
                found += 1
                assert seen[0] == film[0].locate([seen[1]])[0]
        assert found
        tab.mouse.down()
        tab.mouse.move(box["x"] + 200, box["y"] + 200, steps=3)
        tab.mouse.up()
        assert pixels(tab) != before
        before = pixels(tab)
        tab.select_option("#edges", "layers")
        assert pixels(tab) != before
        assert "layer 2" in tab.locator("#key").inner_text()
        tab.click("#plane-view")


@pytest.fixture(scope="module")
def cells() -> Regions:
    rng = np.random.default_rng(3)
    weights = [rng.normal(size=(5, 3)), rng.normal(size=(4, 5)), rng.normal(size=(1, 4))]
    biases = [0.3 * rng.normal(size=5), 0.3 * rng.normal(size=4), [0.0]]
    return enumerate_regions(Network.mlp(weights, biases), Box(-1, 1))


def test_cells_cut_open(browser: Any, cells: Regions, tmp_path: Path) -> None:
    triangle = Mesh(np.eye(3), [[0, 1, 2]], label="a triangle")
    file = explore(cells, tmp_path / "cells.html", meshes=triangle)
    with Page(browser, file, viewport={"width": 900, "height": 600}) as tab:
        points = cells.witnesses.astype(np.float64).tolist()
        found = tab.evaluate("(all) => all.map((p) => tropicell.picture.locate(p))", points)
        assert found == list(range(len(cells)))
        maps = np.reshape(tab.evaluate("() => [...tropicell.picture.maps]"), (len(cells), 1, 4))
        np.testing.assert_allclose(maps, cells.affine_maps, rtol=1e-5, atol=1e-5)
        seen = [pixels(tab)]
        tab.select_option("#cut", "1")
        seen.append(pixels(tab))
        # What a plane shows of the cells is all of the plane, and each cell's share is right.
        areas = tab.evaluate(
            """() => {
                const cells = tropicell.picture;
                const shader = cells.shader("pattern", tropicell.state);
                const { positions, triangles, owners } = cells.caps(shader, 0, 1, 0.25);
                const areas = Array(cells.count).fill(0);
                for (let t = 0; t < triangles.length; t += 3) {
                    const [a, b, c] = [0, 1, 2].map((k) => 3 * triangles[t + k]);
                    const side = (p, k) => positions[p + k] - positions[a + k];
                    areas[owners[triangles[t]] - 1] +=
                        Math.abs(side(b, 0) * side(c, 2) - side(b, 2) * side(c, 0)) / 2;
                }
                return areas;
            }"""
        )
        plane = Slice([0.0, 0.25, 0.0], [[1.0, 0, 0], [0, 0, 1.0]], inside=Box(-1, 1))
        cut = enumerate_regions(cells.network, plane)
        expected = np.zeros(len(cells))
        expected[[cells.find(pattern) for pattern in cut.patterns]] = cut.volumes
        np.testing.assert_allclose(areas, expected, atol=1e-5)
        box = tab.locator("#regions").bounding_box()
        tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 0.55 * box["height"])
        region, point = tab.evaluate("() => [tropicell.panes[0].hovered, tropicell.panes[0].over]")
        inside = cells[region].vertices.astype(np.float64).mean(axis=0)
        assert cells.locate([np.array(point) + 1e-6 * (inside - point)])[0] == region
        tab.locator("#apart").fill("0.5")
        seen.append(pixels(tab))
        tab.uncheck("#mesh")
        seen.append(pixels(tab))
        assert len(set(seen)) == len(seen)


def test_edges_in_space_have_the_colour_of_their_layer(
    browser: Any, cells: Regions, tmp_path: Path
) -> None:
    file = explore(cells, tmp_path / "cells.html", settings={"edges": "layers"})
    with Page(browser, file, viewport={"width": 900, "height": 600}) as tab:
        assert tab.locator("#key .line").count() == 2
        batches = tab.evaluate(
            """() => {
                const cells = tropicell.picture;
                const shader = cells.shader("pattern", tropicell.state);
                return [cells.faces(shader, 0), cells.caps(shader, 0, 1, 0.25)].map(
                    ({ positions, lines, lineEnds }) => [[...positions], [...lines], lineEnds]);
            }"""
        )
        for positions, lines, ends in batches:
            corners = np.reshape(positions, (-1, 3))  # the box is the cube of the page
            middles = corners[np.reshape(lines, (-1, 2))].mean(axis=1)
            shown = np.searchsorted(ends, np.arange(len(middles)), side="right")
            zero = np.abs(pre_activations(cells.network, middles)) < 1e-5
            layers = np.repeat([1, 2], cells.network.widths)
            expected = np.where(zero, layers, 0).max(axis=1)
            np.testing.assert_array_equal(shown, expected)
            assert set(expected) >= {1, 2}
        seen = [pixels(tab)]
        tab.select_option("#edges", "plain")
        seen.append(pixels(tab))
        tab.select_option("#edges", "layers")
        tab.locator("#layer").fill("1")
        seen.append(pixels(tab))
        assert len(set(seen)) == len(seen)


def test_images_on_a_slice(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.random((3, 8, 8))
    network = Network.mlp([rng.normal(size=(6, 64)), rng.normal(size=(2, 6))])
    regions = enumerate_regions(network, Slice.through(images, inside=Box(-1, 2)))
    file = explore(regions, tmp_path / "page.html")
    with Page(browser, file) as tab:
        tab.fill("#query", "1, 0")
        tab.press("#query", "Enter")
        shown = tab.evaluate(
            """() => [...document.getElementById("image").getContext("2d")
                .getImageData(0, 0, 8, 8).data].filter((_, i) => i % 4 === 0)"""
        )
        np.testing.assert_allclose(np.reshape(shown, (8, 8)) / 255, images[1], atol=0.003)


def test_small_screens(browser: Any, film: list[Regions], tmp_path: Path) -> None:
    file = explore(film, tmp_path / "page.html")
    with Page(browser, file, viewport={"width": 360, "height": 640}, has_touch=True) as tab:
        wide = tab.evaluate("() => document.documentElement.scrollWidth")
        assert wide <= 360
        picture = tab.locator("#regions").bounding_box()
        assert picture["width"] > 280
        assert picture["height"] > 150
        # Key and film are beside the picture, not on it.
        axis = tab.locator(".axis-x").bounding_box()
        assert axis["y"] >= picture["y"] + picture["height"]
        for name in ("#key", "#film"):
            assert tab.locator(name).bounding_box()["y"] >= axis["y"] + axis["height"]
        tab.touchscreen.tap(picture["x"] + 100, picture["y"] + 100)
        tab.locator(".badge").wait_for()
        tab.click("#panel-toggle")
        assert not tab.locator("aside").is_visible()
