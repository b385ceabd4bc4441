"""Accuracy of the converters: python -m tests.bench.stanford [--held-out] [--folds N] [--ud]

By default, the converter is evaluated on wsj_0001-0129 by cross-validation; all trees of a file are
in the same fold. With --held-out, depkit's own weights are evaluated on wsj_0130-0159, on which
they were not trained; decisions in development must not depend on these. The output has scores with
and without function tags, scores by deprel, the most frequent disagreements, and the speed. --ud
evaluates the converter to Universal Dependencies.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from depkit.convert import universal
from depkit.convert.coordination import find_reattachments
from depkit.convert.stanford import Converter, Reattach, load_converter
from depkit.convert.train_stanford import read_pairs, remove_function_tags, train
from depkit.corpus.files import read_trees
from depkit.corpus.sentence import Sentence
from depkit.corpus.tree import Tree
from depkit.score.attachment import evaluate
from depkit.score.significance import intervals

DATA = Path(__file__).parents[3] / "shared" / "data"
STANFORD = DATA / "wsj-sample-sd" / "wsj_0001-0159.conllx"
UNIVERSAL = DATA / "wsj-sample-ud" / "wsj_0001-0159.conllu"
DEVELOPMENT = 129  # number of the last file that is not held out

Part = list[tuple[int, Tree, Sentence]]  # file number, tree, reference


def read_sample(dependencies: Path = STANFORD) -> Part:
    """Return the whole sample, in order."""
    numbers, paths = [], []
    for path in sorted((DATA / "wsj-sample").glob("wsj_0*.mrg")):
        number = int(re.findall(r"\d+", path.name)[0])
        if number <= 159:
            paths.append(str(path))
            numbers += [number] * sum(1 for _ in read_trees(path))
    return list(zip(numbers, *read_pairs(paths, str(dependencies)), strict=True))


def convert_tree(model: Converter, tree: Tree, gold: Sentence) -> Sentence:
    heads, relations = model.predict_dependencies(tree)
    return gold.with_tree(heads, relations)


def train_models(
    part: Part, folds: int, reattach: Reattach = find_reattachments
) -> Iterator[tuple[Converter, Part]]:
    """Yield for each fold a converter trained on the other folds, and the fold."""
    files = sorted({number for number, _, _ in part})
    fold_by_file = {number: index * 7919 % len(files) % folds for index, number in enumerate(files)}
    for fold in range(folds):
        rest = [(tree, gold) for number, tree, gold in part if fold_by_file[number] != fold]
        rows = [row for row in part if fold_by_file[row[0]] == fold]
        yield train(*zip(*rest, strict=True), reattach), rows


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
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--ud", action="store_true")
    arguments = parser.parse_args()
    part = read_sample(UNIVERSAL if arguments.ud else STANFORD)
    shipped = universal.load_converter()[0] if arguments.ud else load_converter()
    if arguments.held_out:
        runs = iter([(shipped, [row for row in part if row[0] > DEVELOPMENT])])
    else:
        development = [row for row in part if row[0] <= DEVELOPMENT]
        runs = train_models(development, arguments.folds, shipped.reattach)
    golds, tagged, bare, seconds = [], [], [], 0.0
    for model, rows in runs:
        for _, tree, gold in rows:
            golds.append(gold)
            began = time.process_time()
            tagged.append(convert_tree(model, tree, gold))
            seconds += time.process_time() - began
            bare.append(convert_tree(model, remove_function_tags(tree), gold))
    show_scores("as annotated", golds, tagged)
    show_scores("without function tags", golds, bare)
    show_relations(golds, tagged)
    print(f"\n{len(golds) / seconds:.0f} trees/s, reading not included")


if __name__ == "__main__":
    main()
