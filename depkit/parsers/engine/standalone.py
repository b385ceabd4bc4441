"""Parse sentences with an exported model, with numpy and ONNX Runtime alone.

    python parse.py < sentences.txt > parsed.conllu

Each line of the input is a sentence, with spaces between its tokens. This file is a part of depkit,
but does not need it: `depkit export` copies it beside the graphs of a model and `tables.json`. It
is written to be read and to be translated; STANDALONE.md beside it describes the arrays.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

PAD, UNKNOWN, ROOT = 0, 1, 2  # rows of the tables of words and characters
LONGEST_WORD = 32  # characters; a longer word is cut in its middle
LONGEST_ENDING = 5  # characters
NUM_VALUES = 8  # most likely values of a column that the network reads for a word
ENDING_WEIGHT, FORM_WEIGHT = 6.0, 1.0


class Model:
    """A parser in a directory: graphs and tables."""

    def __init__(self, directory: Path) -> None:
        self.tables = json.loads((directory / "tables.json").read_text("utf-8"))
        self.sessions = {
            path.stem: onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            for path in directory.glob("*.onnx")
        }
        self.words = index(self.tables["words"])
        self.characters = index(self.tables["characters"])

    def run(self, name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run a graph; it takes its inputs from `arrays` by name."""
        session = self.sessions[name]
        feed = {value.name: arrays[value.name] for value in session.get_inputs()}
        names = [value.name for value in session.get_outputs()]
        return dict(zip(names, session.run(names, feed), strict=True))

    def parse(self, words: Sequence[str]) -> dict[str, list[Any]]:
        """Return the columns of a sentence: its heads, relations, tags and so on."""
        vectors = self.run("words", self.encode(words))["vectors"][:, : len(words) + 1]
        lengths = np.array([len(words) + 1])
        scores = self.run("scores", {"vectors": vectors, "lengths": lengths})
        columns: dict[str, list[Any]] = {
            name.removeprefix("logits."): self.values(name.removeprefix("logits."), logits[0, 1:])
            for name, logits in scores.items()
            if name.startswith("logits.")
        }
        if "lemma" in columns:
            columns["lemma"] = list(map(apply_script, words, columns["lemma"]))
        if "arc" in scores:
            arc = scores["arc"][0].astype(np.float64)
            heads = np.array(best_tree(arc, self.tables["root"] == "single"))
            pairs = {"dependents": scores["dependents"][0, 1:], "heads": scores["heads"][0, heads]}
            labels = self.run("labels", pairs)["labels"]
            relations = self.tables["columns"]["deprel"]
            if self.tables["root_label"] in relations:  # the label of the root and of nothing else
                is_root_label = np.array(relations) == self.tables["root_label"]
                labels = np.where((heads == 0)[:, None] != is_root_label, -np.inf, labels)
            columns["head"] = heads.tolist()
            columns["deprel"] = self.values("deprel", labels)
        return columns

    def values(self, column: str, scores: np.ndarray) -> list[str]:
        """Return the values with the highest scores, [words, values]."""
        return [self.tables["columns"][column][best] for best in scores.argmax(-1).tolist()]

    def encode(self, words: Sequence[str]) -> dict[str, np.ndarray]:
        """Make the arrays of a sentence; position 0 is w0, the artificial root."""
        word = [ROOT, *map(self.find_word, words)]
        rows = [[ROOT]]
        for form in words:
            if len(form) > LONGEST_WORD:
                form = form[: LONGEST_WORD // 2] + form[-LONGEST_WORD // 2 :]
            rows.append([self.characters.get(character, UNKNOWN) for character in form])
        characters = np.zeros((len(rows), LONGEST_WORD), dtype=np.int64)
        for number, row in enumerate(rows):
            characters[number, : len(row)] = row
        arrays = {
            "word": np.array([word]),
            "form": np.arange(len(rows))[None],  # the row of `characters` of each position
            "characters": characters,
            "form_sizes": np.array(list(map(len, rows))),
        }
        arrays["treebank"] = np.full(arrays["word"].shape, self.tables["treebank"])
        for column in self.tables["priors"]:
            count = min(NUM_VALUES, len(self.tables["columns"][column]))
            best = [(np.arange(count), np.zeros(count)), *self.priors(column, words)]
            values, probabilities = map(np.stack, zip(*best, strict=True))
            arrays[f"prior.{column}.values"] = values[None].astype(np.int64)
            arrays[f"prior.{column}.probabilities"] = probabilities[None].astype(np.float32)
        return arrays

    def find_word(self, word: str) -> int:
        """Return the row of a word, in lower case unless `lowercase` is false."""
        if not self.tables["lowercase"]:
            return self.words.get(word, UNKNOWN)
        index = self.words.get(word.lower(), UNKNOWN)
        if index == UNKNOWN:
            index = self.words.get(lower(word, self.tables["dotless"]), UNKNOWN)
        return index

    def priors(self, column: str, words: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield for each word the most likely values of a column, and their probabilities.

        A node has the counts of the values of all words, of the words with an ending, with a
        lower-case form or with a form. Each estimate is interpolated with the one before it.
        """
        counts = self.tables["priors"][column]
        size = len(self.tables["columns"][column])
        for word in words:
            result = np.full(size, 1 / size, dtype=np.float32)
            for name in node_names(word, self.tables["dotless"]):
                values, numbers = counts.get(name, ([], []))
                weight = FORM_WEIGHT if name[0] in "wf" else ENDING_WEIGHT
                total = np.float32(sum(numbers) + weight)
                if name in counts:
                    result *= weight / total
                    result[values] += np.array(numbers, dtype=np.float32) / total
            best = np.argpartition(-result, min(NUM_VALUES, size) - 1)[:NUM_VALUES]
            yield best, result[best]


def index(symbols: Sequence[str]) -> dict[str, int]:
    """Return the position of each symbol."""
    return {symbol: number for number, symbol in enumerate(symbols)}


def lower(text: str, dotless: bool = False) -> str:
    """Return a text in lower case; dotless: whether the lower case of I is ı, as in Turkish."""
    return (text.replace("I", "ı") if dotless else text).replace("İ", "i").lower()


def node_names(form: str, dotless: bool) -> list[str]:
    """Name the nodes of a form: all words, its endings, the form in lower case, and the form."""
    low = lower(form, dotless)
    kind = "l" if form == low else "o"
    sizes = range(1, min(LONGEST_ENDING, len(low)) + 1)
    return [kind, *(kind + low[-size:] for size in sizes), f"w{low}", f"f{form}"]


def apply_script(form: str, script: str) -> str:
    """Apply an edit script to a form; the result is its lemma."""
    case, *edit = json.loads(script)
    if case == "whole":
        return str(edit[0])
    cut_front, front, cut_behind, behind = edit
    if cut_front + cut_behind >= len(form):
        return form
    lemma = f"{front}{form[cut_front : len(form) - cut_behind]}{behind}"
    if case == "title":
        return lemma[:1].upper() + lower(lemma[1:])
    return {"lower": lower(lemma), "keep": lemma, "upper": lemma.upper()}[case]


def best_tree(scores: np.ndarray, single_root: bool) -> list[int]:
    """Return the heads of words in the tree with the highest sum of scores.

    scores: [dependent, head], with w0 at position 0. With `single_root`, one word has the head 0.
    """
    heads = best_arborescence(scores)
    roots = [word for word, head in enumerate(heads) if word and head == 0]
    if single_root and len(roots) > 1:
        best = -np.inf
        for root in range(1, len(scores)):
            allowed = scores.copy()
            allowed[np.arange(len(scores)) != root, 0] = -np.inf
            tree = best_arborescence(allowed)
            total = sum(allowed[word, tree[word]] for word in range(1, len(tree)))
            if total > best:
                best, heads = total, tree
    return heads[1:]


def best_arborescence(scores: np.ndarray) -> list[int]:
    """Find the best tree with the root 0 by the algorithm of Chu, Liu and Edmonds.

    scores: [dependent, head]. Returns the head of each node; that of node 0 is 0.
    """
    size = len(scores)
    scores = scores.copy()
    np.fill_diagonal(scores, -np.inf)
    heads = [0, *scores[1:].argmax(1).tolist()]
    cycle = find_cycle(heads)
    if not cycle:
        return heads
    # The cycle becomes one node, which replaces its first member.
    inside = np.zeros(size, dtype=bool)
    inside[cycle] = True
    rest = [node for node in range(size) if not inside[node]]
    best_in_cycle = scores[cycle, [heads[node] for node in cycle]]
    entering = scores[cycle] - best_in_cycle[:, None]  # what an arc into the cycle changes
    contracted = np.full((len(rest) + 1, len(rest) + 1), -np.inf)
    contracted[:-1, :-1] = scores[np.ix_(rest, rest)]
    contracted[-1, :-1] = entering[:, rest].max(0)
    contracted[:-1, -1] = scores[np.ix_(rest, cycle)].max(1)
    tree = best_arborescence(contracted)
    result = list(heads)
    for number, node in enumerate(rest[1:], start=1):
        head = tree[number]
        leaves_cycle = head == len(rest)
        result[node] = cycle[int(scores[node, cycle].argmax())] if leaves_cycle else rest[head]
    outside = rest[tree[-1]]
    entered = cycle[int(entering[:, outside].argmax())]
    result[entered] = outside
    return result


def find_cycle(heads: Sequence[int]) -> list[int]:
    """Return the nodes of a cycle of heads; [] if there is none."""
    for start in range(1, len(heads)):
        path, node = [], start
        while node and node not in path:
            path.append(node)
            node = heads[node]
        if node:
            return path[path.index(node) :]
    return []


def main() -> None:
    """Parse the sentences on stdin."""
    model = Model(Path(__file__).parent)
    for line in sys.stdin:
        if words := line.split():
            columns = model.parse(words)
            for number, word in enumerate(words):
                row = [str(number + 1), word]
                for name in ("lemma", "upos", "xpos", "feats", "head", "deprel"):
                    row.append(str(columns[name][number]) if name in columns else "_")
                print("\t".join([*row, "_", "_"]))
            print()


if __name__ == "__main__":
    sys.stdin.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main()
