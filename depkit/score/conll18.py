"""The CoNLL 2018 evaluation: tokens, sentences, words, tags and trees of other tokenisations.

The evaluation is defined in section 5 of Zeman et al. (2018). The counts are equal to those of its
script (in udtools) on all files that the script accepts. The script rejects trees with cycles,
words without a head or several roots, and tokens of nothing but spaces. Here such trees are scored
as well, and such tokens cover no characters.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from depkit.corpus.io import PathLike
from depkit.corpus.pairing import Source, make_source, quote_context
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_content, is_functional
from depkit.files.errors import FormatError
from depkit.score import enhanced as enhanced_scores
from depkit.score import structure
from depkit.score.alignment import Spans, align, equal_spans
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.systems import PREDICTED, make_system
from depkit.score.words import (
    COLUMNS,
    DEPS,
    Codes,
    Words,
    WordsBuilder,
    column_codes,
    headless_gold_error,
    number_duplicates,
)

METRICS = {
    "Tokens": Metric("tokens_correct", "tokens", "tokens_predicted"),
    "Sentences": Metric("sentences_correct", "sentences", "sentences_predicted"),
    "Words": Metric("words_correct", "words", "words_predicted"),
    "UPOS": Metric("upos", "words", "words_predicted"),
    "XPOS": Metric("xpos", "words", "words_predicted"),
    "UFeats": Metric("feats", "words", "words_predicted"),
    "AllTags": Metric("tags", "words", "words_predicted"),
    "Lemmas": Metric("lemmas", "words", "words_predicted"),
    "UAS": Metric("heads", "words", "words_predicted"),
    "LAS": Metric("both", "words", "words_predicted"),
    "CLAS": Metric("clas", "content_gold", "content_predicted"),
    "MLAS": Metric("mlas", "content_gold", "content_predicted"),
    "BLEX": Metric("blex", "content_gold", "content_predicted"),
}
# All counts of a gold sentence: those of the metrics; "scored", which equals "words"; "headless",
# predicted words without a head; "cyclic" and "many_roots", predicted sentences with a cycle and
# with several roots. A predicted token, word or sentence is counted for the gold sentence that
# contains its first character.
COUNTS = (
    *dict.fromkeys(count for metric in METRICS.values() for count in metric[:3]),
    "scored", "headless", "cyclic", "many_roots",
)  # fmt: skip

# The features that are compared. Those that were added to UD after 2018 are not.
_FEATURES = frozenset(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm"
    " Mood Tense Aspect Voice Evident Polarity Person Polite".split()
)
SPACE = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")  # Unicode category Zs
_RANGE = re.compile(r"([0-9]+)-([0-9]+)\t([^\t\r\n]*)")


def evaluate_aligned(
    gold: PathLike | Sentence | Iterable[Sentence],
    preds: Sequence[PathLike | Sentence | Iterable[Sentence]],
    *,
    subtypes: str = "drop",
    encoding: str = "utf-8",
    predicted: bool = False,
    enhanced: bool = False,
) -> list[Evaluation]:
    """Score systems whose tokens and sentences may differ from those of the gold file.

    preds: for each system, a path or sentences with the same characters as the gold file; white
    space may differ. subtypes: "drop" cuts relations at their first `:`, as the script does.
    enhanced: whether to add ELAS and EULAS, as the script of IWPT 2020 does.

    Raises:
        FormatError: The characters differ, a gold word has no head, there is no gold sentence, or
            the gold file has no enhanced dependencies to be scored.
        ValueError: `subtypes` is neither "keep" nor "drop".
        OSError: A file cannot be read.
    """
    codes = column_codes(subtypes) | {"form": Codes(str.lower), "feats": Codes(universal_features)}
    columns = (*COLUMNS, DEPS) if enhanced else COLUMNS
    reference = _read_text(make_source(gold, encoding), codes, columns, is_gold=True)
    choices = (("align", "characters"), ("subtypes", subtypes), *PREDICTED * predicted)
    choices += enhanced_scores.CHOICES * enhanced
    evaluations = []
    sources = [make_system(pred, encoding, predicted) for pred in preds]
    names = number_duplicates([system.name for system in sources])
    for name, system_source in zip(names, sources, strict=True):
        system = _read_text(system_source, codes, columns)
        if system.characters != reference.characters:
            raise _character_mismatch(reference, system)
        aligned = align(reference.spans, system.spans)
        counts = _count_items(reference, system, codes)
        counts |= _count_correct(reference, system, aligned, codes)
        matrix = np.stack([counts[count] for count in COUNTS], axis=1)
        evaluation = Evaluation(
            name, matrix, COUNTS, METRICS,
            choices=choices, warnings=system_source.warnings(predicted), shows_precision=True,
        )  # fmt: skip
        labels = codes[DEPS].values_by_code
        evaluations.append(
            _add_enhanced(evaluation, reference, system, aligned=aligned, labels=labels)
        )
    return evaluations


def universal_features(feats: str) -> str:
    """Return the features of FEATS that are compared, in alphabetical order."""
    features = (feature for feature in feats.split("|") if feature.partition("=")[0] in _FEATURES)
    return "|".join(sorted(features))


@dataclass(frozen=True, eq=False)
class _Text:
    """The words and the characters of a file.

    starts: [sentence + 1] int64, the first word of each sentence, then the number of words;
    sentences, tokens: [sentence or token, 2] int64, the first character and the one after the last;
    spans: the characters of words; rows: [word], the line of a word within its sentence;
    locations: [sentence], (file, line, sent_id).
    """

    words: Words
    starts: np.ndarray
    characters: str
    sentences: np.ndarray
    tokens: np.ndarray
    spans: Spans
    rows: Sequence[int]
    locations: list[tuple[str, int, str]]


def _read_text(
    file: Source, codes: dict[str, Codes], columns: tuple[str, ...], is_gold: bool = False
) -> _Text:
    builder = WordsBuilder(file.name, columns, codes)
    characters: list[str] = []
    locations: list[tuple[str, int, str]] = []
    rows = array("i")
    lengths, forms, sizes = array("i"), array("i"), array("i")  # [token]
    for number, sentence in enumerate(file.sentences, start=1):
        if is_gold and -1 in sentence.head:
            raise headless_gold_error(sentence, number)
        builder.add(sentence)
        rows.extend(sentence.rows)
        locations.append(sentence.location())
        sentence_tokens, sentence_sizes = _tokens_and_sizes(sentence)
        characters.append("".join(sentence_tokens))
        lengths.extend(map(len, sentence_tokens))
        forms.extend(map(codes["form"].__getitem__, sentence_tokens))
        sizes.extend(sentence_sizes)
    if is_gold and not locations:
        raise FormatError(file.name or "gold", 0, "", "there are no sentences to score against")
    words = builder.words
    if is_gold and words.relations is not None:
        enhanced_scores.require_relations(file.name, words.relations)
    token_spans = _consecutive_spans(np.array(lengths))
    token = np.repeat(np.arange(len(sizes)), np.maximum(sizes, 1))  # [word]
    multiword = np.array(sizes)[token] > 0
    form = np.where(multiword, words.codes["form"], np.array(forms)[token])
    return _Text(
        words,
        builder.starts,
        "".join(characters),
        _consecutive_spans(np.array([*map(len, characters)], np.int64)),
        token_spans,
        Spans(token_spans[token], multiword, form),
        rows,
        locations,
    )


def _tokens_and_sizes(sentence: Sentence) -> tuple[list[str], list[int]]:
    """Return the tokens without white space, and the sizes of multiword tokens.

    The size is the number of words, or 0 for a token that is not a multiword token.
    """
    tokens: list[str] = []
    sizes: list[int] = []
    word = 0
    if not isinstance(sentence.rows, range):  # there are other lines between those of the words
        for match in filter(None, map(_RANGE.match, sentence.lines)):
            first, last = int(match[1]) - 1, int(match[2])
            tokens += [*sentence.form[word:first], match[3]]
            sizes += [*[0] * (first - word), last - first]
            word = last
    tokens += sentence.form[word:]
    sizes += [0] * (len(sentence) - word)
    text = "\n".join(tokens)
    return SPACE.sub("", text).split("\n") if SPACE.search(text) else tokens, sizes


def _consecutive_spans(lengths: np.ndarray) -> np.ndarray:
    """Return the spans of these lengths, each beginning where the last ends: [span, 2] int64."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.stack([ends - lengths, ends], axis=1)


def _count_items(gold: _Text, system: _Text, codes: dict[str, Codes]) -> dict[str, np.ndarray]:
    """Count sentences, tokens and words, and correct sentences and tokens: [sentence] int64."""

    def count(spans: np.ndarray) -> np.ndarray:
        return np.bincount(_sentence_index(gold, spans), minlength=len(gold.locations))

    def sum_by_system_sentence(words: np.ndarray) -> np.ndarray:
        return np.add.reduceat(words, system.starts[:-1], dtype=np.int64)

    head = system.words.head
    gold_words, system_words = gold.spans.span, system.spans.span
    cyclic = sum_by_system_sentence(structure.reaches_cycle(head, system.starts)) > 0
    many_roots = sum_by_system_sentence(head == 0) > 1
    counts = {
        "words": count(gold_words),
        "words_predicted": count(system_words),
        "scored": count(gold_words),
        "content_gold": count(gold_words[_test_relations(gold, codes, is_content)]),
        "content_predicted": count(system_words[_test_relations(system, codes, is_content)]),
        "headless": count(system_words[head == -1]),
        "cyclic": count(system.sentences[cyclic]),
        "many_roots": count(system.sentences[many_roots]),
    }
    for name in ("sentences", "tokens"):
        gold_spans, system_spans = getattr(gold, name), getattr(system, name)
        counts[name] = count(gold_spans)
        counts[f"{name}_predicted"] = count(system_spans)
        counts[f"{name}_correct"] = count(gold_spans[equal_spans(gold_spans, system_spans)[0]])
    return counts


def _sentence_index(gold: _Text, spans: np.ndarray) -> np.ndarray:
    """Return the gold sentence in which each span begins: [span] int64."""
    return np.searchsorted(gold.sentences[:, 0], spans[:, 0], "right") - 1


def _sentence_of_words(text: _Text) -> np.ndarray:
    """Return the sentence of each word: [word] int64."""
    return np.repeat(np.arange(len(text.locations)), np.diff(text.starts))


def _add_enhanced(
    evaluation: Evaluation, gold: _Text, system: _Text, *, aligned: np.ndarray, labels: list[str]
) -> Evaluation:
    """Add ELAS and EULAS if enhanced dependencies were read; labels: their labels by code."""
    if gold.words.relations is None or system.words.relations is None:
        return evaluation
    sentences = _sentence_of_words(gold), _sentence_index(gold, system.spans.span)
    return enhanced_scores.add_scores(
        evaluation, gold.words.relations, system.words.relations,
        aligned=aligned, labels=labels, sentences=sentences,
    )  # fmt: skip


def _count_correct(
    gold: _Text, system: _Text, aligned: np.ndarray, codes: dict[str, Codes]
) -> dict[str, np.ndarray]:
    """Count aligned words, and those with correct tags, lemmas and arcs: [sentence] int64."""
    system_index = np.flatnonzero(aligned >= 0)  # [pair]
    gold_index = aligned[system_index]  # [pair]
    same = {
        name: gold.words.codes[name][gold_index] == system.words.codes[name][system_index]
        for name in COLUMNS
    }
    lemmas = same["lemma"] | (gold.words.codes["lemma"][gold_index] == codes["lemma"]["_"])
    tags = same["upos"] & same["feats"]
    size, root = len(gold.locations), len(gold.words.head)
    gold_heads = structure.head_indices(gold.words.head, gold.starts)
    system_heads = structure.head_indices(system.words.head, system.starts)
    # A head is correct if the system's head is aligned to the gold head. The root is aligned to the
    # root, and "no head" to nothing.
    heads = gold_heads[gold_index] == np.append(aligned, [root, -1])[system_heads[system_index]]
    both = heads & same["deprel"]
    # Two aligned words have the same function words if both have as many function words as there
    # are correct ones.
    gold_functional = _test_relations(gold, codes, is_functional)
    system_functional = _test_relations(system, codes, is_functional)
    correct = both & tags & gold_functional[gold_index]
    correct_count = np.bincount(gold_heads[gold_index[correct]], minlength=root + 1)[gold_index]
    gold_count = np.bincount(gold_heads[:-2][gold_functional], minlength=root + 1)
    system_count = np.bincount(system_heads[:-2][system_functional], minlength=len(aligned) + 1)
    same_function_words = (gold_count[gold_index] == correct_count) & (
        system_count[system_index] == correct_count
    )
    clas = both & _test_relations(gold, codes, is_content)[gold_index]
    masks = {
        "words_correct": np.ones(len(gold_index), bool),
        "upos": same["upos"],
        "xpos": same["xpos"],
        "feats": same["feats"],
        "tags": tags & same["xpos"],
        "lemmas": lemmas,
        "heads": heads,
        "both": both,
        "clas": clas,
        "mlas": clas & tags & same_function_words,
        "blex": clas & lemmas,
    }
    sentence = _sentence_of_words(gold)[gold_index]
    return {name: np.bincount(sentence[mask], minlength=size) for name, mask in masks.items()}


def _test_relations(
    text: _Text, codes: dict[str, Codes], test: Callable[[str], bool]
) -> np.ndarray:
    """Return which words have a relation that passes a test: [word] bool."""
    passes = np.array([test(relation) for relation in codes["deprel"].values_by_code], bool)
    return passes[text.words.codes["deprel"]]


def _character_mismatch(gold: _Text, system: _Text) -> FormatError:
    """Return the error for the first character that differs, or for the end of the shorter text."""
    pairs = enumerate(zip(gold.characters, system.characters, strict=False))
    shorter = min(len(gold.characters), len(system.characters))
    index = next((i for i, (left, right) in pairs if left != right), shorter)
    (file, line, sent_id), number, excerpt = _locate(system, index)
    (gold_file, gold_line, gold_id), gold_number, gold_excerpt = _locate(gold, index)
    gold_location = f"{gold_file}:{gold_line}" if gold_line else f"gold sentence {gold_number}"
    return FormatError(
        file, line, sent_id or gold_id,
        f"sentence {number} has {excerpt}, but {gold_location} has {gold_excerpt};"
        " apart from white space, both files must have the same characters: parse the text of the"
        " gold file",
    )  # fmt: skip


def _locate(text: _Text, character: int) -> tuple[tuple[str, int, str], int, str]:
    """Return (file, line, sent_id), the number of the sentence and an excerpt at a character."""
    if not text.locations:
        return (text.words.name, 0, ""), 1, "nothing"
    word, token = (
        int(np.searchsorted(spans[:, 1], character, "right"))
        for spans in (text.spans.span, text.tokens)
    )
    word = min(word, len(text.rows) - 1)
    number = int(np.searchsorted(text.starts, word, "right"))
    file, line, sent_id = text.locations[number - 1]
    line += text.rows[word] - text.rows[text.starts[number - 1]] if line else 0
    tokens = [text.characters[start:end] for start, end in text.tokens.tolist()]
    code = "".join(f" (U+{ord(char):04X})" for char in text.characters[character : character + 1])
    return (file, line, sent_id), number, quote_context(tokens, token) + code
