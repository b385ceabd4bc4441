from pathlib import Path

import pytest

from depkit.corpus.errors import FormatError
from depkit.corpus.files import read
from depkit.corpus.formats import CONLLX
from depkit.corpus.probabilities import probabilities_of
from depkit.corpus.sentence import new_sentence


def test_probabilities_stand_anywhere_in_misc() -> None:
    misc = ["ArcProb=0.9731|LabelProb=0.8812", "Gloss=a=b|LabelProb=1|SpaceAfter=No|ArcProb=0"]
    assert probabilities_of(new_sentence(["a", "b"], {"misc": misc})).tolist() == [
        [0.9731, 0.8812], [0.0, 1.0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("misc", "complaint"),
    [
        ("_", "no ArcProb in MISC"),
        ("ArcProb=0.5", "no LabelProb in MISC"),
        ("ArcProb=0.5|LabelProb", "LabelProb is '', not a number from 0 to 1"),
        ("ArcProb=1.01|LabelProb=0.5", "ArcProb is '1.01', not a number from 0 to 1"),
        ("ArcProb=0.5|LabelProb=-0.1", "LabelProb is '-0.1', not"),
        ("ArcProb=nan|LabelProb=0.5", "ArcProb is 'nan', not"),
        ("ArcProb=high|LabelProb=0.5", "ArcProb is 'high', not"),
    ],
)
def test_what_is_no_probability_is_told_by_its_line(
    misc: str, complaint: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.conllu"
    rows = [f"{i}\tw\t_\t_\t_\t_\t0\tx\t_\t" for i in (1, 2)]
    file.write_text(f"# sent_id = s1\n{rows[0]}ArcProb=1|LabelProb=1\n{rows[1]}{misc}\n\n")
    (sentence,) = read(file)
    with pytest.raises(FormatError) as raised:
        probabilities_of(sentence)
    assert str(raised.value).startswith(f"{file}:3: s1: {complaint}")
    assert str(raised.value).endswith("; parse with depkit parse --prob")


def test_other_formats_have_no_place_for_them() -> None:
    with pytest.raises(FormatError, match=r"conllx has no column for ArcProb .* --format conllu"):
        probabilities_of(new_sentence(["a"], format=CONLLX))
