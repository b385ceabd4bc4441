"""Contractions that the treebanks of the bundled models nearly always split are split."""

from functools import cache

import pytest
import torch

from depkit.parsers.text.tokenizer_file import load_tokenizer

load = cache(lambda code: load_tokenizer(code, torch.device("cpu")))

SENTENCES = {
    "es": ["A+el caer la tarde , nadie habló .", "De+el mar sopla el viento .", "MAPA DE+EL PAÍS"],
    "pt": [
        "Em+este ano choveu em+este lago .", "De+isto gosto .", "Pensa em+isso .",
        "Veio de+ali .", "Fala de+ela .", "Ela quer vê+lo hoje .", "Vamos ajudá+los e dizê+lo .",
    ],
    "fr": ["Ce sont les lois de+lesquelles il parle ."],
    "it": ["Dorme su+gli scogli con+i gatti ."],
    "de": ["Das Brot ist für+das Fest .", "İnci und ich gehen an+das Meer ."],
}  # fmt: skip


@pytest.mark.parametrize("hyphen", "-‑\u05be")
def test_a_hebrew_prefix_is_split_at_any_hyphen(hyphen):
    text = f"הוא גר ב{hyphen}5 בתים ליד מפעל ה{hyphen}NATO ."
    ((tokens,),) = load("he").segment([text])
    words = [word for start, end, words in tokens for word in words or (text[start:end],)]
    assert words[2:5] == ["ב", hyphen, "5"] and words[-4:] == ["ה", hyphen, "NATO", "."]


@pytest.mark.parametrize(
    ("code", "split"), [(code, split) for code, texts in SENTENCES.items() for split in texts]
)
def test_a_contraction_is_split(code, split):
    tokenizer = load(code)
    pairs = {
        "A+el": "Al", "De+el": "Del", "DE+EL": "DEL", "Em+este": "Neste", "em+este": "neste",
        "De+isto": "Disto", "em+isso": "nisso", "de+ali": "dali", "de+ela": "dela",
        "de+lesquelles": "desquelles", "su+gli": "sugli", "con+i": "coi", "für+das": "fürs",
        "an+das": "ans", "vê+lo": "vê-lo", "ajudá+los": "ajudá-los", "dizê+lo": "dizê-lo",
    }  # fmt: skip
    text = " ".join(pairs.get(token, token) for token in split.split())
    (sentences,) = tokenizer.segment([text])
    tokens = [
        "+".join(words or (text[start:end],))
        for sentence in sentences
        for start, end, words in sentence
    ]
    assert {token for token in split.split() if "+" in token} <= set(tokens)
