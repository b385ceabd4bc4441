"""Drawings of enhanced dependencies: in the terminal, as SVG and for LaTeX."""

import re
from pathlib import Path

import pytest

from depkit.drawing.trees import arcs
from depkit.drawing.trees.drawn_graph import DrawnGraph
from depkit.drawing.trees.svg import draw_svg
from depkit.drawing.trees.terminal import show
from depkit.drawing.trees.tikz import draw_tikz
from depkit.files.errors import FormatError
from tests.cli.commands import Command
from tests.corpus.rows import parse

run = Command("show")

GAPPING = """\
1	I	_	PRON	_	_	2	nsubj	2:nsubj	_
2	ate	_	VERB	_	_	0	root	0:root	_
3	tea	_	NOUN	_	_	2	obj	2:obj	_
4	you	_	PRON	_	_	2	conj	4.1:nsubj	_
4.1	ate	_	VERB	_	_	_	_	2:conj	_
5	pie	_	NOUN	_	_	4	orphan	4.1:obj	_
6	at	_	ADP	_	_	7	case	7:case	_
7	two	_	NUM	_	_	5	obl	4.1:dep|5:obl:at	_

"""
COORDINATION = """\
1	he	_	_	_	_	2	nsubj	2:nsubj|3:nsubj|4:nsubj	_
2	sat	_	_	_	_	0	root	0:root	_
3	ate	_	_	_	_	2	conj	0:root|2:conj|3:dep	_
4	ran	_	_	_	_	2	conj	2:conj|2:dep	_

"""


def draw(text: str, width: int = 100) -> list[str]:
    (sentence,) = parse(text)
    return list(arcs.draw(DrawnGraph(1, sentence), width, colour=False))


def test_wrapped_empty_nodes_have_their_ids_and_new_arcs_are_below() -> None:
    expected = """\
          root
            │ ╭───conj───╮
  ╭─nsubj─╮ │ ├─obj─╮    │ ╭────────┄5
  ▼       │ ▼ │     ▼    ▼ │
  I        ate     tea   you
PRON      VERB    NOUN  PRON
  1         2       3     4
            │             ▲
            │             ╰─nsubj─┄4.1
            ╰─────────────────────┄4.1

                 ╭───obl:at───╮
4┄───orphan────╮ │   ╭─case─╮ │
               ▼ │   ▼      │ ▼
      [ate]    pie  at      two
      VERB    NOUN  ADP     NUM
       4.1      5    6       7
      │ ▲ │     ▲            ▲
4┄────╯ │ ├─obj─╯            │
2┄─conj─╯ ╰───────dep────────╯"""
    assert "\n".join(draw(GAPPING, 40)) == expected


def test_several_heads_of_a_word_share_its_arrow() -> None:
    expected = """\
         root
           │ ╭───────conj───────╮
 ╭─nsubj─╮ │ ├──conj──╮         │
 ▼       │ ▼ │        ▼         ▼
he        sat        ate       ran
 ▲         │         │ ▲       ▲ │
 ├───nsubj─┼─────────╯ │       │ │
 │         ╰───────dep─┼───────╯ │
 ╰─────────────nsubj───┼─────────╯
                  root, ↻dep"""
    assert "\n".join(draw(COORDINATION)) == expected


def test_an_empty_node_without_a_form_has_its_id() -> None:
    assert "  [4.1]  " in "\n".join(draw(GAPPING.replace("4.1\tate", "4.1\t_")))


def test_images_have_the_arcs_of_the_graph() -> None:
    (sentence,) = parse(COORDINATION)
    image = "".join(draw_svg([DrawnGraph(1, sentence)]))
    assert {">conj<", ">dep<", ">root, ↻dep<"} <= set(re.findall(">[^<>]+<", image))
    assert image.count("stroke-dasharray") == 1
    latex = "".join(draw_tikz([DrawnGraph(1, sentence)])).splitlines()
    assert r"  \depedge[edge below, dashed]{4}{1}{nsubj}" in latex
    assert r"  \deproot[edge below, dashed]{3}{root, ↻dep}" in latex


def test_the_command_and_python_draw_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "graph.conllu"
    path.write_text(GAPPING)
    out, _ = run(path, "--enhanced", "--width", "40", "--color", "always")
    assert "\x1b[36m" in out
    show(path, enhanced=True, width=40)
    assert capsys.readouterr().out == re.sub(r"\x1b\[\d*m", "", out)
    assert "[ate]" not in run(path)[0]


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.conllu"
    path.write_text(GAPPING)
    for options in (["--diff", path], ["--style", "tree"], ["--alternatives"]):
        assert "--" in run(path, "--enhanced", *options, code=2)[1]
    with pytest.raises(ValueError, match="`enhanced`"):
        show(path, enhanced=True, style="tree")
    with pytest.raises(ValueError, match="`enhanced`"):
        show(path, enhanced=True, alternatives=True)
    path.write_text(GAPPING.replace("4.1:obj", "9:obj"))
    error = run.failure(path, "--enhanced")
    assert isinstance(error, FormatError) and error.line == 6
