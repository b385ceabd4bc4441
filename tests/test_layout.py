"""The floors of the house: an import points to the same floor or to one below."""

import ast
from pathlib import Path

import depkit

PACKAGE = Path(depkit.__file__).parent
FLOORS = (
    "cli", "serving", "ensemble", "training", "parsers", "drawing", "nn", "score", "convert",
    "treebank", "trees", "corpus",
)  # fmt: skip


def imports(path: Path) -> set[str]:
    """The folders of depkit that a module imports from."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module == "depkit":
            names += [f"depkit.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("depkit.")}
    return found & set(FLOORS)


def test_imports_only_point_down() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for i, floor in enumerate(FLOORS)
        for path in sorted((PACKAGE / floor).rglob("*.py"))
        for other in sorted(imports(path))
        if FLOORS.index(other) < i
    ]
    assert wrong == []


def test_every_folder_with_code_has_a_floor() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= {*FLOORS, "recipes", "models"}


def test_only_the_upper_floors_need_torch() -> None:
    lower = FLOORS[FLOORS.index("score") :]
    for floor in lower:
        for path in (PACKAGE / floor).rglob("*.py"):
            assert "import torch" not in path.read_text(encoding="utf-8"), path
