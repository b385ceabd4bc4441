"""Raw text becomes sentences without loss, whatever the sizes of its chunks."""

import io
import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from depkit.corpus import text as text_module
from depkit.corpus.io import read
from depkit.corpus.surface import surface_tokens
from depkit.corpus.text import (
    decode_chunks,
    find_sentence_starts,
    make_sentence,
    read_text,
    split_at_spaces,
)
from depkit.files.errors import FormatError


def split_at_full_stops(texts):
    """Split texts at spaces; a token that ends in a full stop ends its sentence."""
    segmented = []
    for text in texts:
        ((tokens,),) = split_at_spaces([text])  # one text, which becomes one sentence
        sentences = [[]]
        for token in tokens:
            sentences[-1].append(token)
            end = token[1]
            if text[end - 1] == ".":
                sentences.append([])
        segmented.append([sentence for sentence in sentences if sentence])
    return segmented


def test_sentences_begin_at_paragraphs_and_after_the_ends_of_sentences():
    text = " \n A title\n\n  The cat. It\u00a0slept.\n\x00\nEnd \n"
    starts = list(find_sentence_starts(text, split_at_full_stops))
    assert [text[start:].split()[0] for start in starts] == ["A", "The", "It", "End"]
    assert list(find_sentence_starts(" \n\n ", split_at_full_stops)) == []


def restore_text(sentences):
    return "".join(
        token.before + token.text + token.after
        for sentence in sentences
        for token in surface_tokens(sentence)
    )


TEXTS = st.text(st.sampled_from("ab..   \n\n\t|\\é\u3000\r\x00\x0c\x85\u2028"), max_size=150)


@given(TEXTS, st.lists(st.integers(0, 150)), st.booleans())
def test_no_text_is_lost_however_it_is_cut_into_chunks(text, cuts, by_line):
    original, text_module.MAX_PARAGRAPH_LENGTH = text_module.MAX_PARAGRAPH_LENGTH, 20
    try:
        segment = split_at_spaces if by_line else split_at_full_stops
        cuts = sorted(min(cut, len(text)) for cut in cuts)
        chunks = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
        whole = list(read_text([text], segment, by_line=by_line))
        chunked = list(read_text(chunks, segment, by_line=by_line))
    finally:
        text_module.MAX_PARAGRAPH_LENGTH = original
    assert list(map(str, chunked)) == list(map(str, whole))
    is_blank = not text.strip("\x00\n\t\r \x0c\x85\u2028\u3000")
    assert restore_text(whole) == ("" if is_blank else text)
    # Control characters and Unicode line separators never occur in the output.
    assert not any(set("\x00\x0c\x85\u2028") & set(str(sentence)) for sentence in whole)


def test_documents_paragraphs_and_sentences_have_comments():
    sentences = list(read_text(["One. Two\nhere.\n\nThree\n"], split_at_full_stops, name="in.txt"))
    assert [[line for line in sentence.lines if line[0] == "#"] for sentence in sentences] == [
        ["# newdoc id = in.txt\n", "# newpar\n", "# sent_id = 1-1\n", "# text = One.\n"],
        ["# sent_id = 1-2\n", "# text = Two here.\n"],
        ["# newpar\n", "# sent_id = 2-1\n", "# text = Three\n"],
    ]
    assert [sentence.column("misc") for sentence in sentences] == [
        ["_"], ["SpacesAfter=\\n", "SpacesAfter=\\n\\n"], ["SpacesAfter=\\n"],
    ]  # fmt: skip


def test_lines_become_sentences_and_ids_continue():
    counter = text_module.ParagraphCounter(5)  # five sentences were read before
    sentences = list(read_text(["a b\n\n", "c.\n"], split_at_spaces, by_line=True, counter=counter))
    results = [(sentence.sent_id, sentence.form) for sentence in sentences]
    assert results == [("6", ["a", "b"]), ("7", ["c."])]
    assert counter.last == 7


def test_sentences_are_yielded_before_the_last_chunk_is_read():
    def chunks():
        yield "One.\n\nTwo."
        raise AssertionError("another chunk was read although a paragraph was complete")

    assert next(read_text(chunks(), split_at_full_stops)).form == ["One."]


def test_a_long_paragraph_is_cut_at_its_last_sentence_end(monkeypatch):
    monkeypatch.setattr(text_module, "MAX_PARAGRAPH_LENGTH", 12)
    sentences = list(read_text(["aaa. bbb. ccc ddd. eee"], split_at_full_stops))
    texts = [" ".join(sentence.form) for sentence in sentences]
    assert texts == ["aaa.", "bbb.", "ccc ddd.", "eee"]
    assert sum("# newpar\n" in sentence.lines for sentence in sentences) == 1


def test_multiword_tokens_are_ranges():
    # A token is (start, end, words), with None for a single word.
    sentence = make_sentence("don't\n", [(0, 5, ("do", "n't"))], space_before=" ")
    assert sentence.form == ["do", "n't"] and sentence.text == "don't"
    assert [sentence.lines[row] for row in sentence.rows] == list(sentence.lines[2:4])
    assert sentence.lines[1].startswith("1-2\tdon't\t")
    assert surface_tokens(sentence)[0].before == " "


def test_white_space_inside_a_token_is_normalised():
    sentence = make_sentence("con\n tôi", [(0, 8, None)])
    assert sentence.form == ["con tôi"]
    assert restore_text([sentence]) == "con\n tôi"


def test_control_characters_are_white_space():
    text = "\x00\x00One\x00two.\x07\n\x00\n Three\x7f\x1b"
    sentences = list(read_text([text], split_at_full_stops))
    assert [sentence.form for sentence in sentences] == [["One", "two."], ["Three"]]
    assert [sentence.text for sentence in sentences] == ["One two.", "Three"]
    assert sentences[0].column("misc") == [
        "SpacesBefore=\\x00\\x00|SpacesAfter=\\x00", "SpacesAfter=\\x07\\n\\x00\\n\\s"
    ]  # fmt: skip
    assert restore_text(sentences) == text
    assert list(read_text(["\x00\n\x01"], split_at_full_stops)) == []
    assert make_sentence("con\x00tôi", [(0, 7, None)]).form == ["con tôi"]


def test_split_by_rule_separates_punctuation():
    text = "Don't, e.g., (x-y)?"
    (((tokens,)),) = text_module.split_by_rule([text])
    assert [text[start:end] for start, end, _ in tokens] == "Don't , e.g . , ( x-y ) ?".split()


@pytest.mark.parametrize(
    "word", ["हिन्दी", "cafe\u0301s", "l'e\u0301te\u0301", "می\u200cخواهم", "葛\U000e0100"]
)
def test_split_by_rule_does_not_cut_accents_vowel_signs_and_joiners_off(word):
    text = f"{word}, {word}"
    (((tokens,)),) = text_module.split_by_rule([text])
    assert [text[start:end] for start, end, _ in tokens] == [word, ",", word]


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 5))
def test_bytes_in_chunks_are_decoded(text, size):
    data = text.encode()
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    assert "".join(decode_chunks(chunks, "utf-8")) == text.removeprefix("\ufeff")


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_byte_that_cannot_be_decoded_is_reported(size):
    data = "é\nA caf".encode() + "é".encode("latin-1") + b" here"
    chunks = [data[i : i + size] for i in range(0, len(data), size)]
    parts = []
    with pytest.raises(FormatError) as error:
        parts.extend(decode_chunks(chunks, "utf-8", "in.txt"))
    assert "".join(parts) == "é\nA caf"
    assert (error.value.file, error.value.line) == ("in.txt", 2)
    assert "byte 0xE9 at offset 8 is not utf-8" in str(error.value)
    assert "".join(decode_chunks([data], "latin-1")).endswith("café here")


def test_an_incomplete_character_at_the_end_is_reported():
    parts = []
    with pytest.raises(FormatError, match="byte 0xC3 at offset 3 "):
        parts.extend(decode_chunks([b"abc", b"\xc3"], "utf-8"))
    assert "".join(parts) == "abc"


@pytest.mark.parametrize(
    ("by_line", "read"),
    [(False, ["One.", "Two three.", "Four."]), (True, ["One.", "Two", "three.", "Four."])],
)
@pytest.mark.parametrize("ends_early", [False, True])
@pytest.mark.parametrize("size", [1, 7, 100])
def test_sentences_before_an_error_are_read(by_line, read, ends_early, size):
    text = "One.\n\nTwo\nthree. Four.\n"

    def read_or_fail():
        broken = text + ("" if ends_early else "Bro")
        yield from (broken[i : i + size] for i in range(0, len(broken), size))
        raise EOFError("the end is missing")

    texts = []
    with pytest.raises(EOFError, match="the end is missing"):
        for sentence in read_text(read_or_fail(), split_at_full_stops, by_line=by_line):
            texts.append(sentence.text)
    assert texts == read


def test_an_unknown_encoding_is_an_error():
    with pytest.raises(ValueError, match="the text encoding 'latin-17' is unknown"):
        list(decode_chunks([b"a"], "latin-17"))


def test_cut_paragraphs_neither_begin_nor_end_in_white_space(monkeypatch):
    monkeypatch.setattr(text_module, "MAX_PARAGRAPH_LENGTH", 10)

    def segment(texts):
        assert all(text == text.strip() for text in texts)
        return split_at_spaces(texts)

    for text in ("a " * 40, "aaaaaaaaaa bbb " * 3, "aaaaaaaaa  bbbb.\n"):
        assert restore_text(read_text([text], segment)) == text


@pytest.mark.parametrize("by_line", [False, True])
def test_the_memory_does_not_grow_with_the_text(by_line):
    def read_peak(size):
        chunks = ("The cat sleeps. \n" * 500 + "\n" for _ in range(size))
        tracemalloc.start()
        for _ in read_text(chunks, split_at_full_stops, by_line=by_line):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert read_peak(12) < 1.5 * read_peak(4)


@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u3000", "\u2009", "\x1c", "\x0b", "\x85"])
def test_tokens_are_split_at_spaces_and_tabs_only(space):
    text = f"pay 10{space}000  francs\t.\n{space}\nnow {space} .\n"
    sentences = list(read_text([text], split_at_spaces, by_line=True, keep_spaces=True))
    number = f"10{space if space.isprintable() or space > chr(0x9F) else ' '}000"
    assert [sentence.form for sentence in sentences] == [
        ["pay", number, "francs", "."], ["now", "."]
    ]  # fmt: skip
    assert restore_text(sentences) == text
    (again,) = read(io.StringIO(str(sentences[0]), newline="\n"))
    assert again.form == sentences[0].form


@given(TEXTS, st.lists(st.integers(0, 150)), st.booleans())
def test_no_text_is_lost_in_pauses(text, cuts, by_line):
    """But for white space at the end, which no sentence follows."""
    segment = split_at_spaces if by_line else split_at_full_stops
    cuts = sorted(min(cut, len(text)) for cut in cuts)
    parts = [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]
    chunks = [chunk for part in parts for chunk in (part, None)]
    paused = list(read_text(chunks, segment, by_line=by_line))
    whole = list(read_text([text], segment, by_line=by_line))
    assert [sentence.form for sentence in paused] == [sentence.form for sentence in whole]
    restored, original = restore_text(paused), restore_text(whole)
    assert original.startswith(restored)
    assert not original[len(restored) :].strip("\x00\n\t\r \x0c\x85\u2028\u3000")


@pytest.mark.parametrize(("by_line", "end"), [(True, "\n"), (False, "\n\n")])
def test_a_paragraph_is_complete_at_a_pause_after_its_end(by_line, end):
    arrived = []

    def chunks():
        for chunk in ["One.", None, end, None, "\n \nTwo.", end, None, "Three."]:
            arrived.append(chunk)
            yield chunk

    sentences = []
    for sentence in read_text(chunks(), split_at_spaces, by_line=by_line):
        sentences.append((sentence.form[0], sentence.column("misc")[0], len(arrived)))
    after = f"SpacesAfter={end!r}".replace("'", "")
    assert sentences == [
        ("One.", after, 4), ("Two.", f"SpacesBefore=\\n\\s\\n|{after}", 7),
        ("Three.", "SpaceAfter=No", 8),
    ]  # fmt: skip
