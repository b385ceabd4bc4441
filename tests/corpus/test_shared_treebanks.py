"""Real treebanks: copies are identical, counts as in their README, values as conllu reads them."""

import io
import re
from itertools import islice, takewhile, zip_longest

import conllu
import pytest
from conllu.parser import DEFAULT_FIELD_PARSERS

from depkit.corpus.detection import sniff_format
from depkit.corpus.formats import format_from_filename
from depkit.corpus.io import read, write
from depkit.corpus.token_list import from_token_list, to_token_list
from depkit.files.errors import FormatError
from depkit.files.streams import open_lines
from tests.corpus.shared_files import FILES, SHARED

RAGGED = "trpb_v1.0.train.conll09"  # One of its rows has a column too many.
pytestmark = pytest.mark.skipif(
    not FILES, reason="no ../shared here: real treebanks are not part of the repository"
)


def encoding(path):
    return "latin-1" if path.name.startswith("eus.") else "utf-8"


def read_counts():
    """Read a dict, file -> (sentences, words, multiword tokens), from ../shared/data/README.md."""
    path = SHARED / "data" / "README.md"
    rows = re.findall(
        r"^\| [\w.-]+ \| (\S+\.conll\w+) \| (\d+) \| (\d+) \| (\d+) \|",
        path.read_text() if path.exists() else "",
        re.MULTILINE,
    )
    return {file: tuple(map(int, counts)) for file, *counts in rows}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_treebank_is_copied_and_counted(path):
    sentences = list(read(path, encoding=encoding(path), strict=path.name != RAGGED))
    assert path.name == RAGGED or not any(sentence.problem for sentence in sentences)
    data = io.BytesIO()
    with io.TextIOWrapper(data, encoding(path), newline="\n") as stream:
        assert write(sentences, stream) == len(sentences)
        stream.flush()
        assert data.getvalue() == path.read_bytes()
    spans = [str(sentence) for sentence in sentences if sentence.format.has_ranges]
    ranges = re.findall(r"^\d+-\d+\t", "".join(spans), re.MULTILINE)
    counts = len(sentences), sum(map(len, sentences)), len(ranges)
    assert counts == read_counts().get(path.name, counts)


def test_the_table_of_the_readme_has_15_files():
    assert len(read_counts()) == 15


def test_the_row_with_a_column_too_many_is_reported():
    (path,) = (path for path in FILES if path.name == RAGGED)
    numbered_rows = enumerate(path.read_text().splitlines(), start=1)
    widths, expected = set(), 0  # the widths in this sentence, the first row that differs
    for number, row in numbered_rows:
        widths = widths | {row.count("\t")} if row else set()
        if len(widths) > 1:
            expected = number
            break
    with pytest.raises(FormatError) as caught:
        list(read(path))
    assert caught.value.line == expected > 0
    assert "every row has 14 columns and one more for each predicate" in str(caught.value)
    problems = [sentence.problem for sentence in read(path, strict=False) if sentence.problem]
    assert [problem.line for problem in problems] == [expected]


def test_basque_in_latin1_is_reported():
    (path,) = (path for path in FILES if path.name == "eus.test.conllx")
    with pytest.raises(FormatError, match=r"byte 0x.. in column 2.* latin-1, with `encoding`"):
        list(read(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_content_and_name_give_the_same_format(path):
    with open_lines(path, encoding(path)) as lines:
        assert sniff_format(list(takewhile(str.strip, lines))) == format_from_filename(path.name)


def get_cell(line, i):
    return line[i]


COMPARED = 4000  # sentences of each file; only EWT's training part has more
# Only the compared columns are parsed, because parsing all columns takes three times as long.
FIELDS = conllu.parser.DEFAULT_FIELDS[:8]
PARSERS = dict.fromkeys(FIELDS, get_cell) | {
    name: DEFAULT_FIELD_PARSERS[name] for name in ("id", "head")
}


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix == ".conllu"], ids=lambda path: path.name
)
def test_the_conllu_package_reads_the_same(path):
    with open(path, encoding="utf-8", newline="\n") as stream:
        theirs = islice(conllu.parse_incr(stream, FIELDS, PARSERS), COMPARED)
        for ours, tokens in zip_longest(islice(read(path), COMPARED), theirs):
            words = [token for token in tokens if isinstance(token["id"], int)]
            assert ours.form == [token["form"].strip() for token in words]
            assert ours.upos == [token["upos"] for token in words]
            assert ours.deprel == [token["deprel"] for token in words]
            heads = [-1 if token["head"] is None else token["head"] for token in words]
            assert ours.head == heads
            assert ours.sent_id == tokens.metadata.get("sent_id", "")


@pytest.mark.parametrize("name", ["ta_ttb-ud-dev.conllu", "cop_scriptorium-ud-dev.conllu"])
def test_token_lists_equal_those_of_the_conllu_package(name):
    (path,) = (path for path in FILES if path.name == name)
    with open(path, encoding="utf-8", newline="\n") as stream:
        for sentence, theirs in zip_longest(read(path), conllu.parse_incr(stream)):
            ours = to_token_list(sentence)
            assert list(ours) == list(theirs)
            assert ours.metadata.items() >= theirs.metadata.items()
            assert str(from_token_list(ours)) == str(sentence)
