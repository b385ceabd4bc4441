"""Probabilities of heads and labels in MISC and JSON agree with the scores."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from depkit.cli.main import run
from depkit.corpus.formats import CONLLX
from depkit.corpus.io import write
from depkit.corpus.probabilities import ARC_PROB, LABEL_PROB
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.parsers import base
from depkit.parsers.ensembles import combine
from depkit.parsers.graph.config import Calibration
from tests.conftest import TINY
from tests.parsers.small_parsers import (
    WARM,
    compute_scores,
    make_parser,
    make_random_parser,
    save_parser,
    set_calibration,
    texts,
)
from tests.trees.single import marginals


def parse_probabilities(sentence):
    """Return the probabilities in MISC, [words, 2]."""
    cells = [dict(p.partition("=")[::2] for p in c.split("|")) for c in sentence.column("misc")]
    return np.array([[float(cell[ARC_PROB]), float(cell[LABEL_PROB])] for cell in cells])


def remove_misc(sentence):
    """Return the lines of a sentence without the last column of its words."""
    rows = set(sentence.rows)
    return [
        line.rsplit("\t", 1)[0] if row in rows else line for row, line in enumerate(sentence.lines)
    ]


@pytest.mark.parametrize("is_ensemble", [False, True], ids=["parser", "ensemble"])
@pytest.mark.parametrize("root", ["single", "multi"])
def test_written_probabilities_agree_with_the_scores(tiny, root, is_ensemble):
    label = "root" if root == "single" else ""
    parser = make_random_parser(tiny, 1, root=root, root_label=label)
    if is_ensemble:
        parser = combine([parser, make_random_parser(tiny, 2, root=root, root_label=label)])
    parser = set_calibration(parser)
    plain = list(parser.parse(tiny))
    for kind in ("local", "marginal"):
        for before, sentence in zip(plain, parser.parse(tiny, probabilities=kind), strict=True):
            assert remove_misc(sentence) == remove_misc(before)
            arc, label = compute_scores(parser, sentence)
            if kind == "local":
                arc_probability = (arc / WARM.arc).softmax(-1).numpy()
            else:
                arc_probability = marginals(arc.numpy() / WARM.marginal, root == "single")
            label_probability = (label / WARM.label).softmax(-1).numpy()
            indices = parser.vocabulary.columns["deprel"].indices
            words = np.arange(1, len(sentence) + 1)
            expected = [
                arc_probability[words, sentence.head],
                label_probability[words, [indices[deprel] for deprel in sentence.deprel]],
            ]
            np.testing.assert_allclose(parse_probabilities(sentence).T, expected, atol=6e-5)
            if root == "single":
                # A word whose head is 0 can have no other label than root.
                assert parse_probabilities(sentence)[sentence.head.index(0), 1] == 1


def test_batches_and_threads_do_not_change_probabilities(tiny):
    parser = make_random_parser(tiny, 1)
    parallel = replace(parser, threads=2)
    parsed = parallel.parse(tiny, batch_tokens=40, probabilities="marginal")
    assert texts(parsed) == texts(parser.parse(tiny, probabilities="marginal"))


def test_an_ensemble_does_not_have_the_temperatures_of_its_members(tiny):
    members = [set_calibration(make_parser(tiny)), set_calibration(make_random_parser(tiny, 2))]
    assert combine(members).config.calibration == Calibration()
    assert combine(members, calibration=asdict(WARM)).config.calibration == WARM
    assert combine(members[:1]).config.calibration == WARM


def test_probabilities_that_cannot_be_computed_or_written_are_errors(tiny, monkeypatch):
    parser = make_parser(tiny)
    with pytest.raises(ValueError, match="local or marginal, not 'global'"):
        list(parser.parse(tiny, probabilities="global"))
    with pytest.raises(FormatError, match="conllx has no column MISC"):
        list(parser.parse([new_sentence(["a"], format=CONLLX)], probabilities="local"))
    monkeypatch.setattr(base, "MAX_MARGINAL_WORDS", 3)
    long = new_sentence(list("abcd"))
    with pytest.raises(FormatError, match=r"4 words is too long for marginals.* to 3 words"):
        list(parser.parse([long], probabilities="marginal"))
    assert len(list(parser.parse([long], probabilities="local"))) == 1


@pytest.fixture(scope="module")
def model(tiny, tmp_path_factory):
    parser = set_calibration(make_random_parser(tiny, 1))
    return str(save_parser(parser, tmp_path_factory.mktemp("model")))


@pytest.fixture
def parse(model, capfd):
    """A function that parses a file and returns the exit status, the output and the messages."""

    def parse_file(*arguments):
        status = run(["parse", "--model", model, "--device", "cpu", *map(str, arguments)])
        return status, *capfd.readouterr()

    return parse_file


def test_the_command_writes_local_or_marginal_probabilities(parse, tiny, tmp_path):
    status, out, err = parse(TINY, "--prob", "-q")
    assert (status, err) == (0, "")
    assert out.count(f"{ARC_PROB}=") == out.count(f"{LABEL_PROB}=") == sum(map(len, tiny))
    _, again, _ = parse(TINY, "--prob", "--marginals")
    assert again.count(f"{ARC_PROB}=") == sum(map(len, tiny)) and again != out
    _, plain, _ = parse(TINY)
    assert "Prob" not in plain


def test_json_has_the_probabilities_for_input_in_any_format(parse, tiny, tmp_path):
    write(tiny, tmp_path / "tiny.conllu")
    assert run(["convert", str(TINY), "-o", str(tmp_path / "tiny.conllx"), "-q"]) == 0
    results = []
    for name in ("tiny.conllu", "tiny.conllx"):
        status, out, _ = parse(tmp_path / name, "--prob", "--format", "json")
        assert status == 0
        records = [json.loads(line)["words"] for line in out.splitlines()]
        results.append([(w["arc_prob"], w["label_prob"]) for words in records for w in words])
    assert results[0] == results[1] and len(results[0]) == sum(map(len, tiny))
    status, out, err = parse(tmp_path / "tiny.conllx", "--prob", "--format", "conllu")
    assert status == 0 and out.count(ARC_PROB) == len(results[0])
    status, out, err = parse(tmp_path / "tiny.conllx", "--prob")
    assert (status, out) == (1, "")
    assert "tiny.conllx:1: the format conllx has no column MISC for probabilities" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--marginals"], "--marginals: it needs --prob as well"),
        (["--prob", "--format", "conllx"], "--prob: conllx has no column MISC"),
        (["--prob", "--format", "conll09"], "--prob: conll09 has no column MISC"),
    ],
)
def test_invalid_options_are_rejected(parse, arguments, message):
    status, out, err = parse(TINY, *arguments)
    assert (status, out) == (2, "") and message in err and err.count("\n") == 1
