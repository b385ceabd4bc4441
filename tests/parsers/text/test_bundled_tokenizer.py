"""The tokenizer of the bundled model: names, contractions, addresses and abbreviations."""

from itertools import chain

import pytest
import torch

from depkit.parsers.text.tokenizer_file import load_tokenizer

NAMES = """
Anna Hanna Joanna Vienna Rihanna Ivanna Susanna Johanna Rosanna Brianna Deanna Leanna Adrianna
Gianna Marianna Luanna Shanna Jenna Sienna Ravenna Donna Madonna Belladonna Corinna Minna Ginna
Savanna Havanna Nirvanna Lanna Dhanna Khanna Kanna Channa Osanna Zanna Evanna Danna Tanna Vanna
Lena Nina Diana Elena Christina Martina Sabrina Tina Regina Alina Irina Carolina Valentina Paulina
Havana Barcelona Verona Arizona Montana Indiana Louisiana China Ghana Argentina Fatna Edna Krishna
Rosetta Loretta Marta Berta Greta Rita Malta Jakarta Atlanta Augusta Calcutta Vista Costa Dakota
Trent Brent Kent Grant Clint Vincent Laurent Clement Flint Hunt Bryant Sargent Constant Durant
Will Bill Jill Nell Russell Campbell Mitchell Powell Maxwell Cornwall Marshall Randall Kimball
Adam Graham William Miriam Birmingham Durham Vietnam Amsterdam Siam Islam Abraham Jim Kim Tim Tom
Fred Ted Ned David Conrad Bernard Richard Gerald Roland Ireland Poland Finland Madrid Baghdad Ahmad
Dave Steve Eve Genevieve Olive Clive Neve Maeve Pierre Claire Andre Ventre Lorre Moore Singapore
Bruno Nino Marino Reno Milano Juno Pino Dino Arno Brno Cannot Perrinot Knott Scott Elliott Abbott
Peter Oscar Igor Tudor Ivor Victor Hector Arthur Timur Spencer Baker Fischer Weber Keller Heller
Max Alex Felix Sasha Natasha Yusuf Omar Noor Wei Ming Chen Hiroshi Kenji Yuki Kofi Amara Zola Tariq
""".split()
NAMES.remove("Cannot")
CONTRACTIONS = """
do+n't does+n't did+n't is+n't are+n't was+n't were+n't has+n't have+n't had+n't ca+n't could+n't
wo+n't would+n't should+n't must+n't need+n't ai+n't
i+'m i+'d i+'ll i+'ve you+'re you+'ve you+'ll he+'s he+'d she+'s she+'ll it+'s it+'ll we+'re we+'ve
they+'re they+'d they+'ll that+'s what+'s who+'s there+'s let+'s where+'s
can+not gon+na wan+na got+ta gim+me lem+me du+n+no
i+'d+'ve would+n't+'ve he+'ll+'ve
""".split()
NAME_FRAMES = ["We met {} in the town.", "{} has the map.", "The house of {} is old."]
CONTRACTION_FRAMES = ["{} go home.", "Well, {} know it.", "THEY SAID {} TELL HIM."]
WRITINGS = {
    "lower": str.lower,
    "title": lambda text: text[:1].upper() + text[1:].lower(),
    "capitals": str.upper,
}


@pytest.fixture(scope="module")
def split():
    """A function that splits a text; the words of a multiword token are joined by +."""
    tokenizer = load_tokenizer("en-ewt", torch.device("cpu"))

    def split_text(text):
        (sentences,) = tokenizer.segment([text])
        return [
            ["+".join(words or (text[start:end],)) for start, end, words in sentence]
            for sentence in sentences
        ]

    return split_text


@pytest.mark.parametrize("writing", WRITINGS)
def test_names_are_single_words(split, writing):
    assert len(set(NAMES)) >= 200
    wrong = {
        text
        for name in map(WRITINGS[writing], NAMES)
        for text in (frame.format(name) for frame in NAME_FRAMES)
        if [text[:-1].split() + ["."]] != split(text)
    }
    assert not wrong


@pytest.mark.parametrize("frame", ["{} chase mice.", "{} are old.", "{} sleep."])
def test_plurals_are_single_words(split, frame):
    """In EWT, some possessives lack the apostrophe: `its`, `drivers`, `cats`."""
    plurals = "Cats Stars Wolves Babies Taxes Drivers Others Friends Its Whose"
    for plural in plurals.split():
        assert plural in split(frame.format(plural))[0]


@pytest.mark.parametrize("apostrophe", "'’")
@pytest.mark.parametrize("writing", WRITINGS)
def test_contractions_are_split(split, writing, apostrophe):
    assert len(CONTRACTIONS) >= 50
    wrong = {}
    for words in CONTRACTIONS:
        words = WRITINGS[writing](words.replace("'", apostrophe))
        for frame in CONTRACTION_FRAMES:
            text = frame.format(words.replace("+", ""))
            expected = frame.format(words).replace(",", " ,").replace(".", " .").split()
            # A capital letter in the middle may begin a sentence.
            if list(chain.from_iterable(split(text))) != expected:
                wrong[text] = split(text)
    assert not wrong


ADDRESSES = {
    "Write to anna.b@example.co.uk today.": "Write to anna.b@example.co.uk today .",
    "See example1.com, example2.com and example3.co.uk for details.": (
        "See example1.com , example2.com and example3.co.uk for details ."
    ),
    "Call (713)555-0100 now.": "Call ( 713 ) 555-0100 now .",
    "This is a t(est) of the parser.": "This is a t ( est ) of the parser .",
    "He/she left.": "He / she left .",
    "It weighs 5.5kg and costs $5.50.": "It weighs 5.5 kg and costs $ 5.50 .",
    "Go to https://example.com/a_(b).": "Go to https://example.com/a_(b) .",
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_addresses_numbers_brackets_and_slashes(split, text):
    assert split(text) == [ADDRESSES[text].split()]


ABBREVIATIONS = """
It is room No. 5 .
No. 5 is alive .
No. 12 is late .
The song was no. 3 in June .
It stands in vol. 3 on p. 40 of the book .
Dr. Smith and Mr. Lee met Mrs. Hill .
They climbed Mt. Hood with St. John .
He left the U.S. army on Jan. 3 last year .
We ate fruit , e.g. apples , at 7 a.m. by the lake .
""".strip().splitlines()


@pytest.mark.parametrize("words", ABBREVIATIONS)
def test_an_abbreviation_ends_no_sentence(split, words):
    text = words.replace(" ,", ",").removesuffix(" .") + "."
    assert split(text) == [words.split()]


@pytest.mark.parametrize("answer", ["No", "Yes", "Sure"])
@pytest.mark.parametrize("sentence", ["Max has no map .", "The room is taken .", "Dr. Lee left ."])
def test_an_answer_is_a_sentence(split, answer, sentence):
    text = f"{answer}. {sentence.removesuffix(' .')}."
    assert split(text) == [[answer, "."], sentence.split()]
