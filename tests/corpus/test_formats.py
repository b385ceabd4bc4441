"""Recognition of a file's format by its name and by its content."""

import pytest

from depkit.corpus.detection import sniff_format
from depkit.corpus.formats import CONLLU, FORMATS, format_from_filename, get_format
from depkit.corpus.io import read
from depkit.files.errors import FormatError
from tests.corpus.rows import PREDICATES, RICH, row, row09

NAMES = {
    "conllu": ["a.conllu", "b/A.CONLLU", "a.conllu.gz", "a.CoNLLU.GZ"],
    "conllx": ["a.conllx"],
    "conll09": ["a.conll09", "a.conll2009.xz"],
    None: ["a.conll", "conllu", "a.txt.gz", "-"],
}


@pytest.mark.parametrize("format", NAMES)
def test_formats_are_recognised_by_filename(format):
    for name in NAMES[format]:
        result = format_from_filename(name)
        assert (result.name if result else None) == format, name


def tagged(upos, xpos="_", feats="_"):
    return f"1\ta\t_\t{upos}\t{xpos}\t{feats}\t0\tx\t_\t_\n\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (RICH, "conllu"),
        ("\ufeff" + RICH, "conllu"),
        (RICH.replace("\n", "\r\n"), "conllu"),
        (tagged("NOUN", "NN"), "conllu"),
        (tagged("_"), "conllu"),
        (tagged("N", "NN", "Case=Nom"), "conllu"),
        ("# c\n" + tagged("N", "NN"), "conllu"),
        (row("1-1") + tagged("N"), "conllu"),
        (tagged("N", "NN"), "conllx"),
        (tagged("IZE", "ARR", "ABS|MG"), "conllx"),
        ("\n" + tagged("N"), "conllx"),
        (PREDICATES, "conll09"),
        (row09(1, "a", 0, "b"), "conll09"),
        ("a b c\n\n", None),
        ("# c\n\n", None),
        ("1\ta\t_\t_\n\n", None),
        ("word\t" + tagged("N"), None),
        ("\n", None),
    ],
)
def test_formats_are_recognised_by_content(text, format):
    result = sniff_format(text.splitlines(True))
    assert (result.name if result else None) == format
    if format and not text.startswith("\ufeff"):
        assert next(read(text.splitlines(True))).format.name == format


def test_no_known_format_is_an_error_with_its_line():
    with pytest.raises(
        FormatError, match=r"^-:2: the file is neither CoNLL-U, CoNLL-X nor CoNLL-09"
    ):
        list(read(["# c\n", "a b c\n", "\n"]))


def test_errors_about_unknown_names_list_the_known_names():
    names = "conllu, conllx, conll09, conllup, ptb, parquet"
    with pytest.raises(ValueError, match=f"no format 'conll'; the formats are {names}$"):
        list(read([row(1)], "conll"))
    assert all(f'"{name}"' in read.__doc__ for name in names.split(", "))
    with pytest.raises(ValueError, match=r"no format 'ptb'; .* conllx, conll09, conllup$"):
        get_format("ptb")
    with pytest.raises(KeyError, match="conllu has no column 'phead'"):
        CONLLU.index("phead")


def test_formats_are_listed_by_name_and_have_consistent_columns():
    assert [format.name for format in FORMATS.values()] == list(FORMATS)
    for format in FORMATS.values():
        assert len(set(format.columns)) == len(format.columns)
        assert set(format.derived_columns) <= set(format.columns)
        assert format.attribute_columns["head"] == format.index("head")
