"""Ensembles: means computed by hand, labels matched by name, and models on the command line."""

import os
from dataclasses import replace

import pytest
import torch

import depkit
from depkit.cli.main import run
from depkit.corpus.io import read, write
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.nn.means import MIN_PROBABILITY, align_values, log_mean
from depkit.nn.settings import BiLSTM
from depkit.parsers.columns.config import TagScorer
from depkit.parsers.config import Inputs
from depkit.parsers.ensembles import combine
from depkit.parsers.family import CombinationError
from depkit.parsers.inputs.context import Context
from depkit.parsers.tagger.config import TaggerConfig
from tests.parsers.small_parsers import (
    build_parser,
    make_one_batch,
    make_parser,
    make_random_parser,
    randomise_weights,
    save_parser,
)


def test_the_mean_of_tiny_probabilities_is_not_zero():
    scores = [torch.tensor([0.0, -200.0, float("-inf")])] * 3
    for mean in ("arithmetic", "geometric"):
        logs = log_mean(scores, mean)
        assert torch.isfinite(logs[:2]).all() and logs[2] == float("-inf")


def test_values_are_aligned_by_index():
    probabilities = align_values(torch.tensor([[1.0, 1.0]]), torch.tensor([2, 0]), 3).exp()
    torch.testing.assert_close(probabilities, torch.tensor([[0.5, MIN_PROBABILITY, 0.5]]))


def log_mean_by_definition(scores, mean):
    """The logarithm of the mean of several parsers' probabilities."""
    probabilities = torch.stack([logits.softmax(-1) for logits in scores])
    return probabilities.mean(0).log() if mean == "arithmetic" else probabilities.log().mean(0)


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_scores_are_the_means_of_all_members(mean, tiny):
    members = [
        make_random_parser(tiny, 1),
        make_random_parser(tiny, 2, encoder="selfatt"),
        make_random_parser(tiny, 3),
    ]
    ensemble = combine(members, mean)
    together = ensemble.engine.score(make_one_batch(ensemble, tiny))
    scores = [member.engine.score(make_one_batch(member, tiny)) for member in members]
    heads = torch.zeros(together.arc.shape[:2], dtype=torch.int64)
    pairs = [(together.arc, [part.arc for part in scores])]
    pairs += [(together.score_labels(heads), [part.score_labels(heads) for part in scores])]
    pairs += [(together.columns["upos"], [part.columns["upos"] for part in scores])]
    for logs, parts in pairs:
        torch.testing.assert_close(logs.exp(), log_mean_by_definition(parts, mean).softmax(-1))


@pytest.mark.parametrize("mean", ["arithmetic", "geometric"])
def test_taggers_are_combined(mean, tiny):
    config = TaggerConfig(Inputs(word=6), BiLSTM(size=8), TagScorer(predict=["upos"], tag_hidden=9))
    members = [randomise_weights(build_parser(config, tiny), seed) for seed in (1, 2)]
    ensemble = combine(members, mean)
    assert ensemble.members == members
    scores = [member.engine.tag_scores(make_one_batch(member, tiny))["upos"] for member in members]
    logs = ensemble.engine.tag_scores(make_one_batch(ensemble, tiny))["upos"]
    torch.testing.assert_close(logs.exp(), log_mean_by_definition(scores, mean).softmax(-1))
    symbols = ensemble.vocabulary.columns["upos"].symbols
    for row, sentence in enumerate(ensemble.tag(tiny)):
        best = logs[row, 1 : len(sentence) + 1].argmax(-1).tolist()
        assert sentence.upos == [symbols[i] for i in best]
    other_mean = "geometric" if mean == "arithmetic" else "arithmetic"
    assert combine([ensemble], other_mean).mean == other_mean


def test_labels_and_tags_are_matched_by_name(tiny):
    full = make_random_parser(tiny, 1)
    part = make_random_parser(tiny[:4], 2)  # fewer labels, in another order of frequency
    names = part.vocabulary.columns["deprel"].symbols
    assert names != full.vocabulary.columns["deprel"].symbols[: len(names)]
    for members in ([full, part], [part, full]):
        ensemble = combine(members)
        parsers = (ensemble, *members)
        tables = [parser.vocabulary.columns["deprel"].indices for parser in parsers]
        assert sorted(tables[0]) == sorted(full.vocabulary.columns["deprel"].symbols)
        scores = [parser.engine.score(make_one_batch(parser, tiny)) for parser in parsers]
        heads = torch.zeros(scores[0].arc.shape[:2], dtype=torch.int64)
        combined, *parts = (part.score_labels(heads).softmax(-1) for part in scores)
        for symbol, index in tables[0].items():
            values = [
                part[..., table[symbol]] if symbol in table else torch.zeros(heads.shape)
                for table, part in zip(tables[1:], parts, strict=True)
            ]
            torch.testing.assert_close(combined[..., index], sum(values) / 2, atol=1e-6, rtol=1e-5)


def test_a_column_of_one_member_is_predicted_by_that_member(tiny):
    first, second = make_random_parser(tiny, 1), make_random_parser(tiny, 2)
    second.config = replace(second.config, scorer=replace(second.config.scorer, predict=["upos"]))
    del second.network.columns["feats"]
    tagged = list(combine([second, first]).parse(tiny, "predict"))
    alone = list(first.parse(tiny, "predict"))
    assert [sentence.feats for sentence in tagged] == [sentence.feats for sentence in alone]


def test_incompatible_parsers_are_rejected(tiny):
    parser = make_parser(tiny)
    assert combine([parser]) is parser
    tagger = build_parser(TaggerConfig(Inputs(word=6), BiLSTM(size=8)), tiny)
    with pytest.raises(CombinationError, match=r"several families .*: biaffine, tagger"):
        combine([parser, tagger])
    with pytest.raises(CombinationError, match="multi root, any label; single root, root"):
        combine([parser, make_parser(tiny, root="multi", root_label="")])
    elmo = [make_parser(tiny), make_parser(tiny)]
    for member, layers in zip(elmo, ("average", "mix"), strict=True):
        context = Context(source="elmo", layers=layers, top=0, available=3, width=4)
        inputs = replace(member.config.inputs, context=context)
        member.config = replace(member.config, inputs=inputs)
    with pytest.raises(CombinationError, match="different layers of ELMo"):
        combine(elmo)
    reads_tags = make_parser(tiny, inputs=Inputs(word=4, tag=4, tag_column="upos"))
    with pytest.raises(FormatError, match="no UPOS"):
        list(combine([parser, reads_tags]).parse([new_sentence(["a", "b"])]))


def test_the_command_line_and_the_environment_name_models(tiny, tmp_path, monkeypatch):
    source, output = str(tmp_path / "in.conllu"), str(tmp_path / "out.conllu")
    write(tiny, source)
    directories = [
        str(save_parser(make_random_parser(tiny, seed), tmp_path / f"model {seed}"))
        for seed in (1, 2)
    ]
    members = [depkit.load(directory, "cpu") for directory in directories]
    both = ["--model", directories[0], "--model", directories[1], "--mean", "geometric"]
    for count, mean, arguments in (
        (2, "geometric", both),
        (1, "arithmetic", []),
        (2, "arithmetic", []),
    ):
        if not arguments:
            monkeypatch.setenv("DEPKIT_MODEL", os.pathsep.join(directories[:count]))
        command = ["parse", "--device", "cpu", source, "-o", output, "-q", "--tags", "predict"]
        assert run([*command, *arguments]) == 0
        parsed = combine(members[:count], mean).parse(tiny, "predict")
        for sentence, expected in zip(read(output), parsed, strict=True):
            for column in ("head", "deprel", "upos"):
                assert getattr(sentence, column) == getattr(expected, column)
