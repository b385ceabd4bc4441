"""Pieces belong to the words they were cut from, and windows give each its best context."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from depkit.parsers.inputs.pieces import (
    Frame,
    PieceBatch,
    Pieces,
    cut,
    find_frame,
    piece_batch,
    pool,
)

CPU = torch.device("cpu")
TEXT = ["the dog barks at the small dogs", "a barking dog is not small"]
WORD_PIECES = (
    "[PAD] [UNK] [CLS] [SEP] the dog ##s bark ##ing small a b c ##a ##b ##c at . ! 学 sinh h ##oc"
).split()


def fast_tokenizer(backend, template: str, unk: str, pad: str, cls: str, sep: str):
    numbers = [(each, backend.token_to_id(each)) for each in (cls, sep)]
    backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=numbers)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token=unk, pad_token=pad, cls_token=cls, sep_token=sep,
        model_max_length=1000,
    )  # fmt: skip


def word_pieces(template: str = "[CLS] $A [SEP]"):
    """A tokenizer as BERT's, of a handful of pieces."""
    numbers = {piece: i for i, piece in enumerate(WORD_PIECES)}
    backend = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return fast_tokenizer(backend, template, "[UNK]", "[PAD]", "[CLS]", "[SEP]")


def byte_pieces(prefix_space: bool = False):
    """A tokenizer as RoBERTa's: pieces of bytes, a space being part of the word behind it."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TEXT, trainer)
    return fast_tokenizer(backend, "<s> $A </s>", "<unk>", "<pad>", "<s>", "</s>")


def places(sentences) -> tuple[np.ndarray, np.ndarray]:
    """starts and sizes, as a Dataset has them."""
    sizes = np.array([len(sentence) + 1 for sentence in sentences])
    return 1 + np.cumsum(sizes) - sizes, sizes


def pieces_by_word(pieces: Pieces) -> list[list[int]]:
    return [part.tolist() for part in np.split(pieces.pieces, pieces.first[1:-1])]


def named(pieces: Pieces) -> list[list[str]]:
    return [[WORD_PIECES[number] for number in part] for part in pieces_by_word(pieces)]


def frame(prefix: int = 1, suffix: int = 1, longest: int = 100) -> Frame:
    return Frame(np.full(prefix, 1), np.full(suffix, 2), 0, longest)


def batch_of(pieces, starts, sizes, ends=None, pooling="mean", overlap=0, length=0) -> PieceBatch:
    """The pieces of a batch, padded to the longest sentence or more."""
    length = length or int(sizes.max())
    return piece_batch(pieces, starts, sizes, length, ends or frame(), pooling, overlap, CPU)


def some_pieces(lengths, starts) -> Pieces:
    """Tokens of so many pieces each, all different, numbered from 10 on."""
    lengths[0] = lengths[starts] = 0
    first = np.concatenate(([0], np.cumsum(lengths)))
    return Pieces(10 + np.arange(first[-1]), first)


def one_each(counts: list[int]) -> tuple[Pieces, np.ndarray, np.ndarray]:
    """Sentences of so many words of a piece each."""
    starts, sizes = places([range(count) for count in counts])
    return some_pieces(np.ones(1 + sizes.sum(), dtype=np.int64), starts), starts, sizes


@pytest.mark.parametrize("make", [word_pieces, byte_pieces])
def test_pieces_are_those_of_each_word_by_itself(make):
    tokenizer = make()
    space = " " if make is byte_pieces else ""
    random = np.random.default_rng(0)
    dropped = ["\u200b", "\x00", "\ufeff", " ", "", "\u0301"]
    odd = [*dropped, "học sinh", "x" * 3000, "dog a", "学 sinh", "a.b", "[SEP]", "🐕", "🐕‍🦺"]
    words = [*odd, *"The barking dogs cabbac ! don't … 학교".split()]
    sentences = [random.choice(words, size).tolist() for size in (1, 30, 0, 7, 1000)] + [words]
    for chosen in (sentences, [[]], []):
        expected: list[list[int]] = [[]]
        for sentence in chosen:
            expected.append([])
            for word in sentence:
                found = tokenizer(space + word, add_special_tokens=False)["input_ids"]
                expected.append(found or [tokenizer.unk_token_id])
        assert pieces_by_word(cut(chosen, tokenizer)) == expected


def test_where_there_is_no_unknown_piece_a_dropped_word_is_piece_0():
    tokenizer = word_pieces()
    assert named(cut([["\u200b", "dogs"]], tokenizer))[2:] == [["[UNK]"], ["dog", "##s"]]
    tokenizer.unk_token = None
    assert pieces_by_word(cut([["\u200b"]], tokenizer))[2:] == [[0]]


def test_a_tokenizer_that_was_set_to_truncate_and_pad_does_not():
    tokenizer = word_pieces()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=6)
    expected = "c ##a ##b ##b ##a ##c ##a ##b".split()
    assert named(cut([["cabbacab", "dog"]], tokenizer))[2:] == [expected, ["dog"]]
    tokenizer.backend_tokenizer.enable_padding(length=6)
    assert find_frame(tokenizer, 9).suffix.tolist() == [WORD_PIECES.index("[SEP]")]


@pytest.mark.parametrize("prefix_space", [False, True])
def test_words_of_byte_pieces_look_as_they_do_in_a_text(prefix_space):
    tokenizer = byte_pieces(prefix_space)
    words = "the dog barks at dogs".split()
    text = tokenizer(" " + " ".join(words), add_special_tokens=False)["input_ids"]
    assert cut([words], tokenizer).pieces.tolist() == text


@pytest.mark.parametrize(
    ("template", "prefix", "suffix"),
    [
        ("[CLS] $A [SEP]", [2], [3]), ("[CLS] $A", [2], []), ("$A [SEP]", [], [3]), ("$A", [], []),
        ("$A [SEP] [CLS]", [], [3, 2]),
    ],
)  # fmt: skip
def test_special_pieces_are_found(template, prefix, suffix):
    found = find_frame(word_pieces(template), 20)
    assert (found.prefix.tolist(), found.suffix.tolist()) == (prefix, suffix)
    assert (found.pad, found.longest) == (0, 20)


def test_the_padding_piece_is_the_tokenizers_and_special_pieces_leave_room():
    tokenizer = byte_pieces()
    assert find_frame(tokenizer, 20).pad == 1
    tokenizer.pad_token = None
    assert find_frame(tokenizer, 20).pad == 0
    with pytest.raises(ValueError, match="no room"):
        find_frame(word_pieces(), 2)


def test_windows_by_hand():
    # w0 dog cab | w0 | w0 dogs
    pieces = cut([["dog", "cab"], [], ["dogs"]], word_pieces())
    dog, s, c, a, b = (WORD_PIECES.index(each) for each in ("dog", "##s", "c", "##a", "##b"))
    found = batch_of(pieces, *places([[0, 0], [], [0]]), length=4)
    assert found.ids.tolist() == [
        [1, dog, c, a, b, 2], [1, 2, 0, 0, 0, 0], [1, dog, s, 2, 0, 0],
    ]  # fmt: skip
    assert found.mask.tolist() == [[1] * 6, [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]]


def test_every_piece_comes_from_the_window_with_most_context():
    counts = [*range(40), 100]
    pieces, starts, sizes = one_each(counts)
    for longest, overlap in product(range(3, 12), range(9)):
        found = batch_of(pieces, starts, sizes, frame(longest=longest), overlap=overlap)
        width, room = found.ids.shape[1], longest - 2
        shared = min(overlap, room // 2)
        assert width <= longest
        ends = found.mask.sum(1).tolist()
        windows = [row[1 : end - 1] for row, end in zip(found.ids.tolist(), ends, strict=True)]
        of_word = dict(zip(found.owner.tolist(), found.member.tolist(), strict=True))
        for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            own = pieces.pieces[pieces.first[start] : pieces.first[start + size]].tolist()
            mine = [i for i, window in enumerate(windows) if {*window} & {*own}]
            assert set().union(*(windows[i] for i in mine)) == {*own}
            assert len(mine) == (own != []) + max(0, -(-(len(own) - room) // (room - shared)))
            for one, next_one in pairwise(windows[i] for i in mine):
                assert len({*one} & {*next_one}) >= shared
                assert len(one) == len(next_one) == room
            for word, piece in enumerate(own, 1):
                context = {
                    i: min(windows[i].index(piece), windows[i][::-1].index(piece))
                    for i in mine
                    if piece in windows[i]
                }
                taken, place = divmod(of_word[number * int(sizes.max()) + word], width)
                assert taken == max(context, key=context.get)  # the first of equals
                assert found.ids[taken, place] == piece


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize(("prefix", "suffix"), [(1, 1), (1, 0), (0, 1), (0, 0), (0, 2), (2, 1)])
def test_words_are_pooled_from_their_own_pieces(pooling, prefix, suffix):
    """With vectors that depend on nothing but the piece, windows must not show."""
    random = np.random.default_rng(1)
    starts, sizes = places([range(count) for count in (1, 7, 0, 3, 60, 0)])
    lengths = random.integers(1, 5, 1 + sizes.sum())
    lengths[starts[4] + 30] = 25  # a word longer than a window
    pieces = some_pieces(lengths, starts)
    vectors = torch.randn(10 + len(pieces.pieces), 2, 3)
    chosen = [4, 1, 1, 0, 2, 5, 3]  # in any order, and more than once
    starts, sizes = starts[chosen], sizes[chosen]
    length = int(sizes.max()) + 3
    batch = batch_of(pieces, starts, sizes, frame(prefix, suffix, 12), pooling, 4, length)
    pooled = pool(vectors[batch.ids], batch, len(sizes) * length).view(len(sizes), length, 2, 3)
    for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        assert not pooled[i, size:].any()
        of_words = [vectors[number] for number in pieces_by_word(pieces)[start : start + size]]
        for j, own in enumerate(of_words[1:], 1):
            expected = {"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling]
            torch.testing.assert_close(pooled[i, j], expected)
        if prefix:
            assert torch.equal(pooled[i, 0], vectors[1])
        elif size > 1:
            assert torch.equal(pooled[i, 0], of_words[1][0])


def test_batches_of_the_same_pieces_are_told_from_others():
    pieces, starts, sizes = one_each([3, 2, 0, 4])

    def batch(chosen, pooling="mean", longest=20, length=5):
        ends = frame(longest=longest)
        return batch_of(pieces, starts[chosen], sizes[chosen], ends, pooling, length=length)

    one = batch([0, 3])
    assert one.same(batch([0, 3])) and one.same(batch([0, 3], "first"))  # of a piece a word
    others = [batch([3, 0]), batch([0]), batch([0, 2]), batch([0, 3], longest=5)]
    assert not any(one.same(other) or other.same(one) for other in others)
    assert not one.same(batch([0, 3], length=6))
    # as many numbers, and the same ones, but two windows of one piece rather than one of two
    narrow, wide = (replace(one, ids=torch.zeros(shape)) for shape in ((2, 1), (1, 2)))
    assert not narrow.same(wide)


def test_a_sentence_of_nothing_at_all_can_be_attended_to():
    pieces, starts, sizes = one_each([0, 0])
    batch = batch_of(pieces, starts, sizes, frame(0, 0), length=2)
    assert batch.ids.shape == (2, 1) and batch.mask.all()


def test_pooling_keeps_the_precision():
    pieces, starts, sizes = one_each([2])
    batch = batch_of(pieces, starts, sizes)
    hidden = torch.randn(1, 4, 8, dtype=torch.bfloat16)
    pooled = pool(hidden, batch, 3)
    assert pooled.dtype == torch.bfloat16
    assert torch.equal(pooled, hidden[0, :3])
