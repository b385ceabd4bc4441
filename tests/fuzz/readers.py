"""The readers that are fuzzed, each with valid files to start from; see `fuzzer.Reader`."""

import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from depkit.corpus.io import read, read_tree_groups, read_trees
from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import DataError, FormatError
from depkit.parsers.inputs.elmo import read_features
from depkit.parsers.inputs.word_vectors import read_vectors
from depkit.parsers.settings import ConfigError
from depkit.score.evalb_parameters import get_parameters
from tests.conftest import TINY
from tests.corpus.rows import PREDICATES, RICH, row
from tests.fuzz.fuzzer import Reader
from tests.fuzz.mutations import (
    mutate_bytes,
    mutate_json,
    mutate_safetensors,
    mutate_table,
)

CONLLX = row(1, "ab", 2, "x") + row(2, "café", 0, "y") + "\n" + row(1, "c d", 0, "z") + "\n"
TREES = """( (S (NP-SBJ-1 (DT the) (NN cat))
    (VP (VBZ sleeps) (S (NP (-NONE- *-1)))) (. .)) )
(TOP (NP=2|PP (-LRB- -LRB-) (NN \\/) (-RRB- -RRB-)))
"""
PARAMETERS = """# comment
DEBUG 0
MAX_ERROR 10
CUTOFF_LEN 40
LABELED 1
DELETE_LABEL TOP
DELETE_LABEL_FOR_LENGTH -NONE-
QUOTE_LABEL ``
EQ_LABEL ADVP PRT
EQ_WORD Example example
"""


def _texts(*texts: str) -> Callable[[Path], list[bytes]]:
    return lambda directory: [text.encode() for text in texts]


def _read_sentences(path: Path, format: str | None = None) -> None:
    """Read leniently, then strictly; lenient reading should fail only for damaged archives."""
    list(read(path, format, strict=False))
    for sentence in read(path, format):
        str(sentence)


def _read_trees(path: Path) -> None:
    list(read_trees(path, strict=False))
    _read_sentences(path, "ptb")
    for group in read_tree_groups(path):
        str(group)


def _archives(compress: Callable[[bytes], bytes]) -> Callable[[Path], list[bytes]]:
    return lambda directory: [compress(RICH.encode()), compress(b""), compress(b"x\n") * 2]


def _vectors(directory: Path) -> list[bytes]:
    matrix = np.arange(6, dtype="<f4").reshape(2, 3)
    rows = [b"the " + matrix[0].tobytes() + b"\n", "été ".encode() + matrix[1].tobytes() + b"\n"]
    texts = [b"the 0 1 2\n\xc3\xa9t\xc3\xa9\t3 4e0 -.5\n", b"2 3\na b 0 1 2\nthe 3 4 5\n"]
    return [*texts, b"2 3\n" + b"".join(rows)]


def _zipped_vectors(directory: Path) -> list[bytes]:
    files = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", method) as archive:
            archive.writestr("a.txt", b"the 0 1 2\n" * 20)
        files.append(target.getvalue())
    return files


def _parquet(directory: Path) -> list[bytes]:
    """Return files of depkit, and files without checksums, whose damage is not found at once."""
    from pyarrow import parquet

    from depkit.corpus.parquet.files import write_parquet

    files = []
    for text in (RICH, RICH.replace("\n", "\r\n")):  # The second one has the column `original`.
        (directory / "made.conllu").write_text(text, newline="")
        target = io.BytesIO()
        write_parquet(read(directory / "made.conllu"), target)
        table = parquet.read_table(io.BytesIO(target.getvalue()), use_threads=False)
        plain = io.BytesIO()
        parquet.write_table(table, plain, compression="none", use_dictionary=False)
        files += [target.getvalue(), plain.getvalue()]
    return files


def _hdf5(directory: Path) -> list[bytes]:
    import h5py

    files = []
    for settings in ({}, {"chunks": (1, 2, 4), "compression": "gzip"}):
        with h5py.File(directory / "made", "w") as file:
            for name, size in (("0", 2), ("1", 3)):
                values = np.arange(3 * size * 4, dtype=np.float32).reshape(3, size, 4)
                file.create_dataset(name, data=values, **settings)
            file["sentence_to_index"] = "{}"
        files.append((directory / "made").read_bytes())
    return files


def _read_features(path: Path) -> None:
    list(read_features(path, _sentences(2, 3), "mix", 0))


def _sentences(*sizes: int) -> list[Sentence]:
    return [new_sentence(["word"] * size) for size in sizes]


def _model(name: str) -> Callable[[Path], list[bytes]]:
    """Return a function that writes a small model, and returns one of its files."""

    def make(directory: Path) -> list[bytes]:
        import torch

        from depkit.parsers.engine.torch_engine import TorchEngine
        from depkit.parsers.inputs.tables import SPECIAL, Table
        from depkit.parsers.text.multiword import MultiwordTable
        from depkit.parsers.text.network import TokenizerNetwork
        from depkit.parsers.text.tokenizer import SPACE, Tokenizer
        from depkit.parsers.text.tokenizer_file import write_tokenizer
        from tests.parsers.small_parsers import make_parser, save_parser

        parser = make_parser(list(read(TINY)))
        parser.warm_up()  # Reading a file has a limit of time, in which nothing is compiled.
        save_parser(parser, directory)
        table = Table([*SPECIAL, SPACE])
        network = TokenizerNetwork(len(table), 2, 2, dilations=(1,))
        words = MultiwordTable({"du": ("de", "le")}, {"dinos": ("d", "nos")})
        tokenizer = Tokenizer(table, words, False, TorchEngine(network, torch.device("cpu")))
        write_tokenizer(directory, tokenizer, {})
        return [(directory / name).read_bytes()]

    return make


def _load_model(path: Path) -> None:
    from depkit.parsers.loading import load

    list(load(path.parent, "cpu", "float32", threads=1).parse(_sentences(1, 3)))


def _ensemble(directory: Path) -> list[bytes]:
    for name in ("a", "b"):
        (directory / name).mkdir()
        _model("config.toml")(directory / name)
    return [b'format_version = 1\nmembers = ["a", "b"]\nmean = "geometric"\n[calibration]\narc=1.0']


def _read_ensemble(path: Path) -> None:
    from depkit.parsers.model_directory import read_ensemble

    read_ensemble(path.parent)


def _recipes(directory: Path) -> list[bytes]:
    import depkit.recipes

    files = sorted(Path(depkit.recipes.__path__[0]).glob("*.toml"))
    return [path.read_bytes() for path in files if b"base =" not in path.read_bytes()]


def _read_recipe(path: Path) -> None:
    from depkit.training.recipe import make_recipe

    make_recipe(file=str(path))


def _transformer(name: str) -> Callable[[Path], list[bytes]]:
    def make(directory: Path) -> list[bytes]:
        from tests.parsers.inputs.small_transformers import save_bert

        save_bert(directory)
        if not (directory / name).exists():
            keys = {"embeddings.word_embeddings.weight": "model-1.safetensors"}
            return [json.dumps({"metadata": {}, "weight_map": keys}).encode()]
        return [(directory / name).read_bytes()]

    return make


def _load_transformer(path: Path) -> None:
    from depkit.parsers.inputs.hidden_layers import hidden_layers
    from depkit.parsers.inputs.transformer import load_transformer
    from tests.parsers.inputs.small_transformers import make_batch

    if path.name.endswith("index.json"):
        weights = path.parent / "model.safetensors"
        if weights.exists():
            weights.rename(path.parent / "model-1.safetensors")
    transformer = load_transformer(str(path.parent))
    hidden_layers(transformer, make_batch(transformer, [["one", "two"]]), "mix", 0)


def _errors() -> tuple[type[Exception], ...]:
    return FormatError, DataError, ConfigError


def _model_errors() -> tuple[type[Exception], ...]:
    from depkit.parsers.inputs.transformer import TransformerError
    from depkit.parsers.model_directory import ModelError

    return *_errors(), ModelError, TransformerError


READERS: dict[str, Reader] = {
    **{
        name: Reader(f"f.{name}", _texts(*texts), partial(_read_sentences, format=name), _errors)
        for name, texts in {
            "conllu": (RICH, RICH + CONLLX), "conllx": (CONLLX,), "conll09": (PREDICATES,)
        }.items()
    },
    "ptb": Reader("f.mrg", _texts(TREES), _read_trees, _errors),
    "any": Reader("f", _texts(RICH, CONLLX, PREDICATES, "(S (A b))\n"), _read_sentences, _errors),
    "gz": Reader("f.conllu.gz", _archives(gzip.compress), _read_sentences, _errors),
    "xz": Reader("f.conllu.xz", _archives(lzma.compress), _read_sentences, _errors),
    "vectors": Reader("f.vec", _vectors, read_vectors, _errors),
    "zip": Reader("f.zip", _zipped_vectors, read_vectors, _errors),
    "parquet": Reader("f.parquet", _parquet, _read_sentences, _errors, mutate_table),
    "hdf5": Reader("f.hdf5", _hdf5, _read_features, _errors),
    "prm": Reader("f.prm", _texts(PARAMETERS), lambda path: get_parameters(str(path)), _errors),
    "recipe": Reader("f.toml", _recipes, _read_recipe, _errors),
    "ensemble": Reader("ensemble.toml", _ensemble, _read_ensemble, _model_errors),
    **{
        name: Reader(file, _model(file), _load_model, _model_errors, mutate)
        for name, file, mutate in (
            ("config", "config.toml", mutate_bytes),
            ("vocabulary", "vocab.json", mutate_json),
            ("weights", "model.safetensors", mutate_safetensors),
            ("tokenizer", "tokenizer.safetensors", mutate_safetensors),
        )
    },
    **{
        f"transformer-{name}": Reader(
            file, _transformer(file), _load_transformer, _model_errors, mutate
        )
        for name, file, mutate in (
            ("config", "config.json", mutate_json),
            ("tokenizer", "tokenizer.json", mutate_json),
            ("settings", "tokenizer_config.json", mutate_json),
            ("index", "model.safetensors.index.json", mutate_json),
            ("weights", "model.safetensors", mutate_safetensors),
        )
    },
}  # fmt: skip
