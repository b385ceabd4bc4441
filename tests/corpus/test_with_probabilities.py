"""Probabilities in MISC: beside what stands there, instead of older ones, and in JSON."""

import io
import json

import pytest

from depkit.corpus.files import read
from depkit.corpus.json_lines import json_lines
from depkit.corpus.probabilities import with_probabilities

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
def test_a_cell(cell):
    assert with_probabilities([cell], [0.12345678], [1.0]) == [MISC[cell]]


def test_rows_that_are_no_words_keep_theirs():
    (sentence,) = read(io.StringIO(ROWS, newline=""))
    misc = with_probabilities(sentence.column("misc"), [0.5, 0.25], [1, 0])
    changed = sentence.with_columns({"misc": misc})
    expected = ROWS.replace("\troot\t_\t_", "\troot\t_\tArcProb=0.5000|LabelProb=1.0000")
    expected = expected.replace("A=b", "A=b|ArcProb=0.2500|LabelProb=0.0000")
    assert str(changed) == expected


def test_json():
    (sentence,) = read(io.StringIO(ROWS, newline=""))
    misc = with_probabilities(sentence.column("misc"), [0.5, 0.97314], [1, 0.1])
    changed = sentence.with_columns({"misc": misc})
    (line,) = json_lines([changed], prob=True)
    words = json.loads(line)["words"]
    assert [(word["arc_prob"], word["label_prob"]) for word in words] == [(0.5, 1), (0.9731, 0.1)]
    assert "prob" not in next(json_lines([changed]))


def test_a_probability_a_word():
    with pytest.raises(ValueError):
        with_probabilities(["_", "_"], [0.5], [0.5, 0.5])
