"""The Python API of `import depkit`, which imports large packages only when they are needed."""

import doctest
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from inspect import isfunction, signature
from xml.etree import ElementTree

import pytest

import depkit
import depkit.corpus.sentence
from depkit.convert.treebank import convert
from depkit.files.errors import ArgumentError
from depkit.parsers.parse_options import ParseOptions
from depkit.score.conll18 import evaluate_aligned
from tests.cli.commands import Command
from tests.conftest import TINY, TREES
from tests.parsers.small_parsers import make_parser

FUNCTIONS = [
    name for name in depkit.__all__ if name == "convert" or isfunction(getattr(depkit, name))
]
EXAMPLES = {name: getattr(depkit, name) for name in [*FUNCTIONS, "Sentence", "Word"]}
EXAMPLES |= {"convert": convert, "Parser.parse": depkit.Parser.parse}


def test_the_examples_in_the_docstring_are_correct(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testmod(depkit)
    assert attempted >= 5 and not failed
    failed, attempted = doctest.testmod(depkit.corpus.sentence)
    assert attempted and not failed
    assert len(depkit.__doc__.splitlines()) <= 40


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_public_function_has_a_correct_example(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    finder = doctest.DocTestFinder(recurse=False)
    (test,) = finder.find(EXAMPLES[name], name, globs={})
    assert test.examples
    output = []
    assert not doctest.DocTestRunner().run(test, out=output.append).failed, "".join(output)


MISSPELT = """
import depkit
parser = depkit.load()
parser.parse("a", prob="local", decode="eisner", tags="keep")
parser("a", prob=True)
parser.parse("a", probabilites="local")
parser("a", probabilites="local")
parser.parse("a", decode="eisnr")
parser("a", "prdict")
depkit.convert("a", dependencies="sx")
"""


def test_a_type_checker_refuses_misspelt_arguments(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(MISSPELT)
    command = [sys.executable, "-m", "mypy", "--config-file", "", "--cache-dir", tmp_path, path]
    done = subprocess.run([*command, "--follow-imports", "silent"], capture_output=True, text=True)
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert lines == [6, 7, 8, 9, 10], done.stdout + done.stderr


def test_the_typed_options_are_the_arguments_of_parse():
    names = list(signature(depkit.Parser.parse).parameters)
    assert names[3:] == list(ParseOptions.__annotations__)


def test_former_names_of_arguments_are_accepted(tiny):
    parser = make_parser(tiny)
    for new, former in (
        ({"decode": "eisner"}, {"algorithm": "eisner"}),
        ({"prob": True}, {"probabilities": "local"}),
        ({"prob": "marginal"}, {"probabilities": "marginal"}),
    ):
        assert list(map(str, parser(tiny, **new))) == list(map(str, parser(tiny, **former)))
    assert "ArcProb" in str(parser(tiny[:1], prob=True)[0])
    with pytest.raises(ValueError, match="`decode` and its former name `algorithm`"):
        parser(tiny, decode="eisner", algorithm="mst")
    with pytest.raises(ValueError, match="`prob` and its former"):
        parser(tiny, prob="local", probabilities="marginal")
    with pytest.raises(ValueError, match="decode can be mst, eisner, argmax"):
        parser(tiny, algorithm="nonsense")


def test_a_file_is_read_parsed_written_and_evaluated(tiny, tmp_path):
    parser = make_parser(tiny)
    count = depkit.write(parser.parse(depkit.read(TINY)), tmp_path / "out.conllu")
    assert count == 24
    scores = depkit.evaluate(TINY, tmp_path / "out.conllu")
    assert scores.words == 182 and 0 <= scores.LAS <= scores.UAS <= 100
    assert depkit.evaluate(tiny, tiny).LAS == 100


def test_errors_are_public(tmp_path):
    (tmp_path / "bad.conllu").write_text("1\ta\n\n")
    with pytest.raises(depkit.FormatError) as error:
        list(depkit.read(tmp_path / "bad.conllu"))
    assert error.value.line == 1


def test_every_public_name_exists():
    for name in depkit.__all__:
        assert getattr(depkit, name)
    assert set(dir(depkit)) == set(depkit.__all__)
    with pytest.raises(AttributeError):
        depkit.nonsense  # noqa: B018


def test_parsers_accept_sentences_token_lists_and_words(tiny):
    parser = make_parser(tiny)
    words = tiny[0].form
    parsed = parser([words])[0]
    assert parsed.form == words and parsed.head == parser(parsed, tags="predict")[0].head
    for sentences in (tiny[0], [tiny[0]], [tiny[0].to_token_list()], iter(tiny[:1])):
        assert list(map(str, parser(sentences))) == list(map(str, parser.parse(tiny[:1])))
    with pytest.raises(ValueError, match=r"no tokenizer.*lists of words"):
        parser("Some text.")
    for invalid in (words, [3], [tiny[0][0]]):
        with pytest.raises(TypeError, match=r"a sentence is a .*, a list of words"):
            parser(invalid)
    with pytest.raises(ValueError, match="at least one word"):
        parser([[]])


def test_repr_of_a_parser_lists_inputs_predictions_and_device(tiny):
    lines = repr(make_parser(tiny)).splitlines()
    assert lines[0] == "<GraphParser: bilstm over words, characters"
    assert lines[1] == "  predicts head, deprel, upos, feats; does not parse running text"
    assert lines[2:] == ["  on cpu, 1 thread>"]


def test_repr_of_an_evaluation_is_a_table(tiny):
    result = depkit.evaluate(tiny, [s.with_tree(s.head, ["_"] * len(s)) for s in tiny])
    header, row, signature = repr(result).splitlines()
    assert header.split()[:4] == ["system", "UAS", "LAS", "LA"]
    assert row.split()[2:5] == ["100.00", "0.00", "0.00"]
    assert signature == result.signature
    cells = ElementTree.fromstring(f"<div>{result._repr_html_()}</div>").iter("td")
    assert [cell.text for cell in cells] == ["system 1", *row.split()[2:]]
    names = [line.split()[0] for line in repr(evaluate_aligned(tiny, [tiny])[0]).splitlines()]
    assert names[1:4] == ["precision", "recall", "F1"]


def test_analyze_agrees_with_the_command_line(tiny, tmp_path):
    chains = [s.with_tree([*range(2, len(s) + 1), 0], s.deprel) for s in tiny]
    depkit.write(chains, tmp_path / "chains.conllu")
    files = TINY, TINY, tmp_path / "chains.conllu"
    options = ["--by", "distance", "--by", "oov", "--bins", "1,2-", "--metric", "UAS"]
    out, _ = Command("analyze")(*files, *options, "--train", TINY, "--json")
    rows = depkit.analyze(*files, by=["distance", "oov"], bins="1,2-", metric="UAS", train=TINY)
    assert rows == [row for row in json.loads(out) if row.pop("signature")]
    rows = depkit.analyze(tiny, tiny, chains)
    assert {row["system"] for row in rows} == {"system 1", "system 2"}
    for invalid in ({"by": "nonsense"}, {"metric": "nonsense"}, {"by": "oov"}, {"bins": "x"}):
        with pytest.raises(ValueError, match=r"nonsense|training file|bins"):
            depkit.analyze(tiny, tiny, **invalid)
    assert depkit.analyze(tiny, chains, metric="uas") == depkit.analyze(tiny, chains, metric="UAS")
    for invalid, message in (
        ({"confidence": True, "seed": -1}, "seed: it must be 0 or more, not -1"),
        ({"test": "foo"}, "test: there is no test 'foo'; choose from ar, bootstrap"),
        ({"test": "ar"}, "test: it compares systems, so give two or more"),
        ({"by": "distance", "train": TINY}, "train: it needs `by` frequency or `by` oov"),
    ):
        with pytest.raises(ArgumentError, match=message):
            depkit.analyze(tiny, tiny, **invalid)


def test_show_agrees_with_the_command_line(tiny, tmp_path, capsys):
    chains = [s.with_tree([*range(2, len(s) + 1), 0], s.deprel) for s in tiny]
    depkit.write(chains, tmp_path / "chains.conllu")
    for options, arguments in (
        ([], {}),
        (["--style", "tree", "--width", 60], {"style": "tree", "width": 60}),
        (["--diff", tmp_path / "chains.conllu"], {"diff": chains}),
    ):
        depkit.show(tiny, **arguments)
        assert capsys.readouterr().out == Command("show")(TINY, *options)[0]
    depkit.show(tiny[0], width=1)
    assert max(map(len, capsys.readouterr().out.splitlines()[2:])) <= 40
    with pytest.raises(ValueError, match="arcs, tree"):
        depkit.show(tiny, style="nonsense")


def test_a_notebook_shows_the_tree(tiny):
    image = ElementTree.fromstring(tiny[0]._repr_svg_())
    texts = [text.text for text in image.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == tiny[0].sent_id and set(tiny[0].form) <= set(texts)
    assert tiny[0].with_tree([-1] * len(tiny[0]), tiny[0].deprel)._repr_svg_() is None


@pytest.mark.parametrize("name", ["__version__", "read", "evaluate", "analyze", "show"])
def test_large_packages_are_not_imported_before_load(name):
    code = (
        f"import sys, depkit; depkit.{name}\n"
        "large = {'torch', 'numba', 'transformers'} & sys.modules.keys()\n"
        "sys.exit(f'imported {large}' if large else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bracketed_files_are_scored_by_constituents(tmp_path):
    pred = tmp_path / "pred.mrg"
    pred.write_text(TREES.read_text().replace("(NP ", "(X ", 3))
    scores = depkit.evaluate(TREES, pred)
    assert 0 < scores.scores["LF1"] < 100 and "evalb:collins" in scores.signature
    assert "evalb:nk" in depkit.evaluate(TREES, pred, evalb="nk").signature
    rows = depkit.analyze(TREES, pred)
    assert {row["bin"] for row in rows} >= {"NP", "X"} and rows[0]["metric"] == "LF1"
    with pytest.raises(ValueError, match="punct: the parameters of EVALB say which words count"):
        depkit.evaluate(TREES, pred, punct="ptb")


def test_treebanks_are_converted_checked_and_counted_in_python(tiny, tmp_path, capsys):
    for source in (TINY, tiny, str(TINY)):
        assert depkit.stats(source).words == 182
        found = [(finding.severity, finding.code) for finding in depkit.check(source)]
        assert found == [("note", "non-projective")] * 2
        converted = list(depkit.convert(source, "conllx"))
        assert [sentence.format.name for sentence in converted] == ["conllx"] * 24
    out, _ = Command("convert")(TINY, "--to", "conllx", "-q")
    assert "".join(map(str, converted)) == out
    broken = tiny[0].with_tree([1] * len(tiny[0]), tiny[0].deprel)
    (tmp_path / "broken.conllu").write_text(str(broken))
    codes = {finding.code for finding in depkit.check(broken)}
    assert codes == {finding.code for finding in depkit.check(tmp_path / "broken.conllu")} != set()
    with pytest.raises(depkit.FormatError, match="there is no sentence to write"):
        list(depkit.convert([], "conllx"))


def test_penn_trees_are_converted_in_python():
    (ud,) = {len(list(depkit.convert(TREES, dependencies=kind))) for kind in ("sd", "ud", "ud2")}
    assert ud > 0


def test_evaluation_has_intervals_tests_and_alignment(tiny):
    chains = [s.with_tree([*range(2, len(s) + 1), 0], s.deprel) for s in tiny]
    scores = depkit.evaluate(tiny, chains, confidence=True, test="ar", baseline=tiny)
    low, high = scores.intervals["UAS"]
    assert low <= scores.UAS <= high and high - low > 0
    assert scores.differences["UAS"].difference == scores.UAS - 100
    assert scores.differences["UAS"].p < 0.05
    assert "bootstrap:1000|test:ar-10000" in scores.signature
    assert depkit.evaluate(tiny, chains).intervals == {}
    aligned = depkit.evaluate(TINY, TINY, align=True)
    assert aligned.scores["UAS"] == 100 and "Words" in aligned.scores
    for wrong in ({"test": "ar"}, {"baseline": tiny}):
        with pytest.raises(ValueError, match="`test` needs `baseline`"):
            depkit.evaluate(tiny, chains, **wrong)


def test_systems_have_the_same_names_everywhere(tiny):
    assert depkit.evaluate(tiny, tiny).system == "system 1"
    assert depkit.analyze(tiny, tiny)[0]["system"] == "system 1"
    changed = [s.with_tree(s.head, ["x"] * len(s)) for s in tiny]
    assert depkit.confusion(tiny, changed)[0]["system"] == "system 1"
    assert depkit.evaluate(TINY, TINY).system == depkit.analyze(TINY, TINY)[0]["system"]


def test_confusions_are_those_of_the_command_line(tiny, tmp_path):
    changed = [s.with_tree(s.head, ["x", *s.deprel[1:]]) for s in tiny]
    depkit.write(changed, tmp_path / "x.conllu")
    out, _ = Command("analyze")(TINY, tmp_path / "x.conllu", "--confusion", "deprel", "--json")
    rows = [row for row in json.loads(out) if row.pop("signature")]
    assert depkit.confusion(TINY, tmp_path / "x.conllu", top=20) == rows
    with pytest.raises(ValueError, match="no confusion of 'nonsense'"):
        depkit.confusion(TINY, TINY, what="nonsense")


def test_a_report_a_plot_and_suspects_are_made(tiny, tmp_path):
    depkit.report(tiny, tiny, output=tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()
    pytest.importorskip("matplotlib")
    depkit.plot(tiny, tiny, output=tmp_path / "a.svg", by="distance")
    changed = [s.with_tree(s.head, ["x", *s.deprel[1:]]) for s in tiny]
    depkit.plot(tiny, changed, output=tmp_path / "b.svg", confusion="deprel")
    assert "LAS" in (tmp_path / "a.svg").read_text()
    image = (tmp_path / "b.svg").read_text()
    assert "confusions of deprel" in image and "LAS" not in image
    both = {"confusion": "deprel", "by": "distance", "measure": "precision"}
    depkit.plot(tiny, changed, output=tmp_path / "c.svg", **both)
    image = (tmp_path / "c.svg").read_text()
    assert "confusions of deprel" in image and "LAS precision" in image
    for invalid, message in (
        ({"confusion": "deprel", "measure": "f1"}, "measure: it needs `plot` of a table of bins"),
        ({"confusion": "deprel", "train": TINY}, "train: it needs `by` frequency or `by` oov"),
        ({"by": "distance", "train": TINY}, "train: it needs `by` frequency or `by` oov"),
    ):
        with pytest.raises(ArgumentError, match=message):
            depkit.plot(tiny, changed, output=tmp_path / "d.svg", **invalid)
    depkit.write(tiny, tmp_path / "t.conllu")
    out, _ = Command("suspects")(tmp_path / "t.conllu", "--json")
    assert depkit.suspects(tmp_path / "t.conllu") == json.loads(out)["suspects"]
    for function in (depkit.report, depkit.plot):
        with pytest.raises(ValueError, match="at least one system"):
            function(tiny, output=tmp_path / "none.svg")


def test_a_table_has_one_row_a_word(tiny):
    table = depkit.to_dict([tiny[0], next(depkit.convert(tiny[1], "conllx"))])
    size = len(tiny[0]) + len(tiny[1])
    assert {name: len(column) for name, column in table.items()} == dict.fromkeys(table, size)
    assert table["sentence"] == [1] * len(tiny[0]) + [2] * len(tiny[1])
    assert table["form"] == [*tiny[0].form, *tiny[1].form]
    assert table["misc"][-1] == "_" and table["sent_id"][0] == tiny[0].sent_id
    assert list(depkit.to_dict([])) == ["sentence", "sent_id"]


def test_a_word_has_the_root_of_its_tree(tiny):
    sentence = depkit.Sentence.from_words(["a", "b", "c"], head=[2, 0, 0])
    assert [word.root.form for word in sentence] == ["b", "b", "c"]


def test_a_notebook_draws_lists(tiny, monkeypatch):
    parser = make_parser(tiny)
    html = parser(tiny)._repr_html_()
    assert html.count("<svg") == 20 and "<p>4 more sentences</p>" in html
    assert isinstance(parser(tiny), list)
    assert parser([])._repr_html_() is None


@pytest.mark.parametrize(
    "function",
    [
        lambda items: depkit.write(items, io.StringIO()),
        depkit.to_dict,
        depkit.check,
        depkit.stats,
        lambda items: list(depkit.search("pattern { X [] }", items)),
        lambda items: list(depkit.edit("pattern { X [] } commands { X.a = b }", items)),
        lambda items: depkit.evaluate(items, items),
    ],
)
def test_sentences_of_another_type_are_refused(function, tiny):
    for items in ([3], [tiny[0], "a b"], [["a", "b"]], [tiny[0][0]]):
        with pytest.raises(TypeError, match=r"a sentence must be a depkit.Sentence, not \w+$"):
            function(items)


def test_a_parser_has_at_least_one_thread():
    with pytest.raises(ValueError, match="the number of threads must be 1 or more, not 0"):
        depkit.load("de", threads=0)


def test_several_threads_call_the_same_parser():
    """Each text has words that the others lack, so that all threads change the caches of forms."""
    texts = [" ".join(f"The {name}{i} saw it." for i in range(60)) for name in "abcdefgh"]
    expected = [depkit.load("en", engine="onnx")(text) for text in texts]
    parser = depkit.load("en", engine="onnx")
    with ThreadPoolExecutor(4) as executor:
        parsed = list(executor.map(parser, texts))
    for first, second in zip(expected, parsed, strict=True):
        assert [x.to_conllu() for x in first] == [x.to_conllu() for x in second]


def test_the_language_is_that_of_a_string():
    with pytest.raises(TypeError, match="the text must be a string, not list"):
        depkit.choose_model(["Guten Tag."])
