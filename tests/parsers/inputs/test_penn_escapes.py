"""Words in the escapes of the Penn Treebank are read as the plain words that a model knows."""

import pytest

import depkit
from depkit.corpus.sentence import new_sentence
from depkit.parsers.inputs.penn_escapes import PennEscapes
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.vocabulary import Vocabulary

PLAIN = ["(", ")", '"', "/", "a"]
PENN = ["-LRB-", "-RRB-", "``", "''", "1\\/2", "a"]


def make_vocabulary(words):
    characters = Table([*SPECIAL, *sorted(set("".join(words)))])
    return Vocabulary({"words": Table([*SPECIAL, *words]), "characters": characters}, {})


@pytest.mark.parametrize(
    ("escape", "plain"),
    [
        ("-LRB-", "("), ("-RRB-", ")"), ("-LSB-", "["), ("-RCB-", "}"), ("-lrb-", "("),
        ("``", '"'), ("''", '"'), ("1\\/2", "1/2"), ("\\*", "*"), ("a-LRB-s-RRB-", "a(s)"),
        ("a", "a"), ("'", "'"), ("C:\\d", "C:\\d"), ("-RB-", "-RB-"), ("LRB", "LRB"),
    ],
)  # fmt: skip
def test_an_escape_is_undone_only_for_a_model_that_does_not_know_it(escape, plain):
    sentence = new_sentence(["a", escape])
    read = PennEscapes(make_vocabulary(PLAIN))(sentence)
    assert read.form == ["a", plain]
    assert read is sentence or escape != plain
    assert PennEscapes(make_vocabulary(PENN))(sentence) is sentence
    assert PennEscapes(make_vocabulary(["a"]))(sentence) is sentence


@pytest.fixture(scope="module")
def parser():
    return depkit.load(device="cpu", threads=1)


SENTENCES = [
    ("The agency ( DEA ) said so .", "The agency -LRB- DEA -RRB- said so ."),
    ('He said " yes " and left .', "He said `` yes '' and left ."),
    ("They want 1/2 of it [ now ] .", "They want 1\\/2 of it -LSB- now -RSB- ."),
]


@pytest.mark.parametrize(("plain", "escaped"), SENTENCES)
def test_the_tree_is_that_of_the_plain_words_and_the_forms_stay(plain, escaped, parser):
    known = {word for word in escaped.split() if word in parser.vocabulary.words.indices}
    if known & {"``", "''"}:
        pytest.skip("the model knows the quotation marks of the Penn Treebank")
    first, second = parser([plain.split(), escaped.split()])
    assert second.form == escaped.split()
    for name in ("upos", "xpos", "feats", "head", "deprel"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.parametrize("input", ["tokens", "ptb", "conllu"])
def test_brackets_are_punctuation_in_every_kind_of_input(input, parser, tmp_path):
    path = tmp_path / "in"
    words = "The agency -LRB- DEA -RRB- said so .".split()
    path.write_text({
        "tokens": " ".join(words) + "\n",
        "ptb": "(S " + " ".join(f"(X {word})" for word in words) + ")\n",
        "conllu": str(new_sentence(words)),
    }[input])  # fmt: skip
    (sentence,) = parser.parse(parser.read(path, input), "predict")
    assert (sentence.form[2], sentence.upos[2], sentence.deprel[2]) == ("-LRB-", "PUNCT", "punct")
    assert (sentence.form[4], sentence.upos[4], sentence.deprel[4]) == ("-RRB-", "PUNCT", "punct")


def test_the_bundled_model_does_not_know_the_escapes_of_brackets(parser):
    assert PennEscapes(parser.vocabulary).brackets
