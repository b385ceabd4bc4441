"""Pieces belong to the words they were split from, and are used where they have most context."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch
from tokenizers import Regex, normalizers, pre_tokenizers

from depkit.parsers.engine.transfer import send_batch
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.context_vectors import LayerCache
from depkit.parsers.inputs.hidden_layers import group_by_length, pool_pieces, run_by_length
from depkit.parsers.inputs.pieces import (
    Pieces,
    SegmentFormat,
    find_segment_format,
    make_piece_arrays,
    split_into_pieces,
)
from depkit.parsers.inputs.safe_files import TransformerError
from tests.parsers.inputs.small_transformers import (
    CPU,
    WORD_PIECES,
    byte_pieces,
    starts_and_sizes,
    word_pieces,
)
from tests.pretend_gpu import WHY_NOT, pretend_gpu


def pieces_by_word(pieces: Pieces) -> list[list[int]]:
    return [part.tolist() for part in np.split(pieces.pieces, pieces.first[1:-1])]


def piece_names(pieces: Pieces) -> list[list[str]]:
    return [[WORD_PIECES[number] for number in part] for part in pieces_by_word(pieces)]


def segment_format(prefix: int = 1, suffix: int = 1, max_pieces: int = 100) -> SegmentFormat:
    return SegmentFormat(np.full(prefix, 1), np.full(suffix, 2), 0, max_pieces)


def make_batch(pieces, starts, sizes, format=None, pooling="mean", overlap=0, length=0) -> Batch:
    """The pieces of a batch, padded to the longest sentence or to `length`."""
    length = length or int(sizes.max())
    format = format or segment_format()
    arrays = make_piece_arrays(
        pieces, starts, sizes, length, format=format, pooling=pooling, overlap=overlap
    )
    return send_batch(Batch(sizes, length, 0, arrays), CPU)


def different_pieces(lengths, starts) -> Pieces:
    """Return words with these numbers of pieces; all pieces differ, with ids from 10 on."""
    lengths[0] = lengths[starts] = 0
    first = np.concatenate(([0], np.cumsum(lengths)))
    return Pieces(10 + np.arange(first[-1]), first)


def words_of_one_piece(counts: list[int]) -> tuple[Pieces, np.ndarray, np.ndarray]:
    """Return sentences with these numbers of words, each of one piece."""
    starts, sizes = starts_and_sizes([range(count) for count in counts])
    return different_pieces(np.ones(1 + sizes.sum(), dtype=np.int64), starts), starts, sizes


@pytest.mark.parametrize("make_tokenizer", [word_pieces, byte_pieces])
def test_pieces_are_those_of_each_word_by_itself(make_tokenizer):
    tokenizer = make_tokenizer()
    space = " " if make_tokenizer is byte_pieces else ""
    random = np.random.default_rng(0)
    dropped = ["\u200b", "\x00", "\ufeff", " ", "", "\u0301"]
    unusual = [*dropped, "học sinh", "x" * 3000, "dog a", "学 sinh", "a.b", "[SEP]", "🐕", "🐕‍🦺"]
    words = [*unusual, *"The barking dogs cabbac ! don't … 학교".split()]
    sentences = [random.choice(words, size).tolist() for size in (1, 30, 0, 7, 1000)] + [words]
    for treebank in (sentences, [[]], []):
        expected: list[list[int]] = [[]]
        for sentence in treebank:
            expected.append([])
            for word in sentence:
                ids = tokenizer(space + word, add_special_tokens=False)["input_ids"]
                expected.append(ids or [tokenizer.unk_token_id])
        assert pieces_by_word(split_into_pieces(treebank, tokenizer)) == expected


def test_a_word_without_pieces_is_the_unknown_piece_or_piece_0():
    tokenizer = word_pieces()
    assert piece_names(split_into_pieces([["\u200b", "dogs"]], tokenizer))[2:] == [
        ["[UNK]"],
        ["dog", "##s"],
    ]
    tokenizer.unk_token = None
    assert pieces_by_word(split_into_pieces([["\u200b"]], tokenizer))[2:] == [[0]]


def test_truncation_and_padding_of_a_tokenizer_are_ignored():
    tokenizer = word_pieces()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=6)
    expected = "c ##a ##b ##b ##a ##c ##a ##b".split()
    assert piece_names(split_into_pieces([["cabbacab", "dog"]], tokenizer))[2:] == [
        expected,
        ["dog"],
    ]
    tokenizer.backend_tokenizer.enable_padding(length=6)
    assert find_segment_format(tokenizer, 9).suffix.tolist() == [WORD_PIECES.index("[SEP]")]


def test_a_pattern_that_panics_while_a_word_is_split_is_an_error():
    tokenizer = word_pieces()
    # The library of regular expressions gives up after millions of attempts, and tokenizers panics.
    pattern = Regex(r"(?:\w|\w)*(?<=!)")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(pattern, "isolated")
    assert piece_names(split_into_pieces([["dog"]], tokenizer))[2:] == [["dog"]]
    with pytest.raises(TransformerError, match=r"cannot split the words .*retry-limit"):
        split_into_pieces([["dog", "a" * 60]], tokenizer)


def test_a_tokenizer_that_makes_far_too_many_pieces_is_an_error():
    tokenizer = word_pieces()
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.backend_tokenizer.normalizer = normalizers.Replace("a", "b" * 200)
    with pytest.raises(TransformerError, match="makes 201 pieces of 1 words"):
        split_into_pieces([["a"]], tokenizer)


@pytest.mark.parametrize("prefix_space", [False, True])
def test_byte_pieces_of_words_are_those_of_the_running_text(prefix_space):
    tokenizer = byte_pieces(prefix_space)
    words = "the dog barks at dogs".split()
    text = tokenizer(" " + " ".join(words), add_special_tokens=False)["input_ids"]
    assert split_into_pieces([words], tokenizer).pieces.tolist() == text


@pytest.mark.parametrize(
    ("template", "prefix", "suffix"),
    [
        ("[CLS] $A [SEP]", [2], [3]), ("[CLS] $A", [2], []), ("$A [SEP]", [], [3]), ("$A", [], []),
        ("$A [SEP] [CLS]", [], [3, 2]),
    ],
)  # fmt: skip
def test_special_pieces_are_found(template, prefix, suffix):
    format = find_segment_format(word_pieces(template), 20)
    assert (format.prefix.tolist(), format.suffix.tolist()) == (prefix, suffix)
    assert (format.pad, format.max_pieces) == (0, 20)


def test_the_padding_piece_is_that_of_the_tokenizer():
    tokenizer = byte_pieces()
    assert find_segment_format(tokenizer, 20).pad == 1
    tokenizer.pad_token = None
    assert find_segment_format(tokenizer, 20).pad == 0
    with pytest.raises(ValueError, match="no room"):
        find_segment_format(word_pieces(), 2)


def test_ids_and_masks_agree_with_those_made_by_hand():
    # w0 dog cab | w0 | w0 dogs
    pieces = split_into_pieces([["dog", "cab"], [], ["dogs"]], word_pieces())
    dog, s, c, a, b = (WORD_PIECES.index(piece) for piece in ("dog", "##s", "c", "##a", "##b"))
    batch = make_batch(pieces, *starts_and_sizes([[0, 0], [], [0]]), length=4)
    assert batch["pieces.ids"].tolist() == [
        [1, dog, c, a, b, 2], [1, 2, 0, 0, 0, 0], [1, dog, s, 2, 0, 0],
    ]  # fmt: skip
    assert batch["pieces.mask"].tolist() == [[1] * 6, [1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0]]


def test_every_piece_is_used_from_the_segment_with_most_context():
    counts = [*range(40), 100]
    pieces, starts, sizes = words_of_one_piece(counts)
    for max_pieces, overlap in product(range(3, 12), range(9)):
        format = segment_format(max_pieces=max_pieces)
        batch = make_batch(pieces, starts, sizes, format, overlap=overlap)
        width, capacity = batch["pieces.ids"].shape[1], max_pieces - 2
        shared = min(overlap, capacity // 2)
        assert width <= max_pieces
        ends = batch["pieces.mask"].sum(1).tolist()
        segments = [
            row[1 : end - 1] for row, end in zip(batch["pieces.ids"].tolist(), ends, strict=True)
        ]
        positions = zip(
            batch["pieces.word"].tolist(), batch["pieces.position"].tolist(), strict=True
        )
        piece_position = dict(positions)
        for number, (start, size) in enumerate(zip(starts, sizes, strict=True)):
            ids = pieces.pieces[pieces.first[start] : pieces.first[start + size]].tolist()
            own_segments = [i for i, segment in enumerate(segments) if {*segment} & {*ids}]
            assert set().union(*(segments[i] for i in own_segments)) == {*ids}
            expected = (ids != []) + max(0, -(-(len(ids) - capacity) // (capacity - shared)))
            assert len(own_segments) == expected
            for segment, next_segment in pairwise(segments[i] for i in own_segments):
                assert len({*segment} & {*next_segment}) >= shared
                assert len(segment) == len(next_segment) == capacity
            for word, piece in enumerate(ids, 1):
                context = {
                    i: min(segments[i].index(piece), segments[i][::-1].index(piece))
                    for i in own_segments
                    if piece in segments[i]
                }
                position = piece_position[number * int(sizes.max()) + word]
                row, column = divmod(position, width)
                assert row == max(context, key=context.get)  # the first of equals
                assert batch["pieces.ids"][row, column] == piece


@pytest.mark.parametrize("pooling", ["first", "last", "mean"])
@pytest.mark.parametrize(("prefix", "suffix"), [(1, 1), (1, 0), (0, 1), (0, 0), (0, 2), (2, 1)])
def test_words_are_pooled_from_their_own_pieces(pooling, prefix, suffix):
    """If vectors depend on nothing but the piece, division into segments makes no difference."""
    random = np.random.default_rng(1)
    starts, sizes = starts_and_sizes([range(count) for count in (1, 7, 0, 3, 60, 0)])
    lengths = random.integers(1, 5, 1 + sizes.sum())
    lengths[starts[4] + 30] = 25  # a word longer than a segment
    pieces = different_pieces(lengths, starts)
    vectors = torch.randn(10 + len(pieces.pieces), 2, 3)
    numbers = [4, 1, 1, 0, 2, 5, 3]  # in any order, and more than once
    starts, sizes = starts[numbers], sizes[numbers]
    length = int(sizes.max()) + 3
    format = segment_format(prefix, suffix, 12)
    batch = make_batch(pieces, starts, sizes, format, pooling, 4, length)
    pooled = pool_pieces(vectors[batch["pieces.ids"]], batch)
    for i, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        assert not pooled[i, size:].any()
        piece_vectors = [vectors[ids] for ids in pieces_by_word(pieces)[start : start + size]]
        for j, rows in enumerate(piece_vectors[1:], 1):
            expected = {"first": rows[0], "last": rows[-1], "mean": rows.mean(0)}[pooling]
            torch.testing.assert_close(pooled[i, j], expected)
        if prefix:
            assert torch.equal(pooled[i, 0], vectors[1])
        elif size > 1:
            assert torch.equal(pooled[i, 0], piece_vectors[1][0])


def test_layers_of_the_same_pieces_are_found_in_the_cache():
    pieces, starts, sizes = words_of_one_piece([3, 2, 0, 4])

    def batch(numbers, pooling="mean", max_pieces=20, length=5):
        format = segment_format(max_pieces=max_pieces)
        return make_batch(pieces, starts[numbers], sizes[numbers], format, pooling, length=length)

    def finds(stored, wanted):
        layers = torch.zeros(1)
        cache = LayerCache()
        assert cache.get(wanted) is None
        cache.put(stored, layers)
        return cache.get(wanted) is layers

    first = batch([0, 3])
    # Pooling makes no difference if every word has one piece.
    assert finds(first, batch([0, 3])) and finds(first, batch([0, 3], "first"))
    others = [batch([3, 0]), batch([0]), batch([0, 2]), batch([0, 3], max_pieces=5)]
    assert not any(finds(first, other) or finds(other, first) for other in others)
    assert not finds(first, batch([0, 3], length=6))
    # These batches have the same ids, but in two segments of one piece and in one of two pieces.
    narrow, wide = (
        replace(first, host=first.host | {"pieces.ids": np.zeros(shape)})
        for shape in ((2, 1), (1, 2))
    )
    assert not finds(narrow, wide)


def test_attention_of_a_segment_without_pieces_is_defined():
    pieces, starts, sizes = words_of_one_piece([0, 0])
    batch = make_batch(pieces, starts, sizes, segment_format(0, 0), length=2)
    assert batch["pieces.ids"].shape == (2, 1) and batch["pieces.mask"].all()


def test_pooling_keeps_the_precision():
    pieces, starts, sizes = words_of_one_piece([2])
    batch = make_batch(pieces, starts, sizes)
    hidden = torch.randn(1, 4, 8, dtype=torch.bfloat16)
    pooled = pool_pieces(hidden, batch)[0]
    assert pooled.dtype == torch.bfloat16
    assert torch.equal(pooled, hidden[0, :3])


@pytest.mark.parametrize("lengths", [[], [4], [3, 3, 3], [5, 90, 6, 5, 91, 7, 200, 1], [9, 8, 7]])
def test_sequences_of_similar_lengths_are_run_together(lengths):
    counts = np.array(lengths, dtype=np.int64)
    groups = group_by_length(counts, 1.25)
    assert sorted(i for group in groups for i in group.tolist()) == list(range(len(lengths)))
    for group, later in pairwise(groups):
        assert counts[later].min() > counts[group].max()
    for group in groups:
        assert counts[group].max() <= 1.25 * counts[group].min() + 2
    width = max(lengths, default=0) + 1
    x = torch.arange(1, len(lengths) * width + 1).view(len(lengths), width)
    is_real = torch.arange(width) < torch.tensor(lengths)[:, None]
    sizes = []

    def run(rows, longest):
        part = (x * is_real)[rows, :longest]
        sizes.append(part.numel())
        return torch.stack((part, -part), dim=-1)

    result = run_by_length(counts, width, CPU, run)
    torch.testing.assert_close(result, torch.stack((x * is_real, -x * is_real), dim=-1))
    assert len(sizes) == max(1, len(groups))
    if lengths == [5, 90, 6, 5, 91, 7, 200, 1]:
        assert sizes == [1, 4 * 7, 2 * 91, 200]


@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_on_a_gpu_there_are_fewer_groups():
    lengths, widths = np.array([5, 24, 12, 6, 24]), []
    with pretend_gpu():
        x = torch.arange(1.0, 5 * 24 + 1).view(5, 24).to("cuda")

        def run(rows, longest):
            widths.append(longest)
            return x[rows, :longest]

        result = run_by_length(lengths, 24, x.device, run).cpu()
    assert widths == [12, 24]
    assert torch.equal(result[0, :12], torch.arange(1.0, 13)) and not result[0, 12:].any()
