"""SuPar 1.1.4 as depkit's peer, run by the Python that has it:

python supar_run.py train MODEL TRAIN DEV EPOCHS THREADS [BATCH_TOKENS]
python supar_run.py parse MODEL FILE OUTPUT THREADS [BATCH_TOKENS]

The published biaffine-dep-en-char: words, a CharLSTM, a BiLSTM of 3 x 400. Its Python interface
has no defaults for training, so that all options are given here. Prints a line of JSON an epoch or
a file: seconds without start-up, loading and reading (training), or the whole (parsing).
"""

import functools
import json
import sys
import time

import torch

torch.load = functools.partial(torch.load, weights_only=False)  # its files are pickled

from supar import Parser  # noqa: E402
from supar.parsers.dep import BiaffineDependencyParser  # noqa: E402

CONFIG = {
    "n_embed": 100, "n_pretrained": 100, "n_char_embed": 50, "n_char_hidden": 100,
    "n_feat_embed": 100, "embed_dropout": 0.33, "n_lstm_hidden": 400, "n_lstm_layers": 3,
    "encoder_dropout": 0.33, "n_arc_mlp": 500, "n_rel_mlp": 100, "mlp_dropout": 0.33,
    "lr": 2e-3, "mu": 0.9, "nu": 0.9, "eps": 1e-12, "weight_decay": 0, "decay": 0.75,
    "decay_steps": 5000, "clip": 5.0, "min_freq": 2, "fix_len": 20, "feat": ["char"],
    "encoder": "lstm", "update_steps": 1, "partial": False, "max_len": None,
}  # fmt: skip


def words_of(file: str) -> int:
    with open(file, encoding="utf-8") as lines:
        return sum(line.split("\t")[0].isdigit() for line in lines)


def train(model: str, treebank: str, dev: str, epochs: str, tokens: str = "5000") -> None:
    torch.manual_seed(1)
    words = words_of(treebank)
    took: list[float] = []
    once, each = BiaffineDependencyParser._train, BiaffineDependencyParser._evaluate

    def timed(parser, loader):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        once(parser, loader)
        took.append(time.perf_counter() - began)

    def told(parser, loader):  # type: ignore[no-untyped-def]
        loss, metric = each(parser, loader)
        if took:  # dev; the same again is its test file, then the best epoch
            figures = {"UAS": 100 * float(metric.uas), "LAS": 100 * float(metric.las)}
            print(json.dumps({"seconds": took.pop(), "words": words, **figures}), flush=True)
        return loss, metric

    BiaffineDependencyParser._train, BiaffineDependencyParser._evaluate = timed, told
    given = {
        "train": treebank, "dev": dev, "test": dev, "embed": None, "buckets": 32,
        "batch_size": int(tokens), "punct": True, "tree": False, "proj": False, "verbose": True,
        "checkpoint": False, "epochs": int(epochs), "patience": 100,
    }  # fmt: skip
    parser = BiaffineDependencyParser.build(path=model, build=True, **CONFIG, **given)
    parser.train(**given, **{k: v for k, v in CONFIG.items() if k in ("update_steps", "clip")})


def parse(model: str, file: str, output: str, tokens: str = "5000") -> None:
    began = time.perf_counter()
    Parser.load(model).predict(
        file, pred=output, batch_size=int(tokens), buckets=8, tree=True, proj=False, verbose=False
    )
    print(json.dumps({"seconds": time.perf_counter() - began, "words": words_of(file)}))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    threads = arguments.pop(4 if command == "train" else 3)
    torch.set_num_threads(int(threads))
    {"train": train, "parse": parse}[command](*arguments)
