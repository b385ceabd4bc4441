"""Recognition of emoji that consist of several characters."""

import pytest

from depkit.corpus.emoji import emoji_spans
from depkit.corpus.text import split_by_rule

SEQUENCES = ["👍🏽", "👨‍👩‍👧", "👩🏽‍💻", "❤️‍🔥", "🏳️‍🌈", "🇫🇷", "🇩🇪", "1️⃣", "#⃣", "☎️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]  # fmt: skip


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_an_emoji_sequence_is_one_token(sequence):
    text = f"a {sequence}, {sequence}🙂{sequence}"
    assert [text[start:end] for start, end in emoji_spans(text)] == [sequence] * 3
    (((tokens,)),) = split_by_rule([text])
    assert [text[start:end] for start, end, _ in tokens] == [
        "a",
        sequence,
        ",",
        sequence,
        "🙂",
        sequence,
    ]


@pytest.mark.parametrize(
    "text", ["", "plain 12# text", "é 🙂🙂", "🇫", "か゚ 漢字", "क्‍ष", "a\u200d", "\u200d👍", "1\ufe0f"]
)
def test_other_characters_are_not_emoji(text):
    assert list(emoji_spans(text)) == []
