"""Trees and tags of one file merged into the rows of another."""

from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.convert.formats import convert
from depkit.convert.merge import merge, retag
from depkit.corpus.formats import CONLLU, CONLLX
from depkit.corpus.io import read
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from tests.corpus.rows import PREDICATES, RICH, lines, row
from tests.corpus.shared_files import FILES


def read_text(text, strict=True, file="-"):
    return list(read_lines(lines(text), None, file, strict))


def to_conllx(text):
    """Convert CoNLL-U sentences to CoNLL-X and read them again."""
    return read_text("".join(str(convert(sentence, CONLLX)) for sentence in read_text(text)))


def merge_to_text(originals, others, **options):
    return "".join(map(str, merge(originals, others, **options)))


def test_an_equal_tree_changes_nothing():
    assert merge_to_text(read_text(RICH), to_conllx(RICH)) == RICH
    assert merge_to_text(read_text(RICH), to_conllx(RICH), tags=True, predicted=True) == RICH


def test_another_tree_changes_only_the_rows_of_words():
    first, second = to_conllx(RICH)
    parsed = first.with_tree([2, 0, 2, 2, 2, -1], ["a", "b", "c", "d", "e", "_"])
    out = merge_to_text(read_text(RICH), [parsed, second])
    old, new = RICH.split("\n"), out.split("\n")
    trees = "2\ta\t_", "0\tb\t_", "2\tc\t_", "2\td\t_", "2\te\t_", "_\t_\t_"
    changed = dict(zip((6, 7, 9, 10, 11, 12), trees, strict=True))
    for index, (before, after) in enumerate(zip_longest(old, new)):
        if index in changed:
            cells = before.split("\t")
            after, cells[6:9] = after.split("\t"), changed[index].split("\t")
            assert after == cells
        else:
            assert after == before


def test_tags_are_copied_unless_they_are_empty():
    first, second = to_conllx(RICH)
    tagged = first.with_columns(
        {"upos": ["A", *"_____"], "lemma": ["_", "b", *"____"], "feats": [*"_____", "x=y"]}
    )
    assert merge_to_text(read_text(RICH), [tagged, second]) == RICH
    assert merge_to_text(read_text(RICH), [tagged, second], tags=True) == (
        RICH.replace("ir\tVERB", "ir\tA", 1)
        .replace("nosotros", "b")
        .replace(".\t.\tPUNCT\t_\t_", ".\t.\tPUNCT\t_\tx=y")
    )


def test_predicted_trees_are_written_to_the_automatic_columns():
    (original,) = read_text(PREDICATES)
    parsed = convert(original, CONLLU).with_columns({"xpos": ["X", "_", "Y", "_"]})
    (result,) = merge([original], [parsed], predicted=True)
    assert result.column("phead") == ["2", "0", "2", "3"]
    assert result.column("pdeprel") == original.deprel
    assert result.column("pxpos") == ["_"] * 4 and result.xpos == original.xpos
    (result,) = merge([original], [parsed], tags=True, predicted=True)
    assert result.column("pxpos") == ["X", "_", "Y", "_"] and result.xpos == original.xpos
    (result,) = merge([original], [parsed], tags=True)
    assert result.xpos == ["X", "_", "Y", "_"]
    assert str(result).count("\tsee.01\t") == 1


GOOD = row(1, "a", 0) + row(2, "b", 1) + "\n"


@pytest.mark.parametrize(
    ("originals", "others", "message"),
    [
        (GOOD * 2, GOOD * 3, "in:7: sentence 3 is one too many: '[a] b'; the gold ends at gold:5"),
        (GOOD, "", "others: there are no sentences"),
        ("", GOOD, "originals: there are no sentences"),
    ],
)
def test_different_words_are_rejected(originals, others, message):
    """All kinds of differences are tested in tests/corpus/test_pairing.py."""
    with pytest.raises(FormatError) as caught:
        list(merge(read_text(originals, file="gold"), read_text(others, file="in")))
    assert str(caught.value).startswith(message)


def test_broken_sentences_are_yielded_unchanged():
    broken = "1\ta\n\n"
    sources = read_text(GOOD + broken + GOOD, False), read_text(broken + GOOD * 2, False)
    result = list(merge(*sources))
    assert [bool(sentence.problem) for sentence in result] == [True, True, False]
    assert (result[0], result[1]) == (sources[1][0], sources[0][1])


def test_retag_replaces_tags_with_those_of_another_file():
    """CPOSTAG changes with POSTAG if they were equal; UPOS never changes."""
    same = row(1, "a", 0).replace("_\tX\t_", "_\tNN\tNN")
    different_tags = row(2, "b", 1).replace("_\tX\t_", "_\tNN\tY")
    tagged = new_sentence(["a"], {"xpos": ["T"]}), new_sentence(["a", "b"], {"xpos": ["T", "U"]})
    text = same + "\n" + same + different_tags + "\n"
    assert "".join(map(str, retag(read_text(text), tagged))) == (
        same.replace("NN", "T")
        + "\n"
        + same.replace("NN\t_", "T\t_")
        + different_tags.replace("Y", "U")
        + "\n"
    )
    (result,) = retag(read_text(PREDICATES), [new_sentence(["Cats", "see", "dogs", "bark"])])
    assert str(result) == PREDICATES
    with pytest.raises(FormatError, match="sentence 1, word 2 differs"):
        list(retag(read_text(text)[1:], tagged[:1]))
    (result,) = retag([convert(read_text(text)[0], CONLLU)], tagged[:1])
    assert (result.upos, result.xpos) == (["NN"], ["T"])


@st.composite
def trees(draw):
    """Draw a CoNLL-U sentence with ranges, and heads and relations for it."""
    size = draw(st.integers(1, 6))
    lines = ["# c\n"]
    empty = "\t".join("_" * 9) + "\n"
    for number in range(1, size + 1):
        if number < size and draw(st.integers(0, 3)) == 0:
            lines.append(f"{number}-{number}\t{empty}")
        lines.append(row(number, draw(st.sampled_from(["a", "b c"])), draw(st.integers(0, size))))
    heads = draw(st.lists(st.integers(-1, size), min_size=size, max_size=size))
    return "".join(lines) + "\n", heads, draw(st.lists(st.sampled_from("xy_"), min_size=size))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(trees())
def test_merging_changes_only_heads_and_relations(case):
    text, heads, deprels = case
    (original,) = read_text(text)
    deprels = deprels[: len(heads)]
    parsed = convert(original, CONLLX).with_tree(heads, deprels)
    (result,) = merge([original], read_text(str(parsed)))
    assert (result.head, result.deprel) == (heads, deprels)
    assert merge_to_text([result], [convert(original, CONLLX)]) == text


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.suffix == ".conllu" and "data" in path.parts],
    ids=lambda path: path.name,
)
def test_a_treebank_merged_into_itself_is_unchanged(path):
    """The treebank is converted to CoNLL-X, read again and merged into itself."""

    def parsed():
        lines = (line for sentence in read(path) for line in convert(sentence, CONLLX).lines)
        return read_lines(lines, CONLLX)

    with open(path, encoding="utf-8", newline="\n") as stream:
        for result in merge(read(path), parsed()):
            assert str(result) == "".join(stream.readline() for _ in result.lines)
        assert stream.read() == ""


def test_the_shared_folder_has_treebanks(shared):
    """Without treebanks the test above would be skipped silently."""
    assert any(path.suffix == ".conllu" for path in FILES)
