"""The Python API of `import depkit`, which imports large packages only when they are needed."""

import doctest
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

import depkit
import depkit.corpus.sentence
from depkit.score.conll18 import evaluate_aligned
from tests.cli.commands import Command
from tests.conftest import TINY, TREES
from tests.parsers.small_parsers import make_parser


def test_the_examples_in_the_docstring_are_correct(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, attempted = doctest.testmod(depkit)
    assert attempted > 15 and not failed
    failed, attempted = doctest.testmod(depkit.corpus.sentence)
    assert attempted and not failed


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
