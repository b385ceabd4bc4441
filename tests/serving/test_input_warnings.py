"""Warnings about text that a model was not trained for."""

import pytest

import depkit
from depkit.cli.main import run
from depkit.corpus.io import read
from depkit.serving.input_warnings import NUM_NOTES, find_input_warnings
from tests.cli.commands import ON_CPU
from tests.conftest import TINY

ENGLISH = (
    "I have not seen him since last week, but he said that he would be here.",
    "Is there a place where we can eat? The one on the corner is good.",
    "lol thx u r the best!!! gonna b there 2nite",
    "Xanthippe Quarles and Bartholomew Fitzwilliam met Zbigniew Kowalczyk, Giuseppe Bianchi and"
    " Jean-Pierre Dubois in Ouagadougou.",
    "The mitochondrial ribonucleoprotein complexes undergo autocatalytic polyadenylation during"
    " sporulation of Schizosaccharomyces.",
)
FOREIGN = {
    "German": "Gestern haben wir den ganzen Tag im Garten gearbeitet, und am Abend waren alle"
    " müde.",
    "French": "Nous avons passé toute la journée dans le jardin, et le soir tout le monde était"
    " fatigué.",
    "Finnish": "Eilen olimme koko päivän puutarhassa töissä, ja illalla kaikki olivat väsyneitä ja"
    " nälkäisiä.",
    "Spanish": "Ayer trabajamos todo el día en el jardín y por la noche todos estábamos cansados.",
    "Dutch": "Gisteren hebben wij de hele dag in de tuin gewerkt, en 's avonds was iedereen moe.",
}  # sentences of our own
# Lists of names, results of matches, and slang, by the models of their languages
NO_SENTENCES = {
    "de": [
        "Seidel Brandt Lorenz Vogel Krämer Pohl Böhm Winkler Schubert Günther Kühn Ziegler Arnold",
        "Köln – Augsburg 2:1\nLeipzig – Bochum 0:0\nWolfsburg – Bremen 3:3\nMainz – Kiel 1:0\n"
        "Nürnberg – Fürth 2:2\nRostock – Paderborn 0:4",
        "na alles klar bei dir hab heut kp was ich machen soll vllt bissl zocken lol bin voll müde"
        " ey hdl bb",
    ],
    "es": ["Jiménez Ruiz Hernández Díaz Moreno Muñoz Álvarez Romero Gutiérrez Alonso Ortega Gil"],
    "sv": ["Lindberg Lindström Lindqvist Berglund Fredriksson Sandberg Henriksson Forsberg"
           " Sjöberg Wallin Engström Danielsson Håkansson"],
    "tr": ["Trabzon Eskişehir Denizli Malatya Erzurum Sakarya Kütahya Çanakkale Muğla Aydın"
           " Tekirdağ Zonguldak Elazığ"],
    "ru": ["Тула Рязань Пенза Липецк Киров Чебоксары Калининград Курск Тверь Иваново Брянск Сургут"
           " Владимир"],
    "he": ["ביטון אברהם גבאי אוחנה שפירא רוזנברג חזן סגל ברק אלון שחר גולן נחום"],
    "pt": ["mano vcs viram akilo? axo q n vai dar mto certo, fmz vlw pq ngm me avisou po to mal hj"
           " bjs tmj flw"],
}  # fmt: skip
WELSH = (
    "Bore heddiw aeth y plant i'r hen ysgol, yna daethant adref a bwyta pryd blasus gyda'u mam-gu,"
    " a oedd wedi bod yn aros amdanynt ers awr."
)
COMMAND = ["parse", *ON_CPU, "--engine", "onnx", "--threads", "1", "--model"]


@pytest.fixture(scope="module")
def parser():
    return depkit.load(device="cpu", threads=1)


def warnings(parser, text):
    return list(find_input_warnings(parser, list(parser.tokenize(text))))


@pytest.mark.parametrize("text", [*ENGLISH, " ".join(ENGLISH), "Guten Tag!", "1 2 3", "?"])
def test_text_of_the_language_of_the_model_gets_no_note(text, parser):
    assert warnings(parser, text) == []


def test_words_of_equivalent_characters_get_no_note(parser):
    full_width = {ord(x): chr(ord(x) + 0xFEE0) for text in ENGLISH for x in text if x.isalpha()}
    assert warnings(parser, ENGLISH[0].translate(full_width)) == []


@pytest.mark.parametrize("language", FOREIGN)
def test_text_of_another_language_gets_a_note(language, parser):
    (note,) = warnings(parser, FOREIGN[language])
    assert "another language than that of the model" in note and "expect poor" in note


def test_another_script_gets_one_note(parser):
    (note,) = warnings(parser, "Вчера мы весь день работали в саду, и вечером все очень устали.")
    assert "another script" in note


@pytest.mark.parametrize("model", NO_SENTENCES)
def test_names_and_slang_of_the_language_of_the_model_get_no_note(model):
    parser = depkit.load(model, device="cpu", threads=1, engine="onnx")
    for text in NO_SENTENCES[model]:
        assert list(find_input_warnings(parser, list(parser.tokenize(text)), model)) == []


@pytest.mark.parametrize("model", ["de", "es"])
def test_a_text_in_an_unknown_language_gets_a_note_without_a_name(model):
    parser = depkit.load(model, device="cpu", threads=1, engine="onnx")
    (note,) = find_input_warnings(parser, list(parser.tokenize(WELSH)), model)
    assert note.startswith("the text seems to be in another language than that of the model")
    assert list(find_input_warnings(parser, list(parser.tokenize("a" * 99)), model)) == []


@pytest.fixture
def texts(tmp_path):
    """The paths of a text in each of three languages."""
    contents = {name: f"{FOREIGN[name]}\n" for name in ("German", "French", "Finnish")}
    paths = [tmp_path / f"{name}.txt" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_text(content, "utf-8")
    return list(map(str, paths))


def language_notes(capfd):
    lines = capfd.readouterr().err.splitlines()
    return [line.removeprefix("depkit: note: ") for line in lines if "seem" in line]


@pytest.mark.parametrize("workers", [[], ["--workers", "2"]])
def test_each_file_is_judged_by_itself(workers, texts, tmp_path, capfd):
    german, french, finnish = texts
    options = ["--output-dir", str(tmp_path / "out"), *workers]
    assert run([*COMMAND, "de", *texts, *options]) == 0
    first, second = language_notes(capfd)
    assert first.startswith(f"{french}: the text seems to be French, and the model de parses")
    assert second.startswith(f"{finnish}: the text seems to be Finnish")
    assert run([*COMMAND, "fr", german, *options]) == 0
    (note,) = language_notes(capfd)
    assert note.startswith("the text seems to be German, and the model fr parses French")


def test_files_of_one_stream_are_judged_by_themselves(texts, tmp_path, capfd):
    german, french, _ = texts
    assert run([*COMMAND, "de", german, french, german]) == 0
    (note,) = language_notes(capfd)
    assert note.startswith(f"{french}: the text seems to be French")
    many = [tmp_path / f"{number}.txt" for number in range(NUM_NOTES + 2)]
    for path in many:
        path.write_text(f"{FOREIGN['French']}\n", "utf-8")
    assert run([*COMMAND, "de", *map(str, many)]) == 0
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == NUM_NOTES + 1
    assert lines[-1].endswith("2 more notes on other files are left out")


def test_short_files_are_judged_together(tmp_path, capfd):
    words = FOREIGN["French"].split()
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, path in enumerate(paths):
        path.write_text(" ".join(words[6 * number : 6 * number + 6]) + "\n", "utf-8")
    assert run([*COMMAND, "de", *map(str, paths)]) == 0
    (note,) = language_notes(capfd)
    assert note.startswith(f"{paths[0]} and 2 more short files: the text seems to be French, and")


@pytest.mark.parametrize("model", ["de", "auto"])
def test_documents_in_several_languages_get_a_note(model, texts, tmp_path, capfd):
    table = tmp_path / "in.conllu"
    blocks = []
    for name in ("German", "French", "German", "German"):
        rows = (f"{i}\t{form}" + "\t_" * 8 for i, form in enumerate(FOREIGN[name].split(), 1))
        blocks.append("\n".join(["# newdoc", *rows]) + "\n\n")
    table.write_text("".join(blocks), "utf-8")
    assert run([*COMMAND, model, str(table)]) == 0
    (note,) = language_notes(capfd)
    assert note.startswith("not all documents seem to be in one language: some are in French, and")
    table.write_text("".join(blocks[2:]), "utf-8")
    assert run([*COMMAND, model, str(table)]) == 0
    assert language_notes(capfd) == []


def test_there_is_no_note_for_real_text(parser, shared):
    for folder in ("ud-english-ewt/en_ewt-ud-dev.conllu",):
        sentences = list(read(shared / "data" / folder))
        for start in range(0, len(sentences), 200):
            part = sentences[start : start + 200]
            notes = list(find_input_warnings(parser, part))
            assert not any("language" in note for note in notes)
    assert list(find_input_warnings(parser, list(read(TINY)))) == []
