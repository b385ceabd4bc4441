"""The sentences that contain given texts are read as when all sentences are read."""

import gzip
from pathlib import Path

import pytest

from depkit.corpus import containing
from depkit.corpus.containing import read_containing
from depkit.corpus.io import read, write
from depkit.files.errors import FormatError
from tests.conftest import TINY, TREES

TEXTS = [
    [["\tNOUN\t"]],
    [["\tdet\t", "\tobj\t"]],
    [["\tnsubj\t"], ["\tobj\t", "\tobl\t"]],
    [["zebra"]],
    [["\tPRON\t"], ["\t.\t"]],
]


@pytest.mark.parametrize("chunk", [7, 300, 5000, 1 << 20])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("texts", TEXTS)
def test_sentences_are_those_that_contain_the_texts(
    chunk: int, line_end: str, texts: list[list[str]], tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(containing, "_CHUNK", chunk)
    path = tmp_path / "file.conllu"
    text = "\ufeff" + TINY.read_text().replace("\n\n# sent_id = t-3", "\n\n\n\n# sent_id = t-3")
    path.write_bytes(text.replace("\n", line_end).encode())
    first, *others = read(path)
    expected = [first] + [
        sentence
        for sentence in others
        if all(any(text in str(sentence) for text in group) for group in texts)
    ]
    found = list(read_containing(str(path), texts))
    assert [s.location() for s in found] == [s.location() for s in expected]
    assert [str(s) for s in found] == [str(s) for s in expected]
    assert [s.head for s in found] == [s.head for s in expected]


def test_other_files_are_read_as_a_whole(tmp_path: Path) -> None:
    texts = [["no sentence contains this"]]
    assert len(list(read_containing(str(TREES), texts))) == len(list(read(TREES)))
    wide = tmp_path / "wide.conllu"
    wide.write_bytes(TINY.read_text().encode("utf-16"))
    sentences = list(read(TINY))
    assert len(list(read_containing(str(wide), texts, None, "utf-16"))) == len(sentences)
    parquet = tmp_path / "file.parquet"
    write(sentences, parquet)
    assert len(list(read_containing(str(parquet), texts))) == len(sentences)


def test_compressed_files_and_encodings(tmp_path: Path) -> None:
    packed = tmp_path / "file.conllu.gz"
    packed.write_bytes(gzip.compress(TINY.read_bytes()))
    assert len(list(read_containing(str(packed), [["\tdog\t"]]))) >= 1
    latin = tmp_path / "latin.conllu"
    row = "1\t{}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    latin.write_bytes("".join(map(row.format, ("a", "é", "ß", "é"))).encode("latin-1"))
    found = read_containing(str(latin), [["\té\t"]], None, "latin-1")
    assert [sentence.form[0] for sentence in found] == ["a", "é", "é"]
    found = read_containing(str(latin), [["\tж\t"]], None, "latin-1")
    assert [sentence.form[0] for sentence in found] == ["a"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\x7fELF\x00\xff\t\n\n\x00", 1),
        (b"one\ttwo\n\n", 1),
        (TINY.read_bytes() + b"1\tbroken\t_\tNOUN\t_\n\n", 0),
        (TINY.read_bytes() + b"1\t\xff\tNOUN\tNOUN\t_\t_\t0\troot\t_\t_\n", 0),
    ],
)
def test_errors_have_the_line_as_when_all_sentences_are_read(
    content: bytes, line: int, tmp_path: Path
) -> None:
    path = tmp_path / "file.conllu"
    path.write_bytes(content)
    with pytest.raises(FormatError) as expected:
        list(read(path))
    with pytest.raises(FormatError) as error:
        list(read_containing(str(path), [["\tNOUN\t"]]))
    assert str(error.value) == str(expected.value)
    assert line in (0, error.value.line)


def test_a_sentence_without_end_is_too_large(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", "1000")
    path = tmp_path / "file.conllu"
    path.write_bytes(b"1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n" * 1000)
    monkeypatch.setattr(containing, "_CHUNK", 100)
    with pytest.raises(FormatError, match="a sentence has more than 1,000 bytes"):
        list(read_containing(str(path), [["\tNOUN\t"]]))
