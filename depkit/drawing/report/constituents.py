"""The sections of the report of bracketed trees."""

from typing import Any

from depkit.drawing.report.contents import Texts, spread_evenly
from depkit.files.errors import describe_location
from depkit.score.constituents import NO_LABEL, TreeData, classify_wrong
from depkit.score.evalb import Bracket, Result

WRONG = ("span", "label", "crossing")  # the kinds of `classify_wrong`, by their numbers in the data


def pack_sentences(data: TreeData, limit: int) -> dict[str, Any]:
    """Return sentences with the scored brackets of all systems, as compact lists of numbers.

    limit: How many sentences to pack; they are spread evenly over the treebank.

    Returns:
        total: The number of sentences in the treebank.
        words, tags, labels: The texts that the numbers below are indices into.
        rows: A list for each sentence: its number from 1; its location (file:line); the lists of
            its words and tags; and its gold analysis: the indices of the scored words, and the list
            of scored gold brackets. A bracket is [label, start, end], with positions among the
            scored words. Then for each system its problem, "" if it is scored; its brackets; its
            wrong tags, [position among the scored words, tag]; and its own gold analysis in the
            rare case that EVALB keeps other quotation marks for this system, else null. A correct
            bracket is the index of the gold bracket, or [label, index] if it has another label that
            EVALB treats as equal. A wrong bracket is [label, start, end, kind], and its kind is an
            index into WRONG.
    """
    words, tags, labels = Texts(), Texts(), Texts()

    def pack_label(bracket: Bracket) -> int:
        return labels.pack([bracket[0] or NO_LABEL])[0]

    def pack_gold(result: Result) -> list[Any]:
        return [list(result.words), [[pack_label(x), *x[1:]] for x in result.gold]]

    def pack_system(result: Result, gold: list[Any]) -> list[Any]:
        kinds = classify_wrong(result)
        gold_index = {partner: i for i, partner in enumerate(result.partners)}
        brackets: list[Any] = []
        for i, bracket in enumerate(result.predicted):
            if i in kinds:
                brackets.append([pack_label(bracket), *bracket[1:], WRONG.index(kinds[i])])
            elif bracket == result.gold[gold_index[i]]:
                brackets.append(gold_index[i])
            else:
                brackets.append([pack_label(bracket), gold_index[i]])
        wrong_tags = [[position, *tags.pack([tag])] for position, tag in result.wrong_tags]
        own_gold = pack_gold(result) if result.words else gold
        problem = describe_problem(result)
        return [problem, brackets, wrong_tags, None if own_gold == gold else own_gold]

    packed = []
    for i in spread_evenly(data.num_sentences, limit):
        sentence, results = data.sentences[i], data.results[i]
        scored = pack_gold(next((result for result in results if result.words), Result([])))
        location = describe_location(data.gold_name, sentence.line)
        row = [i + 1, location, words.pack(sentence.words), tags.pack(sentence.tags), scored]
        packed.append([*row, *(pack_system(result, scored) for result in results)])
    return {
        "total": data.num_sentences,
        "words": words.used,
        "tags": tags.used,
        "labels": labels.used,
        "rows": packed,
    }


def describe_problem(result: Result) -> str:
    """Return why a sentence of a system is not scored, "" if it is."""
    if result.problem:
        return f"other words than the gold tree: {result.problem}"
    return "" if result.words else "no words that are scored"
