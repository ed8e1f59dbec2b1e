"""The playground in a browser: build, train, point, switch, record, and come back by a link."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from tropicell import Box, Network, count_regions, play
from tropicell.playground.settings import Settings

pytest.importorskip("starlette", reason="starlette is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH: install it to run this"),
    pytest.mark.timeout(1200),
]

#: Milliseconds after which something that must come has not, and the same where kernels are
#: compiled first: a machine may have much else to do.
PATIENCE, COMPILING = 120_000, 600_000

ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",  # for the film, which is a page of the explorer
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def player() -> Iterator[Any]:
    served = play(widths=(5, 5, 5), skips=[], samples=80, open_browser=False)
    yield served
    served.close()


@pytest.fixture
def tab(browser: Any, player: Any) -> Iterator[Any]:
    """The page; at the end there must have been no error, and no request to another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 960}, accept_downloads=True)
    context.set_default_timeout(PATIENCE)
    opened = context.new_page()
    problems: list[str] = []
    hosts: set[str] = set()
    opened.on("console", lambda message: problems.append(message.text))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    opened.on("websocket", lambda socket: hosts.add(urlsplit(socket.url).netloc))
    opened.goto(player.url)
    ready(opened)
    yield opened
    assert problems == []
    assert hosts - {""} == {urlsplit(player.url).netloc}
    context.close()


def page_of(browser: Any) -> Any:
    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    return opened


def ready(tab: Any) -> None:
    tab.wait_for_selector("html[data-step]", timeout=COMPILING)  # kernels may be compiled first


def settled(tab: Any, step: int) -> None:
    """A frame of this step is there, and nothing moves."""
    tab.wait_for_function(
        "(n) => document.documentElement.dataset.step === String(n)"
        " && document.documentElement.dataset.running === 'false'",
        arg=step,
    )


def counts(tab: Any) -> dict[str, tuple[int, int]]:
    found = tab.evaluate(
        "() => [...document.querySelectorAll('figure')]"
        ".map((f) => [f.dataset.name, +f.dataset.regions, +f.dataset.whole])"
    )
    return {name: (inside, whole) for name, inside, whole in found}


def agree(tab: Any, player: Any) -> None:
    """The numbers on the page are those of `count_regions`, for the very same weights."""
    tab.wait_for_function(
        "(n) => document.documentElement.dataset.version === String(n)",
        arg=player.session.call(lambda: player.session.version).result(),
    )
    training = player.session.training
    box = Box(training.data.low, training.data.high)
    expected = {}
    for name in training.learners:
        network = training.network(name)
        expected[name] = (count_regions(network, box), count_regions(network))
    assert counts(tab) == expected


def skip(tab: Any, name: str, on: bool) -> None:
    arc = tab.locator(f"[data-skip='{name}']")
    arc.focus()
    tab.keyboard.press("Enter")
    tab.wait_for_selector(f"[data-skip='{name}'][aria-checked='{str(on).lower()}']")
    # the diagram was drawn anew; the keyboard is still where it was
    assert tab.evaluate("() => document.activeElement?.getAttribute('data-skip')") == name


def eventually(true: Callable[[], bool]) -> None:
    """What a page asks for is done a moment later."""
    until = time.monotonic() + PATIENCE / 1000
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def step(tab: Any, player: Any) -> None:
    before = player.session.training.step
    tab.click("#step")
    settled(tab, before + 1)


def test_the_paper_s_question(tab: Any, player: Any, tmp_path: Path) -> None:
    # build: two skips, and with them a second picture
    assert set(counts(tab)) == {"skips"}
    tab.select_option("#data", "circles")
    skip(tab, "1-3", on=True)
    skip(tab, "0-4", on=True)
    tab.wait_for_selector("figure[data-name=plain]")
    assert player.settings.skips == ((0, 4), (1, 3))
    agree(tab, player)
    vectors = [learner.vector for learner in player.session.training.learners.values()]
    assert vectors[0].tobytes() == vectors[1].tobytes()

    # train and record, then pause
    tab.click("#record")
    tab.click("#play")
    tab.wait_for_function("() => +document.documentElement.dataset.step > 60")
    tab.click("#play")
    tab.wait_for_selector("html[data-running=false]")
    player.pause()
    settled(tab, player.session.training.step)
    agree(tab, player)

    # point: the region under the pointer, and its neurons
    point_at_regions(tab, player)
    point_at_neurons(tab)

    # toggle a skip, step by step
    for on in (False, True):
        skip(tab, "1-3", on=on)
        step(tab, player)
        agree(tab, player)

    # the film
    tab.click("#keep summary")
    with tab.expect_download() as download:
        tab.click("[data-keep=film]")
    film = tmp_path / "film.html"
    download.value.save_as(film)
    look_at_film(tab, film)

    # and back by the link, in another tab
    link = tab.evaluate("() => location.href")
    chosen = player.settings
    player.set(widths=(3,), skips=[], data="moons")
    other = tab.context.new_page()
    other.goto(link)
    other.wait_for_selector("figure[data-name=plain]")
    assert player.settings == chosen
    settled(other, 0)
    agree(other, player)
    other.close()


def point_at_regions(tab: Any, player: Any) -> None:
    sheet = tab.locator("figure[data-name=skips] .sheet")
    box = sheet.bounding_box()
    network = player.network
    for x, y in np.random.default_rng(1).uniform(0.1, 0.9, size=(6, 2)):
        place = box["x"] + x * box["width"], box["y"] + y * box["height"]
        tab.mouse.move(*place)
        point = tab.evaluate("(p) => play.views.get('skips').plane.toPlane(...p)", list(place))
        pattern = network.patterns([point])[0]
        shown = " ".join("".join(map(str, layer)) for layer in np.split(pattern, [5, 10]))
        facts = tab.locator("figure[data-name=skips] .facts code")
        playwright.expect(facts).to_have_text(shown, timeout=PATIENCE)
        active = tab.locator("#diagram .neuron.on").count()
        assert active == pattern.sum()
        value = tab.evaluate(
            "([x, y]) => { const { plane } = play.views.get('skips');"
            " const i = plane.regionAt(x, y); const [a, b, c] = plane.picture.maps.slice(3 * i);"
            " return a * x + b * y + c; }",
            point,
        )
        assert value == pytest.approx(network(point)[0], rel=1e-3, abs=1e-3)
    tab.mouse.move(2, 2)
    assert tab.locator("#diagram .neuron.on").count() == 0


def point_at_neurons(tab: Any) -> None:
    pixels = "() => document.querySelector('figure[data-name=skips] .sheet').toDataURL()"
    before = tab.evaluate(pixels)
    lengths = tab.evaluate(
        "() => Array.from({ length: 15 },"
        " (_, i) => play.views.get('skips').plane.boundaryLength(i))"
    )
    neuron = int(np.argmax(lengths[5:10]))
    tab.locator(f"#diagram [data-layer='2'][data-index='{neuron}']").hover()
    tab.wait_for_function(f"(before) => ({pixels})() !== before", arg=before)
    tab.mouse.move(2, 2)
    tab.wait_for_function(f"(before) => ({pixels})() === before", arg=before)


def look_at_film(tab: Any, film: Path) -> None:
    page = tab.context.new_page()
    page.goto(film.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert "linear regions" in page.title()
    page.close()


def test_weights_points_and_looks(tab: Any, player: Any, tmp_path: Path) -> None:
    # click on a weight, and change it
    box = tab.locator("#diagram").bounding_box()
    first = tab.locator("#diagram [data-layer='3'][data-index='0']").bounding_box()
    last = tab.locator("#diagram [data-layer='4'][data-index='0']").bounding_box()
    middle = [
        (first[k] + last[k] + (first[s] + last[s]) / 2) / 2
        for k, s in (("x", "width"), ("y", "height"))
    ]
    assert box["x"] < middle[0]
    tab.mouse.click(*middle)
    tab.wait_for_selector("#weight:not([hidden])")
    tab.fill("#weight-value", "1.75")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#weight", state="hidden")
    eventually(lambda: player.network.output.terms[3][0, 0] == 1.75)
    # points by hand
    tab.select_option("#data", "own")
    tab.click("#clear")
    for name, (x, y) in (("1", (0.25, 0.25)), ("-1", (0.75, 0.75)), ("1", (0.25, 0.75))):
        tab.check(f"input[name=class][value='{name}']")
        count = len(player.settings.points)
        sheet = tab.locator("figure[data-name=skips] .sheet")
        size = sheet.bounding_box()["width"]
        sheet.click(position={"x": x * size, "y": y * size})
        tab.wait_for_function("(n) => play.about().settings.points.length === n", arg=count + 1)
    assert [label for _, _, label in player.settings.points] == [1.0, -1.0, 1.0]
    places = [point[:2] for point in player.settings.points]
    np.testing.assert_allclose(places, [[-0.75, 0.75], [0.75, -0.75], [-0.75, -0.75]], atol=0.02)
    # looks
    shots = set()
    for colours in ("value", "decision", "gradient", "pattern", "layer"):
        tab.click(f"#colouring [data-value={colours}]")
        tab.wait_for_timeout(50)
        shots.add(tab.locator("figure[data-name=skips] .box").screenshot())
    assert len(shots) == 5
    tab.wait_for_function("() => location.hash.includes('view.colours=layer')")
    # pictures
    for what, begin in (("png", b"\x89PNG"), ("svg", b"<svg")):
        tab.click("#keep summary")
        with tab.expect_download() as download:
            tab.click(f"[data-keep={what}]")
        download.value.save_as(tmp_path / what)
        assert (tmp_path / what).read_bytes().startswith(begin)
    assert (tmp_path / "svg").read_text().count("<path") == counts(tab)["skips"][0]


def test_nonsense_on_the_page(tab: Any, player: Any, tmp_path: Path) -> None:
    before = player.settings
    tab.fill("#learning_rate", "-3")
    tab.keyboard.press("Tab")
    tab.wait_for_selector("#notice.bad:not([hidden])")
    assert "learning_rate" in tab.inner_text("#notice")
    assert player.settings == before
    assert tab.input_value("#learning_rate") == "0.01"  # as it is
    # files: a bad line of a CSV, and one that is too large to send
    for name, content, said in (
        ("bad.csv", b"x,y,label\n0,0,a\n1,z,b\n", "line 3"),
        ("large.onnx", bytes(2**26), "large.onnx is too large"),
    ):
        (tmp_path / name).write_bytes(content)
        tab.set_input_files("#file", tmp_path / name)
        tab.wait_for_function(
            "(t) => document.querySelector('#notice').innerText.includes(t)", arg=said
        )
    assert player.settings == before
    # a link that makes no sense: the page is there all the same
    tab.goto("about:blank")
    tab.goto(player.url + "#widths=9999&learning_rate=nonsense")
    ready(tab)
    tab.wait_for_selector("#notice.bad:not([hidden])")
    assert tab.locator("#layers .one").count() == 3
    step(tab, player)
    agree(tab, player)


def test_two_clicks_in_a_moment_are_two(tab: Any, player: Any) -> None:
    """Before the server has answered the first of them."""
    tab.evaluate(
        """() => {
            const click = new MouseEvent("click", { bubbles: true });
            for (const skip of ["0-2", "1-3"]) {
                document.querySelector(`[data-skip='${skip}']`).dispatchEvent(click);
            }
            const more = document.querySelector("[aria-label='layer 2: more neurons']");
            for (let i = 0; i < 3; i++) more.click();
        }"""
    )
    eventually(lambda: player.settings.widths == (5, 8, 5))
    assert player.settings.skips == ((0, 2), (1, 3))
    # the keyboard stays at a button that is pressed again and again
    tab.focus("#more")
    for layers in (4, 5):
        tab.keyboard.press("Enter")
        playwright.expect(tab.locator("#layers .one")).to_have_count(layers, timeout=PATIENCE)
    tab.focus("[aria-label='layer 1: fewer neurons']")
    for width in (4, 3, 2):
        tab.keyboard.press("Enter")
        eventually(lambda width=width: player.settings.widths[0] == width)  # type: ignore[misc]
    agree(tab, player)
    assert tab.evaluate("() => document.activeElement.ariaLabel") == "layer 1: fewer neurons"


def test_what_is_clicked_and_typed_stays(tab: Any, player: Any) -> None:
    """Also where the server is busy, and answers one thing while somebody does another."""
    go_on = threading.Event()
    player.session.call(go_on.wait)  # it hears nothing for a while
    try:
        for _ in range(3):
            tab.click("#play")
        tab.click("#record")
        tab.dispatch_event("[data-skip='1-3'] .target", "click")
        assert tab.get_attribute("#play", "aria-pressed") == "true"  # on, off and on
        assert tab.get_attribute("#record", "aria-pressed") == "true"
        assert tab.get_attribute("[data-skip='1-3']", "aria-checked") == "true"
        tab.click("#play")
        tab.select_option("#data", "moons")
        tab.fill("#noise", "0.25")
        tab.focus("#learning_rate")  # which ends the noise
        tab.keyboard.press("ControlOrMeta+a")
        tab.keyboard.type("0.0")
    finally:
        go_on.set()
    eventually(lambda: player.settings.noise == 0.25)
    player.set(seed=3)
    tab.wait_for_function("() => document.querySelector('#seed').value === '3'")
    tab.keyboard.type("2")
    tab.keyboard.press("Enter")
    eventually(lambda: player.settings.learning_rate == 0.02)
    assert (player.settings.data, player.settings.skips) == ("moons", ((1, 3),))
    assert not player.session.running
    # nothing is no number
    tab.fill("#seed", "")
    tab.keyboard.press("Tab")
    assert tab.input_value("#seed") == "3"


def test_the_diagram_keeps_its_arcs(tab: Any, player: Any) -> None:
    """A key and a click mean the arc that they began on, whatever networks come meanwhile."""
    arc = tab.locator("[data-skip='1-3']")
    arc.focus()
    tab.evaluate("() => { document.activeElement.same = true; }")
    for k, values in enumerate(({"data": "moons"}, {"widths": [6, 5, 7]}, {"skips": [(0, 2)]})):
        player.set(**values)
        tab.set_viewport_size({"width": 1280 - 40 * k, "height": 960})
        agree(tab, player)
        assert tab.evaluate("() => document.activeElement.same") is True
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[data-skip='1-3'][aria-checked=true]")
    eventually(lambda: player.settings.skips == ((0, 2), (1, 3)))
    place = tab.evaluate(
        """() => {
            const path = document.querySelector("[data-skip='1-3'] .target");
            const at = path.getPointAtLength(path.getTotalLength() / 2);
            const { x, y } = at.matrixTransform(path.getScreenCTM());
            return [x, y];
        }"""
    )
    tab.mouse.move(*place)
    tab.mouse.down()
    player.set(data="xor")
    agree(tab, player)
    tab.mouse.up()
    eventually(lambda: player.settings.skips == ((0, 2),))


def test_frames_do_not_take_away_what_is_pressed(tab: Any, player: Any) -> None:
    """A button that is held down while frames come hears of its click; the keyboard stays there."""
    tab.dispatch_event("[data-skip='1-3'] .target", "click")
    name = tab.locator("figure[data-name=plain] .name")
    name.wait_for()
    tab.click("#play")
    for press, release in (
        (tab.mouse.down, tab.mouse.up),
        (lambda: tab.keyboard.down(" "), lambda: tab.keyboard.up(" ")),
    ):
        tab.click("figure[data-name=skips] .name")
        name.hover()
        name.focus()
        press()
        drawn = tab.evaluate("() => play.drawn()")
        tab.wait_for_function("(n) => play.drawn() > n + 3", arg=drawn)
        release()
        tab.wait_for_selector("figure[data-name=plain] .name[aria-pressed=true]")
        assert tab.evaluate("() => document.activeElement.textContent") == "without skips"
    tab.click("#play")


def test_without_a_mouse(tab: Any, player: Any) -> None:
    """Arrow keys point at regions, and Enter draws points; S is one step, R begins again."""
    player.set(data="own", points=[])
    tab.wait_for_selector("#hand:not([hidden])")
    tab.focus("figure[data-name=skips] .sheet")
    for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
        tab.keyboard.press(key)
    assert "neurons active" in tab.inner_text("figure[data-name=skips] .facts")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Shift+ArrowLeft")
    tab.keyboard.press("Shift+Enter")
    eventually(lambda: len(player.settings.points) == 2)
    np.testing.assert_allclose(player.settings.points, [[0.06, 0.12, 1], [-0.24, 0.12, -1]])
    tab.focus("#theme")
    tab.keyboard.press("s")
    settled(tab, 1)
    tab.keyboard.press("r")
    settled(tab, 0)
    assert tab.inner_text("figure[data-name=skips] .facts") == ""
    # the diagram: from neuron to neuron, and a weight
    picture = "() => document.querySelector('figure[data-name=skips] .sheet').toDataURL()"
    bare = tab.evaluate(picture)
    tab.focus("#diagram g.clickable >> nth=-1")
    tab.keyboard.press("Tab")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        tab.keyboard.press(key)
    assert tab.inner_text("#diagram .said") == "layer 2, neuron 2"
    chosen = tab.locator("#diagram .neuron.chosen")
    assert [chosen.get_attribute(f"data-{name}") for name in ("layer", "index")] == ["2", "2"]
    assert tab.evaluate(picture) != bare
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#weight:not([hidden])")
    row = player.network.layers[1].affine.terms[1][2]
    largest = int(np.argmax(np.abs(row)))
    assert tab.inner_text("#weight-name") == f"layer 1, neuron {largest} → layer 2, neuron 2"
    tab.keyboard.type("2.5")
    tab.keyboard.press("Enter")
    eventually(lambda: player.network.layers[1].affine.terms[1][2, largest] == 2.5)
    assert tab.inner_text("#diagram .said") == "layer 2, neuron 2"
    assert tab.evaluate("() => document.activeElement.classList.contains('neurons')")
    tab.focus("#theme")
    assert chosen.count() == 0
    tab.keyboard.press("r")
    settled(tab, 0)
    # the menu closes where it should, and gives the keyboard back
    tab.focus("#keep summary")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Escape")
    assert tab.evaluate("() => document.activeElement.textContent") == "Keep"
    tab.click("#keep summary")
    tab.click("h1")
    assert tab.get_attribute("#keep", "open") is None


def test_a_lost_connection_comes_back(browser: Any, player: Any) -> None:
    """With what was clicked meanwhile; a page whose run is elsewhere can have it back."""
    tab = page_of(browser)
    sockets: list[Any] = []
    closed: list[bool] = []

    def through(socket: Any) -> None:
        if closed:
            socket.close(code=1011)
            return
        sockets.append(socket)
        socket.connect_to_server()

    tab.route_web_socket("**/socket*", through)
    tab.goto(player.url)
    ready(tab)
    tab.click("#play")
    tab.wait_for_function("() => +document.documentElement.dataset.step > 4")
    closed.append(True)
    sockets[0].close(code=1011)
    tab.wait_for_selector("html[data-connection=interrupted]")
    assert "trying again" in tab.inner_text("#gone")
    tab.dispatch_event("[data-skip='1-3'] .target", "click")
    closed.clear()
    tab.wait_for_selector("html[data-connection=open]")
    eventually(lambda: player.settings.skips == ((1, 3),) and player.session.running)
    tab.wait_for_selector("figure[data-name=plain]")
    assert tab.locator("#gone").is_hidden()
    # another page, and back
    other = page_of(browser)
    other.goto(player.url)
    ready(other)
    tab.wait_for_selector("html[data-connection=elsewhere]")
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    tab.click("#again")
    other.wait_for_selector("html[data-connection=elsewhere]")
    tab.wait_for_selector("html[data-connection=open]")
    player.pause()  # the run went on, elsewhere
    step(tab, player)
    # no server any more: the page says so for as long as it is open, and what one can do
    player.close()
    tab.wait_for_selector("html[data-connection=ended]")
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    assert "The server has ended" in tab.inner_text("#gone")
    assert tab.locator("#command").is_visible()
    tab.close()
    other.close()


def test_a_reload_after_the_last_click(tab: Any, player: Any) -> None:
    """The address lags behind what was clicked; the run that is there counts."""
    tab.wait_for_function("() => location.hash.includes('widths=5.5.5')")
    tab.evaluate("() => { history.replaceState = () => undefined; }")  # as if it were too late
    tab.dispatch_event("[data-skip='0-2'] .target", "click")
    eventually(lambda: player.settings.skips == ((0, 2),))
    player.step(3)
    tab.reload()
    settled(tab, 3)
    assert player.settings.skips == ((0, 2),)


def test_weights_beyond_all_bounds_end_the_training(tab: Any, player: Any) -> None:
    player.set(data="phi4", optimiser="sgd", learning_rate=10.0, loss="squared")
    tab.click("#play")
    tab.wait_for_selector("#notice.bad:not([hidden])")
    assert "beyond all bounds" in tab.inner_text("#notice")
    settled(tab, player.session.training.step)
    assert tab.get_attribute("#play", "aria-pressed") == "false"
    player.set(learning_rate=0.001)
    tab.click("#reset")
    settled(tab, 0)
    step(tab, player)
    agree(tab, player)


def test_nothing_lies_on_something_else(tab: Any, player: Any) -> None:
    """With all that the panel can show, on a desk and on a phone."""
    player.set(data="own", points=[[0.5, 0.5, 1.0], [-0.5, 0.5, -1.0]], widths=[4] * 8)
    tab.wait_for_selector("#hand:not([hidden])")
    panel = tab.locator("aside section")
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        boxes = [panel.nth(k).bounding_box() for k in range(3)]
        stage = tab.locator("#stage").bounding_box()
        for box in boxes:
            beside = box["x"] + box["width"] <= stage["x"]
            assert beside if width == 1280 else box["y"] >= stage["y"] + stage["height"]
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= width
        inside = tab.locator("#hand button, #layers button")
        edge = boxes[0]["x"] + boxes[0]["width"]
        for box in (each.bounding_box() for each in inside.all()):
            assert box["x"] + box["width"] <= edge


def test_a_reload_goes_on_with_the_run(browser: Any) -> None:
    """Its film and the network that it began with, too; another link begins anew."""
    rng = np.random.default_rng(2)
    network = Network.mlp([rng.normal(size=(4, 2)), rng.normal(size=(4, 4)), [[1.0] * 4]])
    served = play(network, "moons", open_browser=False)
    tab = page_of(browser)
    try:
        tab.goto(served.url)
        ready(tab)
        tab.click("#record")
        tab.wait_for_selector("html[data-film='1']")
        served.step(3)
        tab.wait_for_selector("html[data-film='2']")
        assert "data=moons" in tab.evaluate("() => location.hash")
        tab.reload()  # until it is there: what is waited for next was there before, too
        tab.wait_for_selector("html[data-film='2'][data-step='3']")
        agree(tab, served)
        assert served.session.training.given == network
        assert served.session.recording
        # a link in the address of the open page
        tab.evaluate(
            """() => {
                const own = location.hash;
                location.hash = "widths=3.2&skips=0-2&data=xor";
                history.replaceState(null, "", own);  // as the page itself does all the time
            }"""
        )
        tab.wait_for_selector("figure[data-name=plain]")
        assert served.settings == Settings(widths=(3, 2), skips=((0, 2),), data="xor")
        agree(tab, served)
    finally:
        tab.close()
        served.close()


def test_leaving_the_page_ends_the_training(tab: Any, player: Any) -> None:
    tab.click("#play")
    tab.wait_for_function("() => +document.documentElement.dataset.step > 4")
    tab.goto("about:blank")
    eventually(lambda: not player.session.running)


def test_in_a_notebook(browser: Any, player: Any) -> None:
    """Inside a page of another origin, as notebooks show it; driven from Python."""
    shown = f"<!doctype html><title>notebook</title>{player._repr_html_()}".encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(shown)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = page_of(browser)
    try:
        tab.goto(f"http://localhost:{server.server_port}/")
        inside = tab.frame_locator("iframe")
        inside.locator("html[data-step='0']").wait_for(state="attached", timeout=COMPILING)
        player.step(7)
        inside.locator("html[data-step='7']").wait_for(state="attached")
        player.set(data="xor", learning_rate=0.5)
        rate = inside.locator("#learning_rate")
        playwright.expect(rate).to_have_value("0.5", timeout=PATIENCE)
        inside.locator("#step").click()
        inside.locator("html[data-step='8']").wait_for(state="attached")
        assert player.session.training.step == 8
    finally:
        tab.close()
        server.shutdown()
        server.server_close()


def test_a_stranger_s_page_gets_nothing(browser: Any, player: Any, tmp_path: Path) -> None:
    """A page of another origin that even knows the token."""
    page = tmp_path / "evil.html"
    page.write_text("<!doctype html><title>evil</title>")
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(page.as_uri())
    socket = player.url.replace("http:", "ws:").replace("/?", "/socket?")
    attempt = """async ([url, socket]) => {
      const page = await fetch(url).then((r) => r.text(), () => "refused");
      const talk = await new Promise((done) => {
        const s = new WebSocket(socket);
        s.onmessage = () => done("talks");
        s.onerror = s.onclose = () => done("refused");
      });
      return [page, talk];
    }"""
    assert tab.evaluate(attempt, [player.url, socket]) == ["refused", "refused"]
    assert json.dumps(player.settings.plain())
    context.close()
