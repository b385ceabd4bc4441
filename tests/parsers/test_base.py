"""Parsing with a small untrained network: order, columns, limits and what is refused."""

import numpy as np
import pytest
import torch

from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLL09, CONLLX
from depkit.corpus.sentence import new_sentence
from depkit.parsers import windows
from depkit.parsers.base import Parser
from depkit.parsers.config import Decoder, Encoder, Inputs, ParserConfig, Scorer
from depkit.parsers.device import find_device
from depkit.parsers.graph.network import BiaffineNetwork
from depkit.parsers.inputs.batches import encode, make_batch
from depkit.parsers.inputs.vocabulary import build_vocabulary
from depkit.trees.shape import is_tree

CPU = torch.device("cpu")


def make(treebank, inputs=None, root="single", root_label="root", encoder="bilstm"):
    torch.manual_seed(0)
    config = ParserConfig(
        inputs or Inputs(word=6, char=4),
        Encoder(kind=encoder, layers=1, size=8, heads=2, head_size=4, feedforward=8),
        Scorer(arc=7, label=5, predict=["upos", "feats"]),
        Decoder(root=root, root_label=root_label),
    )
    vocabulary = build_vocabulary(treebank, config)
    network = BiaffineNetwork(config, vocabulary).eval()
    for weight in (network.arc.weight, network.label.weight):
        torch.nn.init.normal_(weight)
    return Parser(config, vocabulary, network, CPU)


def test_sentences_come_in_order_with_all_else_kept(tiny):
    parsed = list(make(tiny).parse(iter(tiny), batch_tokens=40))
    assert [sentence.form for sentence in parsed] == [sentence.form for sentence in tiny]
    for before, after in zip(tiny, parsed, strict=True):
        assert is_tree(np.array(after.head, dtype=np.int32), single_root=True)
        for old, new in zip(before.lines, after.lines, strict=True):
            if old[:1].isdigit() and "-" not in old.split("\t")[0]:
                old_fields, new_fields = old.split("\t"), new.split("\t")
                assert old_fields[:6] == new_fields[:6]
                assert new_fields[8] == "_"
                assert old_fields[9] == new_fields[9]
            else:
                assert old == new


def test_windows_and_batches_change_nothing(tiny, monkeypatch):
    expected = [str(sentence) for sentence in make(tiny).parse(tiny)]
    monkeypatch.setattr(windows, "FIRST_WINDOW", 10)
    monkeypatch.setattr(windows, "WINDOW", 30)
    assert [str(sentence) for sentence in make(tiny).parse(tiny, batch_tokens=16)] == expected


def test_memory_is_bounded_by_the_window(tiny, monkeypatch):
    monkeypatch.setattr(windows, "FIRST_WINDOW", 10)
    monkeypatch.setattr(windows, "WINDOW", 30)
    read = 0

    def endless():
        nonlocal read
        while True:
            read += 1
            yield tiny[0]

    parsed = make(tiny).parse(endless())
    for _ in range(40):
        next(parsed)
    assert read < 60


def test_root_label_stands_at_the_root_and_nowhere_else(tiny):
    for sentence in make(tiny).parse(tiny):
        at_root = [head == 0 for head in sentence.head]
        assert at_root == [deprel == "root" for deprel in sentence.deprel]


def test_without_that_rule_any_label_goes(tiny):
    parsed = list(make(tiny, root_label="").parse(tiny))
    assert any(
        (head == 0) != (deprel == "root")
        for sentence in parsed
        for head, deprel in zip(sentence.head, sentence.deprel, strict=True)
    )


@pytest.mark.parametrize("root", ["single", "multi"])
def test_root_mode_can_be_set(tiny, root):
    roots = [s.head.count(0) for s in make(tiny).parse(tiny, root=root)]
    assert (max(roots) > 1) == (root == "multi")
    own = [s.head.count(0) for s in make(tiny, root=root).parse(tiny, root="auto")]
    assert own == roots


def test_labels_are_the_best_at_the_decoded_heads(tiny):
    parser = make(tiny, root_label="")
    data = encode(tiny, parser.vocabulary, parser.config, CPU)
    for number, sentence in enumerate(parser.parse(tiny)):
        batch = make_batch(data, np.array([number]))
        heads = torch.zeros_like(batch.head)
        heads[0, 1 : len(sentence) + 1] = torch.tensor(sentence.head)
        best = parser.score(batch).label_at(heads)[0].argmax(-1)[1 : len(sentence) + 1]
        symbols = parser.vocabulary.columns["deprel"].symbols
        assert sentence.deprel == [symbols[i] for i in best.tolist()]


def test_tags_are_kept_filled_in_or_predicted(tiny):
    parser = make(tiny)
    tagged, untagged = tiny[0], new_sentence(tiny[0].form)
    assert next(parser.parse([tagged])).upos == tagged.upos
    assert set(next(parser.parse([untagged], tags="keep")).upos) == {"_"}
    half = new_sentence(tiny[0].form, {"xpos": tiny[0].xpos})
    filled_half = next(parser.parse([half]))
    assert (filled_half.xpos, set(filled_half.feats)) == (tiny[0].xpos, {"_"})
    filled = next(parser.parse([untagged]))
    assert filled_half.upos == filled.upos
    assert "_" not in filled.upos
    assert set(filled.xpos) == {"_"}  # this parser does not predict it
    assert next(parser.parse([tagged], tags="predict")).upos == filled.upos


def test_a_model_that_reads_tags_refuses_words_without(tiny):
    parser = make(tiny, Inputs(word=6, tag=4, tag_column="xpos"))
    assert len(list(parser.parse(tiny))) == len(tiny)
    with pytest.raises(FormatError, match="no XPOS"):
        list(parser.parse([new_sentence(["a", "b"])]))
    some = new_sentence(["a", "b"], {"xpos": ["_", "NN"]})
    assert len(list(parser.parse([some]))) == 1  # a tag that a treebank leaves out is unknown


@pytest.mark.parametrize("format", [CONLLX, CONLL09])
def test_other_formats(tiny, format):
    sentence = new_sentence(["The", "cat", "sleeps"], format=format)
    (parsed,) = make(tiny).parse([sentence])
    assert parsed.format is format
    assert is_tree(np.array(parsed.head, dtype=np.int32), single_root=True)
    assert parsed.column("deprel") == parsed.deprel


def test_odd_words_parse(tiny):
    words = ["\U0001f600", "x" * 5000, "שלום", "a b", "\x00", "­"]
    (parsed,) = make(tiny).parse([new_sentence(words)])
    assert parsed.form == words


@pytest.mark.parametrize("encoder", ["bilstm", "selfatt"])
def test_a_5000_word_sentence_parses(tiny, encoder):
    words = ["word"] * 2500 + ["other"] * 2500
    (parsed,) = make(tiny, encoder=encoder).parse([new_sentence(words)])
    assert is_tree(np.array(parsed.head, dtype=np.int32), single_root=True)


def test_a_batch_that_does_not_fit_is_split(tiny, monkeypatch):
    parser = make(tiny)
    expected = [str(sentence) for sentence in parser.parse(tiny)]
    score = Parser.score
    sizes = []

    def small_memory(self, batch):
        sizes.append(len(batch.sizes))
        if len(batch.sizes) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return score(self, batch)

    monkeypatch.setattr(Parser, "score", small_memory)
    assert [str(sentence) for sentence in parser.parse(tiny)] == expected
    assert max(sizes) > 3


def test_a_sentence_that_does_not_fit_is_named(tiny, monkeypatch):
    def no_memory(self, batch):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(Parser, "score", no_memory)
    with pytest.raises(MemoryError, match="tiny-"):
        list(make(tiny).parse(tiny))


def test_other_errors_are_not_taken_for_memory(tiny, monkeypatch):
    def broken(self, batch):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(Parser, "score", broken)
    with pytest.raises(RuntimeError, match="shapes"):
        list(make(tiny).parse(tiny))


def test_argmax_and_eisner_can_be_asked_for(tiny):
    parser = make(tiny)
    for algorithm in ("mst", "eisner", "argmax"):
        assert len(list(parser.parse(tiny, algorithm=algorithm))) == len(tiny)
    for wrong in ({"algorithm": "best"}, {"root": "several"}, {"tags": "some"}):
        with pytest.raises(ValueError, match=r"best|several|some"):
            list(parser.parse(tiny, **wrong))


def test_an_unknown_device_is_refused():
    with pytest.raises(ValueError, match="no device"):
        find_device("cuda:99")
    with pytest.raises(ValueError, match="no device"):
        find_device("toaster")
