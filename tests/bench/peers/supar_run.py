"""Train or parse with SuPar 1.1.4, run by a Python that has it installed:

python supar_run.py train MODEL TRAIN DEV EPOCHS THREADS [BATCH_TOKENS]
python supar_run.py parse MODEL FILE OUTPUT THREADS [BATCH_TOKENS]

The parser is the published biaffine-dep-en-char: words, a CharLSTM, a BiLSTM of 3 x 400. SuPar's
Python interface has no defaults for training, so all options are given here. The script prints a
line of JSON per epoch or file: in training, the seconds without start-up, loading and reading; in
parsing, the seconds of everything except imports.
"""

import functools
import json
import sys
import time

import torch

torch.load = functools.partial(torch.load, weights_only=False)  # SuPar's files are pickled

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


def count_words(file: str) -> int:
    with open(file, encoding="utf-8") as lines:
        return sum(line.split("\t")[0].isdigit() for line in lines)


def train(model: str, treebank: str, dev: str, epochs: str, tokens: str = "5000") -> None:
    torch.manual_seed(1)
    words = count_words(treebank)
    times: list[float] = []
    train_epoch, evaluate = BiaffineDependencyParser._train, BiaffineDependencyParser._evaluate

    def train_timed(parser, loader):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        train_epoch(parser, loader)
        times.append(time.perf_counter() - began)

    def evaluate_and_print(parser, loader):  # type: ignore[no-untyped-def]
        loss, metric = evaluate(parser, loader)
        if times:  # only for dev, which is evaluated again as the test file and after the training
            figures = {"UAS": 100 * float(metric.uas), "LAS": 100 * float(metric.las)}
            print(json.dumps({"seconds": times.pop(), "words": words, **figures}), flush=True)
        return loss, metric

    BiaffineDependencyParser._train, BiaffineDependencyParser._evaluate = (
        train_timed,
        evaluate_and_print,
    )
    options = {
        "train": treebank, "dev": dev, "test": dev, "embed": None, "buckets": 32,
        "batch_size": int(tokens), "punct": True, "tree": False, "proj": False, "verbose": True,
        "checkpoint": False, "epochs": int(epochs), "patience": 100,
    }  # fmt: skip
    parser = BiaffineDependencyParser.build(path=model, build=True, **CONFIG, **options)
    parser.train(**options, **{k: v for k, v in CONFIG.items() if k in ("update_steps", "clip")})


def parse(model: str, file: str, output: str, tokens: str = "5000") -> None:
    began = time.perf_counter()
    Parser.load(model).predict(
        file, pred=output, batch_size=int(tokens), buckets=8, tree=True, proj=False, verbose=False
    )
    print(json.dumps({"seconds": time.perf_counter() - began, "words": count_words(file)}))


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    threads = arguments.pop(4 if command == "train" else 3)
    torch.set_num_threads(int(threads))
    {"train": train, "parse": parse}[command](*arguments)
