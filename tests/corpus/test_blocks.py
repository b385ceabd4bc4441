"""Blocks of files: the parts of a file, read one after another, give the whole."""

import random
import tracemalloc
from itertools import pairwise

import pytest

from depkit.corpus import blocks, io, reader, text
from depkit.corpus.blocks import Part, Shard, find_blocks, make_part
from depkit.corpus.io import write
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.parquet import batches, files, row_groups
from depkit.corpus.text import ParagraphCounter
from depkit.files.errors import FormatError
from depkit.parsers.text.reading import read_input
from tests.corpus.rows import row

PIECES = {
    "text": ["One two.", "Zwölf\nBoxkämpfer. Jagen!", " \t", "\n\n", "\n \n", "\r\n\r\n", "\n",
             "\x00\u2028", "x" * 30 + " y"],
    "lines": ["One two.", "Zwölf", "\n", "\n\n", " \r\n", "\t"],
}  # fmt: skip


class Splitter:
    """A stand-in for a tokenizer, which records what it is given."""

    def __init__(self):
        self.calls = []

    def segment(self, texts):
        self.calls.append(texts)
        return [[[(0, len(text), None)]] for text in texts]

    segment_lines = segment


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    for module, name, size in (
        (blocks, "TEXT_BLOCK", 40), (blocks, "ROWS_BLOCK", 90), (text, "TEXT_BLOCK", 40),
        (reader, "ROWS_BLOCK", 90), (text, "MAX_PARAGRAPH_LENGTH", 60), (blocks, "_READ", 7),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, size)


def read(path, kind, part=None, encoding="utf-8"):
    splitter = Splitter()
    counter = ParagraphCounter(part.start.paragraph if part else 0)
    sentences = list(read_input(path, splitter, kind, encoding, counter=counter, part=part))
    return sentences, splitter.calls


def make_file(kind, chooser):
    if kind == "conllu":
        sentences = [
            "# text = é\n" * chooser.randrange(2)
            + "".join(row(i + 1, "wörd", i) for i in range(chooser.randint(1, 3)))
            + "\n" * chooser.randint(1, 2)
            for _ in range(12)
        ]
        return "\ufeff" * chooser.randrange(2) + "".join(sentences)
    mark = "\ufeff" * chooser.randrange(2)
    return mark + "".join(chooser.choices(PIECES[kind], k=chooser.randint(1, 60)))


@pytest.mark.parametrize("kind", ["text", "lines", "conllu"])
@pytest.mark.parametrize("seed", range(60))
def test_the_parts_of_a_file_give_the_whole(kind, seed, tmp_path):
    path = tmp_path / "in"
    content = make_file(kind, random.Random(seed))
    path.write_bytes(content.encode())
    whole, calls = read(path, kind)
    positions = find_blocks(path, "utf-8", "rows" if kind == "conllu" else kind)
    parts = [make_part(positions, i, i + 1) for i in range(len(positions))]
    read_parts = [read(path, kind, part) for part in parts]
    sentences = [sentence for part, _ in read_parts for sentence in part]
    assert list(map(str, sentences)) == list(map(str, whole))
    assert [(s.block, s.line) for s in sentences] == [(s.block, s.line) for s in whole]
    # Every part is one block, and the segmenter is called in the same way.
    assert all(len({s.block for s in part}) <= 1 for part, _ in read_parts)
    assert [call for _, part_calls in read_parts for call in part_calls] == calls
    if kind != "conllu":
        records = list(to_json_lines(whole))
        assert records == [
            line
            for part, (part_sentences, _) in zip(parts, read_parts, strict=True)
            for line in to_json_lines(part_sentences, start=part.start.character)
        ]


@pytest.mark.parametrize("seed", range(8))
def test_the_parts_of_a_parquet_file_give_the_whole(seed, tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra parquet")
    for module in (blocks, batches, files):
        monkeypatch.setattr(module, "BLOCK_ROWS", 3)
    for module in (batches, row_groups):
        monkeypatch.setattr(module, "BATCH_SENTENCES", 4)
    chooser = random.Random(seed)
    (tmp_path / "in").write_text(make_file("conllu", chooser))
    write(io.read(tmp_path / "in"), tmp_path / "in.parquet")
    path = tmp_path / "groups.parquet"
    table = pq.read_table(tmp_path / "in.parquet")
    pq.write_table(table, path, row_group_size=chooser.randint(1, 13))
    whole = list(read_input(path, None))
    positions = find_blocks(path, "utf-8", "parquet")
    assert [(p.paragraph, p.line) for p in positions] == [
        (index, whole[index].line) for index in range(0, 12, 3)
    ]
    parts = [make_part(positions, *limits) for limits in ((0, 1), (1, 1), (1, 3), (3, 4))]
    sentences = [s for part in parts for s in read(path, "parquet", part)[0]]
    assert list(map(str, sentences)) == list(map(str, whole))
    assert [(s.block, s.line) for s in sentences] == [
        (index // 3, sentence.line) for index, sentence in enumerate(whole)
    ]
    pq.write_table(table[:0], path)
    assert len(find_blocks(path, "utf-8", "parquet")) == 1


def test_blocks_are_about_equal(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("Ten chars.\n\n" * 100)
    positions = find_blocks(path, "utf-8", "text")
    assert len(positions) == 1200 // 40
    assert all(p.byte == p.character and p.byte - 40 * i < 12 for i, p in enumerate(positions))
    assert [p.paragraph for p in positions[:3]] == [0, 4, 7]
    parts = [Shard(i, 7).select(positions) for i in range(1, 8)]
    assert parts[0].start == positions[0] and parts[-1].end is None
    assert all(a.end == b.start for a, b in pairwise(parts))
    assert [Shard(i, 60).select(positions) is None for i in range(1, 61)].count(False) == 30


def test_a_byte_order_mark_is_no_character_of_a_block(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("\ufeff" + "x" * 38 + "\n\n" + "y")
    assert [position.character for position in find_blocks(path, "utf-8", "text")] == [0, 40]


@pytest.mark.parametrize("kind", ["text", "lines", "tokens", "rows"])
@pytest.mark.parametrize("blank", ["\n", " \n", " \t\r\n", "\n" + " " * 40])
def test_blank_lines_need_no_memory(kind, blank, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "_READ", 1 << 16)
    path = tmp_path / "in"
    count = (4 << 20) // len(blank)
    path.write_bytes(f"one\n{blank * count}\ntwo\n{blank * count}".encode())
    tracemalloc.start()
    found = find_blocks(path, "utf-8", kind)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found[1:] == [found[1]] and found[1].byte == path.read_bytes().index(b"two")
    assert peak < 1 << 20


def test_empty_files_have_one_block(tmp_path):
    path = tmp_path / "in.txt"
    for content in ("", "\n\n \n", "\ufeff"):
        path.write_text(content)
        (position,) = find_blocks(path, "utf-8", "text")
        assert read(path, "text", Part(position)) == ([], [])


def test_encodings_that_cannot_be_divided_are_refused(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("a b", encoding="utf-16")
    with pytest.raises(FormatError, match="cannot be divided; convert it to UTF-8"):
        find_blocks(path, "utf-16", "text")


@pytest.mark.parametrize(("text_", "number", "total"), [("1/1", 1, 1), ("003/100", 3, 100)])
def test_shards_are_parsed_and_named(text_, number, total):
    shard = Shard.parse(text_)
    assert shard == Shard(number, total)
    width = len(str(total))
    assert shard.name("a.b.conllu") == f"a.b.{number:0{width}}-of-{total}.conllu"
    for wrong in ("0/3", "4/3", "1", "a/b", "1/2/3", "-1/2", "1/"):
        with pytest.raises(ValueError, match="is no shard; write I/N"):
            Shard.parse(wrong)
