"""Warnings about text that a model was not trained for, judged by its first sentences."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from depkit.corpus.equivalents import find_equivalent
from depkit.corpus.io import PathLike
from depkit.corpus.sentence import Sentence, find_boundary
from depkit.parsers.base import Parser
from depkit.parsers.inputs.known_characters import KnownCharacters
from depkit.parsers.inputs.vocabulary import Vocabulary
from depkit.parsers.text.language import (
    MIN_LETTERS,
    count_letters,
    find_document_warning,
    find_language_warning,
    is_unlike_language,
    may_be_language,
    read_language,
    read_profiles,
)

NUM_CHECKED = 200  # sentences of a file
NUM_NOTES = 10  # on the files that a model annotates
# A text seems to be in another language if the shares of its words that are known, and that are
# frequent, are less than these parts of the shares in the training treebank.
KNOWN, FREQUENT = 0.6, 1 / 3
NUM_FREQUENT = 100  # the number of the most frequent words; most of them are function words
MIN_WORDS = 12  # A shorter text may consist of names.
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?>|<!|&(?:nbsp|amp|lt|gt|quot|#\d+);")
_JSON = re.compile(r'(?:\[\s*)?\{\s*"[^"\n]*"\s*:')


@dataclass
class InputCheck:
    """Gives warnings about the files that a model annotates, each judged by its first sentences.

    parser: the parser; model: as for `find_input_warnings`; has_several_files: whether a warning
    must name its file; note: called with each warning. Files with less text than a warning needs
    are judged together.
    """

    parser: Parser
    model: PathLike
    has_several_files: bool
    note: Callable[[str], None]
    file: str = ""
    first_sentences: list[Sentence] = field(default_factory=list)  # of the file that is being read
    is_judged: bool = False  # whether the file that is being read has been judged
    short: list[Sentence] = field(default_factory=list)  # of files that have too little text
    num_notes: int = 0

    def watch(self, sentences: Iterable[Sentence]) -> Iterator[Sentence]:
        """Yield the sentences of one or more files, and judge the files."""
        for sentence in sentences:
            yield sentence
            if sentence.file != self.file:
                self.judge()
                self.file, self.is_judged = sentence.file, False
            if not self.is_judged:
                self.first_sentences.append(sentence)
                if len(self.first_sentences) == NUM_CHECKED:
                    self.judge()

    def judge(self) -> None:
        """Judge the file that is being read, unless this has been done already."""
        sentences, self.first_sentences, self.is_judged = self.first_sentences, [], True
        text = " ".join(map(_text_of, sentences))
        if self.has_several_files and count_letters(text) < MIN_LETTERS:
            self.short += sentences[: NUM_CHECKED - len(self.short)]
        elif sentences:
            self._give_notes(sentences, f"{self.file}: " if self.has_several_files else "")

    def finish(self) -> None:
        """Judge what has not been judged yet; to be called once, at the end."""
        self.judge()
        if self.short:
            first, *others = dict.fromkeys(sentence.file for sentence in self.short)
            more = f" and {len(others)} more short files" if others else ""
            self._give_notes(self.short, f"{first}{more}: ")
        if self.num_notes > NUM_NOTES:
            self.note(f"{self.num_notes - NUM_NOTES} more notes on other files are left out")

    def _give_notes(self, sentences: Sequence[Sentence], prefix: str) -> None:
        for warning in find_input_warnings(self.parser, sentences, self.model):
            self.num_notes += 1
            if self.num_notes <= NUM_NOTES:
                self.note(prefix + warning.removeprefix(prefix))


def find_input_warnings(
    parser: Parser, sentences: Sequence[Sentence], model: PathLike = ""
) -> Iterator[str]:
    """Yield a warning for each reason why the model may parse these sentences badly.

    There is a warning if the text is in a known language that is not that of the model; or else if
    most letters are unknown to the model; or else if the letters or the words seem to be of another
    language; one if the text contains HTML markup at least three times and at least once in four
    sentences; and one if the first sentence begins as a JSON object does. Letters are not checked
    for a model that reads a transformer, which knows more letters.

    model: the name or the directory of the model; "" for an unknown language.
    """
    texts = [_text_of(sentence) for sentence in sentences]
    if warning := _find_other_language(parser, sentences, " ".join(texts), model):
        yield f"{warning}; expect poor predictions"
    elif model and len(documents := _split_documents(sentences)) > 1:
        if warning := find_document_warning(documents, model):
            yield f"{warning}; expect poor predictions for these"
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
    if texts and _JSON.match(texts[0]):
        yield (
            f"{sentences[0].file}: the text looks like JSON; the model parses braces and keys as if"
            " they were words, so extract the text first"
        )


def _text_of(sentence: Sentence) -> str:
    return sentence.text or " ".join(sentence.form)


def _split_documents(sentences: Sequence[Sentence]) -> list[str]:
    """Return the texts of the documents that begin with comments `# newdoc`."""
    documents: list[list[str]] = [[]]
    for sentence in sentences:
        if find_boundary(sentence.lines, "newdoc"):
            documents.append([])
        documents[-1].append(_text_of(sentence))
    return [" ".join(texts) for texts in documents if texts]


def _find_other_language(
    parser: Parser, sentences: Sequence[Sentence], text: str, model: PathLike
) -> str:
    """Warn of a text that seems not to be in the language of the model; "" if it may be."""
    if model and (warning := find_language_warning(text, model)):
        return warning
    letters, known = Counter(filter(str.isalpha, text)), parser.vocabulary.characters.indices
    num_unknown = sum(
        count
        for x, count in letters.items()
        if not (x in known or x.lower() in known or find_equivalent(x, known.__contains__))
    )
    if 2 * num_unknown > letters.total() and parser.config.inputs.context.source != "transformer":
        return (
            f"{100 * num_unknown / letters.total():.0f}% of the text's letters are unknown to the"
            " model, which was trained on another script"
        )
    if _has_mostly_names(text):
        return ""
    language = read_language(model) if model else ""
    warning = "the text seems to be in another language than that of the model"
    if len(text.split()) >= MIN_WORDS and is_unlike_language(text, language):
        return f"{warning}, which parses {read_profiles()[language].name}"
    shares = _find_foreign_words(parser.vocabulary, sentences)
    if not shares or may_be_language(text, language):
        return ""
    percent = [f"{100 * share:.0f}%" for share in shares]
    return (
        f"{warning}: {percent[0]} of its words are known to the model ({percent[2]} in its"
        f" treebank), and {percent[1]} are among the {NUM_FREQUENT} most frequent words"
        f" ({percent[3]})"
    )


def _has_mostly_names(text: str) -> bool:
    """Whether most words of a text begin with a capital letter, as in lists of names."""
    initials = [word[0] for word in text.split() if word[0].isalpha()]
    return 2 * sum(map(str.isupper, initials)) > len(initials)


def _find_foreign_words(
    vocabulary: Vocabulary, sentences: Sequence[Sentence]
) -> tuple[float, float, float, float] | None:
    """Return shares of words if the words seem to be of another language, else None.

    They are the shares of known words and of frequent words in the sentences, and the same shares
    in the training treebank. None also for a model without a lexicon, whose words are not counted.
    """
    read = map(KnownCharacters(vocabulary), sentences)
    words = [form.lower() for sentence in read for form in sentence.form if form.isalpha()]
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
