"""The floors of the house: an import points to the same floor or to one below."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import depkit

PACKAGE = Path(depkit.__file__).parent
FLOORS = (
    "depkit", "cli", "serving", "ensemble", "training", "parsers", "drawing", "nn", "score",
    "convert", "treebank", "trees", "corpus", "version",
)  # fmt: skip
WITH_TORCH = {*FLOORS[: FLOORS.index("parsers") + 1], "nn"}
# Thin methods that import within: there is no other way to hang them on the class.
METHODS = {("depkit.corpus.sentence", "depkit.corpus.token_list")}


def sources() -> dict[str, str]:
    """The text of each module of depkit, by its name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return found


def imported(source: str) -> set[str]:
    """What a module imports when it runs, within functions, too; `from a import b` is a.b."""
    found = set()
    agenda: list[ast.AST] = [ast.parse(source)]
    while agenda:
        node = agenda.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            agenda += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            found |= {f"{origin}.{alias.name}" for alias in node.names}
        agenda += ast.iter_child_nodes(node)
    return found


def floor_of(name: str) -> str:
    """The floor of a module, or of a name in one: the top one for what stands in no folder."""
    folder = name.split(".")[1:2]
    return folder[0] if folder and folder[0] in FLOORS else "depkit"


def faults(module: str, source: str) -> Iterator[str]:
    """The imports of a module that its floor forbids."""
    floor = floor_of(module)
    for name in sorted(imported(source)):
        package = name.split(".")[0]
        if (
            not package  # a relative import
            or (package == "torch" and floor not in WITH_TORCH)
            or (package == "numba" and floor != "trees")
            or (package == "depkit" and FLOORS.index(floor_of(name)) < FLOORS.index(floor))
        ):
            yield f"{module} imports {name}"


def circle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a circle, if there are any."""
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        names = imported(source)
        targets = (names | {name.rpartition(".")[0] for name in names}) & sources.keys()
        graph[module] = {name for name in targets if (module, name) not in METHODS} - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_only_point_down() -> None:
    found = [fault for module, source in sources().items() for fault in faults(module, source)]
    assert found == []


def test_there_is_no_circle() -> None:
    assert circle(sources()) == []


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("depkit.score.a", "import torch", True),
        ("depkit.corpus.a", "import torch.nn.functional as F", True),
        ("depkit.trees.a", "from torch import nn", True),
        ("depkit.drawing.b.a", "def f():\n    from torch.nn import Module", True),
        ("depkit.nn.a", "import torch", False),
        ("depkit.parsers.b.a", "from torch import nn", False),
        ("depkit.score.a", "if TYPE_CHECKING:\n    import torch", False),
        ("depkit.score.a", "if TYPE_CHECKING:\n    pass\nelse:\n    import torch", True),
        ("depkit.parsers.a", "import numba", True),
        ("depkit.trees.a", "from numba.extending import x", False),
        ("depkit.corpus.a", "from depkit.score.b import c", True),
        ("depkit.corpus.a", "def f():\n    import depkit.cli.main", True),
        ("depkit.cli.a", "from depkit.corpus.b import c", False),
        ("depkit.score.a", "from depkit import __version__", True),
        ("depkit.score.a", "from depkit import corpus", False),
        ("depkit.score.a", "import depkit", True),
        ("depkit.score.a", "from depkit.version import __version__", False),
        ("depkit.score.a", "from .b import c", True),
    ],
)
def test_bad_imports_are_found(module: str, source: str, wrong: bool) -> None:
    assert bool(list(faults(module, source))) == wrong


@pytest.mark.parametrize(
    ("back", "wrong"),
    [
        ("from depkit.nn.a import x", True),
        ("def f():\n    from depkit.nn import a", True),
        ("import depkit.nn.a", True),
        ("if TYPE_CHECKING:\n    import depkit.nn.a", False),
    ],
)
def test_circles_are_found(back: str, wrong: bool) -> None:
    some = {
        "depkit.nn.a": "from depkit.nn.b import y",
        "depkit.nn.b": "import depkit.nn.c",
        "depkit.nn.c": back,
    }
    assert bool(circle(some)) == wrong


def test_every_folder_with_code_has_a_floor() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= {*FLOORS, "recipes", "models"}
