"""depkit show: drawings of trees, selection of sentences, differences, colours and SVG."""

import gzip
import io
import re
import shlex
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import cast

import pytest

from depkit.cli.show import Color, needs_colour
from depkit.corpus.io import read
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.drawing.trees import arcs
from depkit.drawing.trees.drawn_sentence import DrawnSentence
from depkit.drawing.trees.terminal import default_width
from depkit.files.errors import FormatError
from tests.cli.commands import Command
from tests.corpus.rows import row
from tests.drawing.terminal import Terminal
from tests.drawing.trees.read_drawing import read_drawing

run = Command("show")

FIRST = (
    "# sent_id = a-1\n# text = Dogs bark.\n"
    "1\tDogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n"
    "2\tbark\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3\t.\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_\n\n"
)
SECOND = FIRST.replace("a-1", "a-2").replace("Dogs", "Seals")
THIRD = "1\tYes\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
FIRST_DRAWING = """\
# sentence 1 (sent_id a-1)
# Dogs bark.
          root
  ╭─nsubj─╮ │ ╭─punct─╮
  ▼       │ ▼ │       ▼
Dogs      bark        .
NOUN      VERB      PUNCT
"""


@pytest.fixture
def gold(tmp_path: Path) -> str:
    (tmp_path / "gold.conllu").write_text(FIRST + SECOND + THIRD)
    return str(tmp_path / "gold.conllu")


@pytest.fixture
def pred(tmp_path: Path) -> str:
    """A file like gold, but with a wrong relation in the second sentence."""
    (tmp_path / "pred.conllu").write_text(FIRST + SECOND.replace("nsubj", "obj") + THIRD)
    return str(tmp_path / "pred.conllu")


def headings(output: str) -> list[str]:
    """Return the headings of the drawn sentences."""
    return re.findall("^# sentence ([0-9]+.*)$", output, re.MULTILINE)


def test_sentences_are_drawn_under_headings(gold: str) -> None:
    out, err = run(gold)
    first, second, third = out.split("\n\n")
    assert first + "\n" == FIRST_DRAWING
    seals = FIRST_DRAWING.replace("Dogs  ", "Seals ").replace("Dogs", "Seals")
    assert second + "\n" == seals.replace(
        "# sentence 1 (sent_id a-1)", "# sentence 2 (sent_id a-2)"
    )
    assert third == "# sentence 3\nroot\n  ▼\n Yes\nINTJ\n"
    assert err == ""


def test_standard_input_and_compressed_files_are_drawn(gold: str, tmp_path: Path) -> None:
    packed = tmp_path / "gold.conllu.gz"
    packed.write_bytes(gzip.compress(Path(gold).read_bytes()))
    out = run(gold)[0]
    assert run(packed)[0] == out
    assert run(stdin=Path(gold).read_text())[0] == out
    assert run("-", stdin=Path(gold).read_text())[0] == out
    assert run(stdin="") == ("", "")


def test_the_tree_style_is_an_indented_tree(gold: str) -> None:
    out = run(gold, "--style", "tree", "--sentence", "1")[0]
    assert out == (
        "# sentence 1 (sent_id a-1)\n# Dogs bark.\n"
        "2  bark     VERB   root\n1  ├─ Dogs  NOUN   nsubj\n3  └─ .     PUNCT  punct\n"
    )


def test_sentences_are_selected_by_number_or_id(gold: str) -> None:
    assert headings(run(gold, "--sentence", "3", "--sentence", "a-1")[0]) == [
        "1 (sent_id a-1)",
        "3",
    ]
    assert headings(run(gold, "--sentence", "a-2")[0]) == ["2 (sent_id a-2)"]


def test_nothing_is_read_after_the_last_selected_sentence(gold: str) -> None:
    with open(gold, "a") as file:
        file.write("broken\n")
    out = run(gold, "--sentence", "a-2", "--sentence", "a-1")[0]
    assert headings(out) == ["1 (sent_id a-1)", "2 (sent_id a-2)"]
    with pytest.raises(FormatError):
        run(gold)


def test_a_sent_id_is_preferred_to_a_number(tmp_path) -> None:
    path = tmp_path / "numbers.conllu"
    path.write_text("".join(f"# sent_id = {n}\n{row(1, 'word', 0, 'root')}\n" for n in "x213"))
    assert headings(run(path, "--sentence", "1")[0]) == ["3 (sent_id 1)"]
    out = run(path, "--sentence", "3", "--sentence", "2", "--sentence", "x")[0]
    assert headings(out) == ["1 (sent_id x)", "2 (sent_id 2)", "4 (sent_id 3)"]
    path.write_text(path.read_text().replace("= 1\n", "= one\n"))
    assert headings(run(path, "--sentence", "1")[0]) == ["1 (sent_id x)"]


def test_a_missing_sentence_is_bad_usage(gold: str) -> None:
    out, err = run(gold, "--sentence", "4", "--sentence", "a-1", "--sentence", "b", code=2)
    assert headings(out) == ["1 (sent_id a-1)"]
    assert "no sentence 4, b among the 3 sentences of" in " ".join(err.replace("│", " ").split())


def test_lines_are_at_most_as_wide_as_width(gold: str) -> None:
    assert max(map(len, run(gold)[0].splitlines())) == len("# sentence 1 (sent_id a-1)")
    with open(gold, "a") as file:
        file.writelines(row(i, f"word{i}", max(i - 1, 0), "dep") for i in range(1, 40))
    assert 80 < max(map(len, run(gold)[0].splitlines())) <= 100
    assert 40 < max(map(len, run(gold, "--width", "60")[0].splitlines())) <= 60


def test_diff_draws_the_sentences_that_differ(gold: str, pred: str) -> None:
    out, err = run(gold, "--diff", pred)
    assert headings(out) == ["2 (sent_id a-2)"]
    assert out.endswith("NOUN         VERB      PUNCT\n  ▲            │\n  ╰─✗nsubj→obj─╯\n")
    assert err == ""
    assert headings(run(gold, "--diff", pred, "--all")[0]) == [
        "1 (sent_id a-1)",
        "2 (sent_id a-2)",
        "3",
    ]
    assert headings(run(gold, "--diff", pred, "--sentence", "3")[0]) == ["3"]
    assert run(gold, "--diff", pred, "-v")[1] == "1 of 3 sentences were drawn\n"
    assert "✗ obj" in run(gold, "--diff", pred, "--style", "tree")[0]


def test_a_note_says_that_trees_are_the_same(gold: str) -> None:
    note = f"depkit: note: the trees of {gold} and {gold} are the same\n"
    assert run(gold, "--diff", gold) == ("", note)
    assert run(gold, "--diff", gold, "-q") == ("", "")
    noun = ("--where", 'pattern { X [upos="NOUN"] }')
    selected = note.replace("the trees", "the selected trees")
    assert run(gold, "--diff", gold, *noun) == ("", selected)
    nothing = run(gold, "--diff", gold, "--where", 'pattern { X [form="zebra"] }')
    assert nothing == ("", "depkit: note: no sentence was selected\n")
    assert "only one file" in run("--diff", "-", code=2)[1]


@pytest.mark.parametrize("option", ["--enhanced", "--alternatives", "--style=arcs"])
def test_bracketed_trees_have_no_arcs(option: str, tmp_path: Path) -> None:
    path = tmp_path / "trees.mrg"
    path.write_text("(S (VB Go))\n")
    assert "VB" in run(path)[0]
    name = option.partition("=")[0]
    for image in ([], ["--svg", tmp_path / "x.svg"]):
        message = f"{name}: it draws arcs, but {path} has bracketed trees"
        assert message in run(path, option, *image, code=2)[1]
    assert [file.name for file in tmp_path.iterdir()] == ["trees.mrg"]


def test_different_words_are_a_format_error(gold: str, pred: str) -> None:
    Path(pred).write_text(FIRST + SECOND.replace("bark", "barks") + THIRD)
    with pytest.raises(FormatError, match="sentence 2, word 2 differs:"):
        run(gold, "--diff", pred)


def test_color_adds_only_escape_sequences(gold: str, pred: str) -> None:
    plain = run(gold, "--diff", pred)[0]
    assert "\x1b" not in plain
    assert run(gold, "--diff", pred, "--color", "never")[0] == plain
    coloured_output = run(gold, "--diff", pred, "--color", "always")[0]
    assert re.sub("\x1b\\[[0-9]*m", "", coloured_output) == plain != coloured_output


@pytest.mark.parametrize(
    ("color", "terminal", "no_color", "expected"),
    [
        ("auto", True, "", True),
        ("auto", True, "1", False),
        ("auto", False, "", False),
        ("always", False, "1", True),
        ("never", True, "", False),
    ],
)
def test_colours_are_used_at_a_terminal_or_on_request(
    color: Color, terminal: bool, no_color: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    monkeypatch.setenv("NO_COLOR", no_color)
    assert needs_colour(color) == expected


def test_the_default_width_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "77")
    assert default_width() == 100
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert default_width() == 77
    monkeypatch.setenv("COLUMNS", "7")
    assert default_width() == 40


def test_svg_has_a_drawing_per_sentence(gold: str, pred: str, tmp_path: Path) -> None:
    target = tmp_path / "trees.svg"
    assert run(gold, "--svg", str(target)) == ("", "")
    text = target.read_text()
    assert text.startswith("<svg ") and text.endswith("</svg>\n")
    assert text.count("<title>") == 3
    assert run(gold, "--svg", "-")[0] == text
    assert run(gold, "--svg", "-", "--diff", pred)[0].count("<title>") == 1


def test_without_a_sentence_the_svg_file_is_left_unchanged(gold: str, tmp_path: Path) -> None:
    before = Path(gold).read_bytes()
    empty = tmp_path / "empty.conllu"
    for content in ("", "\n\n"):
        empty.write_text(content)
        error = run.failure(str(empty), "--svg", gold)
        assert isinstance(error, FormatError) and "no sentence to draw" in str(error)
        assert Path(gold).read_bytes() == before
        drawing = run(str(empty), "--svg", "-")[0]
        assert "<svg" in drawing and "<title>" not in drawing
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.conllu", "gold.conllu"]


def test_an_error_leaves_no_partial_svg(gold: str, tmp_path: Path) -> None:
    with open(gold, "a") as file:
        file.write("broken\n")
    target = tmp_path / "trees.svg"
    assert isinstance(run.failure(gold, "--svg", target), FormatError)
    assert [path.name for path in tmp_path.iterdir()] == ["gold.conllu"]


@pytest.mark.parametrize(
    "options",
    [
        "--style boxes", "--width 39", "--all", "--color sometimes", "--svg - --style tree",
        "--svg - --width 80", "--encoding morse",
    ],
)  # fmt: skip
def test_bad_usage_is_rejected(gold: str, options: str) -> None:
    out, err = run(gold, *shlex.split(options), code=2)
    assert out == "" and "Invalid value" in err


def test_sentences_are_drawn_as_they_are_read(gold: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn_before: list[int] = []  # number of drawn sentences when the next sentence is read

    def read_and_count(file: str, encoding: str) -> Iterator[Sentence]:
        for sentence in read(file, encoding=encoding):
            yield sentence
            output = cast(io.BytesIO, sys.stdout.buffer)  # not the real stdout
            drawn_before.append(output.getvalue().count(b"root"))

    monkeypatch.setattr("depkit.corpus.pairing.read", read_and_count)
    run(gold)
    assert drawn_before == [1, 2, 3]


@pytest.mark.parametrize(
    "name",
    [
        "ud-chinese-gsd/zh_gsd-ud-dev.conllu",
        "ud-latin-perseus/la_perseus-ud-train.conllu",
        "conll09-turkish-propbank/trpb_v1.0.dev.conll09",
    ],
)
def test_drawings_of_real_treebanks_can_be_read_back(shared: Path, name: str) -> None:
    """The first trees, with crossing arcs, can be read back from their drawings."""
    for number, sentence in enumerate(islice(read(shared / "data" / name), 100), start=1):
        words = [f"w{word}w" for word in range(1, len(sentence) + 1)]
        plain = new_sentence(words).with_tree(sentence.head, sentence.deprel)
        drawn_sentence = DrawnSentence(number, plain)
        arcs_above, arcs_below = read_drawing(list(arcs.draw(drawn_sentence, 100, False)))
        assert arcs_above == {arc.dependent: (arc.head, arc.label) for arc in drawn_sentence.arcs()}
        assert arcs_below == {}  # arcs of a second tree would be below the words
