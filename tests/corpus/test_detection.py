"""Which format a file is in: formats that are read, and similar ones that are refused by name."""

import pytest

from depkit.convert.formats import ConversionReport, convert
from depkit.corpus.detection import describe_foreign_format, sniff_format
from depkit.corpus.formats import CONLLU, CONLLUP, CONLLX, get_format
from depkit.corpus.io import read
from depkit.files.errors import FormatError
from depkit.treebank.check import Checker
from tests.corpus.rows import PREDICATES, RICH, parse

STANDARD = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
PLUS = (
    f"# global.columns = {STANDARD} NER:TYPE SRL\n"
    "# sent_id = p1\n"
    "1-2\tdel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\t_\t_\n"
    "1\tde\tde\tADP\tE\t_\t2\tcase\t2:case\t_\tO\t_\n"
    "2\tel\tel\tDET\tT\tGender=Masc\t0\troot\t0:root\tA=1\tB-LOC\tA0:1\n"
    "2.1\tx\tx\tVERB\tV\t_\t_\t_\t2:dep\t_\t_\t_\n"
    "\n"
)
MOVED = f"# global.columns = {STANDARD.replace('DEPS', 'X:NER')}\n"
SDP_ROWS = "1\tA\ta\tDT\t-\t+\tq:i\t_\n2\tdog\tdog\tNN\t+\t-\tn:x\tBV\n\n"
CONLL08 = (
    "1\tIt\tit\tPRP\tPRP\tIt\tit\tPRP\t2\tSBJ\t_\tA1\n"
    "2\trains\train\tVBZ\tVBZ\trains\train\tVBZ\t0\tROOT\train.01\t_\n\n"
)
FOREIGN = {
    "CoNLL-2008": CONLL08,
    "CoNLL-2008 with four predicates": "".join(
        line + "\t_" * 2 + "\n" if line else "\n" for line in CONLL08.split("\n")[:-1]
    ),
    "SDP": SDP_ROWS,
    "SDP with its first line": "#SDP 2015\n#20001001\n" + SDP_ROWS,
    "CoNLL-2012": "#begin document (bc/a); part 000\nbc/a 0 0 It PRP *\n\n#end document\n",
    "CoNLL-2003": "-DOCSTART- -X- O O\n\nIt PRP B-NP O\n\n",
    "CoNLL-U Plus": MOVED + "1\tIt\tit\tPRON\tPRP\t_\t0\troot\tB-LOC\t_\n\n",
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("strict", [True, False])
def test_formats_that_are_not_read_are_refused_by_name(name, strict):
    with pytest.raises(FormatError, match=name.split(" ")[0]):
        parse(FOREIGN[name], None, strict=strict)
    (finding,) = Checker().check(FOREIGN[name].splitlines(True))
    assert finding.code == "unreadable" and name.split(" ")[0] in finding.message


KNOWN = {"conllu": RICH, "conllup": PLUS, "conll09": PREDICATES}


@pytest.mark.parametrize("name", KNOWN)
def test_formats_that_are_read_are_not_refused(name):
    lines = KNOWN[name].splitlines(True)
    assert sniff_format(lines) == get_format(name)
    assert describe_foreign_format(lines) == ""
    assert "".join(map(str, parse(KNOWN[name], None))) == KNOWN[name]


def words(coarse, feats, phead="_", pdeprel="_"):
    rows = ("1\ta\t_\t{0}\tx\t{1}\t2\td\t{2}\t{3}\n", "2\tb\t_\t{0}\ty\t{1}\t0\tr\t{2}\t{3}\n")
    return "".join(rows).format(coarse, feats, phead, pdeprel) + "\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (words("d", "gen=f|num=p", "2", "d"), CONLLX),
        (words("NOUN", "Case=Nom", "2", "d"), CONLLX),
        (words("NOUN", "Case=Nom").replace("\t_\t_\n", "\t0\tr\n", 1), CONLLX),  # one is _
        (words("d", "gen=f|num=p"), CONLLX),
        (words("d", "Gen=F"), CONLLU),
        (words("NOUN", "gen=f"), CONLLU),
        (words("d", "_", "2:d"), CONLLU),
        ("# text = a b\n" + words("d", "gen=f"), CONLLU),
        ("1-2\tab" + "\t_" * 8 + "\n" + words("d", "_", "2", "d"), CONLLU),
    ],
)
def test_ten_columns_are_told_apart_by_their_values(text, format):
    (sentence,) = parse(text, None)
    assert sentence.format == format


def test_phead_and_pdeprel_are_never_deps_and_misc():
    (sentence,) = parse(words("d", "gen=f", "1", "p"), None)
    report = ConversionReport()
    converted = convert(sentence, CONLLU, report=report)
    assert converted.column("deps") == converted.column("misc") == ["_", "_"]
    assert report.dropped == {"PHEAD": 2, "PDEPREL": 2}
    parsed = sentence.with_tree([0, 1], ["r", "s"])
    assert parsed.column("phead") == parsed.column("pdeprel") == ["_", "_"]
    (predicates,) = parse(PREDICATES, "conll09")
    filled = predicates.with_columns({"phead": list("2022"), "pdeprel": list("abcd")})
    report.count_cleared(filled)
    assert report.cleared == {"PHEAD value": 4, "PDEPREL value": 4}
    changed = filled.with_tree([0, 1, 1, 1], list("wxyz"))
    assert changed.column("phead") == changed.column("pdeprel") == ["_"] * 4


def test_conllu_plus_keeps_its_columns_and_loses_them_by_name():
    (sentence,) = parse(PLUS, None)
    assert sentence.form == ["de", "el"] and sentence.head == [2, 0]
    changed = sentence.with_tree([0, 1], ["root", "det"])
    assert "\troot\t_\t_\tO\t_\n" in str(changed) and "\tdet\t_\tA=1\tB-LOC\tA0:1\n" in str(changed)
    assert "2.1" not in str(changed)
    report = ConversionReport()
    converted = convert(sentence, CONLLU, report=report)
    assert report.dropped == {"further value": 3}
    lines = [line for line in PLUS.splitlines(True) if "global" not in line]
    expected = ["\t".join(line.split("\t")[:10]).rstrip("\n") + "\n" for line in lines]
    assert converted.format == CONLLU and list(converted.lines) == expected
    assert sentence.to_conllu() == str(converted)
    again = list(read(expected))
    assert again[0].head == [2, 0] and again[0].empty_nodes() == [4]


def test_a_file_is_conllu_plus_whatever_its_name(tmp_path):
    for name in ("a.conllup", "a.cupt", "a.conllu", "a.txt", "a.conllup.gz"):
        if name.endswith(".gz"):
            import gzip

            (tmp_path / name).write_bytes(gzip.compress(PLUS.encode()))
        else:
            (tmp_path / name).write_text(PLUS)
        (sentence,) = read(tmp_path / name)
        assert sentence.format == CONLLUP, name
    moved = tmp_path / "moved.conllu"
    moved.write_text(FOREIGN["CoNLL-U Plus"])
    with pytest.raises(FormatError, match=r"moved.conllu:1: .*CoNLL-U Plus"):
        list(read(moved))


@pytest.mark.parametrize(
    ("misc", "format"), [("SpaceAfter=No", CONLLU), ("=", CONLLX), ("_", CONLLX)]
)
def test_a_key_and_a_value_in_column_10_are_misc(misc, format):
    rows = [f"{i}\tw\t_\tNN\tNN\t_\t{i - 1}\tdep\t_\t{misc}\n" for i in (1, 2)]
    assert sniff_format(rows) == format
