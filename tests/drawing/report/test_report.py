"""The data of a report equal those of eval and analyze, and its page is safe and self-contained."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from depkit.drawing.report.comparison import make_contents
from depkit.drawing.report.page import render_page
from depkit.score.evaluators import WordEvaluator
from tests.cli.commands import Command
from tests.drawing.report.pages import (
    FIRST,
    HOSTILE,
    SECOND,
    TREES,
    Word,
    read_page,
    records,
    write_trees,
)

run, evaluate, analyze = Command("report"), Command("eval"), Command("analyze")


def compare(gold: str, preds: list[str], **options: str) -> dict[str, Any]:
    evaluator = WordEvaluator(**options)  # type: ignore[arg-type]
    return make_contents(evaluator, evaluator.read(gold, preds, columns=("form",)))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A gold file, a system without probabilities and one with them."""
    return [
        write_trees(tmp_path / "gold.conllu", TREES),
        write_trees(tmp_path / "first.conllu", TREES, FIRST),
        write_trees(tmp_path / "second.conllu", TREES, SECOND, probability=True),
    ]


def hostile_trees() -> list[list[Word]]:
    return [[(text, text, i, text) for i, text in enumerate(HOSTILE)]]


def test_sentences_are_shown_as_their_text(tmp_path):
    """The page contains only those texts that differ from the words with spaces between them."""
    path = Path(write_trees(tmp_path / "gold.conllu", TREES[:3]))
    texts = iter(["The cats sleep here.", "Go home now", "\u202eBirds <b>see red cats"])
    content = re.sub(
        "(?m)^(# sent_id.*)$", lambda m: f"{m[1]}\n# text = {next(texts)}", path.read_text()
    )
    path.write_text(content, "utf-8")
    run(path, path, "-o", tmp_path / "out.html")
    page = (tmp_path / "out.html").read_text()
    shown = read_page(page)["sentences"]["texts"]
    assert list(shown) == ["1", "3"] and shown["1"] == "The cats sleep here."
    assert "<b>" not in page and "\u202e" not in page


@pytest.mark.parametrize("options", [[], ["--punct", "upos", "--subtypes", "drop"]])
def test_every_number_equals_eval_and_analyze(files, options, tmp_path):
    run(*files, "-o", tmp_path / "out.html", *options)
    data = read_page((tmp_path / "out.html").read_text())

    def expect(*arguments):
        rows = json.loads(analyze(*arguments, "--json", *options)[0])
        assert all(row.pop("signature") for row in rows)
        return rows

    out, _ = evaluate(*files, "--confidence", "--test", "ar", "--json", *options)
    assert data["scores"] == json.loads(out)
    for kind, names in (("curves", "distance length depth"), ("tables", "deprel upos")):
        assert [group["by"] for group in data[kind]] == names.split()
        for group in data[kind]:
            assert records(group) == [
                row
                for metric in ("LAS", "UAS")
                for row in expect(*files, "--by", group["by"], "--metric", metric, "--confidence")
            ]
    assert records(data["confusions"]) == expect(*files, "--confusion", "deprel", "--top", 99)
    for name, arguments in (
        ("agreement", files),
        ("calibration", [files[0], files[2], "--confidence"]),
    ):
        assert records(data[name]) == [
            row
            for metric in ("UAS", "LAS")
            for row in expect(*arguments, f"--{name}", "--metric", metric)
        ]


def test_sentences_contain_the_trees_and_the_differences_of_systems(files):
    data = compare(files[0], files[1:], punct="upos")
    packed = data["sentences"]
    number, sent_id, place, forms, tags, heads, relations, left_out, *systems = packed["rows"][0]
    assert (number, sent_id, place, left_out) == (1, "s1", f"{files[0]}:2", [4])
    words = zip(
        [packed["forms"][form] for form in forms],
        [packed["tags"][tag] for tag in tags],
        heads,
        [packed["relations"][relation] for relation in relations],
        strict=True,
    )
    assert list(words) == TREES[0]
    obj, punct = map(packed["relations"].index, ("obj", "punct"))
    assert systems == [[(1, 3, obj)], [], [(1, 3, obj), (4, 2, punct)], []]
    propn = packed["tags"].index("PROPN")
    assert packed["rows"][1][8:10] == [[(1, 3, obj)], [(1, propn)]]


def test_one_system_without_tags_and_probabilities_has_fewer_sections(tmp_path):
    trees = [[(form, "_", head, relation) for form, _, head, relation in tree] for tree in TREES]
    gold = write_trees(tmp_path / "gold.conllu", trees)
    run(gold, write_trees(tmp_path / "pred.conllu", TREES, FIRST), "-o", tmp_path / "out.html")
    data = read_page((tmp_path / "out.html").read_text())
    assert not {"agreement", "calibration"} & data.keys()
    assert [group["by"] for group in data["tables"]] == ["deprel"]
    assert all(row[9] == [] for row in data["sentences"]["rows"])  # no wrong tags
    assert data["test"] == "" and "test" not in data["scores"][0]


@pytest.mark.parametrize(
    ("limit", "numbers"), [(1, [1]), (2, [1, 3]), (3, [1, 2, 3]), (9, [1, 2, 3])]
)
def test_a_limit_spreads_the_sentences_and_keeps_the_scores(files, limit, numbers, tmp_path):
    _, err = run(*files, "-o", tmp_path / "out.html", "--limit-sentences", limit, "-v")
    data = read_page((tmp_path / "out.html").read_text())
    assert [row[0] for row in data["sentences"]["rows"]] == numbers
    assert data["sentences"]["total"] == data["scores"][0]["sentences"] == 3
    assert f"{len(numbers)} of 3 sentences, 0." in err


def test_the_page_is_self_contained_and_escapes_all_text(tmp_path):
    gold = write_trees(tmp_path / "gold<b>.conllu", hostile_trees())
    pred = write_trees(tmp_path / "pred&.conllu", hostile_trees(), {(0, 1): (0, "<i>", "<i>")})
    page = render_page(compare(gold, [pred]))
    assert page.partition('id="data">')[2].partition("</script>")[0].isascii()
    assert read_page(page)["sentences"]["forms"] == HOSTILE
    # Without its own style and script, and with its data removed, only the template is left.
    own = r"(?s)<style>.*?</style>|(?<=id=\"data\">).*?(?=</script>)|<script>.*?</script>"
    template = re.sub(own, "", page)
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert not re.search(r"<i>|<img|@[A-Z]+@|(?i:\b(?:src|href|url|import)\s*[=(])", template)
    assert not re.search(r"url\(|@import", page.partition("</style>")[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy and re.fullmatch(
        "default-src 'none'; worker-src blob:; base-uri 'none'; form-action 'none';"
        " style-src 'sha256-[^']+='; script-src 'sha256-[^']+='",
        policy[1],
    )


def test_warnings_are_printed_and_are_in_the_page(files, tmp_path):
    cyclic = write_trees(tmp_path / "cyclic.conllu", TREES, {(1, 0): (2, "obj", "VERB")})
    for quiet in ([], ["-q"]):
        _, err = run(files[0], cyclic, "-o", tmp_path / "out.html", *quiet)
        data = read_page((tmp_path / "out.html").read_text())
        assert data["notes"] == [f"{cyclic}: 1 of 3 trees has a cycle"]
        assert err == ("" if quiet else f"depkit: warning: {data['notes'][0]}\n")


def test_the_page_goes_to_stdout_or_stays_unwritten(files, tmp_path):
    assert read_page(run(*files, "-o", "-")[0])["gold"] == files[0]
    bracketed = tmp_path / "trees.mrg"
    bracketed.write_text("(S (NP (NN a)) (VP (VB b)))\n")
    message = f"{files[0]}: the file has no bracketed trees, but {bracketed} has"
    assert message in str(run.failure(files[0], bracketed, "-o", tmp_path / "new.html"))
    assert "POLICY" in run(*files, "-o", "-", "--punct", "POLICY", code=2)[1]
    assert "limit" in run(*files, "-o", "-", "--limit-sentences", 0, code=2)[1]
    shorter = write_trees(tmp_path / "shorter.conllu", TREES[:1])
    run(files[0], shorter, "-o", tmp_path / "new.html", code=1)
    assert not (tmp_path / "new.html").exists()


ENHANCED = """\
1	He	_	PRON	_	_	2	nsubj	2:nsubj|4:nsubj	_
2	went	_	VERB	_	_	0	root	0:root	_
3	home	_	NOUN	_	_	2	obl	2:obl:to	_
4	slept	_	VERB	_	_	2	conj	0:root|2:conj	_

1	Yes	_	INTJ	_	_	0	root	0:root	_

"""


def test_enhanced_dependencies_are_scored_and_packed(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.conllu", tmp_path / "pred.conllu"
    gold.write_text(ENHANCED)
    pred.write_text(ENHANCED.replace("|4:nsubj", "|4:obj").replace("2:obl:to", "2:obl"))
    data = read_page(run(gold, pred, "-o", "-", "--enhanced")[0])
    assert data["scores"][0]["ELAS"] == pytest.approx(500 / 7)
    assert data["metrics"][-2:] == ["ELAS", "EULAS"]
    table = data["tables"][-1]
    assert (table["by"], table["items"], data["tables"][0]["items"]) == (
        "enhancement", "relations", "words",
    )  # fmt: skip
    found = {(row["metric"], row["bin"]): row["f1"] for row in records(table)}
    assert found["ELAS", "shared"] == 0 and found["EULAS", "conj"] == 100
    labels = data["enhanced"]["labels"]
    sides = [
        [(word, head, labels[label], shared) for word, head, label, shared in side]
        for side in data["enhanced"]["sentences"].pop("1")[0]
    ]
    # Words from 0, heads from 1: obl, which has become basic, is in the tree of the system.
    assert sides == [
        [(0, 4, "nsubj", 0), (2, 2, "obl:to", 0), (3, 0, "root", 1)],
        [(0, 4, "obj", 0), (3, 0, "root", 1)],
    ]
    assert data["enhanced"]["sentences"] == {}
    assert "enhanced" not in read_page(run(gold, pred, "-o", "-")[0])
