"""Reading of raw text: decoding, splitting into paragraphs, making sentences of tokens.

No character is lost: joining the tokens of `surface.surface_tokens` restores the text. Control
characters count as white space.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain

from depkit.corpus.emoji import EMOJI
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import Sentence
from depkit.corpus.surface import CONTROLS, encode_spaces, surface_tokens
from depkit.files.encodings import BOM, NAME_ENCODING, check_encoding
from depkit.files.errors import FormatError
from depkit.files.limits import max_sentence, too_large

# The start and end of a token in its text, and its words, or None if the token is one word.
Token = tuple[int, int, tuple[str, ...] | None]
# A function from texts to the sentences of each text, at least one, as lists of tokens.
Segmenter = Callable[[list[str]], list[list[list[Token]]]]

MAX_PARAGRAPH_LENGTH = 1 << 16  # characters; a longer one is cut at the end of a sentence
# White space as Python defines it, and control characters such as NUL.
_SPACES = [0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
BLANKS = CONTROLS + "".join(map(chr, _SPACES))
_BLANK, _INLINE = f"[{BLANKS}]", f"[{BLANKS.replace(chr(10), '')}]"
_CONTROL = re.compile(f"[{''.join(char for char in CONTROLS if not char.isspace())}]")
# Stands for what could not be read. It is not a character, so no decoded text contains it.
_PROBLEM = "\udcff"
# A match of PARAGRAPHS or LINES must begin where white space begins. Otherwise the search would
# start again at every character of a long run of white space.
PARAGRAPH_END, LINE_END = f"\n{_INLINE}*\n{_BLANK}*", f"\n{_BLANK}*"
PARAGRAPHS = re.compile(f"(?<!{_BLANK}){_INLINE}*{PARAGRAPH_END}")
LINES = re.compile(f"(?<!{_BLANK}){_INLINE}*{LINE_END}")

TEXT_BLOCK = 1 << 16  # characters of a block of text, about 12,000 words; see `blocks`


@dataclass
class ParagraphCounter:
    """A counter for `# sent_id`, which several texts of one corpus can share."""

    last: int = 0  # the number of the last paragraph


def decode_chunks(
    chunks: Iterable[bytes | None], encoding: str, file: str = "-"
) -> Iterator[str | None]:
    """Decode the bytes of a text and remove its byte order mark.

    What precedes a byte that cannot be decoded is yielded before the error is raised.

    Args:
        chunks: The bytes, in parts of any size; None, which is yielded again, is a pause.
        encoding: The text encoding.
        file: The name of the file, for errors.

    Raises:
        FormatError: A byte cannot be decoded; the error names its line and offset.
        ValueError: The encoding is unknown.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError:
        raise ValueError(f"the text encoding {encoding!r} is unknown") from None
    line, offset, at_start = 1, 0, True
    for chunk in chain(chunks, [b""]):
        if chunk is None:
            yield None
            continue
        if not offset:
            check_encoding(chunk, encoding, file)
        pending = len(decoder.getstate()[0])  # bytes of an unfinished character
        problem = None
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            start = error.start - pending  # in the chunk
            problem = FormatError(
                file, line + error.object[: error.start].count(b"\n"), "",
                f"byte 0x{error.object[error.start]:02X} at offset {offset + start} is not"
                f" {encoding}; {NAME_ENCODING}",
            )  # fmt: skip
            text = decoder.decode(chunk[:start]) if start > 0 else ""
        except UnicodeError as error:  # for example, UTF-16 without a byte order mark
            message = f"the file cannot be decoded: {error}; name its encoding with `encoding`"
            raise FormatError(file, 0, "", message) from None
        offset += len(chunk)
        line += text.count("\n")
        if at_start and text:
            text, at_start = text.removeprefix(BOM), False
        yield text
        if problem:
            raise problem


def read_text(
    chunks: Iterable[str | None],
    segment: Segmenter,
    *,
    by_line: bool = False,
    name: str = "",
    counter: ParagraphCounter | None = None,
    file: str = "-",
    character: int = 0,
    by_block: bool = False,
    keep_spaces: bool = False,
) -> Iterator[Sentence]:
    """Read the sentences of a running text, as soon as each paragraph is complete.

    The `# sent_id` of a sentence is the number of its paragraph and its number there, such as 3-1;
    that of a line is only the number of the line, without blank lines. An error that `chunks`
    raises is raised after all sentences before it; the sentence that it interrupts is left out.

    Args:
        chunks: The text in parts of any size, which make no difference to the sentences. None is a
            pause: a paragraph is then complete if its end has been read, and white space that
            follows later belongs to the next one.
        segment: A function that splits paragraphs into sentences and tokens.
        by_line: Whether every line is a paragraph. Otherwise blank lines separate paragraphs.
        name: An id for `# newdoc`.
        counter: A counter for `# sent_id` that continues after other texts.
        file: The name of the file, for the sentences.
        character: The number of characters of the file before the text. If there are any, it is not
            the beginning of a document.
        by_block: Whether paragraphs are split into sentences when their block is complete, so that
            it makes no difference for the segmenter how the text is read.
        keep_spaces: As for `make_sentence`.

    Raises:
        FormatError: A line, or the white space between two words, is too long, see `limits`.
    """
    newdoc = f"# newdoc id = {name}\n" if name else "# newdoc\n"
    reader = _TextReader(
        segment, by_line, counter or ParagraphCounter(), file, character, by_block, keep_spaces,
        comments=[] if character else [newdoc],
    )  # fmt: skip
    for chunk in reader.end_at_problem(chunks):
        if chunk is None:
            yield from reader.read_chunk("", is_pause=True)
            continue
        for start in range(0, len(chunk), MAX_PARAGRAPH_LENGTH):
            yield from reader.read_chunk(chunk[start : start + MAX_PARAGRAPH_LENGTH])
    yield from reader.read_chunk("")


def find_sentence_starts(text: str, segment: Segmenter) -> Iterator[int]:
    """Yield the offset in a text of the first token of each sentence that `read_text` finds."""
    offset = 0
    for sentence in read_text([text], segment):
        tokens = list(surface_tokens(sentence))
        yield offset + len(tokens[0].before)
        offset += sum(len(token.before + token.text + token.after) for token in tokens)


@dataclass
class _TextReader:
    """The state of `read_text`; the first fields are its arguments."""

    segment: Segmenter
    by_line: bool
    counter: ParagraphCounter
    file: str
    character: int
    by_block: bool
    keep_spaces: bool
    comments: list[str]  # of the next sentence
    rest: str = ""  # text that is not yet part of a paragraph
    space_before: str = ""  # white space before the next sentence
    problem: Exception | None = None  # the error that the chunks have ended with
    number: int = 0  # of the last sentence in its paragraph
    in_paragraph: bool = False  # whether the last paragraph was cut
    # Paragraphs to be split into sentences: text, white space after it, block, whether it continues
    pending: list[tuple[str, str | None, int, bool]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limit = max_sentence()
        self.offset = self.character  # of the beginning of `rest`
        self.block = self.offset // TEXT_BLOCK  # of the last paragraph

    def end_at_problem(self, chunks: Iterable[str | None]) -> Iterator[str | None]:
        """Yield the chunks, and _PROBLEM in place of an error that they raise."""
        try:
            yield from chunks
        except Exception as error:
            self.problem = error
            yield _PROBLEM

    def read_chunk(self, chunk: str, is_pause: bool = False) -> Iterator[Sentence]:
        """Yield the sentences that are complete after a chunk; the last chunk is empty.

        is_pause: whether this is a pause of the text, and no chunk.
        """
        is_last = not (chunk or is_pause)
        self.rest += chunk
        if len(self.rest) + len(self.space_before) > self.limit:
            raise too_large(self.file, 0, "line")
        is_short = self.by_line or len(self.rest) <= MAX_PARAGRAPH_LENGTH
        if chunk and (("\n" not in chunk and is_short) or not chunk.strip(BLANKS)):
            return  # No paragraph, and no white space between paragraphs, ends in this chunk.
        has_more = True
        while has_more:
            text = self.rest.lstrip(BLANKS)
            space = self.rest[: len(self.rest) - len(text)]
            self.space_before, self.offset = self.space_before + space, self.offset + len(space)
            texts, gaps, self.rest = _split_paragraphs(text, is_last, is_pause, self.by_line)
            for text, gap in zip(texts, gaps, strict=True):
                yield from self._add_paragraph(text, gap)
            has_more = bool(texts)
            if self.pending and (self.in_paragraph or not self.by_block or is_last):
                yield from self._make_sentences()

    def _add_paragraph(self, text: str, gap: str | None) -> Iterator[Sentence]:
        """Add a paragraph to `pending`; yield the sentences of the block that ends before it."""
        if not self.in_paragraph and self.offset > len(self.space_before) + self.character:
            self.block = self.offset // TEXT_BLOCK
        if self.by_block and self.pending and self.pending[-1][2] != self.block:
            yield from self._make_sentences()
        self.pending.append((text, gap, self.block, self.in_paragraph))
        self.in_paragraph = gap is None
        self.offset += len(text) + len(gap or "")

    def _make_sentences(self) -> Iterator[Sentence]:
        """Yield the sentences of the pending paragraphs."""
        segmented = self.segment([_replace_controls(text) for text, *_ in self.pending])
        for (text, gap, block, is_rest), sentences in zip(self.pending, segmented, strict=True):
            if gap is None and len(sentences) > 1:
                # The paragraph was cut within its last sentence, which is read again.
                cut = sentences.pop()[0][0]
                self.rest, self.offset = text[cut:] + self.rest, self.offset - len(text) + cut
                text = text[:cut]
            if not is_rest:
                self.counter.last, self.number = self.counter.last + 1, 0
                self.comments += ["# newpar\n"] * (not self.by_line)
            starts = [tokens[0][0] for tokens in sentences[1:]]
            for tokens, end in zip(sentences, [*starts, None], strict=True):
                sentence_text = text[:end] if end else text + (gap or "")
                if self.problem and _PROBLEM in sentence_text:
                    raise self.problem
                self.number += 1
                last = self.counter.last
                sent_id = f"{last}" if self.by_line else f"{last}-{self.number}"
                self.comments.append(f"# sent_id = {sent_id}\n")
                sentence = make_sentence(
                    sentence_text, tokens, comments=self.comments, space_before=self.space_before,
                    file=self.file, keep_spaces=self.keep_spaces,
                )  # fmt: skip
                sentence.block = block
                yield sentence
                self.space_before, self.comments = "", []
        self.pending.clear()


def _split_paragraphs(
    text: str, is_last: bool, is_pause: bool, by_line: bool
) -> tuple[list[str], list[str | None], str]:
    """Split complete paragraphs from the beginning of a text.

    Returns the paragraphs, the white space after each, and the rest of the text. A paragraph that
    is too long is cut and becomes the last one, with None for its white space. `is_last` means
    that no more text follows, and `is_pause` that no more has arrived; `by_line` is as in
    `read_text`.
    """
    texts: list[str] = []
    gaps: list[str | None] = []
    start, stop = 0, len(text.rstrip(BLANKS))
    for match in (LINES if by_line else PARAGRAPHS).finditer(text):
        too_long = not by_line and match.start() - start > MAX_PARAGRAPH_LENGTH
        # White space at the end may continue in the next chunk.
        if too_long or (match.end() == len(text) and not (is_last or is_pause)):
            stop = match.start()
            break
        texts.append(text[start : match.start()])
        gaps.append(match[0])
        start = match.end()
    if not by_line and stop - start > MAX_PARAGRAPH_LENGTH:
        texts.append(text[start : start + MAX_PARAGRAPH_LENGTH].rstrip(BLANKS))
        gaps.append(None)
        start += len(texts[-1])
    elif is_last and start < stop:
        texts.append(text[start:stop])
        gaps.append(text[stop:])
        start = len(text)
    return texts, gaps, text[start:]


def make_sentence(
    text: str,
    tokens: Sequence[Token],
    *,
    comments: Sequence[str] = (),
    space_before: str = "",
    file: str = "",
    keep_spaces: bool = False,
) -> Sentence:
    """Make a CoNLL-U sentence from the tokens of a text.

    Args:
        text: The text of the sentence, including the white space after its last token.
        tokens: The tokens of the text.
        comments: Lines before the words, to which `# text` is added.
        space_before: The white space before the first token.
        file: The name of the file that the text is from.
        keep_spaces: Whether spaces inside a token, such as no-break spaces, stay in its form.
            Otherwise, any white space there becomes one space.
    """
    forms: list[str] = []
    lines: list[str] = []
    rows: list[int] = []
    text_parts: list[str] = []  # of `# text`
    first_row = len(comments) + 1  # after `# text`
    following_starts = [start for start, _, _ in tokens[1:]] + [len(text)]
    for (start, end, words), following in zip(tokens, following_starts, strict=True):
        token, space_after = text[start:end], text[end:following]
        form = _LINE_BREAKS.sub(" ", token).strip() if keep_spaces else _normalize_spaces(token)
        text_parts += [form, " " if space_after else ""]
        misc = (
            "_"
            if space_after == " " and not space_before and form == token
            else encode_spaces(space_before, space_after, token, form)
        )
        space_before = ""
        number = len(forms) + 1
        if words:
            lines.append(_RANGE % (number, number + len(words) - 1, form, misc))
            misc = "_"
        for word in words or (form,):
            rows.append(first_row + len(lines))
            forms.append(word)
            lines.append(_ROW % (len(forms), word, misc))
    lines = [*comments, f"# text = {''.join(text_parts).rstrip()}\n", *lines, "\n"]
    columns = {"form": forms, "deprel": ["_"] * len(forms)}
    return Sentence(CONLLU, lines, rows, columns, head=[-1] * len(forms), file=file)


_ROW = "%d\t%s\t_\t_\t_\t_\t_\t_\t_\t%s\n"
_RANGE = "%d-%d\t%s\t_\t_\t_\t_\t_\t_\t_\t%s\n"


def _normalize_spaces(token: str) -> str:
    """Return the form of a token, in which any white space becomes one space."""
    if token.isprintable() and " " not in token:
        return token
    return " ".join(_replace_controls(token).split())


def _replace_controls(text: str) -> str:
    """Replace every control character that Python does not count as white space by a space."""
    return _CONTROL.sub(" ", text)


def split_at_spaces(texts: list[str]) -> list[list[list[Token]]]:
    """Make one sentence of each text, with tokens between spaces and tabs.

    Other white space, such as a no-break space, can be a part of a token, but no token by itself.
    """
    return [
        [
            [
                (*match.span(), None)
                for match in _BETWEEN_SPACES.finditer(text)
                if not match[0].isspace()
            ]
        ]
        for text in texts
    ]


def split_by_rule(texts: list[str]) -> list[list[list[Token]]]:
    """Make one sentence of each text, with tokens by a simple rule.

    Words, also with a hyphen, an apostrophe or a full stop inside, are tokens, and so is every
    other character. This is for models whose treebank has no texts from which a tokenizer can be
    trained.
    """
    tokens = _token_pattern()
    return [[[(*match.span(), None) for match in tokens.finditer(text)]] for text in texts]


@cache
def _token_pattern() -> re.Pattern[str]:
    """Return the pattern of a token of `split_by_rule`."""
    from depkit.corpus.patterns import continues_word  # whose import takes time

    # These ranges contain all accents, vowel signs and joiners of Unicode.
    codes = chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0))
    word = rf"\w[\w{''.join(filter(continues_word, map(chr, codes)))}]*"
    pattern = rf"{EMOJI}|{word}(?:[-'’.]{word})*|[^\w\s]"
    return re.compile(pattern)


_LINE_BREAKS = re.compile(f"[{CONTROLS}\u2028\u2029]")
_BETWEEN_SPACES = re.compile(r"[^ \t\n\r]+")
