"""Parsers that correct parses: what they read, and that they learn to."""

import numpy as np
import pytest
import torch

from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.nn.settings import SelfAttention
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family
from depkit.parsers.graph.config import BiaffineConfig, Decoder, Scorer
from tests.parsers.batches import cpu_batch
from tests.parsers.graph.synchronisation import SynchronisationRecorder
from tests.parsers.small_parsers import build_parser

ENCODER = SelfAttention(
    layers=2, size=32, heads=4, head_size=8, feedforward=64, positions="rotary", norm_first=True,
    attention_dropout=0.0, feedforward_dropout=0.0, residual_dropout=0.0,
)  # fmt: skip


def make_refiner(treebank, **inputs):
    config = BiaffineConfig(
        Inputs(word=4, draft=8, dropout=0.0, part_dropout=0.0, **inputs), ENCODER,
        Scorer(arc=16, label=8, predict=[], dropout=0.0), Decoder(root="single", root_label=""),
    )  # fmt: skip
    parser = build_parser(config, treebank)
    for weight in (parser.network.arc.weight, parser.network.label.weight):
        torch.nn.init.normal_(weight)
    return parser


def random_sentences(count, seed):
    """Return sentences of equal words with random trees, and a relation for each direction."""
    random = np.random.default_rng(seed)
    sentences = []
    for _ in range(count):
        size = int(random.integers(2, 8))
        heads, root = np.zeros(size, int), int(random.integers(size))
        attached = [root]
        for word in random.permutation(size):
            if word != root:
                heads[word] = 1 + random.choice(attached)
                attached.append(int(word))
        deprels = ["root" if h == 0 else "left" if w < h - 1 else "right" for w, h in
                   enumerate(heads.tolist())]  # fmt: skip
        sentences.append(new_sentence(["x"] * size).with_tree(heads.tolist(), deprels))
    return sentences


def scores(parser, sentence, draft):
    data = parser.make_preparer()([sentence.with_draft(draft)], [])
    return parser.network.score(cpu_batch(data, np.array([0]))).arc


@pytest.mark.parametrize("stop", [False, True])
def test_the_scores_depend_on_arcs_and_relations_of_the_draft_alone(tiny, stop):
    parser = make_refiner(tiny, stop=stop)
    sentence = tiny[1]
    flat = sentence.with_tree([2, 0, 2, 2, 2, 2, 2], sentence.deprel)
    renamed = sentence.with_tree(sentence.head, ["det"] * 7)
    first = scores(parser, sentence, sentence)
    # The tree of the sentence itself has no effect.
    assert torch.equal(first, scores(parser, flat, sentence))
    assert not torch.allclose(first, scores(parser, sentence, flat))
    assert not torch.allclose(first, scores(parser, sentence, renamed))
    # An unknown relation is read like a missing one.
    unknown, missing = (sentence.with_tree(sentence.head, [name] * 7) for name in ("new", "_"))
    assert torch.equal(scores(parser, sentence, unknown), scores(parser, sentence, missing))


def test_a_sentence_without_a_draft_is_its_own(tiny):
    parser = make_refiner(tiny)
    other = [s.with_tree([*range(len(s))], ["dep"] * len(s)) for s in tiny]
    expected = list(map(str, parser.parse(other)))
    drafted = [s.with_draft(o) for s, o in zip(tiny, other, strict=True)]
    assert [str(s) for s in parser.parse(drafted)] == expected
    # The result has no draft, so a second parse corrects the result.
    twice = list(map(str, parser.parse(parser.parse(other))))
    assert list(map(str, parser.parse(other, passes=2))) == twice != expected


def test_a_word_without_a_head_is_an_error(tiny):
    parser = make_refiner(tiny)
    broken = tiny[0].with_tree([2, -1, 0, 3], ["_"] * 4)
    with pytest.raises(FormatError, match="no HEAD, but this parser corrects parses") as caught:
        list(parser.parse([broken]))
    assert caught.value.line == broken.location(1)[1]


def test_a_training_sentence_without_a_draft_is_refused(tiny):
    """Otherwise, the gold tree could be read."""
    parser = make_refiner(tiny)
    family = get_family(parser.config)
    with pytest.raises(AssertionError):
        family.examples(tiny, parser.vocabulary, parser.config)


def test_the_arcs_of_drafts_are_learned_without_waiting_for_a_device():
    train = [s.with_draft(s) for s in random_sentences(300, seed=1)]
    parser = make_refiner(train)
    network, family = parser.network.train(), get_family(parser.config)
    data = family.examples(train, parser.vocabulary, parser.config)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3, fused=True)
    network.start_epoch(data)
    for update in range(150):
        indices = np.arange(update * 20, update * 20 + 20) % len(train)
        with SynchronisationRecorder() as recorder:
            optimizer.zero_grad()
            network(cpu_batch(data, indices)).backward()
            optimizer.step()
        assert recorder.names == []
    # The words are all equal, so only the drafts tell these trees apart.
    new = random_sentences(50, seed=2)
    parsed = list(parser.parse(new))
    pairs = [(a, b) for s, p in zip(new, parsed, strict=True) for a, b in
             zip(s.head, p.head, strict=True)]  # fmt: skip
    assert np.mean([a == b for a, b in pairs]) > 0.9
