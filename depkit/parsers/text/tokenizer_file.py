"""The file of a tokenizer: its weights, and its tables as JSON besides them.

The tables are compressed if the weights are stored in eight bits.
"""

import base64
import json
import zlib
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from depkit.corpus.io import PathLike
from depkit.corpus.patterns import HYPHENS, MARKS, PATTERNS
from depkit.corpus.sentence_ends import NAMES
from depkit.files.errors import first_line
from depkit.parsers.engine.engine import Engine
from depkit.parsers.inputs.tables import Table, check_symbols
from depkit.parsers.model_directory import (
    FORMAT_VERSION,
    TOKENIZER,
    TOKENIZER_GRAPH,
    ModelError,
    find_model,
    parse_json,
)
from depkit.parsers.text.multiword import MAX_CHARACTERS, MAX_WORDS, MultiwordTable, is_short
from depkit.parsers.text.rules import TextRules
from depkit.parsers.text.tokenizer import SPACE, Tokenizer

if TYPE_CHECKING:
    import torch

MAX_LAYERS, MAX_DILATION = 32, 1000  # more is damage
TABLES, PACKED_TABLES = "tokenizer", "tokenizer.zlib"  # their names in the metadata of the file
_MAX_TABLES = 1 << 23  # bytes; those of Hebrew, the largest ones, have 170,000
# From the file of a tokenizer, the number of characters, and the description, to its engine
MakeEngine = Callable[[Path, int, dict[str, Any]], Engine]


def write_tokenizer(
    directory: Path, tokenizer: Tokenizer, notes: dict[str, object], storage: str = "float16"
) -> None:
    """Write tokenizer.safetensors atomically.

    notes: any data that JSON can represent, such as dev scores; see `read_tokenizer_notes`.
    storage: as for `weights.save_network`.
    """
    from depkit.parsers.engine.weights import save_network

    network: Any = tokenizer.network
    description = {
        "format_version": FORMAT_VERSION,
        "characters": tokenizer.characters.symbols,
        "spaces": tokenizer.spaces,
        "patterns": tokenizer.rules.patterns,
        "abbreviations": sorted(tokenizer.rules.abbreviations),
        "final_words": sorted(tokenizer.rules.final_words),
        "abbreviated": sorted(tokenizer.rules.abbreviated),
        "clitics": sorted(tokenizer.rules.clitics),
        "embedding": network.embedding.embedding_dim,
        "size": network.size,
        "dilations": network.dilations,
        "pairs": network.num_pairs,
        "whole": tokenizer.multiwords.tokens,
        "endings": tokenizer.multiwords.endings,
        "before": sorted(tokenizer.multiwords.before),
        "after": sorted(tokenizer.multiwords.after),
        "always": sorted(tokenizer.multiwords.always),
        "never": sorted(tokenizer.multiwords.never),
        "dotless": tokenizer.multiwords.dotless,
        "notes": notes,
    }
    text = json.dumps(description, ensure_ascii=False)
    metadata = {PACKED_TABLES: _pack(text)} if storage == "int8" else {TABLES: text}
    save_network(directory / TOKENIZER, network, metadata, storage)


def _pack(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()


def _unpack(packed: str) -> str:
    if len(packed) > _MAX_TABLES:
        raise ValueError("its tables are too large")
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(base64.b64decode(packed, validate=True), _MAX_TABLES)
    if not unpacker.eof:
        raise ValueError("its tables are too large, or their end is missing")
    return content.decode()


def read_tokenizer(
    directory: Path, device: "torch.device", precision: "torch.dtype | None" = None
) -> Tokenizer | None:
    """Read the tokenizer of a model, which is run with torch; None if it has none.

    precision: by default float32. Raises ModelError if the tokenizer is damaged.
    """
    import torch

    from depkit.parsers.engine.torch_engine import TorchEngine
    from depkit.parsers.engine.weights import make_network, read_shapes
    from depkit.parsers.text.network import TokenizerNetwork

    def make_engine(path: Path, num_characters: int, description: dict[str, Any]) -> Engine:
        sizes = num_characters, description["embedding"], description["size"]
        dilations = tuple(description["dilations"])
        if len(dilations) > MAX_LAYERS or not all(
            isinstance(dilation, int) and 0 < dilation <= MAX_DILATION for dilation in dilations
        ):
            raise ValueError(
                f"its dilations are not at most {MAX_LAYERS} integers from 1 to {MAX_DILATION}"
            )
        pairs = description.get("pairs", 0)  # most bundled ones lack this key
        network = make_network(
            path,
            read_shapes(path),
            lambda: TokenizerNetwork(*sizes, dilations=dilations, pairs=pairs),
        )
        return TorchEngine(network.to(device).eval(), device, precision or torch.float32)

    return _read_tokenizer(directory, make_engine)


def read_tokenizer_on_onnx(directory: Path) -> Tokenizer | None:
    """Read the tokenizer of a model, whose exported graph is run; None if it has none.

    Raises ModelError if the tokenizer is damaged.
    """
    from depkit.parsers.engine.onnx_engine import Graphs, OnnxEngine
    from depkit.parsers.text.arrays import TokenizerArrays

    def make_engine(path: Path, num_characters: int, description: dict[str, Any]) -> Engine:
        graph = directory / TOKENIZER_GRAPH
        try:
            return OnnxEngine(TokenizerArrays(Graphs({"tokenizer": graph})))
        except ValueError as error:
            raise ModelError(f"{directory} cannot be run by ONNX Runtime: {error}") from None

    return _read_tokenizer(directory, make_engine)


def _read_tokenizer(directory: Path, make_engine: MakeEngine) -> Tokenizer | None:
    path = directory / TOKENIZER
    if not path.is_file():
        return None
    try:
        description = _read_tokenizer_description(path)
        if description["format_version"] != FORMAT_VERSION:
            raise ModelError(
                f"{path}: its format_version is not {FORMAT_VERSION}; use the version of depkit"
                " that wrote the file"
            )
        characters = Table(description["characters"])
        check_symbols(characters.symbols)
        engine = make_engine(path, len(characters), description)
        table = MultiwordTable(
            _read_multiwords(description["whole"]),
            _read_multiwords(description["endings"]),
            before=_read_words(description["before"]),
            after=_read_words(description["after"]),
            always=_read_words(description["always"]),
            never=_read_words(description.get("never")),
            dotless=bool(description["dotless"]),
        )
        if SPACE not in characters.indices:
            raise ValueError(f"its characters do not include {SPACE}")
        spaces = bool(description["spaces"])
        rules = _read_rules(description)
    except ModelError:
        raise
    except (
        SafetensorError, LookupError, TypeError, AttributeError, RuntimeError, ValueError,
        zlib.error,
    ) as error:  # fmt: skip
        reason = first_line(error)
        raise ModelError(f"{path} is damaged: {reason}") from None
    return Tokenizer(characters, table, spaces, engine, rules)


def _read_rules(description: dict[str, Any]) -> TextRules:
    """Check and return the rules of a tokenizer. Raises ValueError or TypeError."""
    rules = TextRules(
        tuple(description["patterns"]),
        abbreviations=_read_words(description["abbreviations"]),
        final_words=_read_words(description["final_words"]),
        abbreviated=_read_words(description["abbreviated"]),
        clitics=_read_words(description["clitics"]),
    )
    if not all("-" in word for word in rules.clitics):
        raise ValueError("it has a clitic without a hyphen")
    if not set(rules.patterns) <= {*PATTERNS, *MARKS, *chain.from_iterable(HYPHENS), *NAMES}:
        raise ValueError("it has an unknown pattern")
    return rules


def load_tokenizer(model: PathLike, device: "torch.device | None" = None) -> Tokenizer:
    """Load the tokenizer of a model, which is named as for `find_model`.

    device: a device of torch; None runs the exported graph if there is one.

    Raises ModelError if there is no such model, or if it has no tokenizer or a damaged one.
    """
    directory = find_model(model)
    if device is None and (directory / TOKENIZER_GRAPH).is_file():
        tokenizer = read_tokenizer_on_onnx(directory)
    else:
        import torch

        tokenizer = read_tokenizer(directory, device or torch.device("cpu"))
    if tokenizer is None:
        raise ModelError(
            f"{model} has no tokenizer, for example because its treebank had no text; name another"
            " model"
        )
    return tokenizer


def _read_multiwords(table: Any) -> dict[str, tuple[str, ...]]:
    """Check and return a table of a tokenizer. Raises ValueError, TypeError or AttributeError."""
    for words in table.values():
        check_symbols(words, in_columns=True)
        if not words:
            raise ValueError("a multiword token has no words")
        if not is_short(tuple(words)):
            raise ValueError(
                f"a multiword token has more than {MAX_WORDS} words or {MAX_CHARACTERS:,}"
                " characters"
            )
    return {token: tuple(words) for token, words in table.items()}


def _read_words(words: Any) -> frozenset[str]:
    """Check and return words of a tokenizer; in bundled tokenizers, they can be None."""
    if words is None:
        return frozenset()
    check_symbols(words, in_columns=True)
    return frozenset(words)


def read_tokenizer_notes(directory: Path) -> dict:
    """Read the notes that `write_tokenizer` wrote; {} if no tokenizer can be read."""
    try:
        return dict(_read_tokenizer_description(directory / TOKENIZER)["notes"])
    except (
        OSError, SafetensorError, LookupError, TypeError, ValueError, RecursionError, zlib.error
    ):  # fmt: skip
        return {}


def _read_tokenizer_description(path: Path) -> dict:
    with safe_open(path, framework="np") as file:
        metadata = file.metadata() or {}
        packed = metadata.get(PACKED_TABLES)
        return dict(parse_json(_unpack(packed) if packed else metadata[TABLES]))
