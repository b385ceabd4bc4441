"""The CoNLL 2018 evaluation: tokens, sentences, words, tags and trees of other tokenisations.

Zeman et al. (2018), section 5; counts are those of its script, as udtools has it, on whatever it
takes. It refuses cycles, words without a head, several roots and tokens of nothing but spaces; here
such a tree counts as it is, and such a token covers no characters.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from depkit.corpus.errors import FormatError
from depkit.corpus.files import PathLike
from depkit.corpus.pairing import Source, around, source
from depkit.corpus.sentence import Sentence
from depkit.corpus.universal import is_content, is_functional
from depkit.score import structure
from depkit.score.alignment import Spans, align, equal_spans
from depkit.score.evaluation import Evaluation, Metric
from depkit.score.words import (
    COLUMNS,
    Codes,
    Words,
    WordsBuilder,
    column_codes,
    distinct,
    headless_gold,
)

# For each metric what is right, of how many in the gold and by the system.
METRICS = {
    "Tokens": Metric("tokens_right", "tokens", "tokens_predicted"),
    "Sentences": Metric("sentences_right", "sentences", "sentences_predicted"),
    "Words": Metric("words_right", "words", "words_predicted"),
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
# All counts of a gold sentence: those of the metrics; "scored", its words; words that the system
# gave no head, and the system's sentences with a cycle and with several roots. What the system has
# is counted in the gold sentence in which its first character stands.
COUNTS = (
    *dict.fromkeys(count for metric in METRICS.values() for count in metric),
    "scored", "headless", "cyclic", "many_roots",
)  # fmt: skip

# The features that count; those that UD took in later do not.
_FEATURES = frozenset(
    "PronType NumType Poss Reflex Foreign Abbr Gender Animacy Number Case Definite Degree VerbForm"
    " Mood Tense Aspect Voice Evident Polarity Person Polite".split()
)
SPACE = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")  # Unicode category Zs
_RANGE = re.compile(r"([0-9]+)-([0-9]+)\t([^\t\r\n]*)")


def evaluate_aligned(
    gold: PathLike | Iterable[Sentence],
    preds: Sequence[PathLike | Iterable[Sentence]],
    subtypes: str = "drop",
    encoding: str = "utf-8",
) -> list[Evaluation]:
    """Score systems whose tokens and sentences may be others than the gold's.

    gold, preds: as for `attachment.evaluate`; the characters of all tokens, white space apart,
    must be the same. subtypes: "keep" compares whole relations, which the script never does.
    Raises FormatError where the characters differ, where a gold word has no head and where there
    is no gold sentence; ValueError for choices that do not exist; OSError.
    """
    codes = column_codes(subtypes) | {"form": Codes(str.lower), "feats": Codes(universal_features)}
    reference = _read(source(gold, encoding), codes, is_gold=True)
    choices = (("align", "characters"), ("subtypes", subtypes))
    evaluations = []
    systems = [source(pred, encoding) for pred in preds]
    names = distinct([system.name for system in systems])
    for name, each in zip(names, systems, strict=True):
        system = _read(each, codes)
        if system.characters != reference.characters:
            raise _other_characters(reference, system)
        of = _sizes(reference, system, codes) | _right(reference, system, codes)
        counts = np.stack([of[name] for name in COUNTS], axis=1)
        evaluations.append(Evaluation(name, counts, COUNTS, METRICS, choices))
    return evaluations


def universal_features(feats: str) -> str:
    """The features of FEATS that count, in alphabetical order."""
    found = (feature for feature in feats.split("|") if feature.partition("=")[0] in _FEATURES)
    return "|".join(sorted(found))


@dataclass(frozen=True, eq=False)
class _Text:
    """A file: its words, its characters, and what stands where in them.

    starts: [sentence + 1] int64, the first word of each, then the number of words; sentences:
    [sentence, 2] and tokens: [token, 2] int64, the first character and the one after the last;
    spans: the words'; rows: [word] its line in the sentence; places: [sentence] `Sentence.place`.
    """

    words: Words
    starts: np.ndarray
    characters: str
    sentences: np.ndarray
    tokens: np.ndarray
    spans: Spans
    rows: Sequence[int]
    places: list[tuple[str, int, str]]


def _read(origin: Source, codes: dict[str, Codes], is_gold: bool = False) -> _Text:
    builder = WordsBuilder(origin.name, COLUMNS, codes)
    characters: list[str] = []
    places: list[tuple[str, int, str]] = []
    rows = array("i")
    lengths, forms, covers = array("i"), array("i"), array("i")  # [token]
    for number, sentence in enumerate(origin.sentences, start=1):
        if is_gold and -1 in sentence.head:
            raise headless_gold(sentence, number)
        builder.add(sentence)
        rows.extend(sentence.rows)
        places.append(sentence.place())
        tokens, covered = _tokens(sentence)
        characters.append("".join(tokens))
        lengths.extend(map(len, tokens))
        forms.extend(map(codes["form"].__getitem__, tokens))
        covers.extend(covered)
    if is_gold and not places:
        raise FormatError(origin.name or "gold", 0, "", "no sentences to score against")
    words = builder.words
    token_spans = _one_after_another(np.array(lengths))
    token = np.repeat(np.arange(len(covers)), np.maximum(covers, 1))  # [word]
    multiword = np.array(covers)[token] > 0
    form = np.where(multiword, words.code["form"], np.array(forms)[token])
    return _Text(
        words,
        builder.starts,
        "".join(characters),
        _one_after_another(np.array([*map(len, characters)], np.int64)),
        token_spans,
        Spans(token_spans[token], multiword, form),
        rows,
        places,
    )


def _tokens(sentence: Sentence) -> tuple[list[str], list[int]]:
    """The forms of tokens without white space, and how many words ranges have, 0 the others."""
    tokens: list[str] = []
    covers: list[int] = []
    word = 0
    if not isinstance(sentence.rows, range):  # there are lines other than words between them
        for found in filter(None, map(_RANGE.match, sentence.lines)):
            first, last = int(found[1]) - 1, int(found[2])
            tokens += [*sentence.form[word:first], found[3]]
            covers += [*[0] * (first - word), last - first]
            word = last
    tokens += sentence.form[word:]
    covers += [0] * (len(sentence) - word)
    text = "\n".join(tokens)
    return SPACE.sub("", text).split("\n") if SPACE.search(text) else tokens, covers


def _one_after_another(lengths: np.ndarray) -> np.ndarray:
    """[span, 2] int64, where spans of these lengths begin and end."""
    ends = np.cumsum(lengths, dtype=np.int64)
    return np.stack([ends - lengths, ends], axis=1)


def _sizes(gold: _Text, system: _Text, codes: dict[str, Codes]) -> dict[str, np.ndarray]:
    """[sentence] int64, counts of what there is, and of equal tokens and sentences."""

    def count(spans: np.ndarray) -> np.ndarray:
        sentence = np.searchsorted(gold.sentences[:, 0], spans[:, 0], "right") - 1
        return np.bincount(sentence, minlength=len(gold.places))

    def in_sentences(words: np.ndarray) -> np.ndarray:
        return np.add.reduceat(words, system.starts[:-1], dtype=np.int64)

    head = system.words.head
    gold_words, words = gold.spans.span, system.spans.span
    cyclic = in_sentences(structure.reaches_cycle(head, system.starts)) > 0
    of = {
        "words": count(gold_words),
        "words_predicted": count(words),
        "scored": count(gold_words),
        "content_gold": count(gold_words[_where(gold, codes, is_content)]),
        "content_predicted": count(words[_where(system, codes, is_content)]),
        "headless": count(words[head == -1]),
        "cyclic": count(system.sentences[cyclic]),
        "many_roots": count(system.sentences[in_sentences(head == 0) > 1]),
    }
    for name in ("sentences", "tokens"):
        ours, theirs = getattr(gold, name), getattr(system, name)
        of[name] = count(ours)
        of[f"{name}_predicted"] = count(theirs)
        of[f"{name}_right"] = count(ours[equal_spans(ours, theirs)[0]])
    return of


def _right(gold: _Text, system: _Text, codes: dict[str, Codes]) -> dict[str, np.ndarray]:
    """[sentence] int64, counts of the gold words that the system has, and of what is right."""
    aligned = align(gold.spans, system.spans)
    theirs = np.flatnonzero(aligned >= 0)  # [pair]
    ours = aligned[theirs]
    same = {
        name: gold.words.code[name][ours] == system.words.code[name][theirs] for name in COLUMNS
    }
    lemmas = same["lemma"] | (gold.words.code["lemma"][ours] == codes["lemma"]["_"])
    tags = same["upos"] & same["feats"]
    size, root = len(gold.places), len(gold.words.head)
    above = structure.parents(gold.words.head, gold.starts)
    system_above = structure.parents(system.words.head, system.starts)
    heads = above[ours] == np.append(aligned, [root, -1])[system_above[theirs]]
    both = heads & same["deprel"]
    # Two words have the same function words if both have as many as they have right ones.
    functional, system_functional = (_where(text, codes, is_functional) for text in (gold, system))
    right = np.bincount(above[ours[both & tags & functional[ours]]], minlength=root + 1)
    children = np.bincount(above[:-2][functional], minlength=root + 1)
    system_children = np.bincount(system_above[:-2][system_functional], minlength=len(aligned) + 1)
    children = (children[ours] == right[ours]) & (system_children[theirs] == right[ours])
    clas = both & _where(gold, codes, is_content)[ours]
    found = {
        "words_right": np.ones(len(ours), bool),
        "upos": same["upos"],
        "xpos": same["xpos"],
        "feats": same["feats"],
        "tags": tags & same["xpos"],
        "lemmas": lemmas,
        "heads": heads,
        "both": both,
        "clas": clas,
        "mlas": clas & tags & children,
        "blex": clas & lemmas,
    }
    sentence = np.repeat(np.arange(len(gold.places)), np.diff(gold.starts))[ours]
    return {name: np.bincount(sentence[pair], minlength=size) for name, pair in found.items()}


def _where(text: _Text, codes: dict[str, Codes], is_one: Callable[[str], bool]) -> np.ndarray:
    """[word] bool, whether its relation is of a kind."""
    table = np.array([is_one(relation) for relation in codes["deprel"].texts], bool)
    return table[text.words.code["deprel"]]


def _other_characters(gold: _Text, system: _Text) -> FormatError:
    """The first place where two texts part, or where the shorter ends."""
    together = enumerate(zip(gold.characters, system.characters, strict=False))
    shorter = min(len(gold.characters), len(system.characters))
    character = next((place for place, (one, other) in together if one != other), shorter)
    (file, line, sent_id), number, here = _place(system, character)
    (gold_file, gold_line, gold_id), gold_number, there = _place(gold, character)
    where = f"{gold_file}:{gold_line}" if gold_line else f"gold sentence {gold_number}"
    return FormatError(
        file, line, sent_id or gold_id, f"sentence {number} has {here}, but {where} has {there};"
        " white space apart, both must have the same characters: parse the gold file's text",
    )  # fmt: skip


def _place(text: _Text, character: int) -> tuple[tuple[str, int, str], int, str]:
    """Where a character stands: (file, line, sent_id), the sentence's number, the tokens there."""
    if not text.places:
        return (text.words.name, 0, ""), 1, "nothing"
    word, token = (
        int(np.searchsorted(spans[:, 1], character, "right"))
        for spans in (text.spans.span, text.tokens)
    )
    word = min(word, len(text.rows) - 1)
    number = int(np.searchsorted(text.starts, word, "right"))
    file, line, sent_id = text.places[number - 1]
    line += text.rows[word] - text.rows[text.starts[number - 1]] if line else 0
    tokens = [text.characters[start:end] for start, end in text.tokens.tolist()]
    code = "".join(f" (U+{ord(it):04X})" for it in text.characters[character : character + 1])
    return (file, line, sent_id), number, around(tokens, token) + code
