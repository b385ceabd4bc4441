"""Corrupt a treebank at random, and measure how many of these errors `depkit suspects` ranks high.

python -m tests.bench suspects TREEBANK --parses FILE...
python -m tests.bench suspects TREEBANK --write FILE

The second command writes the corrupted treebank, so that the parsers that make the parses can be
trained on it.
Labels and heads of random words are changed, and only suspects of the kinds head and deprel are
counted, each word once, at its best rank. An error is found if its word is in the list, whatever
the alternative. The errors that the treebank has had before are not known, and count as words
without an error: precision is too low by them.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from depkit import Sentence, read, write
from depkit.treebank.disagreement import find_disagreements
from depkit.treebank.suspects import Suspect, rank_suspects
from depkit.treebank.variation import find_variation

RANKS = (50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000)
Place = tuple[int, int]  # sentence and word


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench suspects", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("treebank", metavar="TREEBANK")
    parser.add_argument("--parses", metavar="FILE", nargs="*", default=[], help="parses of it")
    parser.add_argument("--labels", type=float, default=0.02, help="share of wrong labels")
    parser.add_argument("--heads", type=float, default=0.01, help="share of wrong heads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="FILE", help="only write the corrupted treebank")
    arguments = parser.parse_args(argv)
    gold = list(read(arguments.treebank))
    parses = list(zip(*map(read, arguments.parses), strict=True)) or [()] * len(gold)
    random = np.random.default_rng(arguments.seed)
    corrupted, errors = corrupt(gold, arguments.labels, arguments.heads, random)
    if arguments.write:
        write(corrupted, arguments.write)
        return
    by_parsers = list(find_disagreements(zip(corrupted, parses, strict=True)))
    by_variation = list(find_variation(corrupted))
    words = sum(map(len, gold))
    print(f"{words:,} words, {len(errors):,} of them corrupted; seed {arguments.seed}")
    print("source | rank | precision | recall")
    for source, suspects in (
        ("parser", by_parsers), ("variation", by_variation),
        ("both", by_parsers + by_variation),
    ):  # fmt: skip
        found = [place in errors for place in rank_places(suspects)]
        for rank in (*(rank for rank in RANKS if rank < len(found)), len(found)):
            hits = sum(found[:rank])
            print(f"{source} | {rank} | {hits / max(rank, 1):.1%} | {hits / len(errors):.1%}")


def corrupt(
    sentences: Sequence[Sentence], labels: float, heads: float, random: np.random.Generator
) -> tuple[list[Sentence], set[Place]]:
    """Change the labels of some words and the heads of others; return them with these words.

    A new label is that of a random word of the treebank. A new head is any word of the sentence
    that keeps it a tree; the root stays.

    Args:
        sentences: A treebank.
        labels: The share of words that get another label.
        heads: The share of words that get another head.
        random: The source of random numbers.
    """
    places = [(i, j) for i, sentence in enumerate(sentences) for j in range(len(sentence))]
    all_labels = [sentences[i].deprel[j] for i, j in places]
    trees = [(list(sentence.head), list(sentence.deprel)) for sentence in sentences]
    order = [places[index] for index in random.permutation(len(places))]
    num_labels, num_heads = (round(share * len(places)) for share in (labels, heads))
    for i, j in order[:num_labels]:
        old = trees[i][1][j]
        while trees[i][1][j] == old:
            trees[i][1][j] = all_labels[random.integers(len(all_labels))]
    changed = set(order[:num_labels])
    for i, j in order[num_labels:]:
        if len(changed) == num_labels + num_heads:
            break
        if candidates := find_heads(trees[i][0], j):
            trees[i][0][j] = int(random.choice(candidates))
            changed.add((i, j))
    pairs = zip(sentences, trees, strict=True)
    return [sentence.with_tree(*tree) for sentence, tree in pairs], changed


def find_heads(head: Sequence[int], word: int) -> list[int]:
    """Return the other heads that a word can get without a cycle; none for the root."""
    if not head[word]:
        return []
    below = {word + 1}
    while more := {i + 1 for i, h in enumerate(head) if h in below} - below:
        below |= more
    return [h for h in range(1, len(head) + 1) if h not in below and h != head[word]]


def rank_places(suspects: Sequence[Suspect]) -> list[Place]:
    """Return the words whose head or label is suspect, the most suspicious first."""
    ranked = (suspect for suspect in rank_suspects(suspects) if suspect.kind in ("head", "deprel"))
    return list(dict.fromkeys((suspect.sentence, suspect.word) for suspect in ranked))
