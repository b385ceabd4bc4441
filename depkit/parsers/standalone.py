"""A directory with which a model is run without depkit: graphs, tables as JSON, and a README."""

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from depkit.parsers.families import get_family
from depkit.parsers.inputs.parts import used_parts
from depkit.parsers.inputs.priors import get_priors

if TYPE_CHECKING:
    from depkit.parsers.base import Parser

TABLES, PROGRAM, GUIDE = "tables.json", "parse.py", "STANDALONE.md"
_INPUTS = {"word", "affixes", "char", "prior", "treebank"}  # that `engine.standalone` makes
_TEXT = Path(__file__).with_suffix(".md")  # the template of the description


def find_obstacle(config: Any) -> str:
    """Say why models with this configuration cannot be run without depkit; "" if they can."""
    names = {part.name for part in used_parts(config.inputs)}
    if others := names - _INPUTS:
        return f"it reads {', '.join(sorted(others))}"
    if config.inputs.char_boundaries:
        return "it reads characters that mark the start and the end of words"
    family = get_family(config)
    if not family.is_standalone:
        return f"it is a model of the family {config.family}"
    if "deps" in config.scorer.predict:
        return "it predicts enhanced dependencies"
    algorithm = (family.decoder(config) or {}).get("algorithm", "mst")
    return "" if algorithm == "mst" else f"it decodes with the algorithm {algorithm}"


def write_standalone(directory: Path, parser: "Parser") -> None:
    """Write the tables, the program and its description beside the graphs of a parser."""
    from depkit.parsers.engine import standalone

    text = json.dumps(make_tables(parser), ensure_ascii=False)
    (directory / TABLES).write_text(text, "utf-8")
    shutil.copyfile(standalone.__file__, directory / PROGRAM)
    graphs = "\n".join(_describe_graph(path) for path in sorted(directory.glob("*.onnx")))
    guide = _TEXT.read_text("utf-8").format(program=PROGRAM, tables=TABLES, graphs=graphs)
    (directory / GUIDE).write_text(guide, "utf-8")


def make_tables(parser: "Parser") -> dict[str, Any]:
    """Return the tables that `engine.standalone` reads."""
    vocabulary, config = parser.vocabulary, parser.config
    treebanks = vocabulary.tables.get("treebanks")
    decoder = get_family(config).decoder(config) or {"root": "", "root_label": ""}
    return {
        "words": vocabulary.words.symbols,
        "lowercase": config.inputs.lowercase,
        "dotless": vocabulary.dotless,
        "characters": vocabulary.characters.symbols,
        "columns": {name: table.symbols for name, table in vocabulary.columns.items()},
        "treebank": treebanks.indices.get(config.inputs.treebank_name, 0) if treebanks else 0,
        "priors": _list_priors(parser) if config.inputs.prior else {},
        "root": decoder["root"],
        "root_label": decoder["root_label"],
    }


def _list_priors(parser: "Parser") -> dict[str, dict[str, tuple[list[int], list[float]]]]:
    """Return for each column the counts of its values by the names of nodes."""
    priors = get_priors(parser.vocabulary)
    columns = {}
    for column, counts in priors.counts.items():
        starts, values, numbers = (
            array.tolist() for array in (counts.starts, counts.values, counts.counts)
        )
        columns[column] = {
            name: (values[start:stop], numbers[start:stop])
            for name, (start, stop) in zip(priors.nodes, pairwise(starts), strict=True)
            if stop > start
        }
    return columns


def _describe_graph(path: Path) -> str:
    """List the names, types and shapes of the arguments and results of a graph."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    lines = [f"### {path.name}\n", "| | name | type | shape |", "|---|---|---|---|"]
    for kind, values in (("argument", session.get_inputs()), ("result", session.get_outputs())):
        for value in values:
            shape = ", ".join(map(str, value.shape))
            number = value.type.removeprefix("tensor(").removesuffix(")")
            lines.append(f"| {kind} | `{value.name}` | {number} | [{shape}] |")
    return "\n".join(lines) + "\n"
