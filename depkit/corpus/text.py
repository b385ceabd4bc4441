"""Raw text: decoding it, cutting it into paragraphs, making sentences of its tokens.

No character is lost: joining the tokens of `surface.surface_tokens` gives the text back. Control
characters count as white space.
"""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from depkit.corpus.emoji import EMOJI
from depkit.corpus.encodings import check_encoding
from depkit.corpus.errors import FormatError
from depkit.corpus.formats import CONLLU
from depkit.corpus.sentence import BOM, Sentence
from depkit.corpus.surface import CONTROLS, space_features

# Start and end of a token in its text; its words, where they are not the token itself.
Token = tuple[int, int, tuple[str, ...] | None]
# The sentences of each text, their tokens; a text has one sentence at least.
Segment = Callable[[list[str]], list[list[list[Token]]]]

LONGEST_PARAGRAPH = 1 << 16  # characters; a longer one is cut at the last sentence end in them
# White space: what Python takes for it, and control characters such as NUL.
_SPACES = [0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]
_BLANKS = CONTROLS + "".join(map(chr, _SPACES))
_BLANK, _INLINE = f"[{_BLANKS}]", f"[{_BLANKS.replace(chr(10), '')}]"
_CONTROL = re.compile(f"[{''.join(each for each in CONTROLS if not each.isspace())}]")
# A break begins where white space begins, so that no long run of it is tried again and again.
_PARAGRAPHS = re.compile(f"(?<!{_BLANK}){_INLINE}*\n{_INLINE}*\n{_BLANK}*")
_LINES = re.compile(f"(?<!{_BLANK}){_INLINE}*\n{_BLANK}*")


@dataclass
class Numbers:
    """The number of the last sentence, to be shared by texts that are read as one corpus."""

    sentence: int = 0


def decoded(chunks: Iterable[bytes], encoding: str, file: str = "-") -> Iterator[str]:
    """Bytes as text, a byte order mark left out.

    Raises FormatError naming the line and the offset of a byte that cannot be decoded, and
    ValueError for an encoding that is not known.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)("strict")
    except LookupError:
        raise ValueError(f"no text encoding {encoding!r} is known") from None
    line, offset, first = 1, 0, True
    for chunk in chain(chunks, [b""]):
        if not offset:
            check_encoding(chunk, encoding, file)
        pending = len(decoder.getstate()[0])  # bytes of an unfinished character
        try:
            text = decoder.decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            place = offset - pending + error.start
            raise FormatError(
                file, line, "",
                f"byte 0x{error.object[error.start]:02X} at offset {place} is not {encoding};"
                " name the file's encoding, for example --encoding latin-1",
            ) from None  # fmt: skip
        offset += len(chunk)
        line += text.count("\n")
        if first and text:
            text, first = text.removeprefix(BOM), False
        yield text


def read_text(
    chunks: Iterable[str],
    segment: Segment,
    lines: bool = False,
    name: str = "",
    numbers: Numbers | None = None,
    file: str = "-",
) -> Iterator[Sentence]:
    """The sentences of a running text, as soon as their paragraph is there.

    chunks: the text in pieces of any size; how it is cut makes no difference. Blank lines
    set paragraphs apart; `lines`: every line is a paragraph instead.
    name: an id for `# newdoc`; numbers: where to go on with `# sent_id`.
    """
    numbers = numbers or Numbers()
    comments = [f"# newdoc id = {name}\n" if name else "# newdoc\n"] + ["# newpar\n"] * (not lines)
    before = rest = ""
    pieces = (
        chunk[start : start + LONGEST_PARAGRAPH]
        for chunk in chunks
        for start in range(0, len(chunk), LONGEST_PARAGRAPH)
    )
    for chunk in chain(pieces, [""]):
        rest += chunk
        if chunk and "\n" not in chunk and (lines or len(rest) <= LONGEST_PARAGRAPH):
            continue  # no paragraph ends here
        while True:
            text = rest.lstrip(_BLANKS)
            before, rest = before + rest[: len(rest) - len(text)], text
            texts, gaps, rest = _paragraphs(rest, not chunk, lines)
            if not texts:
                break
            segmented = segment([_without_controls(text) for text in texts])
            for text, gap, sentences in zip(texts, gaps, segmented, strict=True):
                if gap is None and len(sentences) > 1:  # the last sentence of a cut text goes on
                    held = sentences.pop()[0][0]
                    text, rest = text[:held], text[held:] + rest
                starts = [tokens[0][0] for tokens in sentences[1:]]
                for tokens, end in zip(sentences, [*starts, None], strict=True):
                    part = text[:end] if end else text + (gap or "")
                    numbers.sentence += 1
                    comments.append(f"# sent_id = {numbers.sentence}\n")
                    yield make_sentence(part, tokens, comments, before, file)
                    before, comments = "", []
                if gap is not None and not lines:
                    comments = ["# newpar\n"]


def _paragraphs(text: str, final: bool, lines: bool) -> tuple[list[str], list[str | None], str]:
    """The whole paragraphs at the beginning of a text, the white space after each, the rest.

    A paragraph that is too long is cut; then it is the last, and the white space is None.
    """
    texts: list[str] = []
    gaps: list[str | None] = []
    start, stop = 0, len(text.rstrip(_BLANKS))
    for match in (_LINES if lines else _PARAGRAPHS).finditer(text):
        too_long = not lines and match.start() - start > LONGEST_PARAGRAPH
        if too_long or (match.end() == len(text) and not final):  # white space that may go on
            stop = match.start()
            break
        texts.append(text[start : match.start()])
        gaps.append(match[0])
        start = match.end()
    if not lines and stop - start > LONGEST_PARAGRAPH:
        texts.append(text[start : start + LONGEST_PARAGRAPH].rstrip(_BLANKS))
        gaps.append(None)
        start += len(texts[-1])
    elif final and start < stop:
        texts.append(text[start:stop])
        gaps.append(text[stop:])
        start = len(text)
    return texts, gaps, text[start:]


def make_sentence(
    text: str,
    tokens: Sequence[Token],
    comments: Sequence[str] = (),
    before: str = "",
    file: str = "",
) -> Sentence:
    """A CoNLL-U sentence of a text's tokens; white space behind the last belongs to it.

    comments: whole lines, to which `# text` is added; before: white space before the text's first
    token.
    """
    forms: list[str] = []
    lines: list[str] = []
    rows: list[int] = []
    shown: list[str] = []  # the pieces of `# text`
    first = len(comments) + 1
    ends = [start for start, _, _ in tokens[1:]] + [len(text)]
    for (start, end, words), following in zip(tokens, ends, strict=True):
        token, after = text[start:end], text[end:following]
        form = _one_line(token)
        shown += [form, " " if after else ""]
        misc = (
            "_"
            if after == " " and not before and form == token
            else space_features(before, after, token, form)
        )
        before = ""
        number = len(forms) + 1
        if words:
            lines.append(_RANGE % (number, number + len(words) - 1, form, misc))
            misc = "_"
        for word in words or (form,):
            rows.append(first + len(lines))
            forms.append(word)
            lines.append(_ROW % (len(forms), word, misc))
    whole = f"# text = {''.join(shown).rstrip()}\n"
    held = {"form": forms, "deprel": ["_"] * len(forms)}
    return Sentence(CONLLU, [*comments, whole, *lines, "\n"], rows, held, [-1] * len(forms), file)


_ROW = "%d\t%s\t_\t_\t_\t_\t_\t_\t_\t%s\n"
_RANGE = "%d-%d\t%s\t_\t_\t_\t_\t_\t_\t_\t%s\n"


def _one_line(token: str) -> str:
    """A token as a form: white space inside it becomes one space."""
    if token.isprintable() and " " not in token:
        return token
    return " ".join(_without_controls(token).split())


def _without_controls(text: str) -> str:
    """The text with a space for every control character that Python does not count as white space.

    Its length stays the same.
    """
    return _CONTROL.sub(" ", text)


def split_at_spaces(texts: list[str]) -> list[list[list[Token]]]:
    """Each text as one sentence, its tokens what stands between white space."""
    return [[[(*match.span(), None) for match in _SPACED.finditer(text)]] for text in texts]


def split_by_rule(texts: list[str]) -> list[list[list[Token]]]:
    """Each text as one sentence; words are letters and digits, other characters stand alone.

    For models whose treebank had no text to learn tokens from.
    """
    return [[[(*match.span(), None) for match in _RULE.finditer(text)]] for text in texts]


_SPACED = re.compile(r"\S+")
_RULE = re.compile(EMOJI + r"|\w+(?:[-'’.]\w+)*|[^\w\s]")
