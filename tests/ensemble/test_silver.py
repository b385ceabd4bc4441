"""Parsed text in shards: complete, without duplicates, in bounded chunks, and resumable."""

import errno
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest

from depkit.corpus.io import read, write
from depkit.corpus.sentence import new_sentence
from depkit.ensemble import silver
from depkit.ensemble.silver import annotate_text
from depkit.ensemble.teacher import make_row_function
from depkit.files.errors import DataError, FormatError
from tests.corpus.rows import row
from tests.training.small_runs import Killed


@pytest.fixture
def text(tiny, tmp_path):
    """A file of tokens, one sentence per line: 24 sentences to learn from, and 3 others."""
    lines = [" ".join(sentence.form) for sentence in tiny]
    lines[3:3] = ["Alone", " ".join(["long"] * 151), lines[0]]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


@pytest.fixture
def arguments(teacher, text, tmp_path):
    """The arguments of `annotate_text` before the key and the input format."""
    return teacher, make_row_function(teacher), [text], tmp_path / "out"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(silver, "SHARD_WORDS", 30)


def read_files(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_shards_contain_each_sentence_once(teacher, text, tiny, tmp_path):
    compute_rows = Mock(wraps=make_row_function(teacher))
    silver_text = annotate_text(
        teacher, compute_rows, [text], tmp_path / "out", key="key", input="tokens"
    )
    assert silver_text.omitted == {"too short": 1, "too long": 1, "duplicate": 1}
    assert (silver_text.num_sentences, silver_text.num_words) == (len(tiny), sum(map(len, tiny)))
    calls = [sum(map(len, call.args[0])) for call in compute_rows.call_args_list]
    # only one shard is computed at a time, and it ends with the sentence that fills it
    assert len(calls) == len(silver_text.shards) > 3 and sum(calls) == silver_text.num_words
    assert max(calls) < 30 + max(map(len, tiny))
    parsed = [sentence for shard in silver_text.shards for sentence in shard.sentences()]
    plain = [new_sentence(sentence.form) for sentence in tiny]
    for sentence, expected in zip(parsed, teacher.parse(plain), strict=True):
        for column in ("form", "head", "deprel", "upos"):
            assert getattr(sentence, column) == getattr(expected, column)
    assert [size for shard in silver_text.shards for size in shard.lengths()] == list(
        map(len, tiny)
    )
    assert sum(len(shard.rows()) for shard in silver_text.shards) == silver_text.num_words


@pytest.mark.parametrize("moment", [1, 2, 4])
def test_a_killed_run_resumes_after_its_shards(moment, teacher, text, tmp_path):
    compute_rows = Mock(wraps=make_row_function(teacher))
    whole = annotate_text(
        teacher, compute_rows, [text], tmp_path / "whole", key="key", input="tokens"
    )
    arguments = (teacher, compute_rows, [text], tmp_path / "cut")
    compute_rows.side_effect = [DEFAULT] * (moment - 1) + [Killed]
    with pytest.raises(Killed):
        annotate_text(*arguments, key="key", input="tokens")
    assert len(list((tmp_path / "cut").glob("*.safetensors"))) == moment - 1
    compute_rows.reset_mock(side_effect=True)
    again = annotate_text(*arguments, key="key", input="tokens")
    assert compute_rows.call_count == len(whole.shards) - (moment - 1)
    assert (again.num_sentences, again.omitted) == (whole.num_sentences, whole.omitted)
    assert read_files(tmp_path / "cut") == read_files(tmp_path / "whole")


def test_a_finished_text_is_not_read_again(teacher, arguments, monkeypatch):
    first = annotate_text(*arguments, key="key", input="tokens")
    monkeypatch.setattr(type(teacher), "read", None)
    assert annotate_text(*arguments, key="key", input="tokens") == first


def test_another_text_or_teacher_is_rejected(arguments, text, tmp_path):
    annotate_text(*arguments, key="key", input="tokens")
    for key, input in (("other", "tokens"), ("key", "lines")):
        with pytest.raises(DataError, match="another teacher, text or settings"):
            annotate_text(*arguments, key=key, input=input)
    (tmp_path / "out" / silver.MANIFEST).unlink()  # as after an interruption
    with pytest.raises(DataError, match=r"shard-0001.*another teacher"):
        annotate_text(*arguments, key="other", input="tokens")
    Path(text).write_text("Quite another text .\n")
    with pytest.raises(DataError, match="another teacher, text or settings"):
        annotate_text(*arguments, key="key", input="tokens")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("shard-0002.safetensors", b"nonsense"),
        ("shard-0002.safetensors", None),
        ("shard-0002.conllu", b"\n"),
        ("shard-0001.conllu", None),
        (silver.MANIFEST, b"{}"),
        (silver.MANIFEST, b"{bad"),
    ],
)
def test_damaged_files_are_written_again(name, content, arguments):
    directory = arguments[-1]
    first = annotate_text(*arguments, key="key", input="tokens")
    whole = read_files(directory)
    (directory / name).unlink()
    if content is not None:
        (directory / name).write_bytes(content)
    assert annotate_text(*arguments, key="key", input="tokens") == first
    assert read_files(directory) == whole


def test_a_text_without_sentences_to_learn_from_is_an_error(teacher, tmp_path):
    empty = tmp_path / "empty.txt"
    for content in ("", "\n\n", "Alone\n"):
        empty.write_text(content)
        with pytest.raises(DataError, match="no sentence of 2 to 150 words"):
            annotate_text(
                teacher,
                make_row_function(teacher),
                [str(empty)],
                tmp_path / "o",
                key="key",
                input="tokens",
            )


def test_trees_of_treebanks_are_replaced_by_trees_of_the_teacher(teacher, tiny, tmp_path):
    wrong = [s.with_tree([0] * len(s), ["x"] * len(s)) for s in tiny]
    write(wrong, tmp_path / "text.conllu")
    (tmp_path / "text.conllx").write_text(row(1, "a", 0) + row(2, "ß", 1) + "\n", "latin-1")
    files = [str(tmp_path / "text.conllx")]
    silver_text = annotate_text(
        teacher,
        make_row_function(teacher),
        files,
        tmp_path / "x",
        key="",
        input="conllx",
        encoding="latin-1",
    )
    (sentence,) = silver_text.shards[0].sentences()
    assert sentence.form == ["a", "ß"]
    files = [str(tmp_path / "text.conllu")]
    silver_text = annotate_text(
        teacher, make_row_function(teacher), files, tmp_path / "out", key=""
    )
    silver_tree = next(silver_text.shards[0].sentences())
    assert silver_tree.head == next(teacher.parse(tiny[:1])).head
    assert silver_tree.text == tiny[0].text


def test_the_error_of_a_full_disk_names_the_file(teacher, text, tmp_path, monkeypatch):
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError) as caught:
        annotate_text(
            teacher, make_row_function(teacher), [text], tmp_path / "out", key="key", input="tokens"
        )
    assert str(caught.value.filename).endswith("shard-0001.safetensors")
    assert list(tmp_path.glob("out/*.safetensors")) == []


def test_text_that_cannot_be_read_is_an_error(teacher, tmp_path):
    file = tmp_path / "text.txt"
    arguments = (teacher, make_row_function(teacher), [str(file)], tmp_path / "out")
    with pytest.raises(OSError):
        annotate_text(*arguments, key="key")
    file.write_bytes(b"caf\xe9 now\n")
    with pytest.raises(FormatError, match="latin-1, with `encoding`"):
        annotate_text(*arguments, key="key", input="lines")
    with pytest.raises(ValueError, match="has no tokenizer"):
        annotate_text(*arguments, key="key", input="text")


def test_chunks_contain_all_sentences_in_order(tiny):
    for min_words in (1, 7, 50, 10_000):
        chunks = list(silver.split_into_chunks(tiny, min_words))
        assert [sentence for chunk in chunks for sentence in chunk] == tiny
        lengths = [[len(sentence) for sentence in chunk] for chunk in chunks]
        assert all(sum(chunk) >= min_words for chunk in lengths[:-1])
        assert all(sum(chunk[:-1]) < min_words for chunk in lengths)


def test_written_trees_agree_with_the_rows(teacher, text, tmp_path):
    silver_text = annotate_text(
        teacher, make_row_function(teacher), [text], tmp_path / "out", key="key", input="tokens"
    )
    sentences = [s for shard in silver_text.shards for s in read(f"{shard.path}.conllu")]
    rows = np.concatenate([shard.rows() for shard in silver_text.shards])
    assert rows.dtype == np.uint16
    assert rows[:, 0].tolist() == [head for sentence in sentences for head in sentence.head]
