"""Search for tokens that look alike in all languages: addresses, numbers, measures, punctuation.

Most are too rare in a treebank to be learned from it. A tokenizer should neither cut them nor, if
they are punctuation marks, join them to words. Where treebanks differ (`10km` is one token in some
and two in others), there is a pattern for each way.

The time of a search is linear in the length of the text, whatever the text is: a match cannot
begin inside a sequence of the characters with which it can begin.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from depkit.corpus.emoji import emoji_spans

# Start, end, and whether a token certainly ends there. None: an ending of the token can follow.
# False: a token that seems to end inside ends there instead.
Span = tuple[int, int, bool | None]


@dataclass(frozen=True)
class Pattern:
    """A pattern of tokens.

    hint: matches in every text in which `regex` matches, and is faster.
    regex: matches one token, or several tokens that follow each other, one in each group.
    is_complete: whether a token certainly ends at the end of a match, unless an ending can follow.
    min_matches: how often the pattern must occur in a treebank that it is used with.
    excluded: a match whose last character is inside a match of this pattern is no token.
    like: the name of a similar pattern, whose matches count if a treebank has none of this one.
    """

    hint: re.Pattern[str]
    regex: re.Pattern[str]
    is_complete: bool
    min_matches: int = 0
    excluded: re.Pattern[str] | None = None
    like: str = ""


# Some top-level domains. Those that are frequent words, such as `it` and `me`, are missing: a full
# stop without a space after it, as in `I saw.it`, is more frequent than these domains.
_DOMAINS = (
    r"(?:(?:co|ac|com|org|net|gov|edu)\.[a-z]{2}"
    "|com|org|net|edu|gov|mil|info|biz|cn|cz|dk|eu|fi|fr|gr|hu|jp|kr|nl|nz|pl|ru|tv|ua|uk|za)"
)
# The condition on what precedes follows the first digit, so that the search jumps to digits.
# Persian and Arabic separators may be mixed with others.
_AMOUNT = r"\d(?<![\w.,:٫٬]\d)\d*(?:[.,٫٬]\d+)*"
_DIGITS = re.compile(r"\d")
_UNIT = (
    r"(?:km/h|m/s|[cdkmnµμ]?m[²³]?|[kmµμ]?g|[cdm]?l|ha|mph|ft|lbs?|oz|h|min|[ap]m|[AP]M"
    r"|[kmMG]?W|[kMG]Wh|[km]?V|[kMG]?Hz|[kMGT]i?B|[kMG]bit/s|°[CF]?|[%‰€])(?!\w)"
)
_CURRENCY = "[$£€¥₩₪₫₴₹₺₽฿￥＄￡]"
# URLs end before the punctuation and the letters of Chinese, Japanese and Korean.
_IN_URL = r"[^\s()<>\"“”«»\u3000-\u9fff\uac00-\ud7a3\uff00-\uffef]"
# After the full stop of a measure, whose unit is hardly ever written with a full stop
_UNITS = ("kg", "[ckm]m", "°[CF]")
AFTER_UNIT = f"(?:{'|'.join(rf'(?<=[0-9]{x}.)|(?<=[0-9] {x}.)' for x in _UNITS)})"
# Endings of German nouns before the feminine `in`, and feminine and plural endings in French
_AGENT = r"(?<=er|nt|st|or|ur|at)"
_FEMININE = r"(?:[elnstv]?es?|s|x|t?rices?|ères?|euses?)"
_QUOTED = r"[^'’]{1,60}\w['’](?!\w)"  # what follows the first quotation mark, up to the last one
# Extensions of file names, without some that are frequent words, such as `dat`, `ini` and `tar`
_EXTENSIONS = (
    "pdf|txt|[ct]sv|json|ya?ml|x?html?|xml|toml|cfg|conf|log|md|rst|tex|bib|docx?|odt|rtf|xlsx?"
    "|ods|pptx?|odp|epub|jpe?g|png|gif|svg|bmp|tiff?|webp|mp[34]|wav|ogg|flac|avi|mkv|webm|zip|gz"
    "|bz2|xz|zst|7z|tgz|jar|exe|dll|msi|deb|rpm|apk|sqlite|py|ipynb|[jt]sx?|s?css|java|[ch]pp|php"
    "|sh|ps1|conllu?|onnx"
)
# Letters, digits and the underscore without Chinese and Japanese characters, because such words can
# precede and follow a name without a space
_WORD = r"[^\W\u3000-\u9fff\uff00-\uffef]"
_IN_NAME = r"[^\W_\u3000-\u9fff\uff00-\uffef]"
_IN_FILE_NAME = rf"(?:{_WORD}|-)"
# If one of these follows a name, an ending can belong to the same token, as in Swedish `H&M:s` and
# `main.py:12`.
_ENDING = re.compile(rf"{_WORD}|['’-]|[:?#=&+/]\w")
# What must not follow a sign behind a number: the sign in `5%-ный` and `20€'luk` is not a token
_NO_ENDING = rf"(?!{_WORD}|[-‐'’]\w)"
# As `:-)`, `;D` and `^_^`, after white space. `<3` is missing, because it can be a comparison.
EMOTICON = (
    r"[:;=^](?<!\S.)(?:(?<=[:;=])['’]?-?[()]+|(?<=[:;])(?:['’]?-?[DPp]+|-[/\\|*])|(?<=\^)_*\^)"
)
# A pair of brackets
_BRACKETS = r"()\[\]{}"
_BRACKETED = re.compile(rf"[(\[{{](?<!\w.)(?=[^\s{_BRACKETS}])[^{_BRACKETS}]{{1,200}}[)\]}}](?!\w)")
PATTERNS = {
    "url": Pattern(
        re.compile(r"://|www\.", re.IGNORECASE),
        re.compile(
            rf"(?<!{_WORD})(?<!\.)(?:(?:https?|ftp)://|www\.)(?:{_IN_URL}|\({_IN_URL}*\))+(?<=[\w/=&#~)-])",
            re.IGNORECASE,
        ),
        True,
    ),
    "email": Pattern(
        re.compile("@"),
        re.compile(
            rf"(?<!{_WORD})(?<![.+%-])(?:mailto:)?(?:{_WORD}|[.+%-])+@(?:{_IN_FILE_NAME}+\.)+[a-z]{{2,}}",
            re.IGNORECASE,
        ),
        True,
    ),
    "domain": Pattern(
        re.compile(rf"\.{_DOMAINS}", re.IGNORECASE),
        re.compile(rf"(?<![\w.@/:-])(?:[a-z0-9-]+\.)+{_DOMAINS}(?![\w@]|\.\w)", re.IGNORECASE),
        True,
    ),
    # As `report-2.pdf`, `data.tar.gz`, `src/main.py` and `~/notes.txt`
    "file name": Pattern(
        re.compile(rf"\.(?:{_EXTENSIONS})", re.IGNORECASE),
        re.compile(
            rf"(?<!{_WORD})(?<![.~/\\@-])(?:~?/|\.\.?/)?(?![א-ת]-)"
            rf"{_IN_NAME}{_IN_FILE_NAME}*(?:[./]{_IN_NAME}{_IN_FILE_NAME}*)*"
            rf"\.(?:{_EXTENSIONS}|(?<![a-z]\.)(?:{_EXTENSIONS.upper()}))(?!{_IN_FILE_NAME}|[./]\w)"
        ),
        True,
    ),
    "underscores": Pattern(
        re.compile("_"),
        re.compile(
            rf"(?<!{_WORD})(?<![.@#/?=&-]){_IN_NAME}+(?:_+{_IN_NAME}+)+"
            rf"(?!{_IN_NAME}|[=@%/]|\.\w)"
        ),
        True,
    ),
    "tag": Pattern(  # a name after `#` or `@`
        re.compile("[#@]"),
        re.compile(rf"[#@](?<![.&/#@].)(?<!{_WORD}.)(?!\d){_WORD}+(?!{_WORD}|[./@]\w|[\"״][א-ת])"),
        True,
    ),
    "ampersand": Pattern(  # as `AT&T`
        re.compile("&"),
        re.compile(
            rf"(?<!{_WORD})(?<![.&])(?:[A-Z]&[A-Z]{{2,3}}|[A-Z]{{2,4}}&[A-Z]{{1,3}})(?!{_WORD}|[&/])"
        ),
        True,
    ),
    "ampersand between letters": Pattern(  # as `R&D`
        re.compile("&"), re.compile(rf"(?<!{_WORD})(?<![.&])[A-Z]&[A-Z](?!{_WORD}|[&/])"), True
    ),
    "version": Pattern(
        re.compile(r"[vV]\d"),
        re.compile(rf"(?<!{_WORD})(?<!\.)[vV]\d+(?:\.\d+)+(?!{_WORD}|\.\w)"),
        True,
    ),
    "programming language": Pattern(
        re.compile(r"C\+\+|[CF]#"),
        re.compile(rf"(?<!{_WORD})(?<!\.)(?:C\+\+|[CF]#)(?!{_WORD}|[+#])"),
        True,
    ),
    # As German `Schüler*innen`, `Lehrer:in` and `jede*r`, and French `étudiant·e·s`
    "gendered word": Pattern(
        re.compile(r"[*:/·]-?[a-zè]"),
        re.compile(
            rf"(?<!{_WORD})(?:[A-ZÄÖÜ]{_IN_NAME}{{2,}}(?:(?:[*:]|/-?)innen|{_AGENT}[*:]in)"
            rf"|{_IN_NAME}{{2,}}e\*[rn]|{_IN_NAME}{{2,}}(?:·{_FEMININE})+)(?!{_WORD}|[*:/·-]\w)"
        ),
        True,
    ),
    # As '98 and ’90s; but an apostrophe before two digits can also be a quotation mark.
    "year": Pattern(
        re.compile(r"['’]\d\d"),
        re.compile(rf"['’](?<!\S.)\d\ds?(?![\w'’%]|[.,:/-]\d|{_QUOTED})"),
        True,
        min_matches=1,
    ),
    "emoticon": Pattern(
        re.compile(r"[:;=]['’]?-?[()DPp/\\|*]|\^[_^]"),
        re.compile(rf"{EMOTICON}(?![^\s.,!?])"),
        True,
        excluded=_BRACKETED,
    ),
    "arrow": Pattern(  # also a dash of hyphens, and a comparison
        re.compile("->|<-|[<>!=]=|=>|--"),
        re.compile(
            r"[-=<>!](?<!\S.)(?:(?<=[-=])[-=]*>|(?<=<)[-=]+|(?<=[<>!=])=|(?<=-)--?)(?!\S)"
        ),
        True,
    ),
    "date": Pattern(
        re.compile(r"\d/\d"),
        re.compile(rf"\d(?<![/.-]\d)(?<!{_WORD}\d)\d?/\d{{1,2}}/\d{{2,4}}(?!{_WORD}|[/-])"),
        True,
    ),
    "ellipsis": Pattern(re.compile(r"\.\.\."), re.compile(r"\.(?<!\.\.)\.{2,}"), True),
    "digits": Pattern(_DIGITS, re.compile(r"\d\d+"), False),
    # Like number, for treebanks in which a time such as 10:30 is three tokens
    "decimal": Pattern(_DIGITS, re.compile(r"\d(?<![\w.,:٫٬]\d)\d*(?:[.,٫٬]\d+)+(?!:?\d)"), False),
    "number": Pattern(_DIGITS, re.compile(r"\d(?<![\w.,:٫٬]\d)\d*(?:[.,:٫٬]\d+)+"), False),
    # With spaces between thousands, as in French `20 000`
    "spaced number": Pattern(
        re.compile(r"\d\s\d"),
        re.compile(
            r"[1-9](?<![\w.,:/-].)(?<!\d\s.)\d{0,2}(?:\s\d{3})+(?:[.,]\d+)?(?!\w|[.,:/-]\d|\s\d)"
        ),
        False,
        min_matches=5,
    ),
    "telephone": Pattern(
        re.compile(r"\d-\d"),
        re.compile(r"\d(?<![\w-]\d)(?:\d{2}-\d{4}|\d*(?:-\d+){2,})(?![\w-])"),
        False,
    ),
    # The end of a Hebrew abbreviation such as צה"ל, before which prefixes can be separate words;
    # not a prefix before a quotation mark
    "gershayim": Pattern(
        re.compile("[\"״]"),
        re.compile("[א-ת](?:(?<=[א-ת]{2})[\"״][א-ת]{1,4}|[\"״][א-ת])(?![א-ת'\"״])"),
        False,
        min_matches=5,
    ),
    # Two tokens each, as in `5.5%`, `€5.50`, `US$20` and `5,50€`
    "percentage": Pattern(re.compile("[%‰]"), re.compile(rf"({_AMOUNT})([%‰]){_NO_ENDING}"), True),
    "price": Pattern(
        re.compile(_CURRENCY),
        re.compile(
            rf"((?<!{_WORD})[A-Z]{{1,3}}{_CURRENCY}|{_CURRENCY}(?<!{_WORD}.))({_AMOUNT})"
        ),
        True,
        like="percentage",
    ),
    "price before sign": Pattern(
        re.compile(_CURRENCY),
        re.compile(rf"({_AMOUNT})({_CURRENCY}){_NO_ENDING}"),
        True,
        like="percentage",
    ),
    "joined measure": Pattern(_DIGITS, re.compile(_AMOUNT + _UNIT), True, min_matches=5),
    "split measure": Pattern(_DIGITS, re.compile(f"({_AMOUNT})({_UNIT})"), True, min_matches=5),
}  # fmt: skip

# Not the end of an HTML entity, such as `&#39;` or `&quot;`
_NO_ENTITY = "".join(f"(?<!&[#\\w]{{{n}}};)" for n in range(2, 9))
_EMOJI = "[\u2600-\u27bf\U0001f300-\U0001faff]"
# Punctuation marks that are tokens: a match begins and ends with one. A treebank seldom has all
# quotation marks of its language. Not among them is what some treebanks make a part of a longer
# token: apostrophes, quotation marks between letters (as in Hebrew abbreviations), and brackets
# that have no partner (as in `1)` and `:)`) or follow a letter (`child(ren)`).
# An alternative begins with the mark itself and then tests what surrounds it, because `re` finds a
# character faster than it tests a condition.
MARKS = {
    "quotation marks": re.compile(
        r"[«»‹›「」『』《》〈〉【】（）［］｛｝]|[“”„‟](?:(?<!\w.)|(?!\w))"
        r"|\"(?:(?<![\w\"].)(?=\w)|(?<=[\w.,;:!?…%)].)(?![\w\"]))"
    ),
    "brackets": _BRACKETED,
    "footnotes": re.compile(r"\[(?<=[\w.,;:!?)\]»”\"].)\d{1,3}\]"),
    "final marks": re.compile(rf"[,;:!?،؛؟](?<=[\w)\]»”\"].){_NO_ENTITY}(?=[\"”»«“]?(?:\s|\Z))"),
    # After a number or symbol at the end of a text, where an ordinal number is unlikely, and
    # between a word and a closing quotation mark
    "final full stops": re.compile(
        rf"\.(?:(?:(?<=[\d½%€$£].)|{AFTER_UNIT})(?=\s*\Z)"
        r"|(?:(?<=[^\W\d_]{3}.)|(?<=[\"“„«”»][^\W\d_]{2}.))(?=[\"”»“](?:\s|\Z)))"
    ),
    "dashes": re.compile("[—―]"),
    # After a word; and, if it is not one of several, before a word or after a punctuation mark
    "emoji": re.compile(
        rf"{_EMOJI}(?:(?<!{_EMOJI}.)(?<!\ufe0f.)\ufe0f?(?=\w)"
        rf"|(?<=[\w.!?…,;:)].)(?!\ufe0f?{_EMOJI}))|[\U0001f300-\U0001faff](?<=\w.)"
    ),
}


# Patterns of what is named with letters, but is not a word that is inflected
_NAMES = (
    "url", "email", "domain", "file name", "underscores", "ampersand", "ampersand between letters",
    "version", "programming language",
)  # fmt: skip


def is_name(form: str) -> bool:
    """Return whether a form is a name such as a URL or a file name, which has no inflections."""
    return not form.isalpha() and any(PATTERNS[name].regex.fullmatch(form) for name in _NAMES)


# Hyphens and dashes between letters and digits. In most treebanks, unlike the French one (`-t-il`),
# no token begins or ends with one. There are two rules for each pattern. Where a token would begin
# or end with a hyphen, the first rule makes the hyphen a token of its own, and the second one joins
# the parts around it.
HYPHENS = {
    ("split ranges", "joined ranges"): re.compile(r"[-–‐‑\u05be](?<=\d.)(?=\d)"),
    ("split hyphens", "joined hyphens"): re.compile(r"[-–‐‑\u05be](?<=\w.)(?=\w)(?!(?<=\d.)\d)"),
}


def find_marks(text: str, names: Iterable[str]) -> Iterator[int]:
    """Yield the offset of each mark that the patterns of `MARKS` with these names find.

    An offset can be yielded twice.
    """
    for name in MARKS.keys() & names:
        for match in MARKS[name].finditer(text):
            yield match.start()
            yield match.end() - 1


def find_tokens(text: str, names: Iterable[str]) -> Iterator[Span]:
    """Find emoji of several characters, and the tokens of the patterns with these names.

    Of tokens that overlap, only the first is yielded. Of those that begin at the same position, it
    is the longest, and of equal ones the one that certainly ends.
    """
    emoji = ((start, end, False) for start, end in emoji_spans(text))
    matches = chain.from_iterable(
        find_matches(text, PATTERNS[name]) for name in names if name in PATTERNS
    )
    last = 0
    for span in sorted(
        chain(emoji, chain.from_iterable(matches)),
        key=lambda span: (span[0], -span[1], not span[2]),
    ):
        if span[0] >= last:
            yield span
            last = span[1]


def continues_word(character: str) -> bool:
    """Whether a character is an accent, a vowel sign or a joiner of letters; "" is none.

    Variation selectors are none, because a word can follow an emoji that ends with one.
    """
    if not character or character.isascii() or character in "\ufe0e\ufe0f":
        return False
    return character in "\u200c\u200d" or unicodedata.category(character) in {"Mn", "Mc"}


def begins_token(text: str, start: int) -> bool:
    """Whether another token certainly ends before a token of a complete pattern.

    It does after a sign, and after a letter, which is a Chinese or Japanese one; but not after an
    apostrophe or hyphen (`l'AT&T`), and not after a sign before a number (`$5km`). start: the
    offset of the token's first character, which is not that of the text.
    """
    before = text[start - 1]
    is_part = before.isspace() or before in "'’-" or text[start].isdecimal()
    return before.isalnum() or not is_part


def find_matches(text: str, pattern: Pattern) -> Iterator[list[Span]]:
    """Yield the tokens of each match of a pattern."""
    matches = list(pattern.regex.finditer(text)) if pattern.hint.search(text) else []
    if matches and pattern.excluded:
        excluded = {i for match in pattern.excluded.finditer(text) for i in range(*match.span())}
        matches = [match for match in matches if match.end() - 1 not in excluded]
    for match in matches:
        if continues_word(text[match.start() - 1 : match.start()]):
            continue
        following = text[match.end() : match.end() + 2]
        can_go_on = _ENDING.match(following) or continues_word(following[:1])
        *inner, last = map(match.span, range(1, match.re.groups + 1) or [0])
        is_end = (None if can_go_on else True) if pattern.is_complete else False
        yield [*((*span, pattern.is_complete) for span in inner), (*last, is_end)]
