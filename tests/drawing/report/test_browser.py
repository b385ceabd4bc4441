"""The page of a report in a real browser: every filter and every cell, without any error."""

import pytest

from tests.cli.commands import Command
from tests.drawing.report.browser import (
    CHANGE,
    RESULT,
    clear_filter,
    found,
    needs_browser,
    set_filter,
    visit,
    wait,
)
from tests.drawing.report.pages import FIRST, HOSTILE, SECOND, TREES, write_trees

pytestmark = needs_browser
run = Command("report")
LONG = [(f"w{i}", "X", 1 if i else 0, "dep" if i else "root") for i in range(60)]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    hostile = [(text, text, i, text) for i, text in enumerate(HOSTILE)]
    trees = [*TREES, LONG, hostile]
    wrong = {(4, i): (i, "<i>", "<u>") for i in range(2, len(HOSTILE))}
    files = [
        write_trees(folder / "gold.conllu", trees),
        write_trees(folder / "first.conllu", trees, FIRST | wrong, probability=True),
        write_trees(folder / "second.conllu", trees, SECOND | {(4, 3): (-1, "_", "_")}),
    ]
    run(*files, "-o", folder / "out.html")
    return (folder / "out.html").as_uri()


def test_every_filter_selects_the_sentences_of_the_data(browser, page):
    browser.open(page)
    assert found(browser.run(RESULT)) == (5,)
    assert set_filter(browser, "words", "^birds .*cats$") == (1,)
    assert set_filter(browser, "words", "(") == ()
    assert "not a regular expression" in browser.run(RESULT)
    assert set_filter(browser, "words", "") == (5,)
    wrong = len(HOSTILE) - 2
    assert set_filter(browser, "error", "wrong") == (4, 3 + wrong)
    assert set_filter(browser, "error", "head") == (2, 2)
    assert set_filter(browser, "error", "label") == (2, 1 + wrong)
    assert set_filter(browser, "error", "both") == (1, 1)
    assert set_filter(browser, "error", "tag") == (2, 1 + wrong)
    assert set_filter(browser, "error", "wrong") == (4, 3 + wrong)
    assert set_filter(browser, "relation", "nsubj") == (1, 1)
    assert set_filter(browser, "predicted", "det") == (0, 0)
    assert set_filter(browser, "predicted", "obj") == (1, 1)
    assert set_filter(browser, "relation", "") == (3, 3)
    assert set_filter(browser, "tag", "ADJ") == (1, 1)
    assert set_filter(browser, "tag", "") == (3, 3)
    assert set_filter(browser, "distance", "1") == (3, 3)
    assert set_filter(browser, "distance", "root") == (0, 0)
    assert set_filter(browser, "distance", "") == (3, 3)
    assert set_filter(browser, "system", "1") == (1, 1)
    clear_filter(browser, "#sentences?")
    assert set_filter(browser, "pair", "0,1") == (2, 2)
    assert set_filter(browser, "pair", "1,0") == (3, 2 + wrong - 1)
    assert set_filter(browser, "trees", "all") == (3, 2 + wrong - 1)
    assert set_filter(browser, "order", "errors") == (3, 2 + wrong - 1)
    first = browser.run("return document.querySelector('article').id")
    assert first == "sentence-5"
    assert browser.messages() == []


def test_every_cell_and_link_opens_as_many_words_as_it_says(browser, page):
    browser.open(page)
    cells = browser.run(
        "return [...document.querySelectorAll('.heat a')].map(a => [a.hash, a.textContent])"
    )
    assert len(cells) >= 3
    results = visit(browser, [address for address, _ in cells])
    assert [found(text)[1] for text in results] == [int(number) for _, number in cells]
    links = "[...document.querySelectorAll('main a[href^=\"#sentence\"], nav a')].map(a => a.hash)"
    addresses = browser.run(f"return {links}")
    assert len(visit(browser, addresses)) == len(addresses)
    browser.run("location.hash = '#sentence-4'")
    wait(browser, "document.querySelectorAll('article').length === 1")
    assert browser.run("return document.querySelectorAll('article figure').length") == 2
    assert browser.messages() == []


def test_an_expression_that_takes_too_long_is_stopped(browser, page):
    browser.open(page)
    browser.run(CHANGE, "words", "(x+)+y")  # exponential in the 5,000 x of a hostile word
    wait(browser, "document.querySelector('[aria-live]').textContent === 'Searching…'")
    # The page can be used in the meantime, and another condition starts the search anew.
    assert set_filter(browser, "words", "^birds") == (1,)
    browser.run(CHANGE, "words", "(x+)+y")
    wait(browser, "document.querySelector('[role=alert]')")
    assert "stopped after 10 seconds" in browser.run(RESULT)
    set_filter(browser, "error", "head")
    assert "stopped after 10 seconds" in browser.run(RESULT)
    assert browser.run("return document.querySelectorAll('article').length") == 0
    assert set_filter(browser, "words", "") == (2, 2)
    assert browser.messages() == []


def test_buttons_and_choices_work(browser, page):
    browser.open(page)
    browser.run("document.querySelectorAll('details').forEach(element => { element.open = true })")
    sort = "[...document.querySelectorAll('#tables tbody tr')].map(row => row.cells[1].textContent)"
    browser.run("document.querySelectorAll('#tables th button')[1].click()")
    down = list(map(int, browser.run(f"return {sort}")[:5]))
    assert down == sorted(down, reverse=True)
    browser.run("document.querySelectorAll('#tables th button')[1].click()")
    up = list(map(int, browser.run(f"return {sort}")[:5]))
    assert up == sorted(up)
    browser.run("""
        document.querySelectorAll('th button').forEach(button => button.click());
        for (const box of document.querySelectorAll('.choice select'))
            for (const option of [...box.options]) {
                box.value = option.value;
                box.dispatchEvent(new Event('change'));
            }
    """)
    assert browser.messages() == []


def test_what_is_too_wide_is_scrolled_by_keyboard(browser, page):
    browser.open(page)
    boxes = browser.run("""
        return [...document.querySelectorAll('.scroll')].map(
            (box) => [box.tabIndex, box.getAttribute('role'), box.getAttribute('aria-label')])
    """)
    assert len(boxes) > 3 and all(index == 0 and role == "region" for index, role, _ in boxes)
    assert all(label for _, _, label in boxes)


def test_hostile_text_is_shown_as_text(browser, page):
    browser.open(f"{page}#sentence-5")
    shown = browser.run("return document.querySelector('article .words').textContent")
    assert all(text in shown for text in HOSTILE[:2]) and "\u202e" not in shown
    assert browser.run("return document.title").endswith(".conllu: parser report")
    bad = "return document.querySelectorAll('img, b, i, u, main script').length"
    assert browser.run(bad) == 0
    wide = browser.run("return [document.body.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1]
    assert browser.messages() == []


@pytest.mark.parametrize("width", [360, 1400])
def test_wide_sentences_are_wrapped(browser, page, width):
    browser.set_width(width)
    browser.open("about:blank")
    browser.open(f"{page}#sentence-4")
    trees = "[...document.querySelectorAll('svg.tree')]"
    right = browser.run(f"return {trees}.map(tree => tree.getBoundingClientRect().right)")
    assert len(right) == 2 and max(right) <= width
    rows = (
        "new Set([...document.querySelectorAll('svg.tree .small')].map(t => t.getAttribute('y')))"
    )
    assert browser.run(f"return ({rows}).size") > (8 if width < 500 else 1)
    browser.devtools("Emulation.clearDeviceMetricsOverride")


def test_a_single_system_without_errors_has_a_page(browser, tmp_path):
    gold = write_trees(tmp_path / "gold.conllu", TREES)
    run(gold, gold, "-o", tmp_path / "out.html")
    browser.open((tmp_path / "out.html").as_uri())
    hidden = "[...document.querySelectorAll('section[hidden]')].map(section => section.id)"
    assert browser.run(f"return {hidden}") == ["confusions", "calibration", "agreement"]
    assert set_filter(browser, "error", "wrong") == (0, 0)
    assert browser.messages() == []


def test_the_page_has_no_request_but_its_own(browser, page):
    browser.open(page)
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
