"""Measure the HTML pages of `depkit report` and `depkit suspects` in headless Chromium.

python -m tests.bench pages FILE...

The processor time is that of the main thread of the page, and hardly depends on other programs. The
times until the first paint and until the page is usable are elapsed times.
"""

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from tests.drawing.report.browser import Browser, open_browser, set_filter, wait

TIMES = """
const [{ domContentLoadedEventEnd: loaded }] = performance.getEntriesByType('navigation');
return [performance.getEntriesByName('first-paint')[0].startTime, loaded];
"""
EXPRESSION = "the .*(house|time)"
HEADER = (
    "page | MB | processor ms: open | search | heap MB | first paint, ms | usable, ms | messages"
)


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench pages", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("pages", metavar="FILE", type=Path, nargs="+")
    parser.add_argument("--runs", type=int, default=3, help="runs of every page; default: 3")
    arguments = parser.parse_args(argv)
    print(HEADER)
    with open_browser() as browser:
        browser.devtools("Performance.enable", timeDomain="threadTicks")
        for page in arguments.pages:
            runs = [measure(browser, page) for _ in range(arguments.runs)]
            opened, searched, heap, paint, usable = map(statistics.median, zip(*runs, strict=True))
            print(
                f"{page.name} | {page.stat().st_size / 1e6:.1f} | {opened:.0f} | {searched:.0f} |"
                f" {heap:.0f} | {paint:.0f} | {usable:.0f} | {len(browser.messages())}"
            )


def measure(browser: Browser, page: Path) -> tuple[float, ...]:
    """Open a page and search its list; return the figures of HEADER."""
    browser.open("about:blank")
    browser.open(page.resolve().as_uri())
    wait(browser, "performance.getEntriesByName('first-paint').length")
    opened, heap = read_metrics(browser)
    first_paint, usable = browser.run(TIMES)
    set_filter(browser, "words", EXPRESSION)
    searched = read_metrics(browser)[0] - opened
    return opened, searched, heap, first_paint, usable


def read_metrics(browser: Browser) -> tuple[float, float]:
    """Return the processor time of the main thread in ms, and the size of the heap in MB."""
    metrics = browser.devtools("Performance.getMetrics")["metrics"]
    values = {metric["name"]: metric["value"] for metric in metrics}
    return 1000 * values["TaskDuration"], values["JSHeapUsedSize"] / 1e6
