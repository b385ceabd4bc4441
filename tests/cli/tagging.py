"""A sentence with parts that tagging must not change, and helpers of the tests of tagging."""

from depkit.corpus.brackets import with_tags
from depkit.corpus.cleaning import restore_wrapper
from tests.cli.commands import SMALL, set_options

QUICK = [*SMALL, *set_options("training.updates=0")]
TAGS = (2, 3, 4, 5)  # LEMMA, UPOS, XPOS, FEATS

# A sentence with parts that tagging must not change: comments, a range, an empty node, MISC, CRLF.
RICH = (
    "# sent_id = rich-{i}\r\n# text = Don't  go{i}.\r\n"
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpacesAfter=\\s\\s\r\n"
    "1\tDo\tdo\tAUX\tVB\tVerbForm=Fin\t3\taux\t3:aux|0:x\tA=1\r\n"
    "2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\r\n"
    "2.1\tyou\tyou\tPRON\t_\t_\t_\t_\t3:nsubj\t_\r\n"
    "3\tgo{i}\tgo\tVERB\tVB\t_\t_\t_\t0:root\tSpaceAfter=No\r\n"
    "4\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_ \r\n\r\n"
)


def write_rich(folder):
    """Write a file with nine sentences like RICH; return its path."""
    path = folder / "rich.conllu"
    path.write_text("".join(RICH.format(i=i) for i in range(9)), "utf-8", newline="")
    return path


def remove_tags(path):
    """Return the rows of a file without the columns that a tagger may change."""
    rows = [line.split("\t") for line in path.read_bytes().decode().split("\n")]
    return [
        [cell for i, cell in enumerate(row) if i not in TAGS] if row[0].isdigit() else row
        for row in rows
    ]


def clear_columns(sentences, *columns):
    """Return the sentences with _ in these columns."""
    return [s.with_columns(dict.fromkeys(columns, ["_"] * len(s))) for s in sentences]


def remove_tags_of_trees(sentences):
    """Return the trees of sentences, with X as the tag of every word."""
    return [str(restore_wrapper(with_tags(s.constituents, ["X"] * len(s)))) for s in sentences]
