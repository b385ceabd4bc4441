"""The site in a real browser: the search, and pages that fit a narrow window."""

from collections.abc import Iterator

import pytest

from depkit.cli.site import write_site
from tests.drawing.report.browser import Browser, needs_browser, open_browser, wait

pytestmark = needs_browser
FOUND = "Array.from(document.querySelectorAll('#found a'), a => a.firstChild.textContent)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    write_site(folder)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as window:
        yield window


def search(browser: Browser, text: str) -> list[str]:
    browser.run("document.getElementById('query').value = ''")
    browser.press("#query", text)
    wait(browser, "!document.getElementById('found').hidden")
    return browser.run(f"return {FOUND}")


def test_the_search_finds_titles_first(browser, folder):
    browser.open((folder / "index.html").as_uri())
    assert search(browser, "training.rate")[0] == "training.rate"
    assert search(browser, "evaluate")[0] == "depkit.evaluate"
    assert search(browser, "parse prob")[0] == "depkit parse --prob"
    assert "depkit eval --punct" in search(browser, "punctuation")
    assert search(browser, "xyzzy") == []
    assert "0 found" in browser.run("return document.getElementById('found').textContent")


def test_the_first_result_is_opened_by_the_keyboard(browser, folder):
    browser.open((folder / "settings.html").as_uri())
    search(browser, "depkit convert")
    browser.press("#query", "\ue015\ue015\ue013\ue00c")  # down, down, up, Escape
    assert browser.run("return document.getElementById('found').hidden")
    search(browser, "depkit convert --to")
    browser.press("#query", "\ue007")  # Enter
    wait(browser, "location.href.endsWith('command-convert.html#--to')")


def test_without_results_the_list_of_everything_is_opened(browser, folder):
    browser.open(f"{(folder / 'search.html').as_uri()}?q=encoder.size")
    wait(browser, "!document.getElementById('found').hidden")
    assert browser.run(f"return {FOUND}")[0] == "encoder.size"


def test_pages_of_all_kinds_fit_narrow_windows_and_have_no_errors(browser, folder):
    names = "index tutorial-annotator conventions settings recipes models api command-parse search"
    browser.set_width(400)
    for name in names.split():
        browser.open((folder / f"{name}.html").as_uri())
        assert browser.run("return document.documentElement.scrollWidth") <= 400, name
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    assert browser.messages() == []
