"""The page of suspects: data that equal those of the command's JSON, filters, drawings."""

import json
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.commands import Command
from tests.drawing.report.browser import (
    Browser,
    clear_filter,
    found,
    needs_browser,
    set_filter,
    visit,
    wait,
)
from tests.drawing.report.pages import HOSTILE, read_page, records, write_trees

run = Command("suspects")

Word = tuple[str, str, int, str]  # form, UPOS, head, relation
SENTENCE: list[Word] = [
    ("The", "DET", 2, "det"), ("cats", "NOUN", 3, "nsubj"), ("sleep", "VERB", 0, "root"),
    ("here", "ADV", 3, "advmod"), (".", "PUNCT", 3, "punct"),
]  # fmt: skip
# The words of the treebank that are wrong, by sentence and word; the parse is right, except for
# the last sentence.
WRONG = {
    (0, 3): (2, "advmod", "ADV"),
    (1, 1): (3, "obj", "NOUN"),
    (2, 0): (2, "det", "PRON"),
    (3, 3): (2, "obl", "NOUN"),
    (4, 2): (-1, "_", "_"),
}
TREES = [*([SENTENCE] * 4), [(text, text, i, text) for i, text in enumerate(HOSTILE)]]
PARSE_OF_HOSTILE = {(4, i): (i - 1, "<i>", "<u>") for i in range(2, len(HOSTILE))}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("suspects")
    gold = write_trees(folder / "gold.conllu", TREES, WRONG)
    parse = write_trees(folder / "parse.conllu", TREES, PARSE_OF_HOSTILE, probability=True)
    return [gold, "--parses", parse]


@pytest.fixture(scope="module")
def page(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "out.html"
    run(*files, "-o", path)
    return path


def test_the_page_has_the_suspects_of_the_list(files: list[str], page: Path) -> None:
    data = read_page(page.read_text())
    listed = json.loads(run(*files, "--json")[0])
    assert [data["total"], data["words"], data["found"]] == [
        listed["sentences"], listed["words"], listed["found"]
    ]  # fmt: skip
    left_out = ("score", "form", "gold_head", "alternative_head", "context")
    expected = [
        {key: value for key, value in suspect.items() if key not in left_out}
        for suspect in listed["suspects"]
    ]
    shown = records(data["suspects"])
    packed = data["sentences"]
    for suspect, record in zip(shown, listed["suspects"], strict=True):
        _, forms, tags, heads, relations = packed["rows"][suspect.pop("sentence")]
        assert packed["forms"][forms[record["word"] - 1]] == record["form"]
        assert len(forms) == len(tags) == len(heads) == len(relations)
        if record["kind"] == "head":
            word = record["word"] - 1
            assert record["gold"] == f"{heads[word]}:{packed['relations'][relations[word]]}"
    assert shown == expected
    kinds = Counter((suspect["kind"], suspect["source"]) for suspect in expected)
    assert {(row["kind"], row["source"]): row["count"] for row in records(data["counts"])} == kinds
    assert {"head", "deprel", "upos"} <= {kind for kind, _ in kinds}


def test_a_limit_keeps_the_first_suspects(files: list[str], page: Path, tmp_path: Path) -> None:
    run(*files, "-o", tmp_path / "out.HTM", "--limit", 2)
    data, whole = (read_page(path.read_text()) for path in (tmp_path / "out.HTM", page))
    first, rows = (records(contents["suspects"]) for contents in (data, whole))
    for record in (*first, *rows):
        del record["sentence"]  # which is its index in the page
    assert first == rows[:2] and len(rows) > 2
    assert (data["found"], data["counts"]) == (whole["found"], whole["counts"])
    assert len(data["sentences"]["rows"]) <= 2


@needs_browser
def test_every_filter_selects_the_suspects_of_the_data(browser: Browser, page: Path) -> None:
    suspects = records(read_page(page.read_text())["suspects"])

    def number(**values: str) -> int:
        return sum(all(suspect[k] == v for k, v in values.items()) for suspect in suspects)

    browser.open(page.as_uri())
    links = browser.run("return [...document.querySelectorAll('#overview a')].map(a => a.hash)")
    texts = visit(browser, links)
    assert [found(text)[0] for text in texts] == [
        number(kind=kind) for kind in ("head", "deprel", "upos")
    ]
    clear_filter(browser, "#suspects?")
    assert set_filter(browser, "source", "parser") == (number(source="parser"),)
    assert set_filter(browser, "source", "both") == (number(source="both"),)
    assert set_filter(browser, "kind", "deprel") == (1,)
    assert set_filter(browser, "annotation", "obj") == (1,)
    assert set_filter(browser, "alternative", "nsubj") == (1,)
    assert set_filter(browser, "alternative", "ADV") == (0,)
    clear_filter(browser, "#suspects?")
    hostile = number(sent_id="s5")
    assert set_filter(browser, "words", "^the cats") == (len(suspects) - hostile,)
    assert set_filter(browser, "words", "") == (len(suspects),)
    set_filter(browser, "order", "treebank")
    numbers = "return [...document.querySelectorAll('article')].map(a => Number(a.id.slice(8)))"
    order = sorted(suspects, key=lambda suspect: (suspect["line"], suspect["word"]))
    assert browser.run(numbers) == [suspect["rank"] for suspect in order]
    assert browser.messages() == []


@needs_browser
def test_a_suspect_is_drawn_with_the_proposed_arc(browser: Browser, page: Path) -> None:
    suspects = records(read_page(page.read_text())["suspects"])
    browser.open(page.as_uri())
    for kind, gold, texts in (
        ("head", "2:advmod", ["? advmod", "advmod"]),
        ("deprel", "obj", ["? obj", "nsubj"]),
        ("upos", "PRON", []),
    ):
        (suspect,) = (x for x in suspects if (x["kind"], x["gold"]) == (kind, gold))
        browser.run(f"location.hash = '#suspect-{suspect['rank']}'")
        wait(browser, f"document.querySelector('article').id === 'suspect-{suspect['rank']}'")
        labels = "article .label.wrong, article .label.missed"
        script = f"return [...document.querySelectorAll('{labels}')].map(e => e.textContent)"
        assert browser.run(script) == texts
        text = browser.run("return document.querySelector('article').textContent")
        place = f"gold.conllu:{suspect['line']}, sentence {suspect['sent_id']}"
        assert place in text and f"{suspect['probability']:.4f}" in text
        assert browser.run("return document.querySelectorAll('svg.tree .matched').length") == 1
    assert "PRON → DET" in text
    assert browser.messages() == []


@needs_browser
@pytest.mark.parametrize("width", [360, 1400])
def test_hostile_text_is_shown_as_text(browser: Browser, page: Path, width: int) -> None:
    browser.set_width(width)
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}#suspects?annotation={quote('&lt;b&gt;')}")
    shown = browser.run("return document.querySelector('article .words').textContent")
    assert all(text in shown for text in HOSTILE[:2]) and "\u202e" not in shown
    assert browser.run("return document.title").endswith(": suspects")
    assert browser.run("return document.querySelectorAll('img, b, i, u, main script').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    wide = browser.run("return [document.body.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1]
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    assert browser.messages() == []


@needs_browser
def test_a_treebank_without_suspects_has_a_page(browser: Browser, tmp_path: Path) -> None:
    gold = write_trees(tmp_path / "gold.conllu", [SENTENCE])
    run(gold, "--parses", gold, "-o", tmp_path / "out.html")
    browser.open((tmp_path / "out.html").as_uri())
    assert "There are no suspects." in browser.run("return document.body.textContent")
    assert set_filter(browser, "words", "cats") == (0,)
    assert browser.messages() == []
