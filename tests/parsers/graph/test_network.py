"""The network's loss and scores against their definitions, one word at a time."""

import numpy as np
import pytest
import torch

from depkit.nn.settings import BiLSTM, SelfAttention
from depkit.parsers.columns.network import value_attributes
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family
from depkit.parsers.graph.config import BiaffineConfig, Scorer
from tests.parsers.batches import cpu_batch
from tests.parsers.small_parsers import build_parser, tree

ENCODERS = {
    "bilstm": BiLSTM(layers=2, size=8),
    "selfatt": SelfAttention(layers=2, size=12, heads=2, head_size=5, feedforward=16),
}
INPUTS = [
    Inputs(word=6), Inputs(word=6, tag=4), Inputs(word=0, char=6), Inputs(6, tag=4, char=5),
    Inputs(word=0, affix=6),
]  # fmt: skip


SENTENCES = [
    tree("The dog barks", [2, 3, 0], "DET NOUN VERB", "det nsubj root"),
    tree("the dog", [2, 0], "DET NOUN", "det root"),
    tree("go", [0], "VERB", "root"),
]


def make_network(encoder, inputs, sentences=SENTENCES, **scorer):
    scorer = {"arc": 7, "label": 5, "predict": ["upos"]} | scorer
    config = BiaffineConfig(inputs, encoder, Scorer(**scorer))
    parser = build_parser(config, sentences)
    network, vocabulary = parser.network, parser.vocabulary
    torch.nn.init.normal_(network.arc.weight)  # with the initial zeros, all results would be equal
    torch.nn.init.normal_(network.label.weight)
    return network, vocabulary, get_family(config).examples(sentences, vocabulary, config)


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("kind", ENCODERS)
def test_a_sentence_scores_the_same_alone_and_in_a_batch(kind, inputs):
    network, _, data = make_network(ENCODERS[kind], inputs)
    together = network.score(cpu_batch(data, np.array([0, 1, 2])))
    heads = torch.zeros(together.arc.shape[:2], dtype=torch.int64)
    labels = together.score_labels(heads)
    for row, size in enumerate(data.sizes.tolist()):
        alone = network.score(cpu_batch(data, np.array([row])))
        alone_labels = alone.score_labels(heads[:1, : alone.arc.shape[1]])
        pairs = [(together.arc[row, :size, :size], alone.arc[0, :size, :size])]
        for actual, expected in [*pairs, (labels[row, :size], alone_labels[0, :size])]:
            torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-4)


def test_arcs_to_the_word_itself_and_to_padding_are_masked():
    network, _, data = make_network(ENCODERS["bilstm"], INPUTS[0])
    arc = network.score(cpu_batch(data, np.array([0, 1]))).arc
    position = torch.arange(4)
    for scores, size in zip(arc, (4, 3), strict=True):
        is_masked = (position[:, None] == position) | (position >= size)
        assert torch.equal(scores[:size].isneginf(), is_masked[:size])


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_loss_is_the_sum_of_the_mean_losses(kind):
    network, vocabulary, data = make_network(ENCODERS[kind], INPUTS[0])
    batch = cpu_batch(data, np.array([0, 1, 2]))
    scores = network.score(batch)
    labels = scores.score_labels(batch["target.head"].clamp(min=0))
    arc = label = tag = 0.0
    for row, sentence in enumerate(SENTENCES):
        for word, head in enumerate(sentence.head, start=1):
            others = [j for j in range(len(sentence) + 1) if j != word]
            arc -= scores.arc[row, word, head] - scores.arc[row, word, others].logsumexp(0)
            relation = vocabulary.columns["deprel"].indices[sentence.deprel[word - 1]]
            label -= labels[row, word].log_softmax(0)[relation]
            upos = vocabulary.columns["upos"].indices[sentence.upos[word - 1]]
            tag -= scores.columns["upos"][row, word].log_softmax(0)[upos]
    torch.testing.assert_close(network(batch), (arc + label + tag) / 6)


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_weight_has_a_gradient_even_with_invalid_trees(kind):
    invalid = tree("a b", [1, 0], "X X", "x root")
    network, _, data = make_network(
        ENCODERS[kind], INPUTS[3], [*SENTENCES, invalid], tag_vector=3, shared_attributes=True
    )
    loss = network.train()(cpu_batch(data, np.arange(4)))
    loss.backward()
    assert loss.isfinite()
    for name, weight in network.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        assert weight.grad.any(), name


def test_the_tree_scorers_read_the_predicted_tags():
    predict = ["upos", "xpos", "lemma"]
    network, _, data = make_network(ENCODERS["bilstm"], INPUTS[0], predict=predict, tag_vector=3)
    batch = cpu_batch(data, np.array([0, 1]))
    logits = network.columns.scores(network.encode(batch))
    vectors = network.word_vectors(network.encode(batch), logits)[..., -3:]
    assert set(network.tag_vectors) == {"upos", "xpos"}
    for row in range(2):
        for word in range(4):
            expected = torch.zeros(3)
            for name, table in network.tag_vectors.items():
                probabilities = logits[name][row, word].softmax(0)
                for value, probability in enumerate(probabilities):
                    expected += probability * table.weight[:, value]
            torch.testing.assert_close(vectors[row, word], expected)
    without, _, data = make_network(
        ENCODERS["bilstm"], INPUTS[0], predict=["lemma"], tag_vector=3
    )  # no tags are predicted
    assert without.tag_vectors is None
    assert network(batch).isfinite() and without(cpu_batch(data, np.array([0]))).isfinite()


def test_values_of_feats_and_xpos_are_made_of_attributes():
    assert value_attributes("feats", ["Case=Nom|Number=Sing", "_"]) == [
        ["Case=Nom", "Number=Sing"], ["_"],
    ]  # fmt: skip
    assert value_attributes("xpos", ["NNS", "V-"]) == [["0N", "1N", "2S"], ["0V", "1-"]]
    assert value_attributes("upos", ["NOUN"]) == []
