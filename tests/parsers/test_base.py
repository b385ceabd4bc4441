"""Parsing with a small untrained network: order, columns, limits and errors."""

from itertools import count, islice

import numpy as np
import pytest

from depkit.corpus.formats import CONLL09, CONLLX
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from depkit.parsers import chunks
from depkit.parsers.config import Inputs
from depkit.parsers.engine import engine
from depkit.parsers.engine.device import find_device
from depkit.trees.shape import is_tree
from tests.parsers.small_parsers import make_parser, texts


@pytest.fixture(scope="module")
def parser(tiny):
    return make_parser(tiny)


def has_tree(sentence):
    return is_tree(np.array(sentence.head, dtype=np.int32), single_root=True)


def test_sentences_stay_in_order_and_only_predicted_columns_change(tiny, parser):
    parsed = list(parser.parse(iter(tiny), batch_tokens=40))
    assert [sentence.form for sentence in parsed] == [sentence.form for sentence in tiny]
    for before, after in zip(tiny, parsed, strict=True):
        assert has_tree(after)
        for old, new in zip(before.lines, after.lines, strict=True):
            if old[:1].isdigit() and "-" not in old.split("\t")[0]:
                old_fields, new_fields = old.split("\t"), new.split("\t")
                assert old_fields[:6] == new_fields[:6]
                assert new_fields[8] == "_"
                assert old_fields[9] == new_fields[9]
            else:
                assert old == new


def test_chunks_and_batches_bound_memory_and_do_not_change_results(tiny, parser, monkeypatch):
    expected = texts(parser.parse(tiny))
    monkeypatch.setattr(chunks, "FIRST_CHUNK", 10)
    monkeypatch.setattr(chunks, "CHUNK", 30)
    assert texts(parser.parse(tiny, batch_tokens=16)) == expected
    # Of an endless stream, 40 sentences are parsed before 60 are read.
    counter = count()
    endless = (tiny[0] for _ in counter)
    assert len(list(islice(parser.parse(endless), 40))) == 40
    assert next(counter) < 60


@pytest.mark.parametrize("method", ["parse", "tag"])
def test_a_sentence_of_too_many_words_is_an_error(method, parser, monkeypatch):
    apply = getattr(parser, method)
    monkeypatch.setattr(engine, "MAX_WORDS", 3)
    assert len(list(apply([new_sentence(list("abc"))]))) == 1
    with pytest.raises(FormatError, match=r"4 words is too long.* at most 3 words"):
        list(apply([new_sentence(list("abc")), new_sentence(list("abcd"))]))


def test_the_projective_decoder_reads_shorter_sentences(parser):
    long = new_sentence(["a"] * 4001)
    with pytest.raises(FormatError, match=r"4,001 words is too long.* at most 4,000 words"):
        list(parser.parse([long], algorithm="eisner"))
    assert len(list(parser.parse([long], algorithm="argmax"))) == 1


@pytest.mark.parametrize("method", ["parse", "tag"])
def test_token_lists_are_parsed_like_sentences(method, tiny, parser):
    apply = getattr(parser, method)
    blank = [new_sentence(sentence.form) for sentence in tiny]
    for sentences in (tiny, blank):
        for options in ({}, {"tags": "missing"}):
            lists = [sentence.to_token_list() for sentence in sentences]
            assert texts(apply(iter(lists), **options)) == texts(apply(sentences, **options))
    mixed = [*tiny[:3], *(sentence.to_token_list() for sentence in blank[3:])]
    assert texts(apply(mixed)) == texts(apply([*tiny[:3], *blank[3:]]))


@pytest.mark.parametrize("root_label", ["root", ""])
def test_the_root_label_is_predicted_only_at_the_root(tiny, root_label):
    parsed = list(make_parser(tiny, root_label=root_label).parse(tiny))
    at_root = [head == 0 for sentence in parsed for head in sentence.head]
    labelled = [deprel == "root" for sentence in parsed for deprel in sentence.deprel]
    # Without a root label, every relation can be predicted everywhere.
    assert (at_root == labelled) == bool(root_label)


@pytest.mark.parametrize("root", ["single", "multi"])
def test_root_mode_can_be_set(tiny, root):
    roots = [s.head.count(0) for s in make_parser(tiny).parse(tiny, root=root)]
    assert (max(roots) > 1) == (root == "multi")
    # "auto" is the root mode of the model.
    auto_roots = [s.head.count(0) for s in make_parser(tiny, root=root).parse(tiny, root="auto")]
    assert auto_roots == roots


def test_tags_are_kept_filled_in_or_predicted(tiny, parser):
    tagged, untagged = tiny[0], new_sentence(tiny[0].form)
    assert next(parser.parse([tagged])).upos == tagged.upos
    assert set(next(parser.parse([untagged], tags="keep")).upos) == {"_"}
    with_xpos = new_sentence(tiny[0].form, {"xpos": tiny[0].xpos})
    parsed_with_xpos = next(parser.parse([with_xpos]))
    assert (parsed_with_xpos.xpos, set(parsed_with_xpos.feats)) == (tiny[0].xpos, {"_"})
    filled = next(parser.parse([untagged]))
    assert parsed_with_xpos.upos == filled.upos
    assert "_" not in filled.upos
    assert set(filled.xpos) == {"_"}  # the parser does not predict XPOS
    assert next(parser.parse([tagged], tags="predict")).upos == filled.upos


def test_a_model_that_reads_tags_rejects_sentences_without_tags(tiny):
    parser = make_parser(tiny, Inputs(word=6, tag=4, tag_column="xpos"))
    assert len(list(parser.parse(tiny))) == len(tiny)
    with pytest.raises(FormatError, match="no XPOS"):
        list(parser.parse([new_sentence(["a", "b"])]))
    partly_tagged = new_sentence(["a", "b"], {"xpos": ["_", "NN"]})
    assert len(list(parser.parse([partly_tagged]))) == 1  # a missing tag is read as unknown


@pytest.mark.parametrize("format", [CONLLX, CONLL09])
def test_sentences_of_other_formats_are_parsed(parser, format):
    sentence = new_sentence(["The", "cat", "sleeps"], format=format)
    (parsed,) = parser.parse([sentence])
    assert parsed.format is format
    assert has_tree(parsed)
    assert parsed.column("deprel") == parsed.deprel


@pytest.mark.parametrize("encoder", ["bilstm", "selfatt"])
@pytest.mark.parametrize(
    "words",
    [["\U0001f600", "x" * 5000, "שלום", "a b", "\x00", "­"], ["word"] * 2500 + ["other"] * 2500],
    ids=["unusual words", "5000 words"],
)
def test_unusual_words_and_a_long_sentence_parse(tiny, encoder, words):
    (parsed,) = make_parser(tiny, encoder=encoder).parse([new_sentence(words)])
    assert parsed.form == words and has_tree(parsed)


def test_the_algorithm_can_be_set_and_unknown_options_are_rejected(tiny, parser):
    for algorithm in ("mst", "eisner", "argmax"):
        assert len(list(parser.parse(tiny, algorithm=algorithm))) == len(tiny)
    for wrong in ({"algorithm": "best"}, {"root": "several"}, {"tags": "some"}):
        with pytest.raises(ValueError, match=r"best|several|some"):
            list(parser.parse(tiny, **wrong))


@pytest.mark.parametrize("name", ["cuda:99", "toaster"])
def test_an_unknown_device_is_rejected(name):
    with pytest.raises(ValueError, match="no device"):
        find_device(name)
