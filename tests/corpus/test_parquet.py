"""Parquet files give back CoNLL-U byte for byte; hostile files are refused; memory is bounded."""

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given

import depkit
from depkit.corpus.formats import CONLLU
from depkit.corpus.io import is_bracketed_file, read, read_stream, write
from depkit.corpus.parquet import batches, row_groups
from depkit.corpus.parquet.batches import from_batches, to_batches
from depkit.corpus.parquet.files import is_parquet, read_parquet, write_parquet
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import FormatError
from depkit.files.streams import watch_reading
from tests.cli.commands import Command
from tests.corpus.mutated_files import mutated_files, reproducible
from tests.corpus.rows import PREDICATES, RICH, parse, row
from tests.corpus.shared_files import FILES

pa = pytest.importorskip("pyarrow", reason="Parquet needs the extra parquet")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra parquet")
attacks_module = pytest.importorskip("tests.corpus.parquet_attacks")
ATTACKS = attacks_module.ATTACKS
ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
SMALL = row(1, "a", 2, "x") + row(2, "b", 0, "root") + "\n"
PROBABILITIES = (
    row(1).replace("_\n", "Gloss=x|ArcProb=0.9500|LabelProb=1.0000\n")
    + row(2).replace("_\n", "ArcProb=0.1250|LabelProb=x\n")
    + "\n"
)


def table(text: str):
    return pa.Table.from_batches(to_batches(parse(text)))


def column(text: str, name: str):
    return table(text)[name].to_pylist()


def copy(sentences) -> str:
    """Write sentences to a Parquet file and read them."""
    file = io.BytesIO()
    write_parquet(sentences, file)
    return "".join(map(str, read_parquet(io.BytesIO(file.getvalue()))))


def test_the_columns_of_a_sentence():
    first, second = table(RICH).to_pylist()
    assert first["sent_id"] == "mill-1" and first["text"] == "Vámonos al molino."
    assert first["comments"] == RICH.split("\n")[:5]
    assert first["tokens"] == ["Vamos", "nos", "a", "el", "molino", "."]
    assert first["lemmas"] == ["ir", "nosotros", "a", "el", "molino", "."]
    assert first["upos"] == ["VERB", "PRON", "ADP", "DET", "NOUN", "PUNCT"]
    assert first["xpos"] == ["_"] * 6
    assert first["feats"][:2] == ["Mood=Imp|Number=Plur", "Case=Acc"]
    assert first["head"] == [0, 1, 5, 5, 1, 1]
    assert first["deprel"] == ["root", "expl", "case", "det", "obl", "punct"]
    assert first["deps"][4:] == ["1:obl:a", "1:punct"]
    assert first["misc"] == [*"____", "SpaceAfter=No", "_"]
    assert first["mwt"][1] == {"id": "3-4", "form": "al", "feats": "_", "misc": "_"}
    assert first["empty_nodes"] == [] and second["mwt"] == []
    assert [node["id"] for node in second["empty_nodes"]] == ["0.1", "1.1", "1.2"]
    assert second["empty_nodes"][0]["misc"] == "CopyOf=3" and second["text"] is None
    assert first["arc_prob"] is first["label_prob"] is first["original"] is None


def test_probabilities_are_numbers():
    assert column(SMALL + PROBABILITIES, "arc_prob") == [None, [0.95, 0.125]]
    assert column(SMALL + PROBABILITIES, "label_prob") == [None, [1.0, None]]
    assert column(SMALL, "arc_prob") == [None]


@pytest.mark.parametrize(
    ("text", "has_original"),
    [
        (RICH + SMALL + PROBABILITIES, False),
        (SMALL.replace("\tb\t", "\tword with\u2028\x0c spaces\t"), False),
        ("\ufeff" + SMALL, True),
        (SMALL.replace("\n", "\r\n"), True),
        (SMALL.replace("\n", "\r\n", 1), True),
        ("\n\n" + SMALL, True),
        (SMALL + "\n\n", True),
        (row(1, head="00") + "\n", True),
        (row("1-1") + row(1) + row("1.1") + "\n", True),  # UPOS of a range
        (row(1) + row("2-2").replace("X", "_") + row("1.1") + row(2) + "\n", True),
        (row(1) + row("1.1") + row("2-2").replace("X", "_") + row(2) + "\n", False),
    ],
)  # fmt: skip
def test_unusual_files_are_unchanged(text, has_original):
    text = text if text.endswith("\n\n") or "\r" in text else text + "\n"
    for following in ("", RICH):
        sentences = parse(text + following)
        assert any(column(text, "original")) == has_original
        assert copy(sentences) == text + following


def test_a_missing_blank_line_at_the_end_is_added_by_write(tmp_path):
    write(parse(SMALL[:-1]), tmp_path / "a.parquet")
    (sentence,) = read(tmp_path / "a.parquet")
    assert str(sentence) == SMALL[:-1]
    write(sentence, tmp_path / "a.conllu")
    assert (tmp_path / "a.conllu").read_text() == SMALL


def test_a_byte_order_mark_is_kept_only_at_the_beginning():
    bom = parse("\ufeff" + SMALL)
    assert copy([*bom, *bom]) == "\ufeff" + SMALL * 2
    first = list(to_batches(bom))
    assert "".join(map(str, from_batches(first * 2))) == "\ufeff" + SMALL * 2


@reproducible
@given(mutated_files())
def test_every_valid_file_is_unchanged(data):
    try:
        sentences = parse(data.decode())
    except ValueError:
        return
    assert copy(sentences) == "".join(map(str, sentences))


@pytest.mark.parametrize("path", sorted(DATA.glob("*.conllu")), ids=lambda path: path.name)
def test_our_files_are_unchanged(path, tmp_path):
    Command("convert")(path, "-o", tmp_path / "a.parquet")
    Command("convert")(tmp_path / "a.parquet", "-o", tmp_path / "a.conllu")
    assert (tmp_path / "a.conllu").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".conllu"], ids=lambda path: path.name
)
def test_shared_treebanks_are_unchanged(path):
    sentences = list(islice(read(path), 3000))
    assert copy(sentences) == "".join(map(str, sentences))


def test_every_reader_recognises_the_content(tmp_path):
    path = tmp_path / "renamed.conllu"
    other = tmp_path / "renamed"
    assert depkit.write(parse(RICH), tmp_path / "a.parquet") == 2
    for name in (path, other):
        name.write_bytes((tmp_path / "a.parquet").read_bytes())
        assert "".join(map(str, read(name))) == RICH
        assert is_bracketed_file(str(name)) is False
    assert [sentence.line for sentence in read(other)] == [1, 15]
    assert Command("eval")(path, other, "-b", "LAS")[0] == "100.00\n"
    assert Command("convert")(other, "--to", "conllu")[0] == RICH
    assert Command("convert")("-", "--to", "conllu", stdin=other.read_bytes())[0] == RICH
    assert "2 sentences, 8 words" in Command("check")(other)[0]
    assert "sentences" in Command("stats")(other)[0]


def test_a_text_can_begin_like_the_magic_number(tmp_path):
    (tmp_path / "a.conllu").write_text("# PAR1\n" + SMALL)
    assert len(list(read(tmp_path / "a.conllu"))) == 1
    assert not is_parquet(io.BufferedReader(io.BytesIO(b"PAR1 begins Parquet files.")))


def test_a_pipe_is_read_and_closed(tmp_path):
    write(parse(RICH), tmp_path / "a.parquet")
    read_end, write_end = os.pipe()
    data = (tmp_path / "a.parquet").read_bytes()

    def feed():
        with open(write_end, "wb") as pipe:
            pipe.write(data)

    thread = threading.Thread(target=feed)
    thread.start()
    with open(read_end, "rb") as pipe:
        assert "".join(map(str, read_stream(pipe))) == RICH
    thread.join()


def test_progress_is_reported_without_a_copy(tmp_path, monkeypatch):
    write(parse(RICH), tmp_path / "a.parquet")
    monkeypatch.setattr(tempfile, "TemporaryFile", None)
    counts = []
    with watch_reading(counts.append):
        assert len(list(read(tmp_path / "a.parquet"))) == 2
    assert sum(counts) > 0


@pytest.mark.parametrize("name", ["a.parquet.gz", "a.parquet.xz"])
def test_a_compressed_file_is_read(tmp_path, name):
    write(parse(RICH), tmp_path / name)
    assert "".join(map(str, read(tmp_path / name))) == RICH


def test_writing_and_reading_hold_few_sentences(tmp_path, monkeypatch):
    for module in (batches, row_groups):
        monkeypatch.setattr(module, "BATCH_SENTENCES", 10)
    made = 0

    def make():
        nonlocal made
        for _ in range(1000):
            made += 1
            yield new_sentence(["a"] * 5)

    assert len(next(to_batches(make()))) == 10 and made == 10
    monkeypatch.setattr(batches, "BATCH_CHARACTERS", 200)
    assert len(next(to_batches(make()))) == 2  # A sentence has 116 characters.
    write(make(), tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups >= 100
    sizes = []
    divide = batches.divide
    monkeypatch.setattr(batches, "divide", lambda *a: (sizes.append(len(a[0])), divide(*a))[1])
    sentences = read(tmp_path / "a.parquet")
    next(sentences)
    assert len(sizes) == 1
    assert len(list(sentences)) == 999 and max(sizes) <= 10


def test_an_interrupted_file_does_not_appear(tmp_path):
    def interrupt():
        yield from parse(RICH)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(interrupt(), tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


def test_no_sentences(tmp_path):
    assert write([], tmp_path / "a.parquet") == 0
    assert list(read(tmp_path / "a.parquet")) == []


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (parse(PREDICATES, "conll09"), "but this is conll09; convert it with depkit convert"),
        (parse("1\ta\n\n", strict=False), "the line has 2 columns instead of 10"),
        (
            [
                Sentence(
                    CONLLU,
                    ["1\t\udce9" + "\t_" * 8 + "\n", "\n"],
                    [0],
                    {"form": ["\udce9"], "deprel": ["_"]},
                    head=[-1],
                )
            ],
            "a lone surrogate",
        ),
    ],
)
def test_sentences_that_cannot_be_rows(sentences, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        write(sentences, tmp_path / "a.parquet")
    assert list(tmp_path.iterdir()) == []


STRINGS = pa.list_(pa.string())
HOSTILE = {
    "no tokens": ({"form": [["a"]]}, "no column tokens"),
    "no list": ({"tokens": ["a"]}, "column tokens is string instead of list"),
    "numbers": ({"tokens": [[1]]}, "column tokens is list.*instead of list"),
    "no heads": ({"tokens": [["a"]], "head": [[0.5]]}, "column head is list.*double"),
    "no structs": ({"tokens": [["a"]], "mwt": [["1-2"]]}, "column mwt is list.*instead of list"),
    "text as number": ({"tokens": [["a"]], "text": [3]}, "column text is int64 instead of string"),
    "null sentence": ({"tokens": [["a"], None]}, "row 2: there are no tokens"),
    "empty sentence": ({"tokens": [["a"], []]}, "row 2: there are no tokens"),
    "null token": ({"tokens": [["a"], ["b", None]]}, "row 2: token 2 is null"),
    "empty token": ({"tokens": [["a"], [""]]}, "row 2: the word has no FORM"),
    "lengths": (
        {"tokens": [["a"], ["b", "c"]], "head": [[0], [1]]},
        "row 2: head has 1 values, but there are 2 tokens",
    ),
    "head": ({"tokens": [["a"]], "head": [[2]]}, "row 1: HEAD is '2', not a word's number"),
    "negative": ({"tokens": [["a"]], "head": [[-1]]}, "row 1: HEAD is '-1'"),
    "tab": ({"tokens": [["a\tb"]]}, "row 1: the line has 11 columns"),
    "newline": ({"tokens": [["a\n2"]]}, "row 1: this is not one line"),
    "comment": ({"tokens": [["a"]], "comments": [["1\ta"]]}, "row 1: an entry of comments"),
    "null comment": ({"tokens": [["a"]], "comments": [[None]]}, "row 1: an entry of comments"),
    "comments": ({"tokens": [["a"]], "comments": [["# a\n\n# b"]]}, "row 1: this is not one line"),
    "text": ({"tokens": [["a"]], "text": ["a\n1\tb"]}, "row 1: this is not one line"),
    "range": (
        {"tokens": [["a"]], "mwt": [[{"id": "2-3", "form": "x"}]]},
        "row 1: the range 2-3 reaches beyond the last word, 1",
    ),
    "node": ({"tokens": [["a"]], "empty_nodes": [[{"id": "x"}]]}, "row 1: the id is 'x'"),
    "no node": (
        {"tokens": [["a"]], "empty_nodes": [[None, {"id": "1.1"}]]},
        "row 1: there is a null in empty_nodes",
    ),
    "original": (
        {"tokens": [["a"], ["b"]], "original": [None, SMALL]},
        "row 2: original differs from the other columns; set it to null",
    ),
    "no original": ({"tokens": [["a"]], "original": ["\n\n"]}, "row 1: original contains no"),
    "broken original": ({"tokens": [["a"]], "original": ["1\ta\n"]}, "row 1: the line has 2 col"),
    "two originals": ({"tokens": [["a"]], "original": [SMALL * 2]}, "row 1: "),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_line_with_file_and_row(name, tmp_path):
    columns, message = HOSTILE[name]
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    with pytest.raises(FormatError, match=message) as caught:
        list(read(path))
    assert caught.value.file == str(path) and "\n" not in str(caught.value)


def test_nulls_and_missing_columns_are_blank(tmp_path):
    columns = {
        "tokens": [["a", "b"], ["c"]], "upos": [["X", None], None], "head": [["2", "0"], ["_"]],
        "sent_id": ["s1", None], "text": ["a b", None], "other": [1, 2],
        "mwt": [[{"id": "1-2", "form": "ab"}], None],
    }  # fmt: skip
    schema = {"tokens": pa.large_list(pa.large_string()), "mwt": None}
    arrays = {name: pa.array(values, schema.get(name)) for name, values in columns.items()}
    pq.write_table(pa.table(arrays), tmp_path / "a.parquet")
    first, second = read(tmp_path / "a.parquet")
    assert str(first) == (
        "# sent_id = s1\n# text = a b\n1-2\tab" + "\t_" * 8 + "\n"
        "1\ta\t_\tX\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
    )
    assert str(second) == "1\tc" + "\t_" * 8 + "\n\n"


def test_a_broken_row_has_a_problem_if_reading_is_not_strict(tmp_path):
    columns = {"tokens": [["a", "b"], ["c"]], "head": [[0, 1], [7]]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    first, second = read(tmp_path / "a.parquet", strict=False)
    assert not first.problem and second.problem and second.problem.line == second.line == 4


def test_the_limit_of_a_sentence(tmp_path, monkeypatch):
    columns = {"tokens": [["a"], ["b" * 5000]]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", "2000")
    with pytest.raises(FormatError, match="row 2: a sentence has more than 2,000 bytes"):
        list(read(tmp_path / "a.parquet"))


def test_a_long_text_that_is_stored_once_is_not_repeated_in_memory(tmp_path, monkeypatch):
    pq.write_table(pa.table({"tokens": [["b" * 100_000]] * 500}), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", "2000")
    before = pa.total_allocated_bytes()
    with pytest.raises(FormatError, match="row 1: a sentence has more"):
        next(read_parquet(open(tmp_path / "a.parquet", "rb")))
    assert pa.total_allocated_bytes() - before < 1_000_000


def test_invalid_utf8_is_an_error(tmp_path):
    values = pa.array([b"a\xff"]).view(pa.string())
    tokens = pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), values)
    pq.write_table(pa.table({"tokens": tokens}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"row 1 or a row after it is damaged.*UTF8"):
        list(read(tmp_path / "a.parquet"))


def test_damaged_files_are_errors_of_the_format(tmp_path):
    file = io.BytesIO()
    write_parquet(parse(RICH), file)
    data = file.getvalue()
    damaged = [data[:size] for size in range(0, len(data), 97)]
    for index in range(0, len(data), 41):
        damaged.append(data[:index] + bytes([data[index] ^ 0x55]) + data[index + 1 :])
    for case in [*damaged, b"PAR1", b"PAR1\x15" * 3, b"text\n"]:
        try:
            read_back = "".join(map(str, read_parquet(io.BytesIO(case), "a.parquet")))
        except FormatError as error:
            assert str(error).startswith("a.parquet: ") and "\n" not in str(error)
        else:
            assert len(case) == len(data)  # The byte has no influence, e.g. in a statistic.
            assert read_back.count("\n") == RICH.count("\n")


def test_a_missing_pyarrow_is_told(monkeypatch, tmp_path):
    write(parse(RICH), tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"Parquet needs pyarrow: pip install 'depkit-parser\[parquet\]'"
    for action in (
        lambda: list(read(tmp_path / "a.parquet")),
        lambda: write([], tmp_path / "b.parquet"),
        lambda: list(to_batches([])),
        lambda: list(from_batches([])),
    ):
        with pytest.raises(ValueError, match=message):
            action()
    assert not (tmp_path / "b.parquet").exists()


def test_other_formats_are_converted_by_the_command_line(tmp_path):
    (tmp_path / "a.conll09").write_text(PREDICATES)
    _, notes = Command("convert")(tmp_path / "a.conll09", "-o", tmp_path / "a.parquet")
    assert "predicates" in notes and "left out" in notes
    converted = Command("convert")(tmp_path / "a.conll09", "--to", "conllu")[0]
    assert "".join(map(str, read(tmp_path / "a.parquet"))) == converted
    Command("convert")(tmp_path / "a.parquet", "--from", "parquet", "-o", tmp_path / "a.conllx")
    assert len(list(read(tmp_path / "a.conllx"))) == len(parse(PREDICATES, "conll09"))


def test_parses_are_written_and_read(tmp_path):
    path = tmp_path / "out.parquet"
    Command("parse")("--prob", "-o", path, stdin="Time flies. It is late.", code=0)
    first, second = pq.read_table(path).to_pylist()
    assert first["tokens"] == ["Time", "flies", "."] and len(second["arc_prob"]) == 4
    assert all(0 <= value <= 1 for value in first["arc_prob"] + first["label_prob"])
    out, _ = Command("parse")(path, "--tags", "keep")
    assert [sentence.form for sentence in parse(out)] == [first["tokens"], second["tokens"]]
    Command("tag")(path, "--output-dir", tmp_path / "tagged", "--format", "parquet")
    assert len(pq.read_table(tmp_path / "tagged" / "out.parquet")) == 2


@pytest.fixture(scope="module")
def attacks(tmp_path_factory):
    """The error of each attack, read in a process with little memory."""
    directory = tmp_path_factory.mktemp("attacks")
    command = [sys.executable, "-m", "tests.corpus.parquet_attacks", str(directory)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(map(json.loads, result.stdout.splitlines())), directory


@pytest.mark.skipif(sys.platform != "linux", reason="the memory is limited as on Linux")
@pytest.mark.parametrize("name", ATTACKS)
def test_a_small_file_needs_little_memory_and_time(attacks, name):
    errors, directory = attacks
    path = directory / f"{name}.parquet"
    assert path.stat().st_size < 4_000_000
    error = errors.get(name, "the process crashed or needed too much time")
    assert error.startswith(f"{path}: ") and ATTACKS[name][1] in error and "\n" not in error


def test_texts_of_a_dictionary_are_read_as_they_are(tmp_path):
    words = [["a", None, "b"], ["a" * 300], ["b", "b", "a"]]
    lemmas = pa.array(words, pa.list_(pa.dictionary(pa.int8(), pa.string())))
    tokens = [["a", "c", "b"], ["a"], ["b", "b", "a"]]
    table = pa.table({"tokens": tokens, "lemmas": lemmas, "text": ["x", None, "x"]})
    for options in ({}, {"use_dictionary": False}, {"data_page_version": "2.0"}):
        for size in (1, 2, 3):
            pq.write_table(table, tmp_path / "a.parquet", row_group_size=size, **options)
            sentences = list(read(tmp_path / "a.parquet"))
            assert [[word.lemma for word in x] for x in sentences] == [
                ["a", "_", "b"], ["a" * 300], ["b", "b", "a"]
            ]  # fmt: skip
            assert [x.text for x in sentences] == ["x", "", "x"]
    pq.write_table(table, tmp_path / "a.parquet", store_schema=False, dictionary_pagesize_limit=4)
    assert [x[0].lemma for x in read(tmp_path / "a.parquet")] == ["a", "a" * 300, "b"]


def test_a_large_row_group_is_read_in_constant_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("DEPKIT_MAX_SENTENCE", "1000000")
    rows = [[f"word{row}-{index}" for index in range(20)] for row in range(20_000)]
    table = pa.table({"tokens": rows, "sent_id": [f"s{row}" for row in range(20_000)]})
    pq.write_table(table, tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 1
    before, most = pa.total_allocated_bytes(), 0
    with open(tmp_path / "a.parquet", "rb") as binary:
        sentences = read_parquet(binary)
        for _ in zip(range(10_000), sentences, strict=False):
            most = max(most, pa.total_allocated_bytes() - before)
        half = most
        for _ in sentences:
            most = max(most, pa.total_allocated_bytes() - before)
    assert most < 1.5 * half
