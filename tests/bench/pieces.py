"""Reduce a multilingual transformer to the word pieces that occur in given files.

python -m tests.bench pieces MODEL FILE... -o DIR

MODEL is a directory of the transformers library with a Unigram tokenizer (XLM-R, multilingual E5),
FILE text or a treebank. The pieces of single characters below U+3000 stay, so that other words are
not unknown. Most weights of a small multilingual model are in the table of its pieces: without the
others, training needs a fraction of the memory, and the same files give the same vectors.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from depkit import read
from depkit.files.atomic import atomic_directory

CHARACTERS = 0x3000  # the pieces of single characters below this code point stay
EMBEDDINGS = "embeddings.word_embeddings.weight"


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench pieces", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("-o", dest="output", type=Path, required=True)
    arguments = parser.parse_args(argv)
    tokenizer = Tokenizer.from_file(str(arguments.model / "tokenizer.json"))
    tokenizer.no_truncation()
    encodings = tokenizer.encode_batch_fast(list(texts(arguments.files)))
    used = {piece for encoding in encodings for piece in encoding.ids}
    with atomic_directory(arguments.output) as directory:
        kept = write_reduced(arguments.model, used, directory)
    print(f"{kept:,} of {tokenizer.get_vocab_size():,} pieces are left")


def texts(files: Sequence[Path]) -> Iterator[str]:
    """Yield the lines of text files, and the words of treebanks."""
    for file in files:
        if file.suffix == ".conllu":
            for sentence in read(file):
                yield from sentence.form
        else:
            yield from file.read_text("utf-8").splitlines()


def write_reduced(model: Path, used: set[int], directory: Path) -> int:
    """Write the model with the used and the special pieces; return their number."""
    tokenizer = json.loads((model / "tokenizer.json").read_text("utf-8"))
    pieces = tokenizer["model"]["vocab"]
    special = {token["id"] for token in tokenizer["added_tokens"]}
    kept = [
        i
        for i, (piece, _) in enumerate(pieces)
        if i in used | special or (len(piece) == 1 and ord(piece) < CHARACTERS)
    ]
    new = {old: i for i, old in enumerate(kept)}
    tokenizer["model"]["vocab"] = [pieces[i] for i in kept]
    tokenizer["model"]["unk_id"] = new[tokenizer["model"]["unk_id"]]
    for token in tokenizer["added_tokens"]:
        token["id"] = new[token["id"]]
    renumber(tokenizer["post_processor"], new)
    config = json.loads((model / "config.json").read_text("utf-8"))
    config["vocab_size"] = len(kept)
    config["pad_token_id"] = new[config["pad_token_id"]]
    weights = load_file(model / "model.safetensors")
    (name,) = (name for name in weights if name.endswith(EMBEDDINGS))
    weights[name] = weights[name][torch.tensor(kept)].contiguous()
    for name, content in (("tokenizer.json", tokenizer), ("config.json", config)):
        (directory / name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    shutil.copy(model / "tokenizer_config.json", directory)
    save_file(weights, directory / "model.safetensors", metadata={"format": "pt"})
    return len(kept)


def renumber(part: Any, new: dict[int, int]) -> None:
    """Replace the ids of special tokens in the post-processor of a tokenizer."""
    if isinstance(part, list):
        for item in part:
            renumber(item, new)
    elif isinstance(part, dict):
        if "ids" in part:
            part["ids"] = [new[i] for i in part["ids"]]
        for name in ("cls", "sep"):
            if isinstance(part.get(name), list):
                part[name][1] = new[part[name][1]]
        for item in part.values():
            renumber(item, new)
