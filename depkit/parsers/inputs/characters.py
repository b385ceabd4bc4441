"""The characters of forms, and the input that reads all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from depkit.files.bounds import setting
from depkit.parsers.inputs.batching import LONGEST_WORD
from depkit.parsers.inputs.part import Part
from depkit.parsers.inputs.tables import PAD, ROOT, SPECIAL, UNKNOWN, Table, TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary

BOUNDARIES = ["<start of word>", "<end of word>"]  # in the table of characters


@dataclass(frozen=True)
class CharacterSettings:
    """The settings of section inputs for the characters of words."""

    char: int = 0  # size of the vector that is computed from the characters of a word
    # "lstm" is a bidirectional LSTM over all characters; "concat" concatenates the embeddings of
    # the first 8 and the last 8 characters (CharConcat, Kitaev and Klein 2018)
    char_kind: Literal["lstm", "concat"] = setting("lstm", needs="char")
    # size of the embedding of one character; with char_kind=concat, 16 embeddings are projected to
    # inputs.char unless inputs.char is 16 times this size
    char_embedding: int = setting(64, minimum=1, needs="char")
    char_dropout: float = setting(0.0, below=1, needs="char")  # dropout of the character embeddings
    # dropout of the vector from the characters, with one mask for a whole sentence
    char_vector_dropout: float = setting(0.0, below=1, needs="char")
    # true reads a special character before the first and after the last character of a word
    char_boundaries: bool = setting(False, needs="char")


class Characters(Part):
    """Vectors from the characters of words: a BiLSTM, or embeddings that are concatenated."""

    settings = CharacterSettings
    inputs: CharacterSettings
    name = main_setting = "char"
    group = "characters"
    table = "characters"
    first_symbols = SPECIAL
    reads_forms = True
    depends_on_form = True

    @property
    def vector_dropout(self) -> float:
        return self.inputs.char_vector_dropout

    def table_rule(self) -> TableRule:
        first = SPECIAL + BOUNDARIES * self.inputs.char_boundaries
        return TableRule(self.table, lambda sentence: "".join(sentence.form), first)

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from depkit.nn.charconcat import CharConcat
        from depkit.nn.charlstm import CharLSTM

        inputs, characters = self.inputs, len(vocabulary.characters)
        kind = {"lstm": CharLSTM, "concat": CharConcat}[inputs.char_kind]
        module: Any = kind(characters, inputs.char_embedding, inputs.char, inputs.char_dropout)
        module.embedding.weight.data[UNKNOWN].zero_()  # This row is never trained.
        return module

    def form_vectors(self, module: Any, arrays: Any, groups: Sequence[tuple[int, int]]) -> Any:
        return module(arrays["characters"], arrays["form_sizes"], groups)

    def embeddings(self, module: Any) -> dict[str, Any]:
        return {"characters": module.embedding}

    def describe(self) -> str:
        return {"lstm": "characters", "concat": "characters (CharConcat)"}[self.inputs.char_kind]


def find_boundaries(characters: Table) -> list[int]:
    """Return the indices of the characters that mark start and end of a word; [] if not read."""
    return [characters.indices[mark] for mark in BOUNDARIES if mark in characters.indices]


def encode_characters(forms: Sequence[str], characters: Table) -> dict[str, np.ndarray]:
    """Return the characters of forms, [forms, LONGEST_WORD], and their numbers, [forms].

    A form has at most LONGEST_WORD characters, and at least one. If the table has them, the form
    has characters that mark its start and end. The first two forms stand for padding and w0.
    """
    start, end = [[mark] for mark in find_boundaries(characters)] or ([], [])
    half = (LONGEST_WORD - len(start + end)) // 2
    rows = [[PAD], [ROOT]]
    for form in forms[2:]:
        if len(form) > 2 * half:
            form = form[:half] + form[-half:]
        rows.append([*start, *(map(characters.get, form) if form else [UNKNOWN]), *end])
    sizes = np.array(list(map(len, rows)), dtype=np.int64)
    array = np.zeros((len(rows), LONGEST_WORD), dtype=np.int64)
    array[np.arange(LONGEST_WORD) < sizes[:, None]] = np.concatenate(rows)
    return {"characters": array, "form_sizes": sizes}
