"""The bundled models: their cards, sizes and licences, and that each reads text of its language."""

import re
import shutil
from pathlib import Path

import pytest

import depkit
from depkit.parsers.model_card import read_card_facts
from depkit.parsers.model_directory import (
    ALIASES,
    BUNDLED,
    CARD,
    ModelError,
    bundled_models,
    find_model,
    model_files,
    read_config,
)
from tests.bench.languages import LANGUAGES, TREEBANKS

OPEN = {"CC BY 4.0", "CC BY-SA 3.0", "CC BY-SA 4.0", "LGPL-LR"}
LANGUAGE_DATA = Path(__file__).parents[3] / "shared" / "data" / "languages"
# A sentence of two clauses for each language, and the number of its words
TEXTS = {
    "af": ("Die hond slaap, want hy is moeg.", 9),
    "cs": ("Pes spí, protože je unavený.", 7),
    "de": ("Der Hund schläft, weil er müde ist.", 9),
    "en-ewt": ("The dog sleeps because it is tired.", 8),
    "es": ("Los niños duermen porque están cansados.", 7),
    "fa": ("سگ می‌خوابد زیرا خسته است.", 6),
    "fi": ("Koira nukkuu, koska se on väsynyt.", 8),
    "fr": ("Le chien dort parce qu'il est fatigué.", 9),
    "ga": ("Tá an madra ina chodladh.", 6),
    "he": ("הכלב ישן כי הוא עייף.", 7),
    "id": ("Anjing itu tidur karena lelah.", 6),
    "is": ("Hundurinn sefur af því að hann er þreyttur.", 9),
    "it": ("Maria legge un libro nel parco.", 8),
    "ja": ("犬は疲れているので寝ている。", 11),
    "ko": ("그 개가 아주 피곤해서 잠을 잔다.", 7),
    "nb": ("Hunden sover fordi den er trøtt.", 7),
    "nl": ("De hond slaapt omdat hij moe is.", 8),
    "nn": ("Hunden søv fordi han er trøytt.", 7),
    "pl": ("Pies śpi, bo jest zmęczony.", 7),
    "pt": ("O cão dorme porque está cansado.", 7),
    "ro": ("Maria citește o carte.", 5),
    "ru": ("Собака спит, потому что она устала.", 8),
    "sv": ("Hunden sover eftersom den är trött.", 7),
    "tr": ("Köpek uyuyor çünkü yorgun.", 5),
    "uk": ("Собака спить, бо він втомився.", 7),
}


def size(name):
    return sum(path.stat().st_size for path in model_files(find_model(name)))


@pytest.mark.parametrize("name", bundled_models())
def test_the_card_says_what_the_hub_and_the_list_of_models_need(name):
    facts = read_card_facts(BUNDLED / name)
    assert facts["language"] in name and facts["language_name"] and facts["license"]
    assert facts["datasets"] and facts["dev"] in facts["datasets"]
    assert (facts["library_name"], facts["metrics"]) == ("depkit", ["las"])
    assert facts["pipeline_tag"] == "token-classification"
    assert facts["tags"] == ["dependency-parsing"]
    # By chance, words can have better trees in sentences that the model has split itself.
    assert 50 < float(facts["las_raw"]) < float(facts["las_gold"]) + 0.5 < 100
    assert int(facts["words_per_second"]) > 1000
    card = (BUNDLED / name / CARD).read_text("utf-8")
    assert all(dataset in card for dataset in facts["datasets"])
    assert {path.parent for path in model_files(BUNDLED / name)} == {BUNDLED / name}


@pytest.mark.parametrize("name", sorted(set(bundled_models()) & set(LANGUAGES)))
def test_a_model_of_a_language_is_small_and_its_treebanks_are_open(name):
    assert size(name) <= 5_000_000
    treebanks = LANGUAGES[name]["treebanks"]
    facts = read_card_facts(BUNDLED / name)
    assert facts["datasets"] == [f"UD {TREEBANKS[treebank][0]}" for treebank in treebanks]
    assert {TREEBANKS[treebank][2] for treebank in treebanks} <= OPEN
    config, tables = read_config(BUNDLED / name)
    assert tables["training"]["epochs"] == LANGUAGES[name]["epochs"]
    assert config.inputs.treebank_name == ("" if len(treebanks) == 1 else treebanks[0])


@pytest.mark.skipif(not LANGUAGE_DATA.is_dir(), reason="needs the treebanks in ../shared")
def test_no_treebank_of_a_bundled_model_is_restricted():
    restricted = {path.name.split(".")[0] for path in LANGUAGE_DATA.glob("*/restricted/*.gz")}
    assert restricted
    for language in LANGUAGES.values():
        for treebank in language["treebanks"]:
            assert treebank not in restricted
            assert len(list(LANGUAGE_DATA.glob(f"*/{treebank}.train.conllu.gz"))) == 1


def test_all_models_together_fit():
    assert sum(map(size, bundled_models())) <= 120_000_000


def test_other_names_of_models():
    assert ALIASES
    for alias, name in ALIASES.items():
        assert find_model(alias) == find_model(name)


@pytest.mark.parametrize("name", bundled_models())
def test_each_model_reads_text(name):
    text, words = TEXTS[name]
    (sentence,) = depkit.load(name, engine="onnx").parse(f"{text}\n")
    assert len(sentence) == words and sentence.text == text
    assert list(sentence.head).count(0) == 1 and "PUNCT" in sentence.upos
    assert len(set(sentence.upos)) >= 4
    assert {"nsubj", "punct"} <= {deprel.split(":")[0] for deprel in sentence.deprel}


@pytest.mark.parametrize("name", bundled_models())
def test_technical_names_are_tokens(name):
    tokenizer = depkit.load(name, engine="onnx").tokenizer
    begin, _, rest = TEXTS[name][0].partition(" ")
    names = "a_b #covid19 @anna v1.2.3 C++ https://a.org/b :) -> 12/31/2020".split()
    if name != "ja":  # whose treebank divides them
        names += ["main.py", "report_2-1.pdf", "AT&T"]
    for technical in names:
        text = f"{begin} {technical} {rest}".strip()
        tokens = [text[x:y] for sentence in tokenizer.segment([text])[0] for x, y, _ in sentence]
        assert technical in tokens


@pytest.mark.parametrize(
    ("name", "text"),
    [("de", "Er ist da. Ja, komm."), ("is", "Komdu nú. Já."), ("pt", "Vem já. Sim.")],
)
def test_sentences_end_after_short_words(name, text):
    assert len(depkit.load(name, engine="onnx").tokenizer.segment([text])[0]) == 2


def test_french_pronouns_are_cut_off_verbs():
    (sentence,) = depkit.load("fr", engine="onnx").parse("Que peux-tu me dire au rendez-vous ?\n")
    assert list(sentence.form[1:4]) == ["peux", "-tu", "me"] and "rendez-vous" in sentence.form
    assert sentence.upos[2] == "PRON"


@pytest.mark.parametrize(
    ("code", "sentences"),
    [
        ("sv", ["John F. Kennedy kom.", "Vitamin E.", "Det är bra."]),
        ("pl", ["George W. Bush przyszedł."]),
        ("ru", ["Библиотека им. В. И. Ленина закрыта.", "Я дал им.", "Они ушли."]),
        ("pt", ["Uma cidade, p. ex. Lisboa.", "Ele vai ir."]),
    ],
)
def test_sentences_end_after_short_words_but_not_after_initials(code, sentences):
    text = " ".join(sentences)
    (found,) = depkit.load(code, engine="onnx").tokenizer.segment([text])
    assert [text[tokens[0][0] : tokens[-1][1]] for tokens in found] == sentences


def test_a_japanese_word_can_precede_and_follow_a_name_without_a_space():
    tokenizer = depkit.load("ja", engine="onnx").tokenizer
    for technical in ("v1.2.3", "C++", "#tag", "https://a.org/b", "a@b.jp"):
        text = f"昨日{technical}を見た。"
        (tokens,) = tokenizer.segment([text])[0]
        assert (2, 2 + len(technical)) in [token[:2] for token in tokens]


def test_front_matter(tmp_path):
    card = tmp_path / CARD
    assert read_card_facts(tmp_path) == {}
    for content in ("", "# Card\n", "---\nlanguage: en\n", "text\n---\nlanguage: en\n---\n"):
        card.write_text(content)
        assert read_card_facts(tmp_path) == {}
    card.write_text("---\nlanguage: en\ndatasets:\n- UD A\n- UD B: c\nx: y: z\n---\n# Card\nk: v\n")
    assert read_card_facts(tmp_path) == {
        "language": "en", "datasets": ["UD A", "UD B: c"], "x": "y: z",
    }  # fmt: skip
    card.write_bytes(b"---\n\xff\n---\n")
    assert read_card_facts(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("PT", "did you mean pt?"),
        ("pt_BR", "did you mean pt?"),
        ("portugese", "did you mean pt?"),
        ("English", "did you mean en-ewt?"),
        ("no", "did you mean nb or nn?"),
        ("Norwegian", "did you mean nb or nn?"),
        ("zz", "the bundled models are af, "),
        ("e", "the bundled models are af, "),
        ("id-models", "this name; the bundled models are af, "),
        ("Deutsch", "did you mean de? The bundled models are af, "),
        ("models/mine", "the bundled models are af, "),
    ],
)
def test_a_similar_model_is_suggested_for_an_unknown_name(name, advice):
    with pytest.raises(ModelError, match=re.escape(advice)):
        find_model(name)


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.onnx"])
def test_a_damaged_file_of_a_copy_is_named(name, tmp_path):
    for path in model_files(BUNDLED / "de"):
        shutil.copy(path, tmp_path)
    damaged = tmp_path / name
    damaged.write_bytes(bytes(damaged.stat().st_size))  # all zeros
    with pytest.raises(ModelError, match=rf"{name} (belongs to another model or )?is damaged"):
        depkit.load(tmp_path, engine="onnx")
