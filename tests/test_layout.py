"""The layers of the package: a module imports only from its own layer and the layers below."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import depkit

PACKAGE = Path(depkit.__file__).parent
LAYERS = (
    "depkit", "cli", "serving", "ensemble", "training", "parsers", "drawing", "nn", "score",
    "convert", "treebank", "trees", "corpus", "files", "version",
)  # fmt: skip
WITH_TORCH = {*LAYERS[: LAYERS.index("parsers") + 1], "nn"}
# The modules that read a transformer, which is run with torch
TRANSFORMER_INPUT = {
    f"depkit.parsers.inputs.{name}"
    for name in (
        "context_vectors", "hidden_layers", "piece_inputs", "transformer", "transformer_encoder",
    )
}  # fmt: skip
# Methods of the first module import the second one when they are called; this cycle is allowed.
ALLOWED_CYCLES = {("depkit.corpus.sentence", "depkit.corpus.token_list")}


def read_modules() -> dict[str, str]:
    """Return the source of each module of depkit, by module name."""
    texts = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        texts[".".join(parts).removesuffix(".__init__")] = path.read_text(encoding="utf-8")
    return texts


def imported_names(source: str, of_functions: bool = True) -> set[str]:
    """Return the names that a module imports; `from a import b` imports a.b.

    Imports that are only for type checking are omitted. of_functions: whether those of functions,
    which are run when the functions are called, are included.
    """
    names: set[str] = set()
    stack: list[ast.AST] = [ast.parse(source)]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            stack += node.orelse
            continue
        if isinstance(node, ast.FunctionDef) and not of_functions:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            names |= {f"{origin}.{alias.name}" for alias in node.names}
        stack += ast.iter_child_nodes(node)
    return names


def get_layer(name: str) -> str:
    """Return the layer of a module or name; modules outside all folders are in the top layer."""
    folder = name.split(".")[1:2]
    return folder[0] if folder and folder[0] in LAYERS else "depkit"


def find_violations(module: str, source: str) -> Iterator[str]:
    """Yield the imports of a module that its layer forbids."""
    layer = get_layer(module)
    for name in sorted(imported_names(source)):
        package = name.split(".")[0]
        if (
            not package  # a relative import
            or (package == "torch" and layer not in WITH_TORCH)
            or (package == "numba" and layer != "trees")
            or (package == "depkit" and LAYERS.index(get_layer(name)) < LAYERS.index(layer))
        ):
            yield f"{module} imports {name}"


def imported_modules(sources: dict[str, str], module: str) -> set[str]:
    """Return the modules of depkit and other names that are imported with a module."""
    seen: set[str] = set()
    stack = [module]
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        for imported in imported_names(sources.get(name, ""), of_functions=False):
            parent = imported.rpartition(".")[0]
            stack += [
                imported if imported in sources else parent if parent in sources else imported
            ]
    return seen


def find_cycle(sources: dict[str, str]) -> list[str]:
    """Return the modules of a cycle of imports, or an empty list."""
    graph: dict[str, set[str]] = {}
    for module, text in sources.items():
        names = imported_names(text)
        # A name is a module itself, or is defined in a module: drop its last part then.
        targets = (names | {name.rpartition(".")[0] for name in names}) & sources.keys()
        allowed = {target for source, target in ALLOWED_CYCLES if source == module}
        graph[module] = targets - allowed - {module}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_imports_point_to_lower_layers() -> None:
    for module, source in read_modules().items():
        assert list(find_violations(module, source)) == []


def test_parsing_imports_torch_only_for_networks_and_the_engine_of_torch() -> None:
    sources = read_modules()
    with_torch = {
        module
        for module in sources
        if module.startswith("depkit.parsers.")
        and any(name.split(".")[0] == "torch" for name in imported_modules(sources, module))
    }
    allowed = ("network", "memory", "layer", "torch_loading")
    others = {name for name in with_torch if name.rpartition(".")[2] not in allowed}
    assert {name for name in others if ".engine." not in name} == TRANSFORMER_INPUT
    for name in ("engine", "onnx_engine"):
        assert f"depkit.parsers.engine.{name}" not in with_torch


def test_there_is_no_import_cycle() -> None:
    assert find_cycle(read_modules()) == []


@pytest.mark.parametrize(
    ("module", "source", "is_violation"),
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
def test_find_violations_yields_forbidden_imports(
    module: str, source: str, is_violation: bool
) -> None:
    assert bool(list(find_violations(module, source))) == is_violation


@pytest.mark.parametrize(
    ("back_import", "is_cycle"),
    [
        ("from depkit.nn.a import x", True),
        ("def f():\n    from depkit.nn import a", True),
        ("import depkit.nn.a", True),
        ("if TYPE_CHECKING:\n    import depkit.nn.a", False),
    ],
)
def test_find_cycle_returns_import_cycles(back_import: str, is_cycle: bool) -> None:
    modules = {
        "depkit.nn.a": "from depkit.nn.b import y",
        "depkit.nn.b": "import depkit.nn.c",
        "depkit.nn.c": back_import,
    }
    assert bool(find_cycle(modules)) == is_cycle


def test_every_folder_with_code_has_a_layer() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders <= {*LAYERS, "recipes", "models"}


def test_no_test_imports_from_another_test() -> None:
    tests = Path(__file__).parent
    importers = [
        f"{path.relative_to(tests)} imports {name}"
        for path in tests.rglob("*.py")
        for name in imported_names(path.read_text(encoding="utf-8"))
        if name.startswith("tests.") and ".test_" in name
    ]
    assert importers == []


def read_functions() -> Iterator[tuple[str, int, int]]:
    """Yield the name, the number of lines and the number of positional arguments of functions.

    Numba has no keyword-only arguments, and the command line calls commands by keywords; the
    positional arguments of both are not counted.
    """
    for module, source in read_modules().items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
                is_method = names[:1] in (["self"], ["cls"])
                decorators = {ast.unparse(name).split(".")[-1] for name in node.decorator_list}
                is_compiled = bool(decorators & {"compiled", "interpret_as"})
                is_counted = not is_compiled and not node.name.endswith("_command")
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                yield f"{module}.{node.name}", lines, (len(names) - is_method) * is_counted


def test_functions_are_short_and_have_few_positional_arguments() -> None:
    functions = list(read_functions())
    long = {name.split(".")[-1] for name, lines, _ in functions if lines > 100}
    assert long == set()
    assert {name for name, _, positional in functions if positional > 4} == set()
