"""Variants of a treebank's text, from which a tokenizer learns what is rare in the treebank.

A variant has other letters or other white space than the text, or additional tokens, but splits
words as the treebank does.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np

from depkit.training.passages import Text, TextToken

SHORT_SENTENCE = 3  # tokens
PART = 20  # maximum number of sentences in a part of a text that is changed
MIN_NAMES = 20  # with fewer, no names are made up
MIN_EXAMPLES = 3  # of a punctuation mark between letters, to know how the treebank splits it


Random = np.random.Generator
Variant = Callable[[Text, Random], Text]


class TextVariants:
    """Makes random variants of texts.

    Args:
        paragraphs: The paragraphs of the training treebank.
        endings: Endings of multiword tokens that never follow an unknown word, such as `na` of
            `gonna`. Some made-up names end in one.
        abbreviations: Those of the language, without the full stop.
    """

    def __init__(
        self,
        paragraphs: Sequence[Text],
        endings: Iterable[str] = (),
        abbreviations: Iterable[str] = (),
    ) -> None:
        tokens = [token for paragraph in paragraphs for token in paragraph]
        names = {token.text for token in tokens if token.is_name and token.text.istitle()}
        self._names = sorted(name for name in names if name.isalpha() and len(name) > 3)
        self._endings = sorted(ending for ending in endings if ending.isalpha())
        self._short = [
            sentence
            for sentence in (s for paragraph in paragraphs for s in _sentences(paragraph))
            if len(sentence) <= SHORT_SENTENCE and not sentence[-1].text[-1].isalnum()
        ]
        # How likely each change is in a variant
        self._changes: list[tuple[float, Variant]] = [(0.2, _remove_spaces), (0.2, _swap_quotes)]
        if any(token.text.lower() != token.text.upper() for token in tokens):
            self._changes += [(0.2, _capitalize), (0.2, _capitalize_some)]
        if len(self._names) >= MIN_NAMES:
            self._changes.append((0.5, self._rename))
            self._abbreviations = _write_abbreviations(sorted(abbreviations), tokens)
            self._changes.append((0.3, self._add_abbreviations))
        if self._short:
            self._changes.append((0.3, self._add_short_sentences))
        if has_no_spaces(tokens):
            self._changes.append((0.5, _join_sentences))
        if _splits_at(tokens, "("):
            self._changes.append((0.2, _add_brackets))
        if _splits_at(tokens, "/"):
            self._changes.append((0.2, _add_slashes))

    def vary(self, text: Text, random: Random) -> Text:
        """Return a text with random changes; every token ends as it does in the treebank."""
        for probability, change in self._changes:
            if random.random() < probability:
                text = change(text, random)
        return text

    def _rename(self, text: Text, random: Random) -> Text:
        """Replace names by made-up ones, which begin like one name and end like another."""

        def make_name() -> str:
            begin, end = (self._names[i] for i in random.integers(len(self._names), size=2))
            if self._endings and random.random() < 0.3:
                end = "__" + self._endings[random.integers(len(self._endings))]
            return begin[: random.integers(2, len(begin))] + end[2:].lower()

        return [
            _with_words(token, (make_name(),)) if token.is_name and token.text.istitle() else token
            for token in text
        ]

    def _add_abbreviations(self, text: Text, random: Random) -> Text:
        """Insert abbreviations and initials before names and numbers: a treebank has only a few."""
        result: Text = []
        for token in text:
            is_name = token.is_name and token.text.istitle()
            if (is_name or token.text.isdigit()) and random.random() < 0.1:
                tokens = self._abbreviations[random.integers(len(self._abbreviations))]
                if random.random() < 0.5:
                    first = tokens[0]
                    tokens = [_with_words(first, (first.text.capitalize(),)), *tokens[1:]]
                result += tokens
            result.append(token)
        return result

    def _add_short_sentences(self, text: Text, random: Random) -> Text:
        result: Text = []
        for sentence in _sentences(text):
            if random.random() < 0.3:
                short = self._short[random.integers(len(self._short))]
                result += [*short[:-1], replace(short[-1], has_space=True)]
            result += sentence
        return result


def _write_abbreviations(words: Iterable[str], tokens: Sequence[TextToken]) -> list[Text]:
    """Return abbreviations and initials as tokens.

    The full stop belongs to the abbreviation or is a token of its own, as in most of the treebank.
    """
    is_joined = re.compile(r"[^\W\d_]{1,4}\.")
    num_joined = sum(not t.ends_sentence and bool(is_joined.fullmatch(t.text)) for t in tokens)
    num_split = sum(
        not (token.ends_sentence or before.has_space) and token.text == "." and _is_plain(before)
        for before, token in pairwise(tokens)
    )
    letters = {x for token in tokens for x in token.text if x.islower() and len(x.upper()) == 1}
    full_stop = TextToken(".", (".",), has_space=True)
    return [
        [TextToken(f"{word}.", (f"{word}.",), has_space=True)]
        if num_joined >= num_split
        else [TextToken(word, (word,), has_space=False), full_stop]
        for word in [*words, *sorted(map(str.upper, letters))]
    ]


def cut_text(text: Text, random: Random) -> Iterator[Text]:
    """Cut a text into parts of 1 to `PART` sentences, since many treebanks are one paragraph."""
    sentences = list(_sentences(text))
    begin = 0
    while begin < len(sentences):
        end = begin + int(random.integers(1, PART + 1))
        yield list(chain.from_iterable(sentences[begin:end]))
        begin = end


def _sentences(text: Text) -> Iterator[Text]:
    begin = 0
    for index, token in enumerate(text, start=1):
        if token.ends_sentence:
            yield text[begin:index]
            begin = index


def _with_words(token: TextToken, words: tuple[str, ...]) -> TextToken:
    """Return a token that is written as its new words.

    A token that is not written as its own words is returned unchanged.
    """
    if "".join(token.words) != token.text:
        return token
    return replace(token, text="".join(words), words=words)


def _change_letters(token: TextToken, change: Callable[[str], str]) -> TextToken:
    """Change the letters of a token and its words, if this does not change their number."""
    text, words = change(token.text), tuple(map(change, token.words))
    return replace(token, text=text, words=words) if len(text) == len(token.text) else token


def _capitalize(text: Text, random: Random) -> Text:
    return [_change_letters(token, str.upper) for token in text]


def _capitalize_some(text: Text, random: Random) -> Text:
    """Write some tokens in capital letters, or with a capital letter at the beginning."""

    def capitalize_first(token: TextToken) -> TextToken:
        first, *others = token.words
        first = first[:1].upper() + first[1:]
        return _with_words(token, (first, *others)) if len(first) == len(token.words[0]) else token

    draws = random.random(len(text))
    return [
        _change_letters(token, str.upper)
        if draw < 0.15
        else capitalize_first(token)
        if draw < 0.3
        else token
        for token, draw in zip(text, draws.tolist(), strict=True)
    ]


def _swap_quotes(text: Text, random: Random) -> Text:
    """Exchange straight and typographic apostrophes."""
    table = str.maketrans("'’", "’'")
    return [_change_letters(token, lambda part: part.translate(table)) for token in text]


def _remove_spaces(text: Text, random: Random) -> Text:
    """Remove the white space around brackets and slashes inside a sentence."""
    marks = {*"()[]/"}
    result = list(text)
    for i, following in enumerate(text[1:]):
        token = text[i]
        if not token.ends_sentence and (token.text in marks or following.text in marks):
            result[i] = replace(token, has_space=False)
    return result


def has_no_spaces(tokens: Sequence[TextToken]) -> bool:
    """Whether words are written without white space between them, as in Japanese."""
    inside = [token.has_space for token in tokens if not token.ends_sentence]
    return 20 * sum(inside) < len(inside)


def _join_sentences(text: Text, random: Random) -> Text:
    """Remove the white space after final punctuation: a treebank has it, but text does not."""
    return [
        replace(token, has_space=False)
        if token.ends_sentence and not token.text[-1].isalnum()
        else token
        for token in text
    ]


def _add_brackets(text: Text, random: Random) -> Text:
    """Put the end of some words into brackets: t(est)."""
    result: Text = []
    for token in text:
        if _is_plain(token) and len(token.text) > 2 and random.random() < 0.1:
            cut = random.integers(1, len(token.text))
            parts = [token.text[:cut], "(", token.text[cut:], ")"]
            pieces = [TextToken(part, (part,), has_space=False) for part in parts]
            pieces[-1] = replace(token, text=")", words=(")",), is_name=False)
            result += pieces
        else:
            result.append(token)
    return result


def _add_slashes(text: Text, random: Random) -> Text:
    """Put a slash instead of the space between some words."""
    result: Text = []
    for i, token in enumerate(text):
        is_inside = not token.ends_sentence and i + 1 < len(text) and token.has_space
        if is_inside and _is_plain(token) and _is_plain(text[i + 1]) and random.random() < 0.1:
            result += [replace(token, has_space=False), TextToken("/", ("/",), has_space=False)]
        else:
            result.append(token)
    return result


def _is_plain(token: TextToken) -> bool:
    return token.text.isalpha() and len(token.words) == 1


def _splits_at(tokens: Sequence[TextToken], mark: str) -> bool:
    """Whether a treebank makes a token of a punctuation mark between letters."""
    # The search begins at the first letter only, so that its time is linear.
    pattern = rf"(?<![^\W\d_])[^\W\d_]+{re.escape(mark)}[^\W\d_]+\W*"
    joined = re.compile(pattern)
    num_joined = sum(joined.fullmatch(token.text) is not None for token in tokens)
    num_split = sum(
        token.text == mark and not (before.has_space or before.ends_sentence) and _is_plain(before)
        for before, token in pairwise(tokens)
    )
    return num_split >= max(MIN_EXAMPLES, 5 * num_joined)
