"""From suspects to a corrected treebank: decisions on the page become corrections for edit."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from depkit.corpus.io import read
from depkit.drawing.report.page import render_page
from depkit.drawing.report.suspects import make_contents
from depkit.treebank.suspects import Suspect
from tests.cli.commands import Command
from tests.drawing.report.browser import TIMEOUT, Browser, needs_browser, wait
from tests.drawing.report.pages import Word, read_page, records, write_trees

SENTENCE: list[Word] = [
    ("The", "DET", 2, "det"), ("cats", "NOUN", 3, "nsubj"), ("sleep", "VERB", 0, "root"),
    ("here", "ADV", 3, "advmod"), (".", "PUNCT", 3, "punct"),
]  # fmt: skip
TREES = [SENTENCE] * 5
WRONG = {
    (0, 3): (2, "advmod", "ADV"),
    (1, 1): (3, "obj", "NOUN"),
    (2, 0): (2, "det", "PRON"),
    (3, 3): (2, "obl", "ADV"),
    (4, 1): (0, "root", "NOUN"),
    (4, 2): (2, "acl", "VERB"),
}
KEYS = {"space": "\ue00d", "down": "\ue015", "right": "\ue014", "tab": "\ue004"}
COUNTS = "document.querySelector('#decisions [role=status] p').textContent"
edit, check = Command("edit"), Command("check")


@pytest.fixture(scope="module")
def treebank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decisions") / "gold.conllu"
    write_trees(path, TREES, WRONG)
    return path


@pytest.fixture(scope="module")
def page(treebank: Path) -> Path:
    parse, path = treebank.with_name("parse.conllu"), treebank.with_suffix(".html")
    write_trees(parse, TREES, probability=True)
    Command("suspects")(treebank, "--parses", parse, "-o", path)
    return path


def find_suspects(page: Path) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the suspects of a page by sentence, word and kind."""
    suspects = records(read_page(page.read_text())["suspects"])
    return {(x["sent_id"], x["word"], x["kind"]): x for x in suspects}


def test_the_data_of_the_page_are_corrections(treebank: Path, page: Path) -> None:
    """Without a browser: rows as the page writes them make the treebank equal to the parse."""
    data = read_page(page.read_text())
    forms, rows = data["sentences"]["forms"], data["sentences"]["rows"]
    corrections = [
        {
            "decision": "accept",
            **{name: x[name] for name in ("file", "line", "sent_id", "word", "kind", "gold")},
            "form": forms[rows[x["sentence"]][1][x["word"] - 1]],
            "alternative": x["alternative"],
            "proposed": x["alternative"],
        }
        for x in records(data["suspects"])
    ]
    assert data["universal"] is True
    path, result = treebank.with_suffix(".json"), treebank.with_name("result.conllu")
    path.write_text(json.dumps({"corrections": corrections}))
    edit(path, treebank, "-o", result)
    tree = [(*row[:2], row[2], row[3]) for row in SENTENCE]
    for sentence in read(result):
        columns = (sentence.form, sentence.upos, sentence.head, sentence.deprel)
        assert list(zip(*columns, strict=True)) == tree
    assert " 0 errors" in check(result)[0]


def radio(suspect: dict[str, Any], choice: str) -> str:
    return f"#suspect-{suspect['rank']} input[value='{choice}']"


def download(browser: Browser, folder: Path) -> Path:
    """Click on the button of the page, and wait for the file."""
    folder.mkdir()
    browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.click("#decisions button")
    end = time.monotonic() + TIMEOUT
    while not (files := list(folder.glob("*.json"))):
        assert time.monotonic() < end, "the file is not downloaded"
        time.sleep(0.01)
    assert [file.name for file in files] == ["gold.corrections.json"]
    return files[0]


@needs_browser
def test_decisions_on_the_page_correct_the_treebank(
    browser: Browser, treebank: Path, page: Path, tmp_path: Path
) -> None:
    suspects = find_suspects(page)
    browser.set_width(400)
    browser.open(page.as_uri())
    browser.run("localStorage.clear()")
    browser.open("about:blank")
    browser.open(page.as_uri())
    assert browser.run(f"return {COUNTS}").startswith("0 accepted, 0 rejected")
    assert browser.run("return document.querySelector('#decisions button').disabled")
    browser.click(radio(suspects["s1", 4, "head"], "accept"))
    # With the keyboard: the arrow chooses the next decision.
    deprel = suspects["s2", 2, "deprel"]
    browser.press(radio(deprel, ""), KEYS["down"])
    assert browser.run(f'return document.querySelector("{radio(deprel, "accept")}").checked')
    browser.press(radio(suspects["s3", 1, "upos"], ""), KEYS["down"] * 2)
    own = suspects["s4", 4, "head"]
    browser.press(radio(own, ""), KEYS["down"] * 3)
    field = f"#suspect-{own['rank']} .own"
    browser.press(f"{field} select", "3 sleep")
    browser.run(f"document.querySelector('{field} input').value = ''")
    browser.press(f"{field} input", "ad")
    browser.press(f"{field} input", "vmod:lmod")
    # A sentence with two roots is a problem until the other word is corrected.
    browser.click(radio(suspects["s5", 3, "head"], "accept"))
    problem = "[...document.querySelectorAll('#decisions li')].map(e => e.textContent).join()"
    other = f"the other heads of the sentence: suspect {suspects['s5', 2, 'head']['rank']}"
    assert "the words 2 cats, 3 sleep would all be roots" in browser.run(f"return {problem}")
    assert other in browser.run(f"return {problem}")
    browser.click(radio(suspects["s5", 2, "head"], "accept"))
    assert browser.run(f"return {problem}") == ""
    wide = browser.run("return [document.body.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1]
    browser.open("about:blank")
    browser.open(page.as_uri())
    assert browser.run(f"return {COUNTS}").startswith("5 accepted, 1 rejected")
    assert browser.run(f"return document.querySelector('{field} input').value") == "advmod:lmod"
    file = download(browser, tmp_path / "first")
    result, changes = tmp_path / "result.conllu", tmp_path / "changes.tsv"
    edit(file, treebank, "-o", result, "--changes", changes)
    expected = tmp_path / "expected.conllu"
    write_trees(expected, TREES, {(2, 0): (2, "det", "PRON"), (3, 3): (3, "advmod:lmod", "ADV")})
    assert result.read_bytes() == expected.read_bytes()
    assert " 0 errors" in check(result)[0]
    assert len(changes.read_text().splitlines()) == 1 + 8
    # Another browser, which has kept nothing, continues with the file.
    browser.run("localStorage.clear()")
    browser.open("about:blank")
    browser.open(page.as_uri())
    assert browser.run(f"return {COUNTS}").startswith("0 accepted")
    browser.press("#decisions input[type=file]", str(file))
    wait(browser, f"{COUNTS}.startsWith('5 accepted, 1 rejected')")
    assert download(browser, tmp_path / "second").read_bytes() == file.read_bytes()
    assert browser.messages() == []
    browser.devtools("Emulation.clearDeviceMetricsOverride")


@needs_browser
def test_a_decision_rejects_those_that_contradict_it(
    browser: Browser, treebank: Path, tmp_path: Path
) -> None:
    def suspect(kind: str, gold: str, alternative: str) -> Suspect:
        return Suspect(0, 3, kind, gold, alternative, 0.9, 0.1, "parser", "")

    suspects = [
        suspect("head", "2:advmod", "3:advmod"),
        suspect("head", "2:advmod", "3:obl"),
        suspect("deprel", "advmod", "advmod"),
        suspect("upos", "ADV", "X"),
        suspect("deprel", "advmod", "obl"),
    ]
    page = tmp_path / "page.html"
    page.write_text(render_page(make_contents("t.conllu", list(read(treebank)), suspects)))
    browser.open("about:blank")
    browser.open(page.as_uri())

    def accepted() -> list[int]:
        chosen = "[...document.querySelectorAll('article input[value=accept]')].map(e => e.checked)"
        return [i for i, is_chosen in enumerate(browser.run(f"return {chosen}")) if is_chosen]

    for number, expected in enumerate(([0], [1], [2], [2, 3], [3, 4])):
        browser.click(f"#suspect-{number + 1} input[value=accept]")
        assert accepted() == expected
    notice = "[...document.querySelectorAll('#decisions [role=status]')].at(-1).textContent"
    assert browser.run(f"return {notice}").endswith("contradicts your last decision: suspect 3.")
    assert browser.messages() == []


@needs_browser
def test_a_page_that_cannot_keep_decisions_says_so(browser: Browser, page: Path) -> None:
    script = "Storage.prototype.setItem = () => { throw new Error('full'); }"
    added = browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=script)
    browser.open("about:blank")
    browser.open(page.as_uri())
    text = "return document.querySelector('#decisions [role=status]').textContent"
    assert "does not keep the decisions" in browser.run(text)
    browser.devtools("Page.removeScriptToEvaluateOnNewDocument", **added)
    assert browser.messages() == []
