"""depkit select: filters, samples, splits, shuffling and concatenation of treebanks."""

import random
import resource
from collections import Counter
from pathlib import Path

import pytest

from depkit.corpus.io import read
from depkit.files.errors import FormatError
from depkit.treebank.selection import assign_randomly
from tests.cli.commands import Command
from tests.conftest import HERE, TINY

run = Command("select")
FILE = HERE / "data" / "search.conllu"


def make_treebank(path: Path, documents: int = 40, size: int = 5) -> Path:
    """Write a treebank whose sentences have different texts and lengths."""
    rows = []
    for number in range(documents * size):
        if number % size == 0:
            rows.append(f"# newdoc id = d{number // size}\n")
        rows.append(f"# sent_id = s{number}\n# genre = {'news' if number % 4 else 'chat'}\n")
        for word in range(1, 2 + number % 12):
            rows.append(f"{word}\tw{number}\t_\tX\t_\t_\t{word - 1}\tdep\t_\t_\n")
        rows.append("\n")
    path.write_text("".join(rows))
    return path


def ids(text: str) -> list[str]:
    return [sentence.sent_id for sentence in read(text.splitlines(keepends=True))]


def test_without_options_the_files_are_concatenated() -> None:
    assert run(FILE) == (FILE.read_text(), "")
    assert run(FILE, TINY)[0] == FILE.read_text() + TINY.read_text()


def test_sent_ids_stay_unique() -> None:
    out, err = run(FILE, "-", stdin=FILE.read_text())
    assert len(set(ids(out))) == len(ids(out)) == 10
    assert ids(out)[5:] == ["a-1-2", "a-2-2", "b-1-2", "b-2-2", "b-3-2"]
    assert err == "depkit: note: 5 sent_ids that occurred before have got a number at their end\n"


def test_sent_ids_stay_unique_across_parts(tmp_path: Path) -> None:
    row = "1\t{}\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    words = "abcdefgh"
    stdin = "".join(f"# sent_id = s\n# text = {word}\n{row.format(word)}" for word in words)
    run("-", "--split", "a=0.5,b=0.5", "--output-dir", tmp_path, stdin=stdin)
    parts = [ids((tmp_path / f"{name}.conllu").read_text()) for name in "ab"]
    assert all(parts)
    assert sorted([*parts[0], *parts[1]]) == ["s", *(f"s-{number}" for number in range(2, 9))]


def test_filters() -> None:
    assert ids(run(FILE, "--where", "pattern { X [upos=INTJ] }")[0]) == ["b-3"]
    both = ("--where", "pattern { X [lemma=dog] }", "--where", "pattern { X [upos=AUX] }")
    assert ids(run(FILE, *both)[0]) == ["a-1"]
    # A pattern that names enhanced relations is searched in them, and no other pattern is.
    assert ids(run(FILE, "--where", "pattern { X -[E:conj:and]-> Y }")[0]) == ["a-2"]
    assert ids(run(FILE, "--where", "pattern { X -[1=conj,2=and]-> Y }")[0]) == []
    out, err = run(FILE, "--where", "pattern { X [deprel=obj] }")
    assert out == "" and err.startswith("depkit: note: deprel is a column, not a feature")
    assert ids(run(FILE, "--min-words", 9, "--max-words", 10)[0]) == ["a-2", "b-2"]
    twice = FILE.read_text() * 2
    out, err = run("-", "--unique", stdin=twice)
    assert (out, err) == (
        FILE.read_text(), "depkit: note: 5 sentences whose text occurred before left out\n"
    )  # fmt: skip


def test_texts_of_another_file_are_left_out(tmp_path: Path) -> None:
    # The other file has other comments and divides the words in another way.
    test = tmp_path / "test.conllu"
    test.write_text(
        "1\tOh\t_\tINTJ\t_\t_\t0\troot\t_\t_\n2\tno\t_\tINTJ\t_\t_\t1\tdep\t_\t_\n\n"
        "# text = The old dog  didn't see it.\n1\tThe\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    )
    out, err = run(FILE, "--without", test)
    assert ids(out) == ["a-2", "b-1", "b-2"]
    assert err == f"depkit: note: 2 sentences whose text occurs in {test} left out\n"
    assert run(FILE, "--without", FILE)[0] == ""


def test_documents_and_paragraphs_keep_their_comments() -> None:
    text = "".join(
        f"{comments}# sent_id = {name}\n1\t{name}\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
        for comments, name in [
            ("# newdoc id = 1\n# newpar id = 1.1\n", "a"), ("", "b"), ("# newpar id = 1.2\n", "c"),
            ("", "d"), ("# newdoc id = 2\n", "e"), ("", "f"),
        ]
    )  # fmt: skip
    out = run("-", "--where", "pattern { X [form=b|d|f] }", stdin=text)[0]
    comments = [line for line in out.splitlines() if line.startswith("#")]
    assert comments == [
        "# newdoc id = 1", "# newpar id = 1.1", "# sent_id = b", "# newpar id = 1.2",
        "# sent_id = d", "# newdoc id = 2", "# sent_id = f",
    ]  # fmt: skip


def split(path: Path, folder: Path, *options: object) -> dict[str, list[str]]:
    run(path, "--split", "train=0.6,dev=0.2,test=0.2", "--output-dir", folder, *options)
    names = ("train", "dev", "test")
    return {name: ids((folder / f"{name}.conllu").read_text()) for name in names}


def test_a_split_by_text_is_stable(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu")
    parts = split(path, tmp_path / "a")
    assert sorted(name for part in parts.values() for name in part) == sorted(ids(path.read_text()))
    assert 90 < len(parts["train"]) < 150 and min(map(len, parts.values())) > 20
    # Sentences are added before and repeated.
    more = tmp_path / "more.conllu"
    more.write_text("1\tnew\t_\tX\t_\t_\t0\troot\t_\t_\n\n" + path.read_text())
    new_parts = split(more, tmp_path / "b")
    assert {name: [x for x in part if x] for name, part in new_parts.items()} == parts
    assert split(path, tmp_path / "c", "--seed", 1) != parts
    again = split(path, tmp_path / "d")
    assert again == parts


def test_after_an_error_no_directory_remains(tmp_path: Path) -> None:
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tA\t_\tX\t_\t_\t7\troot\t_\t_\n\n")
    parts = ["--split", "a=0.5,b=0.5", "--output-dir", tmp_path / "new" / "parts"]
    assert isinstance(run.failure(FILE, bad, *parts), FormatError)
    assert list(tmp_path.iterdir()) == [bad]


def test_all_parts_are_written_or_none(tmp_path: Path) -> None:
    """The limit stands for a disk of this size; only the first part is longer."""
    path = make_treebank(tmp_path / "all.conllu", documents=5)
    (tmp_path / "b.conllu").write_text("old")
    parts = ["--split", "a=0.9,b=0.1", "--by", "random", "--output-dir", tmp_path]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        error = run.failure(path, *parts)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(error, OSError) and error.filename == str(tmp_path / "a.conllu")
    assert (tmp_path / "b.conllu").read_text() == "old"
    assert not (tmp_path / "a.conllu").exists()
    run(path, *parts)
    assert (tmp_path / "b.conllu").stat().st_size < 2000 < (tmp_path / "a.conllu").stat().st_size


def test_documents_stay_whole(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu")
    parts = split(path, tmp_path / "parts", "--by", "document")
    where = {int(x[1:]): name for name, part in parts.items() for x in part}
    assert len(where) == 200
    assert all(where[i] == where[i - i % 5] for i in where)
    assert len(set(where.values())) == 3


def test_a_random_split_has_exact_sizes_and_strata(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu")
    parts = split(path, tmp_path / "parts", "--by", "random", "--stratify", "genre")
    assert [len(part) for part in parts.values()] == [120, 40, 40]
    chat = [sum(int(x[1:]) % 4 == 0 for x in part) for part in parts.values()]
    assert chat == [30, 10, 10]
    out = run(path, "--sample", 24, "--by", "random", "--stratify", "length")[0]
    short = Counter(1 + int(x[1:]) % 12 <= 5 for x in ids(out))
    assert short.total() == 24 and abs(short[True] - 24 * 5 / 12) <= 1


def test_samples(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu")
    everything = ids(path.read_text())
    sample = ids(run(path, "--sample", 30)[0])
    assert len(sample) == 30
    assert sample == [name for name in everything if name in sample]
    assert set(ids(run(path, "--sample", 20)[0])) < set(sample)
    share = ids(run(path, "--sample", "0.25")[0])
    assert 30 < len(share) < 70
    assert len(ids(run(path, "--sample", "0.25", "--by", "random")[0])) == 50
    assert ids(run(path, "--sample", 1000)[0]) == everything
    assert len(ids(run(path, "--sample", "1")[0])) == 1
    assert ids(run(path, "--sample", "1.0")[0]) == everything


def test_shuffling_depends_on_the_seed(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu")
    first, second = (ids(run(path, "--shuffle", "--seed", seed)[0]) for seed in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second) == sorted(ids(path.read_text()))
    assert ids(run(path, "--shuffle")[0]) == first


@pytest.mark.parametrize("seed", range(20))
def test_quotas_are_exact_and_strata_are_alike(seed: int) -> None:
    generator = random.Random(seed)
    size = generator.randrange(1, 60)
    strata = [generator.choice("abc") for _ in range(size)]
    quotas = [size * share for share in ((0.5, 0.3), (0.8, 0.1, 0.1), (1.0,))[seed % 3]]
    parts = assign_randomly(strata, quotas, generator)
    for part, quota in enumerate(quotas):
        assert abs(parts.count(part) - quota) < 1
        for stratum in set(strata):
            chosen = sum(s == stratum and p == part for s, p in zip(strata, parts, strict=True))
            assert abs(chosen - quota * strata.count(stratum) / size) < len(quotas) + 1


def test_verbose_counts_and_empty_selections(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu", documents=1)
    split_options = ("--split", "a=0.5,b=0.5", "--output-dir", tmp_path / "x", "--by", "random")
    err = run(path, *split_options, "-v")[1]
    lines = [line.split() for line in err.splitlines()]
    assert [line[0] for line in lines] == ["a:", "b:"]
    assert sorted(line[1] for line in lines) == ["2", "3"]
    out, err = run(path, "--min-words", 100)
    assert (out, err) == ("", "depkit: note: no sentence was selected\n")
    assert run(path, "--min-words", 100, "-q") == ("", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample", "0"], "no share"),
        (["--sample", "many"], "nor a number of sentences"),
        (["--sample", "1.5"], "no share"),
        (["--sample", "3", "--by", "document"], "as a whole"),
        (["--sample", "3", "--split", "a=1"], "contradicts"),
        (["--split", "a=0.5,b=0.5"], "both or neither"),
        (["--output-dir", "x"], "both or neither"),
        (["--split", "a=0.5,a=0.5", "--output-dir", "x"], "different name"),
        (["--split", "a=0.9,b=0.2", "--output-dir", "x"], "more than 1"),
        (["--split", "a=1", "--output-dir", "x", "-o", "y"], "contradicts --output-dir"),
        (["--stratify", "length"], "--by random"),
        (["--by", "random", "--stratify", "length"], "--by: it needs --sample or --split"),
        (["--where", "pattern { X ["], "column"),
    ],
)
def test_mistakes_in_the_usage(options: list[str], message: str) -> None:
    assert message in run(FILE, *options, code=2)[1]


def test_files_of_different_formats_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.conllx"
    other.write_text("1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    target = tmp_path / "out.conllu"
    error = run.failure(FILE, other, "-o", target)
    assert isinstance(error, FormatError) and "convert them to one format" in str(error)
    assert not target.exists()


TREES = "( (S (NP (PRP I)) (VP (VBP run))) )\n(S (NP (PRP You)) (VP (VBP run)))\n"


def test_bracketed_trees_stay_bracketed_trees(tmp_path):
    source, target = tmp_path / "in.mrg", tmp_path / "out.mrg"
    source.write_text(TREES)
    kept = TREES.splitlines(keepends=True)
    assert run(source)[0] == TREES
    run(source, "--where", "pattern { X [form=You] }", "-o", target)
    assert target.read_text() == kept[1]
    shares = ("--split", "a=0.5,b=0.5", "--by", "random", "--output-dir", tmp_path)
    run(source, *shares)
    parts = [(tmp_path / f"{name}.mrg").read_text() for name in "ab"]
    assert sorted(parts) == sorted(kept)
    run(source, "-o", tmp_path / "out.conllu")
    assert [sentence.form[0] for sentence in read(tmp_path / "out.conllu")] == ["I", "You"]


TRACES = """( (S
    (NP-SBJ-1 (NNP Kim))
    (VP (VBZ wants)
      (S
        (NP-SBJ (-NONE- *-1))
        (VP (TO to) (VP (VB sleep)))))))
"""
NOT_INDENTED = "(S (NP (PRP We))\n(VP (VBP run) (NP (-NONE- *)))\n)\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_selected_trees_keep_their_lines_and_empty_elements(tmp_path, line_end):
    source = tmp_path / "in.mrg"
    source.write_bytes((TRACES + TREES + TRACES).replace("\n", line_end).encode())
    assert run(source)[0] == TRACES + TREES + TRACES
    run(source, "--sample", 1, "--by", "random", "-o", tmp_path / "a.mrg")
    assert (tmp_path / "a.mrg").read_text() in [TRACES, *TREES.splitlines(keepends=True)]


def test_trees_that_are_not_indented_become_one_line(tmp_path):
    source, target = tmp_path / "in.mrg", tmp_path / "out.mrg"
    source.write_text(NOT_INDENTED + NOT_INDENTED)
    run(source, "-o", target)
    assert target.read_text() == NOT_INDENTED.replace(")\n(", ") (") * 2
    run(target, "--where", "pattern { X [form=We] }", "-o", source)
    assert source.read_text() == target.read_text()


def test_trees_and_rows_are_written_together_if_trees_become_rows(tmp_path):
    trees, target = tmp_path / "in.mrg", tmp_path / "out.conllu"
    trees.write_text(TREES)
    run(trees, FILE, "-o", target)
    run(trees, "-o", tmp_path / "trees.conllu")
    assert target.read_text() == (tmp_path / "trees.conllu").read_text() + FILE.read_text()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [("select", []), ("edit", ["pattern { X [upos=ZZZ] } commands { X.upos = X }"])],
)
def test_a_format_that_overrides_the_suffix_is_written_under_the_same_suffix(
    command, arguments, tmp_path
):
    own, other = tmp_path / "a.conllx", tmp_path / "b.conllu"
    for path in (own, other):
        path.write_text(FILE.read_text())
    new = tmp_path / "new.conllx"
    Command(command)(*arguments, own, "--from", "conllu", "-o", new)
    assert new.read_text() == FILE.read_text()
    error = Command(command).failure(*arguments, other, "--from", "conllu", "-o", own)
    assert "depkit convert" in str(error)
    trees = tmp_path / "in.mrg"
    trees.write_text(TREES)
    error = Command("edit").failure(
        "rule r { pattern { X [form=I] } commands { X.form=We } }", trees, "--from", "ptb", "-o",
        trees,
    )  # fmt: skip
    assert "depkit convert" in str(error)


def test_the_suffix_of_another_format_is_refused(tmp_path):
    trees = tmp_path / "in.mrg"
    trees.write_text(TREES)
    assert "depkit convert" in str(run.failure(FILE, "-o", tmp_path / "out.conllx"))
    assert "in.mrg: it is in ptb" in str(run.failure(FILE, trees, "-o", tmp_path / "a.txt"))
    rule = "rule r { pattern { X [form=I] } commands { X.form=We } }"
    assert "depkit convert" in str(Command("edit").failure(rule, trees, "-o", trees))
    assert ".mrg" in str(Command("search").failure("pattern { X [] }", trees, "-o", trees))
    assert trees.read_text() == TREES


def test_a_comment_that_no_sentence_has_is_noted(tmp_path: Path) -> None:
    path = make_treebank(tmp_path / "all.conllu", documents=2)
    options = ("--sample", 3, "--by", "random", "--stratify")
    message = "depkit: note: no sentence has a comment gener, so --stratify has no effect\n"
    assert run(path, *options, "gener")[1] == message
    assert run(path, *options, "genre")[1] == run(path, *options, "length")[1] == ""
