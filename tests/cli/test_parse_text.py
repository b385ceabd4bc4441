"""Parsing of raw text with the bundled model; the trees contain the whole text."""

import gzip
import io
import json
import subprocess
import sys

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.surface import surface_tokens
from tests.cli.commands import ON_CPU, assert_fails
from tests.conftest import TINY

DEPKIT = [sys.executable, "-m", "depkit"]
FLIES = "Time flies like an arrow. Fruit flies like a banana.\n"


@pytest.fixture
def parse(monkeypatch, capfdbinary):
    """A function that parses a text from stdin and returns the status, stdout and stderr."""

    def parse_stdin(content, *arguments):
        data = content.encode() if isinstance(content, str) else content
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        status = run(["parse", *ON_CPU, *arguments])
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return parse_stdin


def trees(output):
    return list(depkit.read(io.StringIO(output, newline="\n")))


def restore_text(output):
    sentences = trees(output)
    for sentence in sentences:
        assert sentence.head.count(0) == 1 and "_" not in sentence.upos + sentence.deprel
    tokens = [token for sentence in sentences for token in surface_tokens(sentence)]
    return "".join(token.before + token.text + token.after for token in tokens)


def test_english_text_is_split_tagged_and_parsed(parse):
    status, out, err = parse(FLIES)
    assert (status, err) == (0, "")
    time, fruit = trees(out)
    comments = ["newdoc", "newpar", "sent_id = 1-1", "text = Time flies like an arrow."]
    assert list(time.lines[:4]) == [f"# {comment}\n" for comment in comments]
    assert fruit.form == ["Fruit", "flies", "like", "a", "banana", "."]
    assert fruit.lemma[4:] == ("banana", ".") and fruit.upos[3:] == ("DET", "NOUN", "PUNCT")
    assert "_" not in time.lemma + time.upos + time.xpos + time.deprel


def test_json_has_character_offsets(parse):
    text = "I can't.\n\n  Über  uns 🙂 steht\tnichts\n"
    status, out, _ = parse(text, "--format", "json")
    assert status == 0
    for record in map(json.loads, out.splitlines()):
        for word in record["words"]:
            assert text[word["start"] : word["end"]] == word["form"]
            assert word["deprel"] and word["head"] is not None


UNUSUAL_TEXTS = {
    "emoji": "I 💙 it 👩‍👩‍👧‍👦!! 🇫🇷🇩🇪\n",
    "right to left": "مرحبا بالعالم. שלום עולם!\n",
    "control characters": "a\x00b \x1b[31mred\x07 \x85 \u2028 x\n",
    "carriage returns": "One.\r\nTwo.\r\n\r\nThree.\r",
    "bars and backslashes": "a|b \\n c\\s  d | e\n",
    "url": "See http://example.com/" + "a/b?c=" * 800 + " now.\n",
    "wide space": "\n\n \u3000a\xa0b  \t c\n\n\n\nd \n",
    "no end": "no full stop and no newline",
    "combining": "e\u0301te\u0301 \u202eabc\u202c \ufeffx\n",
    "like conllu": "# text = x\n1 a\n\n1-2\n",
    "underscores": "_ __ _\n",
    "long line": "The cat sat there, and nobody saw it. " * 100 + "word " * 300 + "x" * 9000,
}


@pytest.mark.parametrize("text", UNUSUAL_TEXTS.values(), ids=UNUSUAL_TEXTS)
def test_unusual_text_is_preserved(parse, text):
    status, out, err = parse(text)
    if text == UNUSUAL_TEXTS["right to left"]:
        assert err.startswith("depkit: note: 100% of the text's letters")
    else:
        assert err == ""
    assert status == 0
    assert restore_text(out) == text


@pytest.mark.parametrize("content", [b"", b"\n\n \n", b"\n" * 100_000, b" " * 100_000])
def test_empty_text_has_no_trees(parse, content):
    assert parse(content) == (0, "", "")


def test_the_error_for_latin_1_names_the_byte(parse):
    status, out, err = parse("Good.\n\ncaf\xe9".encode("latin-1"))
    assert status == 1
    assert err == (
        "depkit: error: -:3: byte 0xE9 at offset 10 is not utf-8; name the file's encoding, for"
        " example latin-1, with --encoding\n"
    )
    assert [sentence.text for sentence in trees(out)] == ["Good."]
    status, out, _ = parse("caf\xe9 noir".encode("latin-1"), "--encoding", "latin-1")
    assert status == 0 and "café" in out  # CoNLL-U is UTF-8


def test_lines_and_tokens_are_not_split_further(parse):
    _, out, _ = parse("Time flies. Fruit flies.\nA banana\n", "--input", "lines")
    assert [s.text for s in trees(out)] == ["Time flies. Fruit flies.", "A banana"]
    _, out, _ = parse("can't do-it .\n", "--input", "tokens")
    assert trees(out)[0].form == ["can't", "do-it", "."]


def test_a_treebank_is_distinguished_from_text(parse):
    status, out, _ = parse(TINY.read_bytes())
    parsed = trees(out)
    assert [s.form for s in parsed] == [s.form for s in depkit.read(TINY)]
    # A file with a missing column is a broken treebank, not a text.
    status, out, err = parse(TINY.read_bytes().replace(b"\tDET\t", b"\t"))
    assert (status, out) == (1, "") and err.startswith("depkit: error: -:3: ")


def test_output_files_are_named_after_the_input_files(tmp_path):
    for name in ("a.txt", "b.text", "c.conllu"):
        (tmp_path / name).write_bytes(TINY.read_bytes() if name == "c.conllu" else FLIES.encode())
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(FLIES.encode()))
    files = [str(path) for path in sorted(tmp_path.iterdir())]
    out = tmp_path / "out"
    assert run(["parse", *files, "--output-dir", str(out), *ON_CPU]) == 0
    names = {path.name for path in out.iterdir()}
    assert names == {"a.conllu", "b.text.conllu", "c.conllu", "d.conllu"}
    first = next(depkit.read(out / "d.conllu"))
    assert first.lines[0] == "# newdoc id = d.txt.gz\n"
    assert run(["parse", *files, "--output-dir", str(out), "--format", "json", *ON_CPU]) == 0
    assert len((out / "c.json").read_text().splitlines()) == 24


def test_paragraphs_of_several_files_are_numbered_consecutively(tmp_path, capfd):
    for name in "ab":
        (tmp_path / name).write_text(FLIES)
    assert run(["parse", str(tmp_path / "a"), str(tmp_path / "b"), *ON_CPU]) == 0
    sentences = trees(capfd.readouterr().out)
    assert [sentence.sent_id for sentence in sentences] == ["1-1", "1-2", "2-1", "2-2"]


def test_the_first_sentences_are_written_before_all_text_is_read():
    process = subprocess.Popen(
        [*DEPKIT, "parse", *ON_CPU], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        # This is more text than the program reads at a time.
        process.stdin.write(b"A sentence.\n" * 7_000)
        process.stdin.flush()
        assert process.stdout.readline() == b"# newdoc\n"  # stdin is still open
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(60)


def test_a_model_without_a_tokenizer_cannot_parse_text(tmp_path, capfd):
    model = tmp_path / "m"
    tiny = ["--set", "encoder.layers=1", "--set", "encoder.size=4", "--set", "inputs.char=4"]
    options = ["--set", "tokenizer.enabled=false", "-q", "--epochs", "1", *ON_CPU]
    assert run(["train", str(TINY), "--dev", str(TINY), "-o", str(model), *tiny, *options]) == 0
    text = tmp_path / "in.txt"
    text.write_text(FLIES)
    assert run(["parse", str(text), "--model", str(model), *ON_CPU]) == 1
    assert "the model has no tokenizer" in capfd.readouterr().err
    assert run(["parse", str(text), "--model", str(model), "--input", "lines", *ON_CPU]) == 0


def test_text_can_be_parsed_from_python():
    parser = depkit.load(device="cpu")
    first, second = parser.parse(parser.tokenize(FLIES))
    assert (first.text, len(second)) == ("Time flies like an arrow.", 6)


@pytest.fixture
def text_and_treebank(tmp_path):
    """The paths of a text and a treebank."""
    (tmp_path / "a.txt").write_text(FLIES)
    (tmp_path / "b.conllx").write_text("1\ta\t_\tX\tX\t_\t0\troot\t_\t_\n\n")
    return [str(tmp_path / "a.txt"), str(tmp_path / "b.conllx")]


def test_mixed_formats_and_overwritten_inputs_are_rejected(text_and_treebank, tmp_path, capfd):
    out = str(tmp_path / "out")
    for arguments, status, message in (
        ([*text_and_treebank[::-1], "-o", out], 1, "the files before it are in conllx"),
        ([text_and_treebank[1], "--output-dir", str(tmp_path)], 2, "one of the files to read"),
        (["-", "-"], 2, "standard input"),
        ([text_and_treebank[0], "--encoding", "hex"], 2, "--encoding"),
    ):
        assert_fails(capfd, ["parse", *arguments, *ON_CPU], status, message)


def test_text_can_be_written_as_conllx(parse):
    status, out, err = parse("Don't go.\n", "--format", "conllx")
    assert status == 0
    rows = [line.split("\t")[:2] for line in out.splitlines()]
    assert rows == [["1", "Do"], ["2", "n't"], ["3", "go"], ["4", "."], [""]]
    assert "depkit: note: conllx cannot represent" in err
    assert "1 multiword range" in err


def test_one_format_applies_to_all_files(text_and_treebank, tmp_path, capfd):
    out = tmp_path / "out"
    options = ["--output-dir", str(out), "--format", "conll09", *ON_CPU]
    assert run(["parse", *text_and_treebank, *options]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["a.conll09", "b.conll09"]
    capfd.readouterr()
    assert run(["parse", *text_and_treebank, "--format", "conllu", "-q", *ON_CPU]) == 0
    assert capfd.readouterr().out.count("\troot\t") == 3
