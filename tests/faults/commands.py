"""Small command lines that are tested by fault injection, and the files that they read."""

import subprocess
from pathlib import Path

import numpy as np

from depkit.corpus.io import read
from tests.conftest import TINY, TREES
from tests.faults.processes import DEPKIT

_SMALL = (
    f"--config {TINY.with_suffix('.toml')} --epochs 4 --set tokenizer.epochs=20"
    " --set inputs.dropout=0.1 --set scorer.dropout=0.1 --device cpu --threads 1"
)
# A CoNLL-X file has no raw text, so no tokenizer is trained.
_TRAIN = f"train INPUTS/tiny.conllx --dev INPUTS/tiny.conllx -o model --recipe bilstm {_SMALL}"
_BERT = "--set inputs.context.source=transformer --set inputs.context.model=INPUTS/bert"
_PARSE = "--model INPUTS/teacher --device cpu --threads 1"

# The arguments of each command, in which INPUTS is the directory of its inputs, and the argument
# that continues an interrupted run.
COMMANDS = {
    "train": (_TRAIN, "--resume"),
    "train-tokenizer": (_TRAIN.replace("conllx", "conllu"), "--resume"),
    "train-tuned": (f"{_TRAIN} {_BERT} --set inputs.context.tune=true", "--resume"),
    "train-frozen": (f"{_TRAIN} {_BERT}", "--resume"),
    "train-elmo": (
        f"{_TRAIN} --elmo INPUTS/tiny.hdf5 --dev-elmo INPUTS/tiny.hdf5"
        " --set inputs.context.source=elmo --set inputs.context.layers=average"
        " --set inputs.context.top=0", "--resume",
    ),
    "train-seeds": (f"{_TRAIN} --seeds 2 --keep-state", "--resume"),
    "ensemble": (
        f"ensemble INPUTS/tiny.conllu --dev INPUTS/tiny.conllu -o model --folds 2"
        f" --recipes bilstm {_SMALL} --device cpu,cpu", "",
    ),
    "distill": (
        "distill INPUTS/teacher INPUTS/text.txt --train INPUTS/tiny.conllu"
        f" --dev INPUTS/tiny.conllu -o model {_SMALL}", "--resume",
    ),
    "jackknife": (
        f"jackknife INPUTS/tiny.conllx --folds 2 --work taggers -o tagged.conllx {_SMALL}",
        "--resume",
    ),
    "tag": (f"tag INPUTS/parsed.conllu -o tagged.conllu {_PARSE}", ""),
    "parse": (f"parse INPUTS/text.txt -o parsed.conllu {_PARSE}", ""),
    "parse-stdout": (f"parse INPUTS/text.txt --prob {_PARSE}", ""),
    "parse-json": (f"parse INPUTS/text.txt --format json -o parsed.json {_PARSE}", ""),
    "parse-parquet": (f"parse INPUTS/text.txt --prob -o parsed.parquet {_PARSE}", ""),
    "parse-files": (
        f"parse INPUTS/text.txt INPUTS/parsed.conllu --output-dir parsed --skip-done {_PARSE}", ""
    ),
    "parse-workers": (f"parse INPUTS/text.txt --workers 2 -o parsed.conllu {_PARSE}", ""),
    "parse-ray": (
        f"parse INPUTS/text.txt --distribute ray --workers 2 -o parsed.conllu {_PARSE}", ""
    ),
    "parse-frozen": (
        "parse INPUTS/parsed.conllu -o parsed.conllu --model INPUTS/frozen --device cpu"
        " --threads 1", "",
    ),
    "convert": ("convert INPUTS/parsed.conllu -o converted.conllx", ""),
    "convert-trees": ("convert INPUTS/trees.mrg --dependencies ud -o converted.conllu", ""),
    "convert-parquet": ("convert INPUTS/parsed.conllu -o converted.parquet", ""),
    "convert-gz": ("convert INPUTS/parsed.conllu --to conllx -o converted.conllx.gz", ""),
    "check": ("check INPUTS/parsed.conllu --all --json", ""),
    "diff": ("diff INPUTS/gold.conllu INPUTS/parsed.conllu --format tsv -o diff.tsv", ""),
    "edit": (
        "edit INPUTS/rule.grs INPUTS/parsed.conllu -o edited.conllu --changes changes.tsv", "",
    ),
    "search": ("search INPUTS/noun.req INPUTS/parsed.conllu -o found.conllu", ""),
    "search-stdout": ("search INPUTS/noun.req INPUTS/parsed.conllu", ""),
    "select": ("select INPUTS/parsed.conllu --shuffle -o selected.conllu", ""),
    "select-split": (
        "select INPUTS/parsed.conllu --split a=0.5,b=0.5 --output-dir parts", "",
    ),
    "export": ("export INPUTS/teacher -o exported", ""),
    "serve": ("serve --model INPUTS/teacher --port 0 --check --device cpu --threads 1", ""),
    "stats": ("stats INPUTS/parsed.conllu --json", ""),
    "eval": ("eval INPUTS/gold.conllu INPUTS/parsed.conllu --confidence --format csv", ""),
    "analyze": (
        "analyze INPUTS/gold.conllu INPUTS/parsed.conllu --by distance --by deprel --format csv"
        " --plot plot.svg", "",
    ),
    "report": ("report INPUTS/gold.conllu INPUTS/parsed.conllu -o report.html", ""),
    "suspects": (
        "suspects INPUTS/gold.conllu --parses INPUTS/parsed.conllu -o suspects.tsv", ""
    ),
    "show": ("show INPUTS/parsed.conllu --svg trees.svg", ""),
    "show-stdout": ("show INPUTS/parsed.conllu", ""),
    "info": ("info INPUTS/teacher --json", ""),
    "docs": ("docs -o site", ""),
}  # fmt: skip


def make_inputs(folder: Path) -> None:
    """Write the files that the commands read: treebanks, text, vectors and small models."""
    import h5py

    from tests.parsers.inputs.small_transformers import save_bert

    tiny = TINY.read_text()
    sentences = list(read(TINY))
    (folder / "tiny.conllu").write_text(tiny)
    (folder / "noun.req").write_text("pattern { X [upos=NOUN] }")
    (folder / "rule.grs").write_text("pattern { X [upos=NOUN] } commands { X.upos = X }")
    (folder / "gold.conllu").write_text(tiny.replace("sent_id = ", "sent_id = a-") + tiny)
    (folder / "trees.mrg").write_text(TREES.read_text() * 4)
    (folder / "text.txt").write_text("".join(f"{sentence.text}\n\n" for sentence in sentences) * 4)
    with h5py.File(folder / "tiny.hdf5", "w") as file:
        for number, sentence in enumerate(sentences):
            shape = (3, len(sentence), 4)
            file[str(number)] = np.sin(number + np.arange(np.prod(shape)).reshape(shape))
    save_bert(folder / "bert")
    for command in (
        "convert INPUTS/tiny.conllu -o INPUTS/tiny.conllx",
        COMMANDS["train-tokenizer"][0].replace("-o model", "-o INPUTS/teacher"),
        COMMANDS["train-frozen"][0].replace("-o model", "-o INPUTS/frozen"),
        f"parse INPUTS/gold.conllu --prob -o INPUTS/parsed.conllu {_PARSE}",
    ):
        arguments = make_arguments(command, folder)
        subprocess.run([*DEPKIT, *arguments, "--quiet"], check=True)


def make_arguments(command: str, folder: Path) -> list[str]:
    """Return the arguments of a command that reads its inputs from a folder."""
    return [argument.replace("INPUTS", str(folder)) for argument in command.split()]
