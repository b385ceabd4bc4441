"""The page of the server: trees of a text, and heads that are set by hand, also in a browser."""

import base64
import hashlib
import html
import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import pytest

from depkit.corpus.io import read
from depkit.corpus.probabilities import group_trees
from depkit.corpus.sentence import Sentence
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.svg import draw_svg
from depkit.drawing.trees.tikz import draw_tikz
from depkit.parsers.loading import load
from depkit.parsers.transition.parser import TransitionParser
from depkit.serving import http_page, page_sentence
from depkit.serving.http_server import Server
from depkit.serving.udpipe import Models
from tests.drawing.report.browser import Browser, needs_browser, open_browser, wait
from tests.serving.waiting import SECONDS

TEXT = "She saw him there. Time flies."
ENTER = "\ue007"
ONE_WORD = "1\tStop\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture(scope="module")
def parser():
    return load("en-ewt", "cpu", threads=1, engine="onnx")


@pytest.fixture(scope="module")
def server(parser) -> Iterator[Server]:
    models = Models({"en-ewt": ("en-ewt", parser), "other-model": ("en-ewt", parser)})
    server = Server(models)
    server.start()
    yield server
    server.stop()


def ask(server: Server, form: dict[str, str] | None = None, **values: str):
    """Send the values of a form by GET, or `form` by POST; return the page and its policy."""
    query = f"?{urlencode(values)}" if values else ""
    data = urlencode(form).encode() if form else None
    opener = build_opener(ProxyHandler({}))
    with opener.open(f"{server.url}/{query}", data, timeout=SECONDS) as response:
        return response.read().decode(), response.headers["Content-Security-Policy"]


def fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a page with one tree."""
    found = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)
    return {name: html.unescape(value) for name, value in found}


def draw(trees: list[Sentence], draw=draw_svg) -> str:
    return "".join(draw([DrawnSentence(0, trees[0], others=trees[1:])]))


def test_the_page_shows_the_trees_of_a_text(server, parser):
    page, _ = ask(server)
    assert page.count("<option") == 2 + 4 and "<article>" not in page
    text = "Dogs <b>bark</b> & sleep. Time flies."
    page, _ = ask(server, text=text, model="other-model")
    sentences = list(parser.parse(text, "predict"))
    assert page.count("<article>") == page.count("<svg ") == len(sentences)
    assert all(draw([sentence]) in page for sentence in sentences)
    assert all(html.escape(draw([s], draw_tikz)).rstrip() in page for s in sentences)
    assert all(f'value="{html.escape(str(sentence))}"' in page for sentence in sentences)
    assert '<option value="other-model" selected>' in page
    assert f">\n{html.escape(text)}</textarea>" in page


def test_alternatives_and_probabilities_are_shown(server, parser):
    page, _ = ask(server, text=TEXT, trees="3", prob="1")
    trees = list(group_trees(parser.parse(TEXT, "predict", best=3, prob=True)))
    assert page.count("<svg ") == 2 and all(draw(group) in page for group in trees)
    probability = dict(part.split("=") for part in trees[0][0].column("misc")[0].split("|"))
    assert f"<td>nsubj</td><td>{float(probability['ArcProb']):.3f}</td>" in page
    assert '<option value="3" selected>' in page and 'name="prob" value="1" checked>' in page
    page, _ = ask(server, text=TEXT)
    assert "<td>nsubj</td></tr>" in page and "Prob=" not in page


def test_the_page_runs_no_code_of_the_text(server):
    text = '</textarea><script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m\u202e'
    page, policy = ask(server, text=text)
    assert page.count("<script") == 1 and "<img" not in page and "<b>" not in page
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    for name in ("style", "script"):
        code = page.partition(f"<{name}>")[2].partition(f"</{name}>")[0]
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert not re.search(r'\s(on\w+|style)="', page)


def test_long_texts_are_shown_in_part(server, monkeypatch):
    monkeypatch.setattr(http_page, "MAX_SENTENCES", 2)
    monkeypatch.setattr(page_sentence, "MAX_WORDS", 4)
    page, _ = ask(server, text="Dogs bark. The small cat sees an old dog. Time flies.")
    assert page.count("<article>") == 2 and page.count("<svg ") == 1
    assert "more than 4 words" in page and "The first 2 of 3 sentences" in page


def test_heads_that_are_set_are_kept(server, parser):
    """Without a script: each form is answered with the page of the new tree."""
    page, _ = ask(server, text="She saw him there.", trees="3", prob="1")
    form = fields(page)
    (tree,) = read(io.StringIO(form["sentence"]))
    assert tree.head[3] == 2
    page, _ = ask(server, form | {"word": "4", "head": "3", "relation": ""})
    expected = parser.parse(
        [tree.with_tree([-1, -1, -1, 3, -1], ["_"] * 5)], "keep", heads="keep", best=3, prob=True
    )
    trees = list(expected)
    assert draw(trees) in page and trees[0].head[3] == 3
    assert "Set by hand: 4 there ← 3 him</p>" in page
    assert ">\nShe saw him there.</textarea>" in page
    # A second arc is added to the first one, and a relation alone can be set.
    page, _ = ask(server, fields(page) | {"word": "1", "head": "", "relation": "acl:relcl"})
    form = fields(page)
    (second,) = read(io.StringIO(form["sentence"]))
    assert (second.head[3], second.deprel[0]) == (3, "acl:relcl")
    assert form["arcs"] == "4:3: 1::acl:relcl"
    # A word whose fields are empty is left to the parser again.
    page, _ = ask(server, form | {"word": "4", "head": "", "relation": ""})
    (third,) = read(io.StringIO(fields(page)["sentence"]))
    assert fields(page)["arcs"] == "1::acl:relcl" and third.head == tree.head


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"word": "6", "head": "1"}, "there is no word 6, because the sentence has 5 words"),
        ({"arcs": "0::a"}, "there is no word 0, because the sentence has 5 words"),
        ({"word": "1", "head": "6"}, "word 1 cannot have the head 6, because the sentence has 5 w"),
        ({"sentence": ONE_WORD, "arcs": "1:5:"},
         "word 1 cannot have the head 5, because the sentence has 1 word\n"),
        ({"word": "1", "head": "2", "relation": "a b"}, "'1:2:a b' is not the number of a word"),
        ({"word": "1", "head": "1"}, "the annotated heads form a cycle through word 1"),
        ({"arcs": "1:0: 2:0:"}, "words 1 and 2 have the head 0"),
        ({"sentence": ""}, "must have one sentence"),
        ({"sentence": "1\tx\n"}, "data: line 1: the line has 2 columns"),
    ],
)  # fmt: skip
def test_an_arc_that_cannot_be_set_is_told(values, message, server):
    form = fields(ask(server, text="She saw him there.")[0])
    with pytest.raises(HTTPError) as error:
        ask(server, form | values)
    assert error.value.code == 400
    assert message in error.value.read().decode()


def test_a_model_that_keeps_no_heads_says_so(server, parser, monkeypatch):
    monkeypatch.setattr(type(parser), "options", TransitionParser.options)
    page, _ = ask(server, text=TEXT, trees="3", prob="1")
    assert page.count("<svg ") == 2 and page.count("<form") == 1
    assert "do not accept heads that are set by hand" in page and "Prob=" not in page
    assert 'name="trees"' not in page


# In a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as window:
        yield window


def status(browser: Browser) -> str:
    return browser.run("return document.querySelector('article .status').textContent")


def heads(browser: Browser) -> list[int]:
    """Return the heads of the first tree."""
    text = browser.run("return document.querySelector('[name=sentence]').value")
    (sentence,) = read(io.StringIO(text))
    return list(sentence.head)


def wait_for_arcs(browser: Browser, arcs: str) -> None:
    wait(browser, f"document.querySelector('[name=arcs]').value === '{arcs}'")


def download(browser: Browser, folder: Path, name: str) -> str:
    browser.devtools("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.press("article [name=format]", {"conllu": "C", "svg": "S", "tex": "T"}[name])
    browser.click("article .download")
    end = time.monotonic() + SECONDS
    while not (path := folder / f"tree.{name}").exists():
        assert time.monotonic() < end, "the file is not downloaded"
        time.sleep(0.01)
    return path.read_text()


@needs_browser
def test_a_text_is_parsed_and_corrected_with_the_mouse_and_the_keyboard(
    browser, server, parser, tmp_path
):
    browser.set_width(400)
    browser.open(server.url)
    browser.press("#text", TEXT)
    browser.click("form button")
    wait(browser, "document.querySelectorAll('svg').length === 2")
    (tree, _) = parser.parse(TEXT, "predict")
    assert heads(browser) == list(tree.head) and tree.head[3] == 2
    # With the mouse: a click on the word, and one on its new head.
    browser.click(".forms text:nth-child(4)")
    assert status(browser).startswith("Click on the new head of “there”")
    browser.click(".forms text:nth-child(3)")
    wait_for_arcs(browser, "4:3:")
    assert heads(browser) == [2, 0, 2, 3, 2]
    assert status(browser) == "The tree is the best one with what is set."
    # With the keyboard, and a relation
    browser.press("article [name=word]", "3")
    assert browser.run("return document.querySelector('article [name=head]').value") == "2"
    browser.press("article [name=head]", "1")
    browser.press("article [name=relation]", f"dep{ENTER}")
    wait_for_arcs(browser, "4:3: 3:1:dep")
    assert heads(browser)[2:4] == [1, 3]
    assert browser.run("return document.activeElement.name") == "word"
    # What is wrong is told, and the tree stays.
    browser.press("article [name=head]", "3")
    browser.press("article [name=word]", "1")
    browser.press("article [name=head]", f"3{ENTER}")
    browser.click("article form button")
    wait(browser, "document.querySelector('article .error')")
    assert "cycle" in status(browser)
    browser.click("article .undo")
    wait_for_arcs(browser, "4:3:")
    fixed = tree.with_tree([-1, -1, -1, 3, -1], ["_"] * 5)
    (expected,) = parser.parse([fixed], "keep", heads="keep")
    assert download(browser, tmp_path, "conllu") == str(expected)
    assert download(browser, tmp_path, "tex") == draw([expected], draw_tikz)
    browser.click(".forms text:nth-child(1)")  # Its mark is not in the file.
    image = download(browser, tmp_path, "svg")
    assert "chosen" not in image
    assert re.findall(r"<text[^>]*>[^<]*", image) == re.findall(
        r"<text[^>]*>[^<]*", draw([expected])
    )
    browser.click("article .undo")
    wait_for_arcs(browser, "")
    assert heads(browser) == list(tree.head)
    # The second tree is as it was.
    assert browser.run("return document.querySelectorAll('article form').length") == 2
    assert browser.run("return document.documentElement.scrollWidth") <= 400
    messages = browser.messages()
    assert [m for m in messages if "400 (Bad Request)" not in m] == [], json.dumps(messages)


@needs_browser
def test_a_tree_is_copied(browser, server, parser):
    browser.devtools(
        "Browser.grantPermissions",
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], origin=server.url,
    )  # fmt: skip
    browser.open(f"{server.url}/?{urlencode({'text': 'Dogs bark.'})}")
    browser.click("article .copy")
    wait(browser, "document.querySelector('article .status').textContent")
    assert status(browser) == "The tree is copied as CoNLL-U."
    text = browser.run_async("navigator.clipboard.readText().then(arguments[0])")
    assert text == str(next(parser.parse("Dogs bark.", "predict")))
