"""Frames a second of `tropicell play`, training included, seen in a real browser: `python -m benchmarks.play`.

The page is opened in Chromium (without a GPU: the processor draws), the network is trained, and the
frames that the page has drawn are counted. Next to it the processor time that a frame takes on both sides, which
does not depend on what else the machine does.
"""

import argparse
import json
import os
import platform
import shutil
import time
from pathlib import Path
from statistics import mean

HERE = Path(__file__).parent
ARGUMENTS = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
#: Widths, whether the network without skips is trained beside it, and the frames a second that are wanted.
CASES = [
    ((18, 18, 18), False, 30),
    ((18, 18, 18), True, 30),
    ((56, 56, 56), False, 10),
    ((56, 56, 56), True, 10),
]
PAGE = """<!-- written by benchmarks/play.py -->
# Frames a second of the live page

`tropicell play` trains a network on two spirals (batches of 32, Adam), finds all its regions in the box, exactly, counts
those over R², and sends them to the page, which draws them; a frame is a frame that the page has drawn. Measured in Chromium
without a GPU, so that the processor also does the drawing. {machine}

{table}

Processor times are those of one frame, on both sides: the server's contains all training between two frames. With `n` cores to
themselves, both sides can do at most `n` seconds of work in a second, which the last column makes of these times for two.
"""


def chromium_seconds():
    """Processor seconds of all descendants of this process."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(
                (int(entry.name), int(fields[11]) + int(fields[12]))
            )
    total, waiting = 0, [os.getpid()]
    while waiting:
        for child, ticks in children.get(waiting.pop(), []):
            total += ticks
            waiting.append(child)
    return total / os.sysconf("SC_CLK_TCK")


def measure(browser, widths, compare, seconds):
    from tropicell import play
    from tropicell.playground.frames import frame_of

    skips = [(1, 3)]
    player = play(data="spirals", widths=widths, skips=skips, compare=compare, open_browser=False)
    frame_of(player.session.training)  # kernels are compiled before the clock starts
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    tab = context.new_page()
    tab.goto(player.url)
    tab.wait_for_selector("html[data-step]", timeout=120_000)
    tab.click("#play")
    tab.wait_for_function("() => play.drawn() > 10", timeout=120_000)
    before = tab.evaluate("() => play.drawn()"), player.session.training.step
    clocks = time.perf_counter(), time.process_time(), chromium_seconds()
    counts = []
    while time.perf_counter() < clocks[0] + seconds:
        time.sleep(seconds / 8)
        counts.append(tab.evaluate("() => play.frame().pictures[0].regions"))
    frames = tab.evaluate("() => play.drawn()") - before[0]
    wall, server, page = (
        b - a
        for a, b in zip(
            clocks, (time.perf_counter(), time.process_time(), chromium_seconds()), strict=True
        )
    )
    row = {
        "widths": widths,
        "networks": 2 if compare else 1,
        "regions": round(mean(counts)),
        "fps": frames / wall,
        "steps": (player.session.training.step - before[1]) / wall,
        "server_ms": 1000 * server / frames,
        "page_ms": 1000 * page / frames,
        "load": os.getloadavg()[0],
        "shot_every_steps": player.settings.speed,
    }
    context.close()
    player.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--again", action="store_true", help="write the page anew without measuring"
    )
    arguments = parser.parse_args()
    data = HERE / "play.json"
    if not arguments.again:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=ARGUMENTS
            )
            rows = []
            for widths, compare, wanted in CASES:
                rows.append(
                    measure(browser, widths, compare, arguments.seconds) | {"wanted": wanted}
                )
                print(rows[-1])
            browser.close()
        found = {"cores": os.cpu_count(), "machine": platform.machine(), "rows": rows}
        data.write_text(json.dumps(found, indent=1) + "\n")
    write_page(json.loads(data.read_text()))


def write_page(found):
    head = [
        "network",
        "networks",
        "regions of the first",
        "frames/s",
        "wanted",
        "steps/s",
        "server, ms",
        "page, ms",
        "at most, on two free cores",
    ]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in found["rows"]:
        # the server trains and searches in one thread; the page draws in several
        most = min(1000 / row["server_ms"], 2000 / (row["server_ms"] + row["page_ms"]), 60)
        cells = [
            "2 → " + " → ".join(map(str, row["widths"])) + " → 1",
            str(row["networks"]),
            f"{row['regions']:,}",
            f"{row['fps']:.1f}",
            "–" if row["wanted"] is None else str(row["wanted"]),
            f"{row['steps']:.0f}",
            f"{row['server_ms']:.1f}",
            f"{row['page_ms']:.1f}",
            f"{most:.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    load = max(row["load"] for row in found["rows"])
    machine = f"{found['cores']} cores ({found['machine']}); up to {load:.1f} processes wanted them at the time."
    (HERE / "PLAY.md").write_text(
        PAGE.format(machine=machine, table="\n".join(lines)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
