"""Probabilities in MISC: added to other values, replacing older probabilities, and read."""

import json
from pathlib import Path

import pytest

from depkit.corpus.formats import CONLLX
from depkit.corpus.io import read
from depkit.corpus.json_lines import to_json_lines
from depkit.corpus.probabilities import add_probabilities, read_probabilities
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from tests.corpus.rows import parse

MISC = {
    "_": "ArcProb=0.1235|LabelProb=1.0000",
    "": "ArcProb=0.1235|LabelProb=1.0000",
    "SpaceAfter=No": "SpaceAfter=No|ArcProb=0.1235|LabelProb=1.0000",
    "ArcProb=0.9|LabelProb=0.8": "ArcProb=0.1235|LabelProb=1.0000",
    "b=1|LabelProb=0.8|a|ArcProb=0.9|c=|d=x": "b=1|a|c=|d=x|ArcProb=0.1235|LabelProb=1.0000",
    "ArcProb|MyArcProb=1|Prob=2": "MyArcProb=1|Prob=2|ArcProb=0.1235|LabelProb=1.0000",
}
ROWS = (
    "# sent_id = x\r\n"
    "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|ArcProb=0.5\r\n"
    "1\tde\t_\t_\t_\t_\t0\troot\t_\t_\r\n"
    "2\tel\t_\t_\t_\t_\t1\tdet\t1:det\tA=b\r\n"
    "2.1\te\t_\t_\t_\t_\t_\t_\t1:x\tLabelProb=0.5\r\n"
    "\r\n"
)


@pytest.mark.parametrize("cell", MISC)
def test_probabilities_are_added_to_a_cell(cell):
    assert add_probabilities([cell], [0.12345678], [1.0]) == [MISC[cell]]


def add_to_rows(*probabilities):
    (sentence,) = parse(ROWS)
    misc = add_probabilities(sentence.column("misc"), *probabilities)
    return sentence.with_columns({"misc": misc})


def test_rows_that_are_not_words_stay_unchanged():
    expected = ROWS.replace("\troot\t_\t_", "\troot\t_\tArcProb=0.5000|LabelProb=1.0000")
    expected = expected.replace("A=b", "A=b|ArcProb=0.2500|LabelProb=0.0000")
    assert str(add_to_rows([0.5, 0.25], [1, 0])) == expected


def test_probabilities_are_written_as_json():
    sentence = add_to_rows([0.5, 0.97314], [1, 0.1])
    (line,) = to_json_lines([sentence], prob=True)
    words = json.loads(line)["words"]
    assert [(word["arc_prob"], word["label_prob"]) for word in words] == [(0.5, 1), (0.9731, 0.1)]
    assert "prob" not in next(to_json_lines([sentence]))


def test_there_must_be_a_probability_for_each_word():
    with pytest.raises(ValueError):
        add_probabilities(["_", "_"], [0.5], [0.5, 0.5])


def test_probabilities_may_be_anywhere_in_misc() -> None:
    misc = ["ArcProb=0.9731|LabelProb=0.8812", "Gloss=a=b|LabelProb=1|SpaceAfter=No|ArcProb=0"]
    assert read_probabilities(new_sentence(["a", "b"], {"misc": misc})).tolist() == [
        [0.9731, 0.8812], [0.0, 1.0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("misc", "message"),
    [
        ("_", "there is no ArcProb in MISC"),
        ("ArcProb=0.5", "there is no LabelProb in MISC"),
        ("ArcProb=0.5|LabelProb", "LabelProb is '', not a number from 0 to 1"),
        ("ArcProb=1.01|LabelProb=0.5", "ArcProb is '1.01', not a number from 0 to 1"),
        ("ArcProb=0.5|LabelProb=-0.1", "LabelProb is '-0.1', not"),
        ("ArcProb=nan|LabelProb=0.5", "ArcProb is 'nan', not"),
        ("ArcProb=high|LabelProb=0.5", "ArcProb is 'high', not"),
    ],
)
def test_invalid_probabilities_are_reported_with_their_line(
    misc: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.conllu"
    rows = [f"{i}\tw\t_\t_\t_\t_\t0\tx\t_\t" for i in (1, 2)]
    file.write_text(f"# sent_id = s1\n{rows[0]}ArcProb=1|LabelProb=1\n{rows[1]}{misc}\n\n")
    (sentence,) = read(file)
    with pytest.raises(FormatError) as error:
        read_probabilities(sentence)
    assert str(error.value).startswith(f"{file}:3: s1: {message}")
    assert str(error.value).endswith("; create the file with depkit parse --prob")


def test_other_formats_have_no_column_for_probabilities() -> None:
    with pytest.raises(FormatError, match=r"conllx has no column for ArcProb .* --format conllu"):
        read_probabilities(new_sentence(["a"], format=CONLLX))
