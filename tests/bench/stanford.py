"""Accuracy of the converter of trees: python -m tests.bench.stanford [--held-out] [--ud]

By default, the rules are evaluated on wsj_0001-0129, which they were written with in view. With
--held-out, they are evaluated on wsj_0130-0159; decisions in development must not depend on these.
The output has scores over all words with and without function tags, scores by deprel, the most
frequent disagreements, and the speed. --ud evaluates the conversion to Universal Dependencies.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from depkit.convert.converter import load_converter
from depkit.corpus.io import read, read_trees
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree, tree_from_nodes
from depkit.score.evaluators import evaluate
from depkit.score.significance import intervals

DATA = Path(__file__).parents[3] / "shared" / "data"
STANFORD = DATA / "wsj-sample-sd" / "wsj_0001-0159.conllx"
UNIVERSAL = DATA / "wsj-sample-ud" / "wsj_0001-0159.conllu"
DEVELOPMENT = 129  # number of the last file that is not held out

Part = list[tuple[int, Tree, Sentence]]  # file number, tree, reference


def remove_function_tags(tree: Tree) -> Tree:
    """Return a copy of the tree without function tags and co-indices."""
    nodes = [(node.label, len(node.children), node.word, node.line) for node in tree.nodes()]
    return tree_from_nodes(nodes)


def read_sample(dependencies: Path = STANFORD) -> Part:
    """Return the whole sample, in order."""
    trees = [
        (int(re.findall(r"\d+", path.name)[0]), tree)
        for path in sorted((DATA / "wsj-sample").glob("wsj_0*.mrg"))
        for tree in read_trees(path)
    ]
    return [
        (number, tree, gold)
        for (number, tree), gold in zip(trees, read(str(dependencies)), strict=True)
    ]


def show_scores(name: str, golds: Sequence[Sentence], systems: Sequence[Sentence]) -> None:
    result = evaluate(golds, systems)
    bounds = intervals(result)
    for metric in ("UAS", "LAS"):
        low, high = bounds[metric]
        print(f"{name:24} {metric} {result.scores[metric]:.2f}  95%: {low:.2f} to {high:.2f}")


def show_relations(golds: Sequence[Sentence], systems: Sequence[Sentence]) -> None:
    """Print F1 by deprel, those with most missed words first, and the main disagreements."""
    gold_count: Counter[str] = Counter()
    system_count: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    wrong: Counter[tuple[str, str, str]] = Counter()
    for gold, system in zip(golds, systems, strict=True):
        rows = zip(gold.head, gold.deprel, system.head, system.deprel, strict=True)
        for head, relation, system_head, label in rows:
            gold_count[relation] += 1
            system_count[label] += 1
            if (head, relation) == (system_head, label):
                correct[relation] += 1
            else:
                wrong[relation, label, "" if head == system_head else "other head"] += 1
    print("\nrelation     gold  missed  spurious     F1")
    for name in sorted(gold_count, key=lambda name: correct[name] - gold_count[name]):
        both = gold_count[name] + system_count[name]
        missed, spurious = gold_count[name] - correct[name], system_count[name] - correct[name]
        f1 = 200 * correct[name] / both
        print(f"{name:10} {gold_count[name]:6} {missed:7} {spurious:9} {f1:6.1f}")
    print("\ntimes  reference  depkit")
    for (relation, label, head), times in wrong.most_common(25):
        print(f"{times:5}  {relation:9}  {label:9}  {head}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--ud", action="store_true")
    arguments = parser.parse_args()
    part = read_sample(UNIVERSAL if arguments.ud else STANFORD)
    rows = [row for row in part if (row[0] > DEVELOPMENT) == arguments.held_out]
    converter = load_converter("ud" if arguments.ud else "sd")
    golds = [gold for _, _, gold in rows]
    began = time.process_time()
    tagged = [gold.with_tree(*converter.convert(tree)) for _, tree, gold in rows]
    seconds = time.process_time() - began
    bare = [
        gold.with_tree(*converter.convert(remove_function_tags(tree))) for _, tree, gold in rows
    ]
    show_scores("as annotated", golds, tagged)
    show_scores("without function tags", golds, bare)
    show_relations(golds, tagged)
    print(f"\n{len(golds) / seconds:.0f} trees/s, reading not included")


if __name__ == "__main__":
    main()
