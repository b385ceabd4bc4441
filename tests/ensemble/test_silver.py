"""Text in shards: all there, once, in bounded windows, and gone on with after a kill."""

import errno
from pathlib import Path
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest

from depkit.corpus.errors import DataError, FormatError
from depkit.corpus.files import read, write
from depkit.corpus.sentence import new_sentence
from depkit.ensemble import silver
from depkit.ensemble.silver import annotate
from depkit.ensemble.teacher import make_teach
from tests.corpus.rows import row
from tests.training.test_loop import Killed


@pytest.fixture
def text(tiny, tmp_path):
    """A file of tokens, a sentence a line: 24 sentences of 2 words or more, and others."""
    lines = [" ".join(sentence.form) for sentence in tiny]
    lines[3:3] = ["Alone", " ".join(["long"] * 151), lines[0]]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return str(path)


@pytest.fixture
def arguments(teacher, text, tmp_path):
    """Those of `annotate`, but for the key and the kind of input."""
    return teacher, make_teach(teacher), [text], tmp_path / "out"


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    monkeypatch.setattr(silver, "SHARD_WORDS", 30)


def shards_of(directory):
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_all_sentences_are_there_once(teacher, text, tiny, tmp_path):
    teach = Mock(wraps=make_teach(teacher))
    found = annotate(teacher, teach, [text], tmp_path / "out", "key", "tokens")
    assert found.left_out == {"too short": 1, "too long": 1, "there already": 1}
    assert (found.sentences, found.words) == (len(tiny), sum(map(len, tiny)))
    calls = [sum(map(len, call.args[0])) for call in teach.call_args_list]
    # a shard ends with the sentence that fills it; no more is in memory at a time
    assert len(calls) == len(found.shards) > 3 and sum(calls) == found.words
    assert max(calls) < 30 + max(map(len, tiny))
    parsed = [sentence for shard in found.shards for sentence in shard.sentences()]
    plain = [new_sentence(sentence.form) for sentence in tiny]
    for told, expected in zip(parsed, teacher.parse(plain), strict=True):
        for column in ("form", "head", "deprel", "upos"):
            assert getattr(told, column) == getattr(expected, column)
    assert [size for shard in found.shards for size in shard.sizes()] == list(map(len, tiny))
    assert sum(len(shard.rows()) for shard in found.shards) == found.words


@pytest.mark.parametrize("moment", [1, 2, 4])
def test_a_killed_run_goes_on_behind_its_shards(moment, teacher, text, tmp_path):
    teach = Mock(wraps=make_teach(teacher))
    whole = annotate(teacher, teach, [text], tmp_path / "whole", "key", "tokens")
    arguments = (teacher, teach, [text], tmp_path / "cut", "key", "tokens")
    teach.side_effect = [DEFAULT] * (moment - 1) + [Killed]
    with pytest.raises(Killed):
        annotate(*arguments)
    assert len(list((tmp_path / "cut").glob("*.safetensors"))) == moment - 1
    teach.reset_mock(side_effect=True)
    again = annotate(*arguments)
    assert teach.call_count == len(whole.shards) - (moment - 1)
    assert (again.sentences, again.left_out) == (whole.sentences, whole.left_out)
    assert shards_of(tmp_path / "cut") == shards_of(tmp_path / "whole")


def test_a_finished_text_is_not_read_again(teacher, arguments, monkeypatch):
    first = annotate(*arguments, "key", "tokens")
    monkeypatch.setattr(type(teacher), "read", None)
    assert annotate(*arguments, "key", "tokens") == first


def test_another_text_or_teacher_is_refused(arguments, text, tmp_path):
    annotate(*arguments, "key", "tokens")
    for key, input in (("other", "tokens"), ("key", "lines")):
        with pytest.raises(DataError, match="another teacher, text or settings"):
            annotate(*arguments, key, input)
    (tmp_path / "out" / silver.MANIFEST).unlink()  # as if it was killed
    with pytest.raises(DataError, match=r"shard-0001.*another teacher"):
        annotate(*arguments, "other", "tokens")
    Path(text).write_text("Quite another text .\n")
    with pytest.raises(DataError, match="another teacher, text or settings"):
        annotate(*arguments, "key", "tokens")


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
def test_what_is_damaged_is_made_anew(name, content, arguments):
    directory = arguments[-1]
    first = annotate(*arguments, "key", "tokens")
    whole = shards_of(directory)
    (directory / name).unlink()
    if content is not None:
        (directory / name).write_bytes(content)
    assert annotate(*arguments, "key", "tokens") == first
    assert shards_of(directory) == whole


def test_a_text_without_sentences_to_learn_from(teacher, tmp_path):
    empty = tmp_path / "empty.txt"
    for content in ("", "\n\n", "Alone\n"):
        empty.write_text(content)
        with pytest.raises(DataError, match="no sentence of 2 to 150 words"):
            annotate(teacher, make_teach(teacher), [str(empty)], tmp_path / "o", "key", "tokens")


def test_a_treebank_is_text_too_and_its_trees_are_the_teachers(teacher, tiny, tmp_path):
    upside_down = [each.with_tree([0] * len(each), ["x"] * len(each)) for each in tiny]
    write(upside_down, tmp_path / "some.conllu")
    (tmp_path / "some.conllx").write_text(row(1, "a", 0) + row(2, "ß", 1) + "\n", "latin-1")
    files = [str(tmp_path / "some.conllx")]
    found = annotate(teacher, make_teach(teacher), files, tmp_path / "x", "", "conllx", "latin-1")
    (sentence,) = found.shards[0].sentences()
    assert sentence.form == ["a", "ß"]
    files = [str(tmp_path / "some.conllu")]
    found = annotate(teacher, make_teach(teacher), files, tmp_path / "out", "")
    silver_tree = next(found.shards[0].sentences())
    assert silver_tree.head == next(teacher.parse(tiny[:1])).head
    assert silver_tree.text == tiny[0].text


def test_a_full_disk_is_named(teacher, text, tmp_path, monkeypatch):
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError) as caught:
        annotate(teacher, make_teach(teacher), [text], tmp_path / "out", "key", "tokens")
    assert str(caught.value.filename).endswith("shard-0001.safetensors")
    assert list(tmp_path.glob("out/*.safetensors")) == []


def test_text_that_cannot_be_read(teacher, tmp_path):
    file = tmp_path / "text.txt"
    arguments = (teacher, make_teach(teacher), [str(file)], tmp_path / "out", "key")
    with pytest.raises(OSError):
        annotate(*arguments)
    file.write_bytes(b"caf\xe9 now\n")
    with pytest.raises(FormatError, match="--encoding latin-1"):
        annotate(*arguments, "lines")
    with pytest.raises(ValueError, match="has no tokenizer"):
        annotate(*arguments, "text")


def test_windows_have_all_sentences_in_order(tiny):
    for words in (1, 7, 50, 10_000):
        windows = list(silver.windows(tiny, words))
        assert [each for window in windows for each in window] == tiny
        sizes = [[len(each) for each in window] for window in windows]
        assert all(sum(each) >= words for each in sizes[:-1])
        assert all(sum(each[:-1]) < words for each in sizes)


def test_what_is_written_is_what_was_thought(teacher, text, tmp_path):
    found = annotate(teacher, make_teach(teacher), [text], tmp_path / "out", "key", "tokens")
    sentences = [each for shard in found.shards for each in read(f"{shard.path}.conllu")]
    rows = np.concatenate([shard.rows() for shard in found.shards])
    assert rows.dtype == np.uint16
    assert rows[:, 0].tolist() == [head for each in sentences for head in each.head]
