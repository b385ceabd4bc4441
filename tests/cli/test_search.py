"""depkit search: matches as text, CoNLL-U, tables and JSON, counts and clusters."""

import json
import re
from pathlib import Path

import pytest

import depkit
from depkit.corpus.io import read
from depkit.files.errors import ArgumentError, FormatError
from depkit.treebank.search.keys import parse_gap, parse_key
from depkit.treebank.search.search import Search, search
from tests.cli.commands import Command
from tests.conftest import HERE

run = Command("search")
FILE = HERE / "data" / "search.conllu"
SUBJECTS = "pattern { e: V -[1=nsubj]-> N; V [upos=VERB] }"


def test_matches_are_marked_in_a_line_each() -> None:
    out, err = run(SUBJECTS, FILE, "--verbose")
    assert err == "4 matches in 3 sentences\n"
    assert out.splitlines()[:3] == [
        f"{FILE}:1: a-1: The old [N dog] did n't [V see] it .",
        f"{FILE}:15: a-2: Cats [N who] [V sleep] and dream eat , dogs fish",
        f"{FILE}:15: a-2: [N Cats] who sleep and dream [V eat] , dogs fish",
    ]


def test_conllu_has_a_comment_for_each_match(tmp_path: Path) -> None:
    out, _ = run(SUBJECTS, FILE, "--format", "conllu")
    sentences = list(read(out.splitlines(keepends=True)))
    originals = [sentence for sentence in read(FILE) if sentence.sent_id in ("a-1", "a-2", "b-1")]
    comments = [[line for line in s.lines if line.startswith("# match")] for s in sentences]
    assert comments == [["# match = V:6 N:3\n"], ["# match = V:3 N:2\n", "# match = V:6 N:1\n"],
                        ["# match = V:10 N:5\n"]]  # fmt: skip
    for sentence, original in zip(sentences, originals, strict=True):
        assert [x for x in sentence.lines if not x.startswith("# match")] == original.lines
    path = tmp_path / "found.conllu"
    run(SUBJECTS, FILE, "-o", path)
    assert path.read_text() == out


def test_fields_are_a_table() -> None:
    out, _ = run(SUBJECTS, FILE, "--fields", "sent_id,V.lemma, N ,e.2,delta(V,N),N.Number,line")
    rows = [line.split("\t") for line in out.splitlines()]
    assert rows == [
        ["sent_id", "V.lemma", "N", "e.2", "delta(V,N)", "N.Number", "line"],
        ["a-1", "see", "3", "_", "-3", "Sing", "1"],
        ["a-2", "sleep", "2", "_", "-1", "_", "15"],
        ["a-2", "eat", "1", "_", "-5", "Plur", "15"],
        ["b-1", "sell", "5", "pass", "-5", "Sing", "28"],
    ]


def test_json_has_a_line_for_each_match() -> None:
    out, _ = run(SUBJECTS, FILE, "--format", "json", "--fields", "V.form")
    first = json.loads(out.splitlines()[0])
    assert first == {
        "file": str(FILE), "line": 1, "sent_id": "a-1", "nodes": {"V": "6", "N": "3"},
        "edges": {"e": ["6", "nsubj", "3"]}, "fields": {"V.form": "see"},
    }  # fmt: skip


def test_a_page_shows_the_trees_of_the_matches(tmp_path: Path) -> None:
    page = tmp_path / "found.html"
    pattern = 'pattern { V -[nsubj]-> N; N [form<>"<b>"] }'
    run(pattern, FILE, "-o", page)
    text = page.read_text()
    assert text.count("<article>") == text.count("<svg ") == 2
    assert "<mark>dog<sub>N</sub></mark> did n&#x27;t <mark>see<sub>V</sub></mark>" in text
    assert "3 matches in 2 sentences" in text
    assert "form&lt;&gt;&quot;&lt;b&gt;&quot;" in text and "<b>" not in text
    # The arcs of matched words are thick.
    assert text.count('stroke-width="2.6"') == 2
    headings = re.findall("<h2>(.*)</h2>", text)
    assert headings == [f"{FILE}:1: a-1", f"{FILE}:15: a-2"]
    hostile = "# sent_id = <i>\n1\t<script>\u202e\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    out, _ = run("pattern { X [upos=X] }", "-", "--format", "html", stdin=hostile)
    assert "<i>" not in out and "<script>" not in out and "\u202e" not in out


def test_a_page_of_a_search_in_enhanced_dependencies_draws_them(tmp_path: Path) -> None:
    row = "\t".join
    lines = [
        row(["1", "a", *"____", "0", "root", "0:root", "_"]),
        row(["2", "b", *"____", "1", "obl", "1:obl:in|3:nsubj|2.1:obj", "_"]),
        row(["2.1", "c", *"______", "1:conj", "_"]),
        row(["3", "d", *"____", "1", "dep", "1:dep", "_"]),
    ]
    text = "\n".join([*lines, "", ""])
    options = ("-", "--format", "html")
    out, _ = run("pattern { X -[E:nsubj]-> Y }", *options, "--enhanced", stdin=text)
    labels = [label for label in re.findall(">([^<>]+)</text>", out) if label != "_"]
    assert {"root", "obl:in", "dep", "nsubj", "obj", "conj", "[c]"} <= set(labels)
    # The arc of the match is thick, the two others below the words are not.
    assert out.count('stroke-width="2.6"') == 1
    assert "conj" not in run('pattern { X [form="b"] }', *options, stdin=text)[0]


def test_counts(tmp_path: Path) -> None:
    assert run(SUBJECTS, FILE, "--count")[0] == "4\n"
    copy = tmp_path / "copy.conllu"
    copy.write_bytes(FILE.read_bytes())
    assert run(SUBJECTS, FILE, copy, "-c")[0] == f"{FILE}\t4\n{copy}\t4\ntotal\t8\n"
    assert run('pattern { X [form="zebra"] }', FILE, "-c")[0] == "0\n"
    assert run("global { is_not_projective }", FILE, "--count")[0] == "1\n"


def test_clusters_are_counted() -> None:
    out, _ = run(SUBJECTS, FILE, "--by", "N.upos", "--by", "{ V -[obj]-> O }")
    rows = [line.split() for line in out.splitlines()]
    assert rows[1:] == [["NOUN", "No", "2", "50.00"], ["NOUN", "Yes", "1", "25.00"],
                        ["PRON", "No", "1", "25.00"], ["total", "4", "100.00"]]  # fmt: skip
    out, _ = run(SUBJECTS, FILE, "--by", "N.Number", "--format", "tsv")
    assert out == "N.Number\tmatches\nSing\t2\nPlur\t1\n__undefined__\t1\n"
    out, _ = run(SUBJECTS, FILE, "--by", "e.label", "--format", "json")
    assert json.loads(out)[0] == {"values": {"e.label": "nsubj"}, "count": 3}


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("N.ExtPos/upos", ["NOUN", "PRON", "NOUN", "NOUN"]),
        ("e.length", ["3", "1", "5", "5"]),
        ("e.delta", ["-3", "-1", "-5", "-5"]),
        ("e.length[gap=2]", ["[2, 4[", "[0, 2[", "[4, 6[", "[4, 6["]),
        ("e.delta [gap=2]", ["[-4, -2[", "[-2, 0[", "[-6, -4[", "[-6, -4["]),
        ("delta(V,N)[ gap = 2.5 ]", ["[-5, -2.5[", "[-2.5, 0[", "[-5, -2.5[", "[-5, -2.5["]),
        ("e.length[gap=3, min=1]", ["[1, 4[", "[1, 4[", "[4, 7[", "[4, 7["]),
        ("e.length[gap=2, min=2, max=5]", ["[2, 4[", "]-∞, 2[", "[5, +∞[", "[5, +∞["]),
        ("e.length[gap=4,max=5]", ["[0, 4[", "[0, 4[", "[5, +∞[", "[5, +∞["]),
        ("N.upos[gap=2]", ["NOUN", "PRON", "NOUN", "NOUN"]),
        ("N.Gloss[gap=2]", ["hound", None, None, None]),
        ("length(N, V)", ["3", "1", "5", "5"]),
        ("N#V", ["N << V"] * 4),
        ("V -> N", ["nsubj", "nsubj", "nsubj", "nsubj:pass"]),
        ("N -> V", ["__none__"] * 4),
        ("N <-> V", ["-nsubj", "-nsubj", "-nsubj", "-nsubj:pass"]),
        ("{ V -[aux]-> A; A << N } ", ["No"] * 4),
        ('{ V -[re"aux.*"]-> A }', ["Yes", "No", "No", "Yes"]),
        ("N.Gloss", ["hound", None, None, None]),
        ("N.textform", ["dog", "who", "Cats", "house"]),
    ],
)
def test_keys(key: str, values: list[str | None]) -> None:
    prepared = Search(SUBJECTS)
    function = parse_key(key, prepared)
    results = prepared.read(str(FILE))
    assert [function(graph, match) for graph, found in results for match in found] == values


@pytest.mark.parametrize("gap", [1, 3, 10, 25])
def test_intervals_contain_their_numbers(gap: int) -> None:
    """For numbers with two digits after the point, compared with a count in integers."""
    interval = parse_gap(f"[gap={gap / 100:.2f}]", "by")
    for number in range(-200, 200):
        first, last = interval(f"{number / 100:.2f}").strip("[").split(", ")
        start, end = round(100 * float(first)), round(100 * float(last))
        assert start <= number < end and start % gap == 0 and end - start == gap


@pytest.mark.parametrize(
    "gap",
    ["[gap]", "[gap=0]", "[gap=-1]", "[gap=x]", "[gap=1.]", "[gap=1, min=3, max=3]", "[gap=1"],
)
def test_wrong_gaps_are_errors(gap: str) -> None:
    with pytest.raises(ArgumentError, match=r"gap|min must be less"):
        parse_key(f"e.length{gap}", Search(SUBJECTS))


def test_words_of_multiword_tokens_are_nodes() -> None:
    out, _ = run('pattern { X [textform="didn\'t"] }', FILE, "--fields", "X,X.form,X.textform")
    assert out.splitlines()[1:] == ["4\tdid\tdidn't"]
    assert (
        run('pattern { X [form="n\'t"] }', FILE, "--fields", "X.textform")[0] == "X.textform\n_\n"
    )


def test_names_of_features_in_other_forms(tmp_path: Path) -> None:
    path = tmp_path / "layers.conllu"
    cells = ("Number[psor]=Sing|__x=1", "Case=Nom", "_")
    rows = ("_", "_", "Case=Acc|Odd__y=2")
    path.write_text(
        "1\tfirst\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
        + "".join(
            f"1\ta\t_\tX\t_\t{feats}\t0\troot\t_\t{misc}\n\n"
            for feats, misc in zip(cells, rows, strict=True)
        )
    )
    for feature, line in (
        ("Number__psor=Sing", 3), ("Number__psor", 3), ("__x=1", 3), ("Case", 5), ("Case=Nom", 5),
        ("__MISC__Case=Acc", 7), ("__MISC__Case", 7),
    ):  # fmt: skip
        out = run(f"pattern {{ X [{feature}] }}", path, "--fields", "line")[0]
        assert out.split() == ["line", str(line)], feature
    assert run("pattern { X [Case=Acc] }", path, "--count")[0] == "0\n"


def test_enhanced_dependencies() -> None:
    pattern = "pattern { X -[E:nsubj]-> Y }"
    assert "--enhanced" in run(pattern, FILE, code=2)[1]
    out, _ = run(pattern, FILE, "--enhanced", "--fields", "X,Y")
    assert out.splitlines()[1:] == ["6\t3", "3\t1", "5\t1", "6\t1", "8.1\t8"]
    broken = FILE.read_text().replace("3:nsubj|5", "30:nsubj|5")
    with pytest.raises(FormatError) as caught:
        run(pattern, "-", "--enhanced", stdin=broken)
    assert (caught.value.line, caught.value.sent_id) == (17, "a-2")


def test_a_pattern_can_be_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "query.req"
    path.write_text(SUBJECTS)
    assert run(path, FILE, "--count")[0] == "4\n"
    assert "there is no such file" in run("V -[nsubj]-> N", FILE, code=2)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pattern { X [] } foo { }", FILE], "line 1, column 18: the block"),
        (["pattern { X [] }", FILE, "--by", "Y.upos"], "the pattern has no node 'Y'"),
        (["pattern { X [] }", FILE, "--by", "upos"], "'upos' is no key"),
        (
            ["pattern { X [] }", FILE, "--fields", "X,foo"],
            "'foo' is no field; write X, file, line, sent_id, text, or a key, for example X.upos",
        ),
        (["pattern { X [] }", FILE, "--by", "{ X [ }"], "column 7: "),
        (["pattern { e: X -> Y }", FILE, "--by", "{ Y -> e }"], "of a node and of an edge"),
        (["pattern { X [] }", FILE, "--by", "{ X -[E:obj]-> Y }"], "--enhanced"),
        (["pattern { X [] }", FILE, "--count", "--fields", "X"], "contradicts"),
        (["pattern { X [] }", FILE, "--count", "--format", "conllu"], "tsv or json"),
        (["pattern { X [] }", FILE, "--fields", "X", "--format", "text"], "tsv or json"),
        (["pattern { X [] }", "-", "-"], "standard input"),
    ],
)
def test_mistakes_in_the_usage(arguments: list[object], message: str) -> None:
    assert message in run(*arguments, code=2)[1]


def test_a_regular_expression_that_takes_too_long_fails() -> None:
    text = f"1\t{'a' * 5000}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    error = run.failure("pattern { X [form=/(a|a|aa)+(a|a)+b/] }", "-", stdin=text)
    assert "takes more than 1 s" in str(error)


def test_control_characters_are_escaped() -> None:
    text = "# sent_id = a\x1b[1m\n1\tb\x1b[1m\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    out, _ = run("pattern { X [upos=X] }", "-", stdin=text)
    assert "\x1b" not in out


def test_python_yields_matches(tmp_path: Path) -> None:
    matches = list(depkit.search(SUBJECTS, FILE))
    assert [str(match) for match in matches] == ["V:6 N:3", "V:3 N:2", "V:6 N:1", "V:10 N:5"]
    assert [match["N"].form for match in matches] == ["dog", "who", "Cats", "house"]
    assert matches[0].edges == {"e": ("6", "nsubj", "3")}
    assert matches[0].nodes == {"V": "6", "N": "3"}
    sentences = list(read(FILE))
    assert [str(match) for match in search(SUBJECTS, sentences)] == list(map(str, matches))
    assert [str(match) for match in search(SUBJECTS, sentences[0])] == ["V:6 N:3"]
    (anchor,) = search("pattern { X -[root]-> Y }", sentences[0])
    assert anchor["X"] is None and anchor["Y"] == sentences[0][5]
    with pytest.raises(depkit.PatternError):
        search("pattern {", sentences)
    # A match is found again after the sentence has been edited.
    sentences[0][2].upos = "X"
    assert list(search("pattern { N [upos=NOUN] }", sentences[0])) == []


def test_where_selects_the_sentences_of_other_commands(tmp_path: Path) -> None:
    """Other commands do with --where what they do with a file of the matching sentences."""
    pattern = "pattern { X [upos=VERB]; X -[obj]-> Y }"
    gold, parsed = tmp_path / "gold.conllu", tmp_path / "parsed.conllu"
    text = FILE.read_text().partition("# sent_id = b-2")[0] * 3
    gold.write_text(text)
    changes = (("\t6\tobj\t", "\t3\tobl\t"), ("nsubj\t6:", "obj\t6:"), ("nsubj:pass\t", "obj\t"))
    parsed_text = text
    for change in changes:
        parsed_text = parsed_text.replace(*change)
    parsed.write_text(parsed_text)
    numbers = [i for i, s in enumerate(read(gold)) if list(search(pattern, s))]
    assert 0 < len(numbers) < len(list(read(gold)))
    kept = tmp_path / "kept"
    kept.mkdir()
    for path in (gold, parsed):
        sentences = list(read(path))
        (kept / path.name).write_text("".join(str(sentences[i]) for i in numbers))
    where = ("--where", pattern)
    out = Command("analyze")(gold, parsed, *where, "--format", "csv", "--by", "deprel")[0]
    expected = Command("analyze")(
        kept / gold.name, kept / parsed.name, "--format", "csv", "--by", "deprel"
    )[0]
    out = out.replace(f"where:{pattern}|", "")
    assert out.replace(str(tmp_path), "") == expected.replace(str(kept), "")
    assert "where:pattern" in Command("analyze")(gold, parsed, *where)[0]
    headings = [
        line for line in Command("show")(gold, *where)[0].splitlines() if "# sentence" in line
    ]
    assert [int(line.split()[2]) for line in headings] == [i + 1 for i in numbers]
    page = tmp_path / "page.html"
    Command("report")(gold, parsed, *where, "-o", page)
    assert "where" in page.read_text()
    listed = [
        json.loads(Command("suspects")(gold, "--parses", parsed, "--json", *options)[0])
        for options in ((), where, ("--where", "pattern { X [lemma=house] }"))
    ]
    found = [{row["sent_id"] for row in record["suspects"]} for record in listed]
    assert found == [{"a-1"}, {"a-1"}, set()]
    for command, arguments in (("show", [gold]), ("analyze", [gold, parsed])):
        assert "column" in Command(command)(*arguments, "--where", "pattern { X", code=2)[1]
    error = Command("analyze").failure(gold, parsed, "--where", "pattern { X [upos=ZZZ] }")
    assert "no sentence matches pattern { X [upos=ZZZ] }" in str(error)
