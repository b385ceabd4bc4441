"""Names of treebanks, and what the vocabulary knows of characters."""

import numpy as np
import pytest

import depkit
from depkit.parsers.columns.edit_scripts import apply_script
from depkit.parsers.config import Inputs
from depkit.parsers.families import get_family, make_parser_config
from depkit.parsers.inputs.affixes import character_classes, lower_cases
from depkit.parsers.inputs.dataset import IGNORED, encode
from depkit.parsers.inputs.tables import SPECIAL, Table
from depkit.parsers.inputs.treebank import treebank_name
from depkit.parsers.inputs.vocabulary import Vocabulary, build_vocabulary, column_symbols
from tests.parsers.small_parsers import tree


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("en_ewt-ud-train.conllu", "en_ewt"), ("en_ewt-ud-dev.conllu.gz", "en_ewt"),
        ("data/wsj_test.conllx", "wsj"), ("web.conllu", "web"), ("a/train.conllu.xz", "a"),
        ("UD_2.5-it-dev.conllu", "UD_2.5-it"), ("ewt.train.conllu", "ewt"),
    ],
)  # fmt: skip
def test_the_parts_of_a_treebank_have_one_name(file, name, tiny, tmp_path):
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    # Sentences in another format are not written under the suffix .conllx.
    form = "conllx" if ".conllx" in file else "conllu"
    depkit.write(depkit.convert([tiny[0]], form), path)
    assert treebank_name(next(depkit.read(path))) == name


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("cs_pdt-ud-train-c.conllu", "cs_pdt"), ("de_hdt-ud-train-a-1.conllu", "de_hdt"),
        ("cs_pdtc-ud-train-ca.conllu", "cs_pdtc"), ("web-train-2.conllu", "web"),
        ("a/train-b.conllu", "a"), ("en_ewt-ud-dev.txt", "en_ewt"), ("wsj-test.mrg.xz", "wsj"),
        ("en_ewt-ud-dev.parquet", "en_ewt"), ("EN_EWT-ud-test.CoNLLU.GZ", "EN_EWT"),
        ("parseme-dev.cupt", "parseme"), ("dev_set.conllu", "dev_set"),
        ("wsj.dev.brackets", "wsj"), ("german.conll06.train", "german.conll06"),
        ("train.conllu", "train"), ("dev.conllu", "train"), ("it_2.5", "it_2.5"), ("", ""),
        ("wiki.de", "wiki.de"), ("wiki.en.conllu", "wiki.en"), ("EN-TRAIN.conllu", "EN"),
    ],
)  # fmt: skip
def test_the_name_of_a_treebank_does_not_depend_on_its_parts_and_formats(file, name, tiny):
    sentence = tiny[0].with_columns({})
    sentence.file = file
    assert treebank_name(sentence) == name


def test_a_model_that_knows_a_part_of_a_treebank_knows_the_treebank(tiny):
    sentences = [sentence.with_columns({}) for sentence in tiny[:4]]
    files = ["cs_pdt-ud-dev.conllu", "la-ud-dev.conllu", "cs_pdt-ud-train-l.conllu", "new.conllu"]
    for sentence, file in zip(sentences, files, strict=True):
        sentence.file = file
    vocabulary = build_vocabulary(tiny, Inputs(word=4, treebank=2), [], None)
    vocabulary.tables["treebanks"] = Table(["la", "cs_pdt-ud-train-c", "cs_pdt-ud-train-l"])
    dataset = encode(sentences, vocabulary, Inputs(word=4, treebank=2))
    starts = np.cumsum([1, *(len(sentence) + 1 for sentence in sentences[:-1])])
    assert dataset.words["treebank"][starts].tolist() == [1, 0, 2, 0]


def test_a_sentence_without_a_file_has_no_treebank(tiny):
    assert treebank_name(tree("a", [0], "X", "root")) == ""


def test_characters_have_a_class_and_a_lower_case():
    sentences = [tree("Aa Bß 9語 -", [0, 1, 1, 1], "X X X X", "root x x x")]
    vocabulary = build_vocabulary(sentences, Inputs(char=4), [], None)
    symbols = vocabulary.characters.symbols
    classes = dict(zip(symbols, character_classes(vocabulary.characters), strict=True))
    expected = {"A": 2, "a": 1, "B": 2, "ß": 1, "9": 4, "語": 3, "-": 0, "<pad>": 0, "<root>": 0}
    assert expected.items() <= classes.items()
    cases = [symbols[i] for i in lower_cases(vocabulary.characters)]
    lower = dict(zip(symbols, cases, strict=True))
    assert lower["A"] == lower["a"] == "a"
    assert lower["B"] == "B"  # there is no b in the vocabulary


def test_turkish_letters_and_words_have_their_lower_case():
    sentences = [tree("kış ışık İyi KI", [0, 1, 1, 1], "X X X X", "root x x x")]
    inputs = Inputs(word_min_count=1, char=4)
    vocabulary = build_vocabulary(sentences, inputs, [], None)
    assert vocabulary.dotless and "iyi" in vocabulary.words.indices
    characters = vocabulary.characters
    partners = lower_cases(characters, vocabulary.dotless)
    for capital, partner in ("Iı", "İi"):
        assert partners[characters.indices[capital]] == characters.indices.get(partner)
    forms = [tree("KIŞ IŞIK İYİ", [0, 1, 1], "X X X", "root x x")]
    data = encode(forms, vocabulary, inputs)
    words = [vocabulary.words.indices[word] for word in ("kış", "ışık", "iyi")]
    assert data.words["word"][:].tolist()[2:] == words


def test_the_digest_depends_on_the_symbols_but_not_on_the_order_of_tables():
    sentences = [tree("a b", [0, 1], "X Y", "root x")]
    inputs = Inputs(word_min_count=1, treebank=2)
    vocabulary = build_vocabulary(sentences, inputs, ["deprel"], column_symbols)
    vocabulary = vocabulary.with_table("vectors", Table([*SPECIAL, "a"]))
    reordered = Vocabulary(dict(reversed(vocabulary.tables.items())), vocabulary.columns)
    assert vocabulary.digest() == reordered.digest()
    other = vocabulary.with_table("vectors", Table([*SPECIAL, "b"]))
    assert vocabulary.digest() != other.digest()


def test_missing_lemmas_and_xpos_are_not_learned():
    """Treebanks that are trained on together can differ in the columns that they annotate."""
    full = tree("a _", [0, 1], "X Y", "root x").with_columns(
        {"lemma": ["A", "_"], "xpos": ["x", "_"]}
    )
    empty = tree("b c", [0, 1], "X Y", "root x").with_columns({"lemma": ["_", "C"]})
    config = make_parser_config({"scorer": {"predict": ["lemma", "xpos"]}})
    family = get_family(config)
    vocabulary = family.vocabulary([full, empty], config)
    assert "_" in vocabulary.columns["xpos"].indices  # the value of the second word
    targets = family.targets(empty, vocabulary)
    assert targets["xpos"] == [IGNORED, IGNORED]
    assert [target == IGNORED for target in targets["lemma"]] == [True, False]
    targets = family.targets(full, vocabulary)
    assert IGNORED not in targets["xpos"] + targets["lemma"]
    script = vocabulary.columns["lemma"].symbols[targets["lemma"][0]]
    assert apply_script("a", script) == "A"
