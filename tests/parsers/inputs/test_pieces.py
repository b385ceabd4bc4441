"""Pieces belong to the words they were cut from, and windows give each its best context."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from depkit.parsers.inputs.pieces import Frame, Pieces, cut, find_frame, piece_batch, pool

CPU = torch.device("cpu")
TEXT = ["the dog barks at the small dogs", "a barking dog is not small"]
WORD_PIECES = (
    "[PAD] [UNK] [CLS] [SEP] the dog ##s bark ##ing small a b c ##a ##b ##c at . ! 学 sinh h ##oc"
).split()


def word_pieces(template: str = "[CLS] $A [SEP]"):
    """A tokenizer as BERT's, of a handful of pieces."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    numbers = {piece: i for i, piece in enumerate(WORD_PIECES)}
    backend = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = [(each, numbers[each]) for each in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(single=template, special_tokens=special)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", model_max_length=1000,
    )  # fmt: skip


def byte_pieces(prefix_space: bool = False):
    """A tokenizer as RoBERTa's: pieces of bytes, a space being part of the word behind it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator(TEXT, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", pad_token="<pad>", bos_token="<s>",
        eos_token="</s>", model_max_length=1000,
    )  # fmt: skip


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


def one_each(counts: list[int]) -> tuple[Pieces, np.ndarray, np.ndarray]:
    """Sentences of so many words of a piece each, numbered from 10 on."""
    starts, sizes = places([range(count) for count in counts])
    lengths = np.ones(1 + sizes.sum(), dtype=np.int64)
    lengths[0] = lengths[starts] = 0
    first = np.concatenate(([0], np.cumsum(lengths)))
    return Pieces(10 + np.arange(first[-1]), first), starts, sizes


def test_each_token_has_its_pieces():
    found = named(cut([["The", "barking", "dogs"], [], ["cab", "!"]], word_pieces()))
    assert found == [
        [], [], ["the"], ["bark", "##ing"], ["dog", "##s"], [], [], ["c", "##a", "##b"], ["!"],
    ]  # fmt: skip


def test_no_sentences_are_a_padding_entry():
    assert pieces_by_word(cut([], word_pieces())) == [[]]
    assert pieces_by_word(cut([[]], word_pieces())) == [[], []]


def test_words_that_the_tokenizer_drops_are_unknown():
    words = ["a", "\u200b", "\x00", "\ufeff", " ", "", "\u0301", "b"]
    assert named(cut([words], word_pieces()))[2:] == [["a"], *[["[UNK]"]] * 6, ["b"]]


def test_without_an_unknown_piece_dropped_words_are_piece_0():
    tokenizer = word_pieces()
    tokenizer.unk_token = None
    assert pieces_by_word(cut([["\u200b"]], tokenizer))[2:] == [[0]]


def test_odd_words_keep_their_own_pieces():
    words = ["🐕", "dog a", "学 sinh", "a.b", "x" * 3000, "[SEP]", "dog"]
    expected = [
        ["[UNK]"], ["dog", "a"], ["学", "sinh"], ["a", ".", "b"], ["[UNK]"], ["[SEP]"], ["dog"],
    ]  # fmt: skip
    assert named(cut([words], word_pieces()))[2:] == expected


@pytest.mark.parametrize("make", [word_pieces, byte_pieces])
def test_pieces_are_those_of_each_word_by_itself(make):
    tokenizer = make()
    space = " " if make is byte_pieces else ""
    random = np.random.default_rng(0)
    words = [
        "dog",
        "dogs",
        "cabbac",
        "🐕‍🦺",
        "học sinh",
        "don't",
        "a" * 3000,
        "\u200b",
        "…",
        "학교",
    ]
    sentences = [[words[i] for i in random.integers(0, 10, size)] for size in (1, 30, 0, 7)]
    sentences.append([words[i] for i in random.integers(0, 6, 1000)])
    expected: list[list[int]] = [[]]
    for sentence in sentences:
        expected.append([])
        for word in sentence:
            found = tokenizer(space + word, add_special_tokens=False)["input_ids"]
            expected.append(found or [tokenizer.unk_token_id])
    assert pieces_by_word(cut(sentences, tokenizer)) == expected


def test_a_tokenizer_that_was_set_to_truncate_and_pad_does_not():
    tokenizer = word_pieces()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=6)
    assert named(cut([["cabbacab", "dog"]], tokenizer))[2:] == [
        ["c", "##a", "##b", "##b", "##a", "##c", "##a", "##b"], ["dog"],
    ]  # fmt: skip
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


def test_the_padding_piece_is_the_tokenizers():
    assert find_frame(byte_pieces(), 20).pad == 1
    tokenizer = byte_pieces()
    tokenizer.pad_token = None
    assert find_frame(tokenizer, 20).pad == 0


def test_special_pieces_must_leave_room():
    with pytest.raises(ValueError, match="no room"):
        find_frame(word_pieces(), 2)


def test_a_batch_by_hand():
    # w0 dog cab | w0 | w0 dogs
    pieces = cut([["dog", "cab"], [], ["dogs"]], word_pieces())
    dog, s, c, a, b = (WORD_PIECES.index(each) for each in ("dog", "##s", "c", "##a", "##b"))
    starts, sizes = places([[0, 0], [], [0]])
    found = piece_batch(pieces, starts, sizes, 4, frame(), "mean", 0, CPU)
    assert found.ids.tolist() == [
        [1, dog, c, a, b, 2], [1, 2, 0, 0, 0, 0], [1, dog, s, 2, 0, 0],
    ]  # fmt: skip
    assert found.mask.tolist() == [[1] * 6, [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]]
    assert found.member.tolist() == [0, 1, 2, 3, 4, 6, 12, 13, 14]
    assert found.owner.tolist() == [0, 1, 2, 2, 2, 4, 8, 9, 9]
    for pooling, members in (("first", [0, 1, 2, 6, 12, 13]), ("last", [0, 1, 4, 6, 12, 14])):
        found = piece_batch(pieces, starts, sizes, 4, frame(), pooling, 0, CPU)
        assert found.member.tolist() == members
        assert found.owner.tolist() == [0, 1, 2, 4, 8, 9]


def test_every_piece_comes_from_the_window_with_most_context():
    for longest in range(3, 12):
        room = longest - 2
        ends = frame(longest=longest)
        for overlap in range(0, 9):
            counts = [*range(0, 40), 100]
            pieces, starts, sizes = one_each(counts)
            found = piece_batch(
                pieces, starts, sizes, int(sizes.max()), ends, "mean", overlap, CPU
            )  # fmt: skip
            ids, mask = found.ids.numpy(), found.mask.numpy().astype(bool)
            assert ids.shape[1] <= longest
            windows = [set(row[keep][1:-1].tolist()) for row, keep in zip(ids, mask, strict=True)]
            firsts = [min(window, default=None) for window in windows]
            taken = {}
            for place, word in zip(found.member.tolist(), found.owner.tolist(), strict=True):
                if word % int(sizes.max()):
                    taken[int(ids.flat[place])] = place // ids.shape[1]
            start = 0
            for count in counts:
                own = range(10 + start, 10 + start + count)
                mine = [i for i, window in enumerate(windows) if window & set(own)]
                assert set().union(*(windows[i] for i in mine)) == set(own)
                shared = min(overlap, room // 2)
                assert len(mine) == (count > 0) + max(0, -(-(count - room) // (room - shared)))
                for one, next_one in pairwise(mine):
                    assert len(windows[one] & windows[next_one]) >= shared
                    assert len(windows[one]) == len(windows[next_one]) == room
                for piece in own:
                    context = {
                        i: min(piece - firsts[i], firsts[i] + len(windows[i]) - 1 - piece)
                        for i in mine
                        if piece in windows[i]
                    }
                    best = [i for i in context if context[i] == max(context.values())]
                    assert taken[piece] == best[0]
                start += count


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize(("prefix", "suffix"), [(1, 1), (1, 0), (0, 1), (0, 0), (0, 2), (2, 1)])
def test_words_are_pooled_from_their_own_pieces(pooling, prefix, suffix):
    """With vectors that depend on nothing but the piece, windows must not show."""
    random = np.random.default_rng(1)
    counts = [1, 7, 0, 3, 60, 0]
    starts, sizes = places([range(count) for count in counts])
    lengths = random.integers(1, 5, 1 + sizes.sum())
    lengths[starts[4] + 30] = 25  # a word longer than a window
    lengths[0] = lengths[starts] = 0
    first = np.concatenate(([0], np.cumsum(lengths)))
    pieces = Pieces(10 + random.permutation(first[-1]), first)
    vectors = torch.randn(10 + int(first[-1]), 2, 3)
    length = int(sizes.max()) + 3
    batch = piece_batch(
        pieces, starts, sizes, length, frame(prefix, suffix, 12), pooling, 4, CPU
    )  # fmt: skip
    pooled = pool(vectors[batch.ids], batch, len(sizes) * length).view(len(sizes), length, 2, 3)
    for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        assert not pooled[i, size:].any()
        for j in range(1, size):
            own = vectors[pieces.pieces[first[start + j] : first[start + j + 1]]]
            expected = {"first": own[0], "last": own[-1], "mean": own.mean(0)}[pooling]
            torch.testing.assert_close(pooled[i, j], expected)
        if prefix:
            assert torch.equal(pooled[i, 0], vectors[1])
        elif size > 1:
            assert torch.equal(pooled[i, 0], vectors[pieces.pieces[first[start]]])


def test_the_order_and_choice_of_sentences_is_free():
    counts = [3, 50, 0, 9]
    pieces, starts, sizes = one_each(counts)
    vectors = torch.randn(200, 4)
    chosen = np.array([3, 1, 1, 0])
    batch = piece_batch(
        pieces, starts[chosen], sizes[chosen], 51, frame(longest=20), "mean", 5, CPU
    )
    pooled = pool(vectors[batch.ids], batch, 4 * 51).view(4, 51, 4)
    for i, number in enumerate(chosen):
        start = pieces.first[starts[number]]
        expected = vectors[10 + start : 10 + start + counts[number]]
        torch.testing.assert_close(pooled[i, 1 : sizes[number]], expected)


def test_batches_of_the_same_pieces_are_told_from_others():
    pieces, starts, sizes = one_each([3, 2, 0, 4])

    def batch(chosen, pooling="mean", longest=20, length=5):
        return piece_batch(
            pieces, starts[chosen], sizes[chosen], length, frame(longest=longest), pooling, 0, CPU
        )

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
    batch = piece_batch(pieces, starts, sizes, 2, frame(0, 0), "mean", 0, CPU)
    assert batch.ids.shape == (2, 1) and batch.mask.all()


def test_gradients_reach_the_pieces_that_count_and_no_others():
    pieces = Pieces(np.array([10, 11, 12]), np.array([0, 0, 0, 2, 3]))  # two words: 2 + 1
    args = (pieces, np.array([1]), np.array([3]), 4, frame())
    batch = piece_batch(*args, "mean", 0, CPU)
    hidden = torch.randn(1, 5, 2, requires_grad=True)
    pool(hidden, batch, 4)[1:].sum().backward()
    assert hidden.grad[0, :, 0].tolist() == [0, 0.5, 0.5, 1, 0]
    hidden = torch.randn(1, 5, 2, requires_grad=True)
    pool(hidden, piece_batch(*args, "last", 0, CPU), 4).sum().backward()
    assert hidden.grad[0, :, 0].tolist() == [1, 0, 1, 1, 0]


def test_pooling_keeps_the_precision():
    pieces, starts, sizes = one_each([2])
    batch = piece_batch(pieces, starts, sizes, 3, frame(), "mean", 0, CPU)
    hidden = torch.randn(1, 4, 8, dtype=torch.bfloat16)
    pooled = pool(hidden, batch, 3)
    assert pooled.dtype == torch.bfloat16
    assert torch.equal(pooled, hidden[0, :3])
