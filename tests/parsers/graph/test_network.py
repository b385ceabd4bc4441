"""The network's loss and scores against their definitions, one word at a time."""

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.parsers.config import Encoder, Inputs, ParserConfig, Scorer
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.inputs.batches import encode, make_batch
from depkit.parsers.inputs.vocabulary import build_vocabulary

ENCODERS = {
    "bilstm": Encoder(kind="bilstm", layers=2, size=8),
    "selfatt": Encoder(kind="selfatt", layers=2, size=12, heads=2, head_size=5, feedforward=16),
}
INPUTS = [Inputs(word=6), Inputs(word=6, tag=4), Inputs(word=0, char=6), Inputs(6, tag=4, char=5)]


def tree(words, heads, upos, deprels):
    columns = {"head": [str(h) for h in heads], "upos": upos.split(), "deprel": deprels.split()}
    return new_sentence(words.split(), columns)


SENTENCES = [
    tree("The dog barks", [2, 3, 0], "DET NOUN VERB", "det nsubj root"),
    tree("the dog", [2, 0], "DET NOUN", "det root"),
    tree("go", [0], "VERB", "root"),
]


def make(encoder, inputs, predict=("upos",)):
    torch.manual_seed(0)
    config = ParserConfig(inputs, encoder, Scorer(arc=7, label=5, predict=list(predict)))
    vocabulary = build_vocabulary(SENTENCES, config)
    network = BiaffineNetwork(config, vocabulary).eval()
    torch.nn.init.normal_(network.arc.weight)  # they start at zero, where anything is right
    torch.nn.init.normal_(network.label.weight)
    data = encode(SENTENCES, vocabulary, config, torch.device("cpu"))
    return network, vocabulary, data


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("kind", ENCODERS)
def test_a_sentence_scores_the_same_alone_and_in_a_batch(kind, inputs):
    network, _, data = make(ENCODERS[kind], inputs)
    together = network.score(make_batch(data, np.array([0, 1, 2])))
    for row, size in enumerate(data.sizes.tolist()):
        alone = network.score(make_batch(data, np.array([row])))
        torch.testing.assert_close(
            together.arc[row, :size, :size], alone.arc[0, :size, :size], atol=1e-5, rtol=1e-4
        )
        heads = torch.zeros(3, together.arc.shape[1], dtype=torch.int64)
        torch.testing.assert_close(
            together.label_at(heads)[row, :size],
            alone.label_at(heads[:1, : alone.arc.shape[1]])[0, :size],
            atol=1e-5,
            rtol=1e-4,
        )


def test_no_arc_to_itself_or_to_padding():
    network, _, data = make(ENCODERS["bilstm"], INPUTS[0])
    arc = network.score(make_batch(data, np.array([0, 1]))).arc
    for row, size in enumerate((4, 3)):
        for dependent in range(size):
            for head in range(arc.shape[2]):
                barred = head == dependent or head >= size
                assert (arc[row, dependent, head] == float("-inf")) == barred


@pytest.mark.parametrize("kind", ENCODERS)
def test_loss_is_the_sum_of_its_means(kind):
    network, vocabulary, data = make(ENCODERS[kind], INPUTS[0])
    batch = make_batch(data, np.array([0, 1, 2]))
    scores = network.score(batch)
    labels = scores.label_at(batch.head.clamp(min=0))
    arc = label = tag = 0.0
    for row, sentence in enumerate(SENTENCES):
        for word, head in enumerate(sentence.head, start=1):
            others = [j for j in range(len(sentence) + 1) if j != word]
            arc -= scores.arc[row, word, head] - scores.arc[row, word, others].logsumexp(0)
            relation = vocabulary.columns["deprel"].numbers[sentence.deprel[word - 1]]
            label -= labels[row, word].log_softmax(0)[relation]
            upos = vocabulary.columns["upos"].numbers[sentence.upos[word - 1]]
            tag -= scores.columns["upos"][row, word].log_softmax(0)[upos]
    torch.testing.assert_close(network.loss(batch), (arc + label + tag) / 6)


@pytest.mark.parametrize("kind", ENCODERS)
def test_every_weight_learns(kind):
    network, _, data = make(ENCODERS[kind], INPUTS[3])
    network.train()
    network.loss(make_batch(data, np.array([0, 1, 2]))).backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None and weight.grad.isfinite().all(), name
        assert weight.grad.any(), name


def test_a_broken_tree_does_not_break_the_loss():
    sentences = [tree("a b", [1, 0], "X X", "x root"), tree("c", [-1 + 1], "X", "root")]
    config = ParserConfig(INPUTS[0], ENCODERS["bilstm"], Scorer(arc=7, label=5, predict=[]))
    vocabulary = build_vocabulary(sentences, config)
    network = BiaffineNetwork(config, vocabulary)
    data = encode(sentences, vocabulary, config, torch.device("cpu"))
    loss = network.loss(make_batch(data, np.array([0, 1])))
    loss.backward()
    assert loss.isfinite()
    assert all(w.grad is None or w.grad.isfinite().all() for w in network.parameters())
