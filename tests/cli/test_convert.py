"""depkit convert: formats, merging, encodings, Penn trees, notes and errors."""

import gzip
import io
import lzma
import re
import sys
from pathlib import Path

import pytest

from depkit.cli.convert import convert_command
from depkit.convert.formats import with_predicted
from depkit.corpus.formats import CONLLX
from depkit.corpus.io import read
from depkit.corpus.sentence import new_sentence
from depkit.files.errors import FormatError
from tests.cli.commands import Command
from tests.convert.examples import MILL, P_COLUMNS, PROJECTIVE
from tests.corpus.rows import PREDICATES, RICH

run = Command("convert")

NOTES = (
    "depkit: note: conllx cannot represent 6 comments, 2 multiword ranges, 3 empty nodes, 8 DEPS,"
    " 1 MISC; they were left out\n"
    "depkit: note: conllx allows no spaces inside a column; the spaces in 2 words were"
    " written unchanged\n"
)


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    (tmp_path / "rich.conllu").write_text(RICH)
    return tmp_path / "rich.conllu"


def test_merging_restores_what_conllx_lacks(rich: Path, tmp_path: Path) -> None:
    there, back = tmp_path / "there.conllx", tmp_path / "back.conllu"
    assert run(rich, "-o", there) == ("", NOTES)
    assert there.read_text() == MILL
    assert run(there, "-o", back) == ("", "")
    assert back.read_text() == MILL
    assert run(there, "--merge", rich, "-o", back) == ("", "")
    assert back.read_text() == RICH
    assert run(there, "--merge", rich) == (RICH, "")
    assert run(there, "--merge", rich, "--to", "conllx", "-q") == (MILL, "")


def test_the_format_is_known_from_name_content_or_option(rich: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text(RICH)
    assert run(plain, "--to", "conllx") == run(rich, "--to", "conllx") == (MILL, NOTES)
    assert run("-", "--to", "conllx", stdin=RICH) == (MILL, NOTES)
    assert run("-", "--to", "conllu", stdin=RICH) == (RICH, "")
    plain.write_text(MILL)
    # The content of this file is taken for CoNLL-U.
    assert run(plain, "--to", "conllx") == (MILL, NOTES.splitlines(True)[1])
    assert run(plain, "--to", "conllx", "--from", "conllx") == (MILL, "")


def test_compressed_files_are_read_and_written(rich: Path, tmp_path: Path) -> None:
    packed, merged = tmp_path / "a.conllx.gz", tmp_path / "b.conllu.xz"
    run(rich, "-o", packed)
    assert gzip.decompress(packed.read_bytes()).decode() == MILL
    run(packed, "--merge", rich, "-o", merged)
    assert lzma.decompress(merged.read_bytes()).decode() == RICH


def test_files_in_several_formats_are_joined(rich: Path, tmp_path: Path) -> None:
    path = tmp_path / "in.conll09"
    path.write_text(P_COLUMNS)
    out, err = run(rich, path, "-", "--to", "conllx", "-v", stdin=PROJECTIVE)
    assert out.startswith(MILL + "1\ta\tb\t_\tC\t")
    assert "4 sentences" in err and "1 predicate" in err and "8 DEPS" in err


def test_predicted_columns_replace_gold_columns(tmp_path: Path) -> None:
    path = tmp_path / "in.conll09"
    path.write_text(P_COLUMNS)
    assert run(path, "--predicted", "--to", "conllu", "-q")[0] == (
        "1\ta\tB\t_\tD\tE\t0\tG\t_\t_\n2\ti\tj\t_\tK\t_\t1\tM\t_\t_\n\n"
    )
    assert run(path, "--predicted", "--to", "conll09")[0] == str(with_predicted(*read(path)))
    parsed = P_COLUMNS.replace("\t0\t1\tm\tM\t", "\t0\t0\tm\tX\t")
    out, _ = run("-", "--predicted", "--merge", path, "--merge-tags", stdin=parsed)
    assert out == parsed
    path.write_text(parsed.replace("\t0\t0\tm", "\t0\tx\tm"))
    out, err = run(path, "--predicted", "--to", "conllu", code=1)
    assert out == ""
    assert err.startswith(f"depkit: error: {path}:2: PHEAD is 'x', not a word's number")


def test_predicted_columns_need_conll09(tmp_path: Path) -> None:
    path, unnamed = tmp_path / "in.conllu", tmp_path / "in"
    for file in (path, unnamed):
        file.write_text(RICH)
    message = "it needs a file in CoNLL-09, or --to conll09"
    assert message in run(path, "--predicted", "--to", "conllx", code=2)[1]
    note = "--predicted has no effect: no sentence is in CoNLL-09"
    assert note in run(unnamed, "--predicted", "--to", "conllx")[1]
    assert "no effect" not in run(unnamed, "--predicted", "--to", "conll09")[1]
    unnamed.write_text(P_COLUMNS)
    assert "no effect" not in run(unnamed, "--predicted", "--to", "conllx")[1]
    words = re.findall(r"(?m)^\d+\t\S+", P_COLUMNS)
    path.write_text("".join(f"{word}{chr(9) + '_'}{(chr(9) + '_') * 7}\n" for word in words) + "\n")
    merged = run(unnamed, "--predicted", "--merge", path, "--to", "conllu")[1]
    assert "no effect" not in merged


def test_conll09_keeps_predicates(tmp_path: Path) -> None:
    path = tmp_path / "in.conll09"
    path.write_text(PREDICATES)
    assert run(path, "--to", "conll09") == (PREDICATES, "")
    assert run(path, "--to", "conllx")[1] == (
        "depkit: note: conllx cannot represent 2 FILLPRED, 2 predicates, 3 arguments; they were"
        " left out\n"
    )


def test_encoding_applies_to_the_input_and_the_output_is_utf_8(tmp_path: Path) -> None:
    path, out = tmp_path / "in.conllx", tmp_path / "out.conllx"
    text = PROJECTIVE.replace("\ta\t", "\tcafé\t")
    path.write_text(text, encoding="latin-1")
    run(path, "-o", out, "--encoding", "latin-1")
    assert out.read_text(encoding="utf-8") == text
    _, err = run(path, "-o", out, code=1)
    assert f"{path}:1: byte 0xE9 in column 2, character 6 of the line" in err


def test_broken_sentences_are_reported_and_omitted(tmp_path: Path) -> None:
    path, out = tmp_path / "in.conllx", tmp_path / "out.conllu"
    good = "1\ta\tb\tC\tD\t_\t0\tg\t_\t_\n\n"
    path.write_text(good + "1\ta\n\n" + good + "x\n")
    errors = (
        f"depkit: error: {path}:3: the line has 2 columns instead of 10 of conllx;"
        " columns are separated by single tabs; the sentence is left out\n"
        f"depkit: error: {path}:7: the line has 1 column instead of 10 of conllx;"
        " are the columns separated by tabs?; the sentence is left out\n"
    )
    assert run(path, "-o", out, code=1) == ("", errors)
    assert out.read_text() == good * 2
    assert run(path, "--to", "conllx", "-q", code=1) == (good * 2, errors)
    out.unlink()
    error = run.failure(path, "-o", out, "--strict")
    assert isinstance(error, FormatError) and error.line == 3
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_a_treebank_is_an_error(tmp_path: Path) -> None:
    out, err = run("-", "--to", "conllu", stdin="What?\n\nHow?\n", code=1)
    assert out == "" and err.count("neither CoNLL-U, CoNLL-X nor CoNLL-09") == 2


def test_without_sentences_the_output_is_unchanged(tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    out.write_text("old")
    for text in ("", "broken\n\n" * 30):
        error = run.failure("-", "--from", "conllu", "-o", out, stdin=text)
        assert str(error) == "-: there is no sentence to write; the output file is left unchanged"
    assert out.read_text() == "old"


def test_only_the_first_broken_sentences_are_reported(tmp_path: Path) -> None:
    broken = "1\ta\n\n" * 30 + MILL
    out, err = run("-", "--from", "conllx", "--to", "conllx", stdin=broken, code=1)
    assert out == MILL
    assert len(err.splitlines()) == 21
    assert err.splitlines()[-1] == (
        "depkit: error: 10 more broken sentences are left out; depkit check lists all errors"
    )


def test_the_encoding_does_not_apply_to_the_original(rich: Path, tmp_path: Path) -> None:
    """ORIGINAL is read as UTF-8, even if the parse that is merged into it is Latin-1."""
    original = tmp_path / "original.conllu"
    original.write_text("# text = café\n" + rich.read_text(encoding="utf-8"), encoding="utf-8")
    parse = tmp_path / "parse.conllx"
    run(original, "-o", parse)
    out, _ = run(parse, "--merge", original, "--encoding", "latin-1", "-q")
    assert out == original.read_text(encoding="utf-8")


def test_a_note_counts_deps_of_changed_trees(rich: Path) -> None:
    parse = run(rich, "--to", "conllx", "-q")[0]
    assert run("-", "--merge", rich, stdin=parse)[1] == ""
    changed = parse.replace("\troot\t", "\tdep\t", 1)
    assert (
        "DEPS values were left out, where the tree is new"
        in run("-", "--merge", rich, stdin=changed)[1]
    )


def test_merging_different_words_is_an_error(rich: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    error = run.failure("-", "--merge", rich, "-o", out, stdin=MILL.replace("pan y", "pan"))
    message = f"-:8: mill-2: sentence 2, word 1 differs: '[pan] 20 000', but {rich}:17 has"
    assert str(error).startswith(message)
    assert not out.exists()
    broken = MILL.replace("\t_\t_\n", "\n", 1)
    merged_output, err = run("-", "--merge", rich, "--from", "conllx", stdin=broken, code=1)
    assert merged_output == RICH[RICH.index("# sent_id = mill-2") :]
    assert err.startswith("depkit: error: -:1: the line has 8 columns instead of 10 of conllx")


def test_tags_are_taken_from_another_file(rich: Path) -> None:
    tagged = MILL.replace("\tVERB\t_", "\tVERB\tT")
    out, _ = run(rich, "--tags", "-", "--to", "conllx", stdin=tagged)
    assert out == tagged
    error = run.failure(rich, "--tags", "-", "--to", "conllx", stdin=PROJECTIVE)
    assert "with the same words" in str(error)


TREES = "( (S (NP (NNP Kim)) (VP (VBZ sings))) )\n"
CHAIN = "1\tKim\t_\tNNP\tNNP\t_\t2\tdep\t_\t_\n2\tsings\t_\tVBZ\tVBZ\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the conversion by one that attaches every word to the next word."""

    def convert(trees):  # type: ignore[no-untyped-def]
        for tree in trees:
            tags = [leaf.label for leaf in tree.leaves()]
            heads = [*range(2, len(tags) + 1), 0]
            columns = {"upos": tags, "xpos": tags}
            sentence = new_sentence([leaf.word for leaf in tree.leaves()], columns, CONLLX)
            yield sentence.with_tree(heads, [*["dep"] * (len(tags) - 1), "root"])

    monkeypatch.setattr("depkit.convert.stanford.convert", convert)


@pytest.mark.usefixtures("chains")
def test_penn_trees_become_conllx(tmp_path: Path) -> None:
    path = tmp_path / "in.mrg"
    path.write_text(TREES * 2)
    assert run(path) == (CHAIN * 2, "")
    assert run(path, "--to", "conllu") == (CHAIN * 2, "")
    assert run("-", "--from", "ptb", stdin=TREES) == (CHAIN, "")
    assert run("-", "--to", "conllx", stdin="\n" + TREES) == (CHAIN, "")
    tagged = CHAIN.replace("NNP", "NN")
    assert run(path, "--tags", "-", stdin=tagged * 2) == (tagged * 2, "")


def test_universal_dependencies_have_ids_and_texts(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "in 1.mrg").write_text(TREES)
    out, _ = run(*tmp_path.glob("?/in 1.mrg"), "--dependencies", "ud")
    assert re.findall("# sent_id = (.*)", out) == ["in_1-1", "in_1-2"]
    out, _ = run("-", "--from", "ptb", "--dependencies", "ud", stdin=TREES)
    assert re.findall("# (.*)", out)[:2] == ["sent_id = 1", "text = Kim sings"]
    Command("check")("--ud", "-", stdin=out)


def test_universal_dependencies_of_today_have_multiword_tokens(tmp_path: Path) -> None:
    path = tmp_path / "in.mrg"
    path.write_text("( (S (NP (PRP I)) (VP (VBP do) (RB n't) (VP (VB sing))) (. .)) )")
    out, _ = run(path, "--dependencies", "ud2")
    assert "# text = I don't sing.\n" in out and "\n2-3\tdon't\t" in out
    Command("check")("--ud", "-", stdin=out)
    assert "Polarity=Neg" in out


def test_brackets_inside_words_are_written_as_in_text() -> None:
    tree = "( (NP (NN t-LRB-est-RRB-) (-LRB- -LRB-) (NN x) (-RRB- -RRB-)) )"
    for kind, bracket in (("sd", "-LRB-"), ("ud", "("), ("ud2", "(")):
        out, _ = run("-", "--from", "ptb", "--to", "conllu", "--dependencies", kind, stdin=tree)
        assert re.findall(r"^\d+\t(\S+)", out, re.M)[:2] == ["t(est)", bracket]


def test_the_rules_are_printed() -> None:
    out, _ = run("--rules")
    assert "nsubj: NP in S" in out and "A determiner." in out


@pytest.mark.usefixtures("chains")
def test_broken_trees_are_reported_and_omitted(tmp_path: Path) -> None:
    path = tmp_path / "in.mrg"
    path.write_text(TREES + "( (S (NNP Kim) sings) )\n" + TREES)
    out, err = run(path, code=1)
    assert out == CHAIN * 2
    assert err.startswith(f"depkit: error: {path}:2: ") and err.count("\n") == 1
    error = run.failure(path, "--strict", "-o", tmp_path / "out.conllx")
    assert isinstance(error, FormatError) and error.line == 2


def test_sentences_of_conllu_plus_have_the_same_columns(rich: Path, tmp_path: Path) -> None:
    plus, target = tmp_path / "plus.conllup", tmp_path / "out.conllup"
    names = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC NER"
    row = "1\tGo\t_\t_\t_\t_\t0\troot\t_\t_\tO\n\n"
    plus.write_text(f"# global.columns = {names}\n{row}")
    for files, message in (
        ([rich, plus], "plus.conllup:2: the sentence has 11 columns, but the first one has 10"),
        ([plus, rich], "the sentence has 10 columns, but the first one has 11"),
    ):
        error = run.failure(*files, "--to", "conllup", "-o", target)
        assert isinstance(error, FormatError) and message in str(error)
        assert not target.exists()
    run(plus, "-o", target)
    assert target.read_text() == plus.read_text()


def test_the_suffix_of_trees_needs_a_format(rich: Path, tmp_path: Path) -> None:
    target = tmp_path / "out.mrg"
    assert "or give --to" in run(rich, "-o", target, code=2)[1]
    run(rich, "--to", "conllu", "-o", target)
    assert target.read_text() == RICH


def test_missing_files_are_errors(rich: Path) -> None:
    run("--to", "conllx", code=2)
    assert isinstance(run.failure("/no/such.conllu", "--to", "conllx"), FileNotFoundError)
    assert isinstance(run.failure("/no/such.conllu"), FileNotFoundError)
    assert (
        "the name z.json does not end like a file of a format that can be written; choose"
        in run(rich, "-o", "z.json", code=2)[1]
    )
    assert "--to: choose" in run("-", code=2, stdin="")[1]
    assert isinstance(run.failure(rich, "--merge", "/no/such.conllu"), FileNotFoundError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "or give -o a file name with one of these endings"),
        (["-o", "out.txt"], "or give -o a file name with one of these endings"),
        (["--to", "ptb"], "Invalid value"),
        (["--from", "text", "--to", "conllu"], "Invalid value"),
        (["--to", "conllx", "--encoding", "morse"], "Invalid value"),
        (["-", "-", "--to", "conllx"], "only one file can be standard input"),
        (["-", "--merge", "-"], "only one file can be standard input"),
        (["--to", "conllx", "--merge-tags"], "needs --merge"),
        (["--to", "conllx", "--dependencies", "ud"], "needs Penn trees"),
        (["-", "--to", "conllx", "--tags", "-"], "only one file can be standard input"),
    ],
)
def test_bad_usage_is_rejected(rich: Path, arguments: list[str], message: str) -> None:
    out, err = run(rich, *arguments, code=2)
    assert out == "" and message in err


def test_an_input_file_is_not_overwritten(rich: Path, tmp_path: Path) -> None:
    assert "one of the files to read" in str(run.failure(rich, "-o", rich))
    again = tmp_path / "again.conllu"
    again.symlink_to(rich)
    assert "one of the files to read" in str(run.failure("-", "--merge", again, "-o", rich))
    assert rich.read_text() == RICH


def test_memory_is_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sentence is written before most of the input is read."""
    num_unread: list[int] = []

    class Stream(io.RawIOBase):
        """Both standard streams; records the number of unread sentences at each write."""

        unread = [MILL] * 4000

        def readable(self) -> bool:
            return True

        writable = readable

        def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
            piece = (self.unread.pop() if self.unread else "").encode()
            buffer[: len(piece)] = piece
            return len(piece)

        def write(self, data) -> int:  # type: ignore[no-untyped-def]
            num_unread.append(len(self.unread))
            return len(data)

    stdin, stdout = io.BufferedReader(Stream()), io.BufferedWriter(Stream())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(stdout))
    convert_command(["-"], target="conllu", source="conllx")
    assert num_unread[0] > 3000
