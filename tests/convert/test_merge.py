"""Trees merged into the rows of another file."""

from itertools import zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from depkit.convert.formats import convert
from depkit.convert.merge import merge, retag
from depkit.corpus.errors import FormatError
from depkit.corpus.files import read
from depkit.corpus.formats import CONLLU, CONLLX
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import new_sentence
from tests.corpus.rows import PREDICATES, RICH, lines, row
from tests.corpus.test_shared_treebanks import FILES


def sentences(text, strict=True, file="-"):
    return list(read_lines(lines(text), None, file, strict))


def there(text):
    """CoNLL-U sentences in CoNLL-X, read again."""
    return sentences("".join(str(convert(each, CONLLX)) for each in sentences(text)))


def merged(originals, others, **how):
    return "".join(map(str, merge(originals, others, **how)))


def test_a_tree_that_is_the_same_changes_nothing():
    assert merged(sentences(RICH), there(RICH)) == RICH
    assert merged(sentences(RICH), there(RICH), tags=True, predicted=True) == RICH


def test_another_tree_goes_into_the_words_rows():
    first, second = there(RICH)
    parsed = first.with_tree([2, 0, 2, 2, 2, -1], ["a", "b", "c", "d", "e", "_"])
    out = merged(sentences(RICH), [parsed, second])
    old, new = RICH.split("\n"), out.split("\n")
    trees = "2\ta\t_", "0\tb\t_", "2\tc\t_", "2\td\t_", "2\te\t_", "_\t_\t_"
    changed = dict(zip((6, 7, 9, 10, 11, 12), trees, strict=True))
    for number, (before, after) in enumerate(zip_longest(old, new)):
        if number in changed:
            cells = before.split("\t")
            after, cells[6:9] = after.split("\t"), changed[number].split("\t")
            assert after == cells
        else:
            assert after == before


def test_tags_are_taken_where_there_are_any():
    first, second = there(RICH)
    tagged = first.with_columns(
        {"upos": ["A", *"_____"], "lemma": ["_", "b", *"____"], "feats": [*"_____", "x=y"]}
    )
    assert merged(sentences(RICH), [tagged, second]) == RICH
    assert merged(sentences(RICH), [tagged, second], tags=True) == (
        RICH.replace("ir\tVERB", "ir\tA", 1)
        .replace("nosotros", "b")
        .replace(".\t.\tPUNCT\t_\t_", ".\t.\tPUNCT\t_\tx=y")
    )


def test_predicted_trees_go_into_the_columns_beside():
    (original,) = sentences(PREDICATES)
    parsed = convert(original, CONLLU).with_columns({"xpos": ["X", "_", "Y", "_"]})
    (done,) = merge([original], [parsed], predicted=True)
    assert done.column("phead") == ["2", "0", "2", "3"]
    assert done.column("pdeprel") == original.deprel
    assert done.column("pxpos") == ["_"] * 4 and done.xpos == original.xpos
    (done,) = merge([original], [parsed], tags=True, predicted=True)
    assert done.column("pxpos") == ["X", "_", "Y", "_"] and done.xpos == original.xpos
    (done,) = merge([original], [parsed], tags=True)
    assert done.xpos == ["X", "_", "Y", "_"]
    assert str(done).count("\tsee.01\t") == 1


GOOD = row(1, "a", 0) + row(2, "b", 1) + "\n"


@pytest.mark.parametrize(
    ("originals", "others", "message"),
    [
        (GOOD * 2, GOOD * 3, "in:7: sentence 3 is one too many: '[a] b'; gold:5 ends before it"),
        (GOOD, "", "IN: no sentences in it"),
        ("", GOOD, "ORIGINAL: no sentences in it"),
    ],
)
def test_other_words_are_refused(originals, others, message):
    """As in all pairs of files, see tests/corpus/test_pairing.py."""
    with pytest.raises(FormatError) as caught:
        list(merge(sentences(originals, file="gold"), sentences(others, file="in")))
    assert str(caught.value).startswith(message)


def test_broken_sentences_come_out_for_the_caller_to_see():
    broken = "1\ta\n\n"
    both = sentences(GOOD + broken + GOOD, False), sentences(broken + GOOD * 2, False)
    done = list(merge(*both))
    assert [bool(each.problem) for each in done] == [True, True, False]
    assert (done[0], done[1]) == (both[1][0], both[0][1])


def test_tags_of_another_file():
    """CPOSTAG too, if it was POSTAG; never UPOS."""
    same = row(1, "a", 0).replace("_\tX\t_", "_\tNN\tNN")
    other = row(2, "b", 1).replace("_\tX\t_", "_\tNN\tY")
    tagged = new_sentence(["a"], {"xpos": ["T"]}), new_sentence(["a", "b"], {"xpos": ["T", "U"]})
    text = same + "\n" + same + other + "\n"
    assert "".join(map(str, retag(sentences(text), tagged))) == (
        same.replace("NN", "T")
        + "\n"
        + same.replace("NN\t_", "T\t_")
        + other.replace("Y", "U")
        + "\n"
    )
    (done,) = retag(sentences(PREDICATES), [new_sentence(["Cats", "see", "dogs", "bark"])])
    assert str(done) == PREDICATES
    with pytest.raises(FormatError, match="sentence 1, word 2 is another"):
        list(retag(sentences(text)[1:], tagged[:1]))
    (done,) = retag([convert(sentences(text)[0], CONLLU)], tagged[:1])
    assert (done.upos, done.xpos) == (["NN"], ["T"])


@st.composite
def trees(draw):
    """Some sentence of CoNLL-U with ranges and empty nodes; heads and relations for it."""
    size = draw(st.integers(1, 6))
    lines = ["# c\n"]
    empty = "\t".join("_" * 9) + "\n"
    for number in range(1, size + 1):
        if number < size and draw(st.integers(0, 3)) == 0:
            lines.append(f"{number}-{number}\t{empty}")
        lines.append(row(number, draw(st.sampled_from(["a", "b c"])), draw(st.integers(0, size))))
        if draw(st.integers(0, 3)) == 0:
            lines.append(f"{number}.1\t{empty}")
    heads = draw(st.lists(st.integers(-1, size), min_size=size, max_size=size))
    return "".join(lines) + "\n", heads, draw(st.lists(st.sampled_from("xy_"), min_size=size))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(trees())
def test_what_is_merged_is_there_and_all_else_is_as_it_was(case):
    text, heads, deprels = case
    (original,) = sentences(text)
    deprels = deprels[: len(heads)]
    parsed = convert(original, CONLLX).with_tree(heads, deprels)
    (done,) = merge([original], sentences(str(parsed)))
    assert (done.head, done.deprel) == (heads, deprels)
    assert merged([done], [convert(original, CONLLX)]) == text


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.suffix == ".conllu" and "data" in path.parts],
    ids=lambda path: path.name,
)
def test_a_treebank_comes_back_byte_for_byte(path):
    """By way of CoNLL-X, as text."""

    def parsed():
        lines = (line for each in read(path) for line in convert(each, CONLLX).lines)
        return read_lines(lines, CONLLX)

    with open(path, encoding="utf-8", newline="\n") as stream:
        for done in merge(read(path), parsed()):
            assert str(done) == "".join(stream.readline() for _ in done.lines)
        assert stream.read() == ""


def test_there_are_treebanks(shared):
    """Else the one above would be skipped without a word."""
    assert any(path.suffix == ".conllu" for path in FILES)
