"""Words as views of a sentence's columns, and conversion of sentences to CoNLL-U."""

import io
from itertools import product

import pytest

import depkit
from depkit.convert.formats import convert
from depkit.corpus.formats import CONLL09, CONLLX
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.encodings import BOM
from depkit.files.errors import FormatError
from tests.corpus.rows import RICH, parse

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel")


def test_words_are_the_rows_of_the_columns():
    for sentence in parse(RICH):
        words = list(sentence)
        for name in COLUMNS:
            assert [getattr(word, name) for word in words] == getattr(sentence, name)
        assert [word.head_id for word in words] == sentence.head
        assert [word.id for word in words] == list(range(1, len(sentence) + 1))
        assert words == [sentence[i] for i in range(len(sentence))] == sentence[:]
        assert words[-1] == sentence[-1] and words[1:] == sentence[1:]
        with pytest.raises(IndexError):
            sentence[len(sentence)]


def test_words_have_heads_and_children():
    sentence = new_sentence(list("abcd")).with_tree([2, 0, -1, 2], ["x", "root", "_", "y"])
    assert repr(sentence) == "<Sentence new: a b c d>"
    a, b, c, d = sentence
    assert (a.head, b.head, c.head, d.head) == (b, None, None, b)
    assert (a.children, b.children) == ([], [a, d])
    assert a in sentence and len({a, sentence[0]}) == 1
    assert a != new_sentence(list("abcd"))[0]
    assert (
        str(a) == "a" and repr(a) == "<Word 1 a: _, x of 2 b>" and repr(b) == "<Word 2 b: _, root>"
    )


def test_sentences_of_any_format_are_converted_to_conllu():
    first, second = parse(RICH)
    assert first.to_conllu() + second.to_conllu() == RICH
    (unfinished,) = parse(BOM + RICH.partition("\n\n")[0])  # no blank line at the end
    assert unfinished.to_conllu() == str(first)
    for format in (CONLLX, CONLL09):
        (again,) = parse(convert(first, format).to_conllu(), "conllu")
        assert again.head == first.head and again.lemma == first.lemma
    (broken,) = parse("1\ta\n\n", strict=False)
    with pytest.raises(ValueError, match="column"):
        broken.to_conllu()


def test_a_word_of_an_intact_row_is_changed_beside_a_broken_one():
    complete = "2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n"
    (sentence,) = parse(f"1\ta\n{complete}\n", strict=False)
    sentence[1].deprel = "new"
    assert str(sentence) == f"1\ta\n{complete.replace('root', 'new')}\n"
    with pytest.raises(FormatError):
        sentence[0].deprel = "new"


ALL_COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")


def written(sentences, suffix, path):
    """Return what is read back from a file that `depkit.write` has written."""
    depkit.write(sentences, path / f"out{suffix}")
    return list(depkit.read(path / f"out{suffix}"))


@pytest.mark.parametrize("suffix", [".conllu", ".conllu.gz", ".conllu.xz", ".parquet"])
@pytest.mark.parametrize("name", ALL_COLUMNS)
def test_what_is_assigned_to_a_word_is_written(name, suffix, tmp_path):
    for index in (0, -1):
        sentences = parse(RICH)
        for sentence in sentences:
            word = sentence[index]
            old = [getattr(other, name) for other in sentence]
            setattr(word, name, "new")
            assert getattr(word, name) == getattr(sentence[index], name) == "new"
            old[index] = "new"
            assert [getattr(other, name) for other in sentence] == old
            assert sentence.column(name) == old
        for sentence, again in zip(sentences, written(sentences, suffix, tmp_path), strict=True):
            assert str(again) == str(sentence) == sentence.to_conllu()
            assert getattr(again[index], name) == "new"


@pytest.mark.parametrize("format", ["conllu", "conllx", "conll09"])
def test_whole_columns_and_heads_can_be_assigned_in_every_format(format):
    sentence = Sentence.from_words(["a", "b", "c"], format=format)
    sentence.deprel = ["x", "y", "z"]
    sentence.head = [2, 0, 2]
    sentence[0].head = sentence[2]
    sentence[2].head = None
    sentence[1].head_id = 3
    (again,) = parse(str(sentence), format)
    assert again.head == sentence.head == [3, 3, 0]
    assert again.deprel == sentence.deprel == ["x", "y", "z"]
    for name in ("upos", "deps", "misc"):
        if name not in sentence.format.columns:
            with pytest.raises(KeyError, match=f"no column '{name}'"):
                setattr(sentence[0], name, "new")
            assert getattr(sentence[0], name) == "_"


@pytest.mark.parametrize("name", ["form", "lemma", "upos", "xpos", "feats", "head", "deprel"])
def test_a_change_in_place_says_how_to_edit(name):
    (sentence, _) = parse(RICH)
    column = getattr(sentence, name)
    for edited in (column, sentence.lines, sentence.column("misc")):
        with pytest.raises(TypeError, match=r"sentence\[0\].deprel = .*with_columns"):
            edited[0] = edited[1]
        with pytest.raises(TypeError, match="with_columns"):
            del edited[0]
        with pytest.raises(AttributeError):
            edited.append(edited[0])
    assert column == list(column) and column == tuple(column) and list(column) == column
    assert column != [*column, "x"] and hash(column) == hash(tuple(column))


def test_an_edit_that_is_wrong_changes_nothing():
    text = str(parse(RICH)[0])
    (sentence, _) = parse(RICH)
    other = sentence.with_columns({})
    for name, value, error in [
        ("head_id", 7, ValueError), ("head_id", -2, ValueError), ("head_id", "x", ValueError),
        ("head", 2, TypeError), ("head", other[0], TypeError), ("upos", None, TypeError),
        ("upos", 3, TypeError), ("misc", "a\tb", ValueError), ("form", "", ValueError),
        ("lemma", "\ud800", ValueError), ("id", 3, AttributeError), ("gender", "x", AttributeError),
    ]:  # fmt: skip
        with pytest.raises(error):
            setattr(sentence[3], name, value)
        assert str(sentence) == text and sentence.head == other.head
    with pytest.raises(ValueError, match="character 2 of the LEMMA of word 4, is a lone surrogate"):
        sentence[3].lemma = "a\ud800"
    with pytest.raises(ValueError, match="one text of upos for 6 words"):
        sentence.upos = "ABCDEF"
    sentence[0].upos = "X"
    assert other[0].upos == "VERB", "a copy is independent"


def test_sentences_are_made_from_words_and_rows():
    sentence = Sentence.from_words(
        ["It", "rains"], {"sent_id": "w-1", "text": "It rains"}, head=[2, 0], upos=["PRON", "VERB"]
    )
    assert (sentence.sent_id, sentence.text) == ("w-1", "It rains")
    rows = [
        {"id": 1, "form": "It", "upos": "PRON", "head": 2},
        {"form": "rains", "head": "0", "upos": "VERB", "misc": None},
    ]
    again = Sentence.from_rows(rows, {"sent_id": "w-1", "text": "It rains"})
    assert str(again) == str(sentence) == str(parse(str(sentence))[0])
    changed = again.with_comment("sent_id", "w-2").with_comment("speaker", "Ann")
    assert [line.strip() for line in changed.lines[:3]] == [
        "# sent_id = w-2", "# text = It rains", "# speaker = Ann"
    ]  # fmt: skip
    assert str(changed.with_columns({"upos": ["X", "Y"]})).count("\tX\t") == 1
    for key, value in (("a\nb", "x"), ("a=b", "x"), ("a", "x\ny"), ("", "x"), ("a", "\ud800")):
        with pytest.raises(ValueError, match=r"line end|key of a comment|surrogate"):
            again.with_comment(key, value)
    with pytest.raises(ValueError, match="id of word 1 is 1-2"):
        Sentence.from_rows([{"id": "1-2", "form": "It"}])
    for wrong in ({}, {"lemma": ["x"]}, {"head": [3, 0]}):
        with pytest.raises(ValueError, match="word"):
            Sentence.from_words([] if not wrong else ["It", "rains"], **wrong)
    with pytest.raises(KeyError, match="no column 'gender'"):
        Sentence.from_words(["It"], gender=["x"])


def test_a_text_is_not_taken_for_the_name_of_a_file(tmp_path):
    text = str(parse(RICH)[0])
    for read in (depkit.read, lambda source: depkit.evaluate(source, source)):
        with pytest.raises(ValueError, match=r"not a text: .*io.StringIO"):
            list(read(text))
    assert [str(sentence) for sentence in depkit.read(io.StringIO(text))] == [text]
    strange = tmp_path / "a\nb.conllu"
    strange.write_text(text)
    assert [str(sentence) for sentence in depkit.read(strange)] == [text]


def test_features_are_a_dict_that_can_be_assigned():
    sentence = Sentence.from_words(["a", "b"], feats=["Number=Sing|Case=Nom,Acc", "_"])
    assert sentence[0].features == {"Number": "Sing", "Case": "Nom,Acc"}
    assert sentence[1].features == {}
    sentence[1].features = {"number": "x", "Abbr": "Yes", "Number": "Plur", "Case[a]": "1"}
    assert sentence[1].feats == "Abbr=Yes|Case[a]=1|Number=Plur|number=x"
    assert "\tAbbr=Yes|Case[a]=1|Number=Plur|number=x\t" in str(sentence)
    sentence[0].features = {}
    assert sentence.feats[0] == "_"
    for wrong in ({"": "a"}, {"a": ""}, {"a|b": "c"}, {"a": "b|c"}, {"a=b": "c"}, {"a": "b\tc"}):
        with pytest.raises(ValueError):
            sentence[0].features = wrong
    assert sentence.feats[0] == "_"


def test_subtrees_and_ancestors_are_those_of_all_paths():
    """Compared with the powers of the matrix of arcs, for all heads of up to four words."""
    for size in range(1, 5):
        for head in product(range(-1, size + 1), repeat=size):
            sentence = Sentence.from_words(["x"] * size, head=head)
            below = {(h, d) for d, h in enumerate(head, start=1) if h > 0}
            for _ in range(size):
                below |= {(a, d) for a, b in below for c, d in below if b == c}
            for word in sentence:
                assert [x.id for x in word.subtree] == sorted(
                    {d for a, d in below if a == word.id} | {word.id}
                )
                chain = [x.id for x in word.ancestors]
                assert set(chain) == {a for a, d in below if d == word.id}
                assert len(set(chain)) == len(chain)
                heads = [word.head_id, *(head[number - 1] for number in chain)]
                assert heads[: len(chain)] == chain


def test_a_dict_of_columns_makes_the_same_sentence():
    for sentence in parse(RICH):
        columns = sentence.to_dict()
        assert list(columns) == list(sentence.format.columns)
        assert columns.pop("id") == list(range(1, len(sentence) + 1))
        assert columns["head"] == sentence.head
        again = Sentence.from_words(**columns)
        assert again.to_dict() == sentence.to_dict()
