"""Several trees of a sentence in drawings, in the report, and in scores."""

import re
from pathlib import Path

import pytest

from depkit.corpus.io import read, write
from depkit.corpus.probabilities import add_tree_rank, group_trees, tree_rank
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.score.evaluators import evaluate
from tests.cli.commands import Command
from tests.drawing.report.browser import needs_browser, open_browser
from tests.drawing.report.pages import read_page

show, report = Command("show"), Command("report")
FORMS = ["She", "saw", "him", "there"]
GOLD = [(2, "nsubj"), (0, "root"), (2, "obj"), (2, "advmod")]
SECOND = [(2, "nsubj"), (0, "root"), (2, "obj"), (3, "nmod")]
THIRD = [(2, "obj"), (0, "root"), (2, "obj"), (2, "advmod")]


def make(tree: list[tuple[int, str]]) -> Sentence:
    heads, deprels = zip(*tree, strict=True)
    return new_sentence(FORMS, {"head": heads, "deprel": deprels})


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """The gold file, and a file with three trees of the first sentence and one of the second."""
    ranked = [(SECOND, 0.6), (GOLD, 0.3), (THIRD, 0.1)]
    trees = [add_tree_rank(make(t), i, 3, p) for i, (t, p) in enumerate(ranked, start=1)]
    write([make(GOLD), make(GOLD)], tmp_path / "gold.conllu")
    write([*trees, make(GOLD)], tmp_path / "trees.conllu")
    return str(tmp_path / "gold.conllu"), str(tmp_path / "trees.conllu")


def test_trees_are_grouped_by_their_ranks(files: tuple[str, str]) -> None:
    groups = list(group_trees(read(files[1])))
    assert [len(group) for group in groups] == [3, 1]
    assert [tree_rank(tree) for tree in groups[0]] == [1, 2, 3]
    # Comments that mean something else
    for tree, prob in (("fir", "0.1"), ("1 of 3", "often"), ("0 of 3", "0.1"), ("2 of 3", "7")):
        sentence = make(GOLD).with_comment("tree", tree).with_comment("prob", prob)
        assert tree_rank(sentence) == 0
    # A first tree without a second one, and a second one without a first
    first, second = (add_tree_rank(make(GOLD), rank, 2, 0.5) for rank in (1, 2))
    assert [len(group) for group in group_trees([first, first, second, second])] == [1, 2, 1]
    assert [len(group) for group in group_trees([make(GOLD), second])] == [1, 1]


def test_a_file_without_alternatives_gives_a_note(files: tuple[str, str]) -> None:
    note = "depkit: note: no sentence that was read has several trees;"
    assert show(files[0], "--alternatives")[1] == f"{note} depkit parse --best N writes them\n"
    assert show(files[0], "--alternatives", "--quiet")[1] == ""
    assert show(files[1], "--alternatives")[1] == ""


def test_trees_are_drawn_together_with_their_probabilities(files: tuple[str, str]) -> None:
    out, _ = show(files[1], "--alternatives")
    first, second = out.split("\n\n")
    assert first.startswith("# sentence 1, best of 3 trees, probability 0.6\n")
    assert second.startswith("# sentence 2\n")
    above, below = re.split(r"\n.*She.*\n", first)
    assert "nmod 0.60" in above and "nsubj 0.90" in above and "root" in above
    assert "advmod 0.40" in below and "obj 0.10" in below and "nmod" not in below
    assert not re.search(r"\d\.\d", second)
    out, _ = show(files[1])
    assert "# sentence 3, tree 3 of 3, probability 0.1" in out
    for options in (["--diff", files[0]], ["--style", "tree"]):
        _, err = show(files[1], "--alternatives", *options, code=2)
        assert "--alternatives: it draws the arcs of one file" in err


def test_an_image_shows_the_other_arcs_dotted(files: tuple[str, str], tmp_path: Path) -> None:
    show(files[1], "--alternatives", "--svg", tmp_path / "out.svg")
    image = (tmp_path / "out.svg").read_text()
    assert image.count('stroke-dasharray="2 2"') == 1 and "advmod 0.40" in image


def test_the_best_tree_is_scored(files: tuple[str, str]) -> None:
    scores = evaluate(*files)
    assert (scores.sentences, scores.totals["both"], scores.words) == (2, 7, 8)


def test_the_best_tree_is_compared_in_drawings(files: tuple[str, str]) -> None:
    out, _ = show(files[0], "--diff", files[1])
    assert "# sentence 1" in out and "✗nmod" in out and "# sentence 2" not in out


def test_the_report_has_all_trees(files: tuple[str, str], tmp_path: Path) -> None:
    gold, trees = files
    report(gold, trees, gold, "-o", tmp_path / "out.html")
    data = read_page((tmp_path / "out.html").read_text())
    first, second = data["alternatives"]
    assert second == {} and list(first) == ["1"]
    relations = data["sentences"]["relations"]
    assert [probability for probability, _ in first["1"]] == [0.6, 0.3, 0.1]
    different = [arcs for _, arcs in first["1"]]
    assert different == [[[3, 3, relations.index("nmod")]], [], [[0, 2, relations.index("obj")]]]
    report(gold, gold, "-o", tmp_path / "plain.html")
    assert read_page((tmp_path / "plain.html").read_text())["alternatives"] == [{}]


def test_the_trees_of_the_report_have_no_subtypes_if_these_are_dropped(tmp_path: Path) -> None:
    subtypes = [(2, "nsubj:pass"), (0, "root"), (2, "obj"), (2, "advmod")]
    best, second = add_tree_rank(make(subtypes), 1, 2, 0.7), add_tree_rank(make(SECOND), 2, 2, 0.2)
    write([make(GOLD)], tmp_path / "gold.conllu")
    write([best, second], tmp_path / "trees.conllu")
    files = [tmp_path / "gold.conllu", tmp_path / "trees.conllu"]
    different = {}
    for choice in ("keep", "drop"):
        report(*files, "--subtypes", choice, "-o", tmp_path / "out.html")
        data = read_page((tmp_path / "out.html").read_text())
        relations = data["sentences"]["relations"]
        different[choice] = [
            [(word, head, relations[code]) for word, head, code in arcs]
            for _, arcs in data["alternatives"][0]["1"]
        ]
    assert different["keep"] == [[(0, 2, "nsubj:pass")], [(3, 3, "nmod")]]
    assert different["drop"] == [[], [(3, 3, "nmod")]]


@needs_browser
def test_the_page_draws_all_trees(files: tuple[str, str], tmp_path: Path) -> None:
    report(*files, "-o", tmp_path / "out.html")
    with open_browser() as browser:
        browser.open((tmp_path / "out.html").as_uri())
        count = "return [...document.querySelectorAll('.alternatives figcaption')]"
        captions = browser.run(f"{count}.map((x) => x.textContent)")
        assert captions == [
            "Tree 2 of 3, probability 0.3: no errors",
            "Tree 3 of 3, probability 0.1: 1 error",
        ]
        assert browser.messages() == []


def test_several_other_heads_of_a_word_are_all_drawn(tmp_path: Path) -> None:
    others = [[*GOLD[:3], arc] for arc in ((3, "nmod"), (1, "dep"))]
    trees = [add_tree_rank(make(t), i, 3, 0.3) for i, t in enumerate([GOLD, *others], start=1)]
    write(trees, tmp_path / "trees.conllu")
    out, _ = show(tmp_path / "trees.conllu", "--alternatives")
    assert "advmod 0.33" in out and "nmod 0.33" in out and "dep 0.33" in out
