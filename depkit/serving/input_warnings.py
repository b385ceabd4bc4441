"""Warnings about text that a model was not trained for, judged by its first sentences."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence
from depkit.parsers.base import Parser
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.text.language import find_language_warning

NUM_CHECKED = 200  # sentences
# A text seems to be in another language if the shares of its words that are known, and that are
# frequent, are less than these parts of the shares in the training treebank.
KNOWN, FREQUENT = 0.6, 1 / 3
NUM_FREQUENT = 100  # the number of the most frequent words; most of them are function words
MIN_WORDS = 12  # A shorter text may consist of names.
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?>|<!|&(?:nbsp|amp|lt|gt|quot|#\d+);")


def find_input_warnings(
    parser: Parser, sentences: Sequence[Sentence], model: PathLike = ""
) -> Iterator[str]:
    """Yield a warning for each reason why the model may parse these sentences badly.

    There is a warning if the text is in a known language that is not that of the model; or else if
    most letters are unknown to the model; or else if the words seem to be of another language; and
    one if the text contains HTML markup at least three times and at least
    once in four sentences. Letters are not checked for a model that reads a transformer, which
    knows more letters. model: the name or the directory of the model; "" for an unknown language.
    """
    texts = [sentence.text or " ".join(sentence.form) for sentence in sentences]
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    known = parser.vocabulary.characters.indices
    num_unknown = sum(not (letter in known or letter.lower() in known) for letter in letters)
    if model and (warning := find_language_warning(" ".join(texts), model)):
        yield f"{warning}; expect poor predictions"
    elif 2 * num_unknown > len(letters) and parser.config.inputs.context.source != "transformer":
        yield (
            f"{100 * num_unknown / len(letters):.0f}% of the text's letters are unknown to the"
            " model, which was trained on another script; expect poor predictions"
        )
    elif shares := _find_foreign_words(parser.vocabulary, sentences):
        percent = [f"{100 * share:.0f}%" for share in shares]
        yield (
            f"the text seems to be in another language than that of the model: {percent[0]} of its"
            f" words are known to the model ({percent[2]} in its treebank), and {percent[1]} are"
            f" among the {NUM_FREQUENT} most frequent words ({percent[3]}); expect poor predictions"
        )
    if sum(len(_MARKUP.findall(text)) for text in texts) >= max(3, len(texts) / 4):
        file = next(
            sentence.file
            for sentence, text in zip(sentences, texts, strict=True)
            if _MARKUP.search(text)
        )
        yield (
            f"{file}: the text looks like HTML; the model parses markup as if it were words, so"
            " remove it first"
        )


def _find_foreign_words(
    vocabulary: Vocabulary, sentences: Sequence[Sentence]
) -> tuple[float, float, float, float] | None:
    """Return shares of words if the words seem to be of another language, else None.

    They are the shares of known words and of frequent words in the sentences, and the same shares
    in the training treebank. None also for a model without a lexicon, whose words are not counted.
    """
    words = [form.lower() for sentence in sentences for form in sentence.form if form.isalpha()]
    lexicon = vocabulary.lemmas
    if len(words) < MIN_WORDS or lexicon is None:
        return None
    known = sum(word in vocabulary.words.indices for word in words) / len(words)
    if known >= KNOWN:
        return None  # without counting the words of the treebank
    counts: Counter[str] = Counter()
    for (form, *_), count in lexicon.counts().items():
        if form.isalpha():
            counts[form.lower()] += count
    total = max(1, counts.total())
    most_frequent = counts.most_common(NUM_FREQUENT)
    # Rarer words are a matter of chance: another sample of the language would have others.
    usual_known = sum(count for count in counts.values() if count > 3) / total
    usual_frequent = sum(count for _, count in most_frequent) / total
    frequent_words = dict(most_frequent)
    frequent = sum(word in frequent_words for word in words) / len(words)
    if known < KNOWN * usual_known and frequent < FREQUENT * usual_frequent:
        return known, frequent, usual_known, usual_frequent
    return None
