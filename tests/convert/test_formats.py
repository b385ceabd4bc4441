"""Conversion between formats, on small examples, random treebanks and real treebanks."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depkit
from depkit.convert.formats import AUTOMATIC, ConversionReport, convert, with_predicted
from depkit.corpus.formats import ATTRIBUTE_COLUMNS, CONLL09, CONLLU, CONLLUP, CONLLX, FORMATS
from depkit.corpus.io import read, read_stream, write
from depkit.corpus.reader import read_lines
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from tests.convert.examples import MILL, P_COLUMNS, PROJECTIVE
from tests.corpus.mutated_files import mutated_files
from tests.corpus.mutated_files import reproducible as fuzzed
from tests.corpus.rows import PREDICATES, RICH, lines


def convert_text(text, source, *targets, predicted=False):
    """Convert a text to one format after the other; return it and the report of the last step."""
    for target in targets:
        report = ConversionReport()
        sentences = read_lines(lines(text), FORMATS[source])
        converted = [
            convert(sentence, FORMATS[target], predicted, report) for sentence in sentences
        ]
        text, source = "".join(map(str, converted)), target
        assert_as_read(converted, text)
    return text, report


def assert_as_read(sentences, text):
    """Assert that the sentences' columns are those that a reader reads from their lines."""
    if sentences:
        reread = read_lines(lines(text), sentences[0].format)
        for sentence, other in zip(sentences, reread, strict=True):
            for name in ("head", *ATTRIBUTE_COLUMNS):
                assert list(getattr(sentence, name)) == getattr(other, name), name
            assert [sentence.lines[row] for row in sentence.rows] == [
                other.lines[row] for row in other.rows
            ]


def test_conllu_becomes_conllx():
    text, report = convert_text(RICH, "conllu", "conllx")
    assert text == MILL
    assert report.notes("conllx") == [
        "conllx cannot represent 6 comments, 2 multiword ranges, 3 empty nodes, 8 DEPS, 1 MISC;"
        " they were left out",
        "conllx allows no spaces inside a column; the spaces in 2 words were written unchanged",
    ]


def test_conllx_becomes_conllu():
    text, report = convert_text(PROJECTIVE, "conllx", "conllu")
    assert text == PROJECTIVE.replace("\t0\th\n", "\t_\t_\n")
    note = "conllu cannot represent 1 PHEAD, 1 PDEPREL; they were left out"
    assert report.notes("conllu") == [note]
    assert convert_text(text, "conllu", "conllx", "conllu")[0] == text


def test_conll09_has_a_single_tag_and_special_columns():
    text, report = convert_text(P_COLUMNS, "conll09", "conllx")
    assert text == "1\ta\tb\t_\tC\te\t2\tg\t_\t_\n2\ti\t_\t_\tk\t_\t0\tm\t_\t_\n\n"
    assert report.notes("conllx") == [
        "conllx cannot represent 2 PLEMMA, 2 PPOS, 1 PFEAT, 2 PHEAD, 2 PDEPREL, 1 FILLPRED,"
        " 1 predicate, 1 argument; they were left out"
    ]
    back, report = convert_text(text, "conllx", "conll09")
    assert back == (
        "1\ta\tb\t_\tC\t_\te\t_\t2\t_\tg\t_\t_\t_\n2\ti\t_\t_\tk\t_\t_\t_\t0\t_\tm\t_\t_\t_\n\n"
    )
    assert report.notes("conll09") == []
    assert convert_text(PROJECTIVE, "conllx", "conll09")[1].dropped == {
        "coarse tag": 2, "PHEAD": 1, "PDEPREL": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "format"),
    [(RICH, "conllu"), (PROJECTIVE, "conllx"), (P_COLUMNS, "conll09"), (PREDICATES, "conll09")],
)
def test_a_sentence_in_the_same_format_stays_unchanged(text, format):
    text = "\ufeff" + text + "\n\n"
    assert convert_text(text, format, format)[0] == text
    assert convert_text(text, format, format)[1] == ConversionReport()


def test_predicted_columns_are_read_and_written():
    (sentence,) = read_lines(lines(P_COLUMNS), CONLL09)
    predicted = with_predicted(sentence)
    assert [predicted.lemma, predicted.xpos, predicted.feats] == [
        ["B", "j"],
        ["D", "K"],
        ["E", "_"],
    ]
    assert (predicted.head, predicted.deprel) == ([0, 1], ["G", "M"])
    report = ConversionReport()
    assert str(convert(predicted, CONLLU, True, report)) == (
        "1\ta\tB\t_\tD\tE\t0\tG\t_\t_\n2\ti\tj\t_\tK\t_\t1\tM\t_\t_\n\n"
    )
    assert list(report.dropped) == ["FILLPRED", "predicate", "argument"]
    assert convert_text(PROJECTIVE, "conllx", "conll09", predicted=True)[0] == (
        "1\ta\t_\tb\t_\tD\t_\te|f\t_\t2\t_\tg\t_\t_\n2\ti\t_\tj\t_\tL\t_\t_\t_\t0\t_\tm\t_\t_\n\n"
    )
    assert with_predicted(new_sentence(["a"])).form == ["a"]
    assert convert_text(PROJECTIVE, "conllx", "conllu", predicted=True)[1].dropped["PHEAD"] == 1


def test_an_invalid_phead_is_a_problem():
    broken = with_predicted(next(read(P_COLUMNS.replace("\t0\t1\t", "\t0\t3\t").splitlines(True))))
    assert str(broken.problem).startswith("-:2: PHEAD is '3', not a word's number (1 to 2)")
    with pytest.raises(FormatError, match="PHEAD is '3'"):
        convert(broken, CONLLU)
    assert with_predicted(broken) is broken


def test_broken_sentences_are_rejected():
    (broken,) = read(["1\ta\n"], "conllx", strict=False)
    for format in FORMATS.values():
        with pytest.raises(FormatError, match="2 columns instead of 10"):
            convert(broken, format)


def test_line_ends_are_kept_and_additional_blank_lines_removed():
    text = "\ufeff\n\n" + RICH.replace("\n", "\r\n") + "\r\n"
    assert convert_text(text, "conllu", "conllx")[0] == MILL.replace("\n", "\r\n")
    last = PROJECTIVE.rstrip("\n")
    text, report = convert_text(last, "conllx", "conllu")
    assert text == PROJECTIVE.replace("\t0\th\n", "\t_\t_\n")
    assert report.dropped == {"PHEAD": 1, "PDEPREL": 1}


def test_comments_that_conllx_should_not_have_are_kept():
    text = "# c\n" + PROJECTIVE.replace("\t0\th\n", "\t_\t_\n")
    assert convert_text(text, "conllx", "conllu") == (text, ConversionReport())
    assert convert_text(text, "conllx", "conll09")[1].dropped == {"comment": 1, "coarse tag": 2}


CELLS = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=("Cs",)), max_size=5)


@st.composite
def treebanks(draw):
    """Draw a treebank in a random format with all columns filled, and spans in CoNLL-U."""
    format = draw(st.sampled_from(list(FORMATS.values())))
    text = []
    for size in draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)):
        width = len(format.columns) + (
            draw(st.integers(0, 2)) if format.has_argument_columns else 0
        )
        if format.has_ranges and draw(st.booleans()):
            text.append("# c\n0.1" + "\tx" * 9 + f"\n1-{size}" + "\ty" * 9 + "\n")
        for number in range(1, size + 1):
            cells = draw(st.lists(CELLS, min_size=width, max_size=width))
            cells[:2] = str(number), cells[1] or "_"
            cells[format.index("head")] = draw(st.sampled_from(["_", "0", "1", str(size)]))
            text.append("\t".join(cells) + "\n")
        text.append("\n")
    return "".join(text), format


@settings(max_examples=100, deadline=None, derandomize=True)
@given(treebanks(), st.sampled_from(list(FORMATS)), st.booleans())
def test_columns_of_both_formats_are_retained(treebank, target, predicted):
    text, source = treebank
    converted, _ = convert_text(text, source.name, target, predicted=predicted)
    before = read_lines(lines(text), source)
    after = read_lines(lines(converted), FORMATS[target])
    if predicted and target == "conll09" != source.name:
        after = map(with_predicted, after)
    for old, new in zip(before, after, strict=True):
        assert (old.form, old.head, old.deprel) == (new.form, new.head, new.deprel)
        assert (old.lemma, old.xpos, old.feats) == (new.lemma, new.xpos, new.feats)
        if "upos" in source.columns and target != "conll09":
            assert old.upos == new.upos
    again, report = convert_text(converted, target, source.name, target)
    if not (predicted and target == "conll09"):  # then the gold columns are empty
        assert convert_text(again, target, source.name, target) == (again, report)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(treebanks(), st.sampled_from(list(FORMATS)))
def test_every_cell_is_retained_or_counted(treebank, target):
    """Cells with `_` and the numbers of the rows do not count."""
    text, source = treebank
    converted, report = convert_text(text, source.name, target)

    def count_filled(text):
        rows = [line.split("\t") for line in text.split("\n") if line[:1].isdigit()]
        rows = [row for row in rows if "." not in row[0] and "-" not in row[0]]
        return sum(cell != "_" for row in rows for cell in row[1:])

    lines = report.dropped["comment"] + report.dropped["multiword range"]
    lines += report.dropped["empty node"]
    assert report.dropped.total() - lines == count_filled(text) - count_filled(converted)
    assert lines == (0 if FORMATS[target].has_ranges else text.count("# c\n") * 3)


def convert_and_back(path, format, target, encoding="utf-8", **options):
    """Convert a file to a format and on to `target`; return it and what either step dropped."""
    report, report_back = ConversionReport(), ConversionReport()
    sentences = read(path, encoding=encoding, **options)
    converted = (convert(sentence, format, False, report) for sentence in sentences)
    copy = io.StringIO()
    write((convert(sentence, FORMATS[target], False, report_back) for sentence in converted), copy)
    return copy.getvalue(), report.dropped, report_back.dropped


def test_basque_is_unchanged_by_way_of_conllu(shared):
    path = shared / "data/conllx-basque-2007/eus.test.conllx"
    text, dropped, dropped_back = convert_and_back(path, CONLLU, "conllx", "latin-1")
    assert text == path.read_text(encoding="latin-1")
    assert not dropped and not dropped_back


def test_stanford_dependencies_are_unchanged_by_way_of_conllu(shared):
    path = shared / "data/wsj-sample-sd/wsj_0001-0159.conllx"
    if not path.exists():
        pytest.skip("no WSJ sample in Stanford dependencies here")
    assert convert_and_back(path, CONLLU, "conllx") == (path.read_text(), {}, {})


def test_turkish_loses_only_columns_that_conllx_does_not_have(shared):
    path = shared / "data/conll09-turkish-propbank/trpb_v1.0.dev.conll09"
    text, dropped, dropped_back = convert_and_back(path, CONLL09, "conll09")
    assert text == path.read_text() and not dropped and not dropped_back
    text, dropped, dropped_back = convert_and_back(path, CONLLX, "conll09")
    assert not dropped_back and dropped["predicate"] > 0 and dropped["argument"] > 0
    assert dropped["PHEAD"] == 6293
    retained = {CONLL09.index(name) for name in ("id", "form", *AUTOMATIC)}
    for old, new in zip(path.read_text().splitlines(), text.splitlines(), strict=True):
        cells = new.split("\t")
        if old:
            assert [cells[i] for i in retained] == [old.split("\t")[i] for i in retained]
            assert {cells[i] for i in range(14) if i not in retained} == {"_"}


@settings(fuzzed, max_examples=150)
@given(mutated_files(), st.sampled_from(list(FORMATS)), st.booleans())
def test_valid_sentences_stay_valid_after_conversion(data, target, predicted):
    """The valid sentences of mutated files are converted; the others are rejected."""
    format = FORMATS[target]
    try:
        sentences = list(read_stream(io.BytesIO(data), strict=False))
    except FormatError as error:
        assert "which depkit does not read" in str(error)  # The damage resembles another format.
        return
    for sentence in sentences:
        if sentence.problem:
            with pytest.raises(FormatError):
                convert(sentence, format, predicted)
            continue
        report = ConversionReport()
        converted = convert(sentence, format, predicted, report)
        report.notes(format.name)
        assert_as_read([converted], str(converted))
        assert converted.form == sentence.form


def test_conllu_becomes_conllu_plus_with_its_columns():
    first, second = converted = list(depkit.convert(read(lines(RICH)), "conllup"))
    columns = "# global.columns = ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC\n"
    assert f"{first}{second}" == columns + RICH and first.format == second.format == CONLLUP
    assert [x.format for x in depkit.convert(converted, "conllu")] == [CONLLU, CONLLU]
