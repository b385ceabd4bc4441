"""The report of bracketed trees: data that equal those of eval and analyze, filters, drawings."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from depkit.score.constituents import classify_wrong
from depkit.score.evalb import COUNTS, compare_trees
from depkit.score.evalb_parameters import get_parameters
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
from tests.drawing.report.pages import read_page, records

run, evaluate, analyze = Command("report"), Command("eval"), Command("analyze")

LONG = f"(S {' '.join(f'(NP (NN w{i}))' for i in range(60))})"
HOSTILE = (
    "(S (<i> (<u> </script><img/src=x/onerror=alert`1`>) (NN &lt;b&gt;))"
    f" (VP (VB \u202eright) (NN {'x' * 5000})))"
)
GOLD = [
    "(S (NP (DT the) (NN cat)) (VP (VBD sat) (PP (IN on) (NP (NNS mats)))) (. .))",
    "(S (NP (PRP he)) (VP (VBD looked) (PRT (RP up)) (ADVP (RB quickly))))",
    "(S (NP (NNS birds)) (VP (VBP sing)))",
    LONG,
    HOSTILE,
]
# Sentence 1 has a constituent that crosses a gold one; sentence 2 has a wrong label, a wrong tag,
# and ADVP, which counts as PRT; sentence 3 has other words than the gold tree.
FIRST = [
    "(S (NP (DT the) (NN cat)) (VP (VBD sat) (IN on)) (NP (NNS mats)) (. .))",
    "(S (NP (PRP he)) (VP (VBD looked) (ADVP (IN up)) (NP (RB quickly))))",
    "(S (NP (NNS birds)) (VP (VBP fly)))",
    LONG,
    HOSTILE.replace("<i>", "<b>"),
]
SECOND = [
    "(S (NP (DT the) (NN cat)) (VP (VBD sat) (IN on) (NP (NNS mats))) (. .))",
    "(S (NP (PRP he) (VBD looked)) (PRT (RP up)) (ADVP (RB quickly)))",
    "(S (VP (NP (NNS birds)) (VBP sing)))",
    LONG,
    HOSTILE,
]


def write(path: Path, trees: list[str]) -> str:
    path.write_text("\n".join([*trees, ""]), "utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("trees")
    names = {"gold": GOLD, "first": FIRST, "second": SECOND}
    return [write(folder / f"{name}.mrg", trees) for name, trees in names.items()]


@pytest.fixture(scope="module")
def page(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "out.html"
    run(*files, "-o", path)
    return path


@pytest.mark.parametrize("options", [[], ["--evalb", "spmrl"]])
def test_every_number_equals_eval_and_analyze(
    files: list[str], options: list[str], tmp_path: Path
) -> None:
    run(*files, "-o", tmp_path / "out.html", *options)
    data = read_page((tmp_path / "out.html").read_text())
    out, _ = evaluate(*files, "--confidence", "--test", "ar", "--json", *options)
    assert data["scores"] == json.loads(out)
    assert data["metrics"][:3] == ["LP", "LR", "LF1"] and data["lower_is_better"] == ["Crossing"]
    for kind, names in (("curves", "span-length depth length"), ("tables", "label span-length")):
        assert [group["by"] for group in data[kind]] == names.split()
        for group in data[kind]:
            out, _ = analyze(*files, "--by", group["by"], "--confidence", "--json", *options)
            rows = json.loads(out)
            assert all(row.pop("signature") for row in rows)
            assert records(group) == rows


def unpack(data: Any, sentence: int, system: int) -> tuple[Any, ...]:
    """Return the problem, the gold and the predicted brackets, and the wrong tags of a sentence."""
    packed = data["sentences"]
    _, _, words, _, (positions, gold), *systems = packed["rows"][sentence]
    problem, entries, wrong_tags, own = systems[system]
    positions, gold = own or (positions, gold)
    forms = [packed["words"][words[position]] for position in positions]

    def bracket(entry: Any) -> tuple[str, str]:
        return packed["labels"][entry[0]], " ".join(forms[entry[1] : entry[2]])

    brackets = []
    for entry in entries:
        if isinstance(entry, int):
            brackets.append((*bracket(gold[entry]), "right"))
        elif len(entry) == 2:
            brackets.append((*bracket([entry[0], *gold[entry[1]][1:]]), "right"))
        else:
            brackets.append((*bracket(entry), ("span", "label", "crossing")[entry[3]]))
    tags = [(forms[position], packed["tags"][tag]) for position, tag in wrong_tags]
    return problem, [bracket(entry) for entry in gold], brackets, tags


def test_sentences_contain_the_brackets_that_are_scored(files: list[str], page: Path) -> None:
    data = read_page(page.read_text())
    row = data["sentences"]["rows"][0]
    words, tags = data["sentences"]["words"], data["sentences"]["tags"]
    assert row[:2] == [1, f"{files[0]}:1"]
    assert [words[i] for i in row[2]] == ["the", "cat", "sat", "on", "mats", "."]
    assert [tags[i] for i in row[3]] == ["DT", "NN", "VBD", "IN", "NNS", "."]
    assert row[4][0] == [0, 1, 2, 3, 4]  # the full stop is not scored
    assert unpack(data, 0, 0) == (
        "",
        [("S", "the cat sat on mats"), ("NP", "the cat"), ("VP", "sat on mats"),
         ("PP", "on mats"), ("NP", "mats")],
        [("S", "the cat sat on mats", "right"), ("NP", "the cat", "right"),
         ("VP", "sat on", "crossing"), ("NP", "mats", "right")],
        [],
    )  # fmt: skip
    problem, _, brackets, wrong_tags = unpack(data, 1, 0)
    assert (problem, wrong_tags) == ("", [("up", "IN")])
    assert brackets[3:] == [("ADVP", "up", "right"), ("NP", "quickly", "label")]
    assert unpack(data, 2, 1)[2][1] == ("VP", "birds sing", "span")
    assert unpack(data, 2, 0)[0] == "other words than the gold tree: Words unmatch (sing|fly)"
    # The brackets add up to the counts behind the scores.
    for system, record in enumerate(data["scores"]):
        parts = [unpack(data, sentence, system) for sentence in range(5)]
        counts = Counter(kind for _, _, brackets, _ in parts for *_, kind in brackets)
        gold = sum(len(gold) for problem, gold, _, _ in parts if not problem)
        assert 100 * counts["right"] / counts.total() == pytest.approx(record["LP"])
        assert 100 * counts["right"] / gold == pytest.approx(record["LR"])
        valid = sum(not problem for problem, *_ in parts)
        assert counts["crossing"] / valid == pytest.approx(record["Crossing"])
        wrong_tags = sum(len(tags) for *_, tags in parts)
        assert 100 - 100 * wrong_tags / record["scored"] == pytest.approx(record["Tags"])


def test_a_quotation_mark_that_is_kept_for_one_system_only_has_its_own_gold(
    tmp_path: Path,
) -> None:
    gold = "(S (`` ') (NP (NN a)) (VP (VB b)))"
    files = [
        write(tmp_path / "gold.mrg", [gold]),
        write(tmp_path / "first.mrg", [gold]),
        write(tmp_path / "second.mrg", ["(S (NP (POS ') (NN a)) (VP (VB b)))"]),
    ]
    run(*files, "--evalb", "new", "-o", tmp_path / "out.html")
    data = read_page((tmp_path / "out.html").read_text())
    assert unpack(data, 0, 0)[1:3] == (
        [("S", "a b"), ("NP", "a"), ("VP", "b")],
        [("S", "a b", "right"), ("NP", "a", "right"), ("VP", "b", "right")],
    )
    assert unpack(data, 0, 1) == (
        "",
        [("S", "' a b"), ("NP", "a"), ("VP", "b")],
        [("S", "' a b", "right"), ("NP", "' a", "span"), ("VP", "b", "right")],
        [("'", "POS")],
    )


def test_each_missed_bracket_explains_one_wrong_label(files: list[str], tmp_path: Path) -> None:
    """Two wrong brackets with the words of one missed bracket: only one has a wrong label."""
    gold = write(tmp_path / "gold.mrg", ["(S (NP (NN a)) (VP (VB b)))"])
    pred = write(tmp_path / "pred.mrg", ["(S (X (Y (NN a))) (VP (Y (VB b))))"])
    ((_, (result,)),) = compare_trees(gold, [pred], get_parameters("collins"))
    assert [(result.predicted[i][0], kind) for i, kind in classify_wrong(result).items()] == [
        ("X", "label"), ("Y", "span"), ("Y", "span"),
    ]  # fmt: skip
    for _, results in compare_trees(files[0], files[1:], get_parameters("collins")):
        for result in results:
            assert sum(result.crossing) == result.counts[COUNTS.index("crossings")]


def test_trees_without_a_scored_constituent_have_a_report(tmp_path: Path) -> None:
    (tmp_path / "flat.mrg").write_text("(TOP (NN dog) (VBZ barks))\n")
    run(*[tmp_path / "flat.mrg"] * 2, "-o", tmp_path / "out.html")
    data = read_page((tmp_path / "out.html").read_text())
    assert [records(group) for group in data["curves"]] == [[], [], []]


def test_warnings_and_refused_options(files: list[str], tmp_path: Path) -> None:
    output = tmp_path / "out.html"
    _, err = run(*files, "-o", output, "--limit-sentences", 2, "-v")
    data = read_page(output.read_text())
    assert [row[0] for row in data["sentences"]["rows"]] == [1, 5]
    (note,) = data["notes"]
    assert note.endswith("1 of 5 trees has other words than the gold tree: tree 3")
    assert err.startswith(f"depkit: warning: {note}\n2 of 5 sentences")
    for option in (["--punct", "ptb"], ["--subtypes", "drop"], ["--evalb", "none.prm"]):
        assert option[0] in run(*files, "-o", tmp_path / "new.html", *option, code=2)[1]
    assert not (tmp_path / "new.html").exists()


@needs_browser
def test_every_filter_selects_the_sentences_of_the_data(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    assert set_filter(browser, "error", "missed") == (3, 4)
    assert set_filter(browser, "error", "wrong") == (3, 3)
    assert set_filter(browser, "error", "label") == (2, 2)
    assert set_filter(browser, "error", "crossing") == (1, 1)
    assert set_filter(browser, "error", "tag") == (1, 1)
    assert set_filter(browser, "label", "NP") == (0, 0)
    assert set_filter(browser, "error", "") == (3, 64)
    assert set_filter(browser, "error", "missed") == (0, 0)
    assert set_filter(browser, "label", "VP") == (1, 1)
    assert set_filter(browser, "words", "quickly") == (0, 0)
    clear_filter(browser, "#sentences?")
    assert set_filter(browser, "system", "1") == (5,)
    assert set_filter(browser, "error", "missed") == (3, 4)
    assert set_filter(browser, "error", "wrong") == (2, 2)
    clear_filter(browser, "#sentences?")
    # The second system has the VP, the ADVP and <i>, and not the wrong VP, NP and <b>.
    assert set_filter(browser, "pair", "1,0") == (3, 6)
    assert set_filter(browser, "error", "missed") == (3, 3)
    assert set_filter(browser, "error", "tag") == (1, 1)
    assert set_filter(browser, "pair", "0,1") == (0, 0)
    assert set_filter(browser, "error", "") == (1, 3)
    assert set_filter(browser, "trees", "all") == (1, 3)
    assert set_filter(browser, "order", "errors") == (1, 3)
    assert browser.messages() == []


@needs_browser
def test_each_label_opens_the_constituents_that_were_missed(browser: Browser, page: Path) -> None:
    data = read_page(page.read_text())
    rows = [row for row in records(data["tables"][0]) if row["system"].endswith("first.mrg")]
    browser.open(page.as_uri())
    links = "[...document.querySelectorAll('#tables a')].map(a => [a.textContent, a.hash])"
    addresses = dict(browser.run(f"return {links}"))
    missed = {row["bin"]: row["gold"] - row["correct_gold"] for row in rows}
    assert set(addresses) == set(missed) and missed["VP"] == 1
    texts = visit(browser, list(addresses.values()))
    assert [found(text)[1] for text in texts] == [missed[label] for label in addresses]


@needs_browser
@pytest.mark.parametrize("width", [360, 1400])
def test_drawings_mark_errors_and_fit_the_window(browser: Browser, page: Path, width: int) -> None:
    browser.set_width(width)
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}#sentence-1")
    wait(browser, "document.querySelectorAll('article figure').length === 2")
    shown = (
        "const tree = document.querySelector('svg.tree');"
        "return ['.label.wrong', '.label.missed', 'path.wrong', '.unscored']"
        ".map(name => [...tree.querySelectorAll(name)].map(element => element.textContent))"
    )
    wrong, missed, lines, unscored = browser.run(shown)
    assert set(wrong) == {"✗ VP"} and set(missed) == {"VP", "PP"} and len(lines) == len(wrong)
    assert [text.rstrip(".") for text in unscored] == [""]
    browser.run("location.hash = '#sentence-4'")
    wait(browser, "document.querySelector('article').id === 'sentence-4'")
    trees = "[...document.querySelectorAll('svg.tree')]"
    right = browser.run(f"return {trees}.map(tree => tree.getBoundingClientRect().right)")
    assert len(right) == 2 and max(right) <= width
    labels = browser.run(f"return {trees}[0].querySelectorAll('.label').length")
    assert labels > 2 * 61  # 60 NP above and below the words, and S in each row
    browser.run("location.hash = '#sentence-3'")
    wait(browser, "document.querySelector('article').id === 'sentence-3'")
    assert "not scored: other words" in browser.run(
        "return document.querySelector('article figcaption').textContent"
    )
    browser.devtools("Emulation.clearDeviceMetricsOverride")
    assert browser.messages() == []


@needs_browser
def test_hostile_text_is_shown_as_text(browser: Browser, page: Path) -> None:
    browser.open("about:blank")
    browser.open(f"{page.as_uri()}#sentence-5")
    shown = browser.run("return document.querySelector('article').textContent")
    assert "</script><img/src=x" in shown and "<b>" in shown and "\u202e" not in shown
    assert browser.run("return document.querySelectorAll('img, b, i, u, main script').length") == 0
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    wide = browser.run("return [document.body.scrollWidth, document.documentElement.clientWidth]")
    assert wide[0] <= wide[1]
    browser.run("document.querySelectorAll('details').forEach(element => { element.open = true })")
    browser.run("document.querySelectorAll('th button').forEach(button => button.click())")
    assert browser.messages() == []
