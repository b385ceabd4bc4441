"""Parsers combined: means by hand, labels matched by name, and nothing gained from oneself."""

import os
from dataclasses import replace

import numpy as np
import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.corpus.errors import FormatError
from depkit.corpus.files import read, write
from depkit.corpus.sentence import new_sentence
from depkit.parsers.config import Context, Inputs, Scorer
from depkit.parsers.graph.ensemble import LEAST, EnsembleError, combine, log_mean, spread_out
from depkit.parsers.model_directory import write_description, write_weights
from tests.parsers.test_base import make


def other(sentences, seed, **settings):
    """A parser like `make`'s with other weights."""
    parser = make(sentences, **settings)
    torch.manual_seed(seed)
    for weight in parser.network.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    return parser


def test_means_by_hand():
    one, two = torch.tensor([[0.5, 0.25, 0.25]]), torch.tensor([[0.1, 0.1, 0.8]])
    scores = [one.log() + 3, two.log() - 1]  # scores need not be normalised
    torch.testing.assert_close(log_mean(scores, "arithmetic").exp(), (one + two) / 2)
    product = (one * two).sqrt()
    torch.testing.assert_close(log_mean(scores, "geometric").exp(), product / product.sum())


def test_a_mean_of_tiny_probabilities_is_no_zero():
    scores = [torch.tensor([0.0, -200.0, float("-inf")])] * 3
    for mean in ("arithmetic", "geometric"):
        logs = log_mean(scores, mean)
        assert torch.isfinite(logs[:2]).all() and logs[2] == float("-inf")


def test_values_stand_at_their_places():
    found = spread_out(torch.tensor([[1.0, 1.0]]), [2, 0], 3).exp()
    torch.testing.assert_close(found, torch.tensor([[0.5, LEAST, 0.5]]))


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_a_parser_with_itself_is_that_parser(mean, tiny):
    one = other(tiny, 1)
    alone = [str(sentence) for sentence in one.parse(tiny, "predict")]
    assert [str(each) for each in combine([one, one, one], mean).parse(tiny, "predict")] == alone
    assert combine([one]) is one


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_scores_are_the_means_of_the_members(mean, tiny):
    members = [other(tiny, 1), other(tiny, 2, encoder="selfatt")]
    ensemble = combine(members, mean)
    numbers = np.arange(len(tiny))
    together = ensemble.scores_of(ensemble.preparer()(tiny, []), numbers)
    scores = [each.scores_of(each.preparer()(tiny, []), numbers) for each in members]
    heads = torch.zeros(together.arc.shape[:2], dtype=torch.int64)
    pairs = [(together.arc, [each.arc for each in scores])]
    pairs += [(together.label_at(heads), [each.label_at(heads) for each in scores])]
    pairs += [(together.columns["upos"], [each.columns["upos"] for each in scores])]
    for found, parts in pairs:
        probabilities = torch.stack([part.softmax(-1) for part in parts])
        if mean == "arithmetic":
            expected = probabilities.mean(0)
        else:
            expected = probabilities.log().mean(0).softmax(-1)
        torch.testing.assert_close(found.exp(), expected)


def test_labels_and_tags_are_matched_by_name(tiny):
    whole = other(tiny, 1)
    part = other(tiny[:4], 2)  # fewer labels, in another order of frequency
    names = part.vocabulary.columns["deprel"].symbols
    assert names != whole.vocabulary.columns["deprel"].symbols[: len(names)]
    for members in ([whole, part], [part, whole]):
        ensemble = combine(members)
        table = ensemble.vocabulary.columns["deprel"]
        assert sorted(table.symbols) == sorted(whole.vocabulary.columns["deprel"].symbols)
        numbers = np.arange(len(tiny))
        heads = torch.zeros(1, 1, dtype=torch.int64)
        scores = ensemble.scores_of(ensemble.preparer()(tiny, []), numbers)
        heads = torch.zeros(scores.arc.shape[:2], dtype=torch.int64)
        found = scores.label_at(heads).exp()
        each = [m.scores_of(m.preparer()(tiny, []), numbers).label_at(heads).softmax(-1)
                for m in members]  # fmt: skip
        for symbol, number in table.numbers.items():
            values = [
                scores[..., member.vocabulary.columns["deprel"].numbers[symbol]]
                if symbol in member.vocabulary.columns["deprel"].numbers
                else torch.zeros(heads.shape)
                for member, scores in zip(members, each, strict=True)
            ]
            torch.testing.assert_close(found[..., number], sum(values) / 2, atol=1e-6, rtol=1e-5)


def test_columns_that_one_member_predicts_are_its_own(tiny):
    one, two = other(tiny, 1), other(tiny, 2)
    two.config = replace(two.config, scorer=replace(two.config.scorer, predict=["upos"]))
    two.network.columns = torch.nn.ModuleDict({"upos": two.network.columns["upos"]})
    tagged = list(combine([two, one]).parse(tiny, "predict"))
    alone = list(one.parse(tiny, "predict"))
    assert [sentence.feats for sentence in tagged] == [sentence.feats for sentence in alone]


def test_what_cannot_be_combined(tiny):
    one = make(tiny)
    tagger = make(tiny)
    tagger.config = replace(tagger.config, scorer=Scorer(tree=False, predict=["upos"]))
    with pytest.raises(EnsembleError, match="tagger"):
        combine([one, tagger])
    with pytest.raises(EnsembleError, match="multi root, any label; single root, root"):
        combine([one, make(tiny, root="multi", root_label="")])
    elmo = [make(tiny), make(tiny)]
    for member, layers in zip(elmo, ("average", "mix"), strict=True):
        context = Context(source="elmo", layers=layers, top=0, available=3, width=4)
        inputs = replace(member.config.inputs, context=context)
        member.config = replace(member.config, inputs=inputs)
    with pytest.raises(EnsembleError, match="different layers of ELMo"):
        combine(elmo)
    reads_tags = make(tiny, inputs=Inputs(word=4, tag=4, tag_column="upos"))
    with pytest.raises(FormatError, match="no UPOS"):
        list(combine([one, reads_tags]).parse([new_sentence(["a", "b"])]))


def test_the_command_line_combines(tiny, tmp_path, capsys):
    write(tiny, tmp_path / "in.conllu")
    members = [other(tiny, seed) for seed in (1, 2)]
    command = [
        "parse",
        "--device",
        "cpu",
        str(tmp_path / "in.conllu"),
        "-o",
        str(tmp_path / "out.conllu"),
        "-q",
    ]
    for number, member in enumerate(members):
        directory = tmp_path / str(number)
        directory.mkdir()
        write_description(directory, member.config, member.vocabulary)
        write_weights(directory, member.network)
        command += ["--model", str(directory)]
    members = [depkit.load(tmp_path / name, "cpu") for name in ("0", "1")]
    assert run([*command, "--mean", "geometric", "--tags", "predict"]) == 0
    found = [(s.head, s.deprel, s.upos) for s in read(tmp_path / "out.conllu")]
    expected = combine(members, "geometric").parse(tiny, "predict")
    assert found == [(s.head, s.deprel, s.upos) for s in expected]


def test_the_environment_names_models(tiny, tmp_path, monkeypatch):
    write(tiny, tmp_path / "in.conllu")
    places = [tmp_path / "a model", tmp_path / "other"]
    for seed, place in enumerate(places):
        place.mkdir()
        member = other(tiny, seed)
        write_description(place, member.config, member.vocabulary)
        write_weights(place, member.network)
    output = tmp_path / "out.conllu"
    command = ["parse", str(tmp_path / "in.conllu"), "-o", str(output), "--device", "cpu", "-q"]
    members = [depkit.load(place, "cpu") for place in places]
    for count in (1, 2):
        monkeypatch.setenv("DEPKIT_MODEL", os.pathsep.join(map(str, places[:count])))
        assert run(command) == 0
        expected = combine(members[:count]).parse(tiny)
        assert [s.head for s in read(output)] == [s.head for s in expected]
