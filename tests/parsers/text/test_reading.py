"""The kind of an input file: a treebank by name or content, else text, unless the kind is given."""

import gzip

import pytest

from depkit.files.errors import FormatError
from depkit.parsers.text.reading import read_input
from tests.corpus.rows import PREDICATES, RICH
from tests.parsers.text.small_tokenizer import make_tokenizer


def read(tmp_path, content, name="in", input=None, model=True, encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_input(path, make_tokenizer() if model else None, input, encoding))


@pytest.mark.parametrize(("content", "size"), [(RICH, 6), (PREDICATES, 4)])
def test_treebanks_are_recognised_by_content(tmp_path, content, size):
    assert len(read(tmp_path, content)[0]) == size
    assert len(read(tmp_path, "\n\n" + content)[0]) == size
    assert len(read(tmp_path, gzip.compress(content.encode()), "in.gz")[0]) == size
    long = "# " + "x" * 70_000 + "\n" + content
    assert len(read(tmp_path, long, "in.conllu" if content is RICH else "in.conll09")[0]) == size


@pytest.mark.parametrize(
    "text", ["a b", "# A title\n\nabc.", "1 apple\n2 pears\n", "\ta\tb", "1", "#", "10\tb\n"]
)
def test_other_content_is_text(tmp_path, text):
    (first, *_) = read(tmp_path, text)
    assert first.lines[0] == "# newdoc id = in\n"
    with pytest.raises(ValueError, match=r"no tokenizer.*`input` to lines"):
        read(tmp_path, text, model=False)


def test_a_treebank_with_errors_is_not_taken_for_text(tmp_path):
    with pytest.raises(FormatError, match="9 columns, not 10"):
        read(tmp_path, RICH.replace("\t_\n", "\n"))
    with pytest.raises(FormatError, match="set `input` to text"):
        read(tmp_path, "1\tone")
    assert read(tmp_path, "1\tone", input="text")
    with pytest.raises(FormatError, match="tab-separated"):
        read(tmp_path, RICH.split("\n\n")[1].replace("\t", " "))
    with pytest.raises(FormatError, match="comments, but no words"):
        read(tmp_path, "# comment only\n\n" + RICH)
    with pytest.raises(FormatError, match="the line contains only white space"):
        read(tmp_path, "  \n" + RICH)


def test_lines_and_tokens_can_be_read_without_a_model(tmp_path):
    text = "ab c.\nb\n\nc a"
    tokens = read(tmp_path, text, input="tokens", model=False)
    assert [sentence.form for sentence in tokens] == [["ab", "c."], ["b"], ["c", "a"]]
    lines = read(tmp_path, text, input="lines", model=False)
    assert [sentence.form for sentence in lines] == [["ab", "c", "."], ["b"], ["c", "a"]]
    assert len(read(tmp_path, text, input="lines")) == 3
    assert read(tmp_path, RICH, input="tokens", model=False)[0].form == ["#", "newdoc"]


@pytest.mark.parametrize("content", [b"", b"\n \n\n\t\n", b"\xef\xbb\xbf"])
def test_white_space_has_no_sentence(tmp_path, content):
    assert read(tmp_path, content) == []


def test_bytes_in_another_encoding_are_an_error(tmp_path):
    with pytest.raises(FormatError, match=r"in:2: byte 0xE9 at offset 6 is not utf-8"):
        read(tmp_path, b"abc\nab\xe9")
    assert read(tmp_path, b"abc\nab\xe9", encoding="latin-1")[-1].text.endswith("é")


def test_a_truncated_archive_is_an_error(tmp_path):
    with pytest.raises(FormatError, match="the archive is damaged"):
        read(tmp_path, gzip.compress(b"abc " * 1000)[:30], "in.txt.gz")


def test_an_unknown_input_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="there is no input 'word'; it can be text, lines, tokens"):
        read(tmp_path, "a", input="word")


def test_a_newline_in_a_file_name_becomes_a_space(tmp_path):
    (sentence,) = read(tmp_path, "a b", "x\ny z.txt")
    assert sentence.lines[0] == "# newdoc id = x y z.txt\n"
