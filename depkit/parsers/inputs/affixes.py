"""The input of hashed prefixes, suffixes and the shape of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depkit.corpus.letter_case import lower
from depkit.files.bounds import setting
from depkit.parsers.inputs.part import Part
from depkit.parsers.inputs.tables import Table

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class AffixSettings:
    """The settings of section inputs for affixes."""

    # size of a vector from hashed prefixes, suffixes and the shape of a word; it is concatenated
    # with the vector from the characters, and dropped together with it
    affix: int = 0
    # rows of the table that the affixes are hashed to
    affix_rows: int = setting(10_000, minimum=1, needs="affix")
    # probability that an affix is left out in training
    affix_dropout: float = setting(0.0, below=1, needs="affix")


class Affixes(Part):
    """Vectors from the prefixes, the suffixes and the shape of words."""

    settings = AffixSettings
    name = "affixes"
    main_setting = "affix"
    group = "characters"
    reads_forms = True
    depends_on_form = True

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        from depkit.nn.affixes import AffixEmbedding

        inputs, characters = self.inputs, vocabulary.characters
        return AffixEmbedding(
            inputs.affix_rows, inputs.affix, lower_cases(characters, vocabulary.dotless),
            character_classes(characters), dropout=inputs.affix_dropout,
        )  # fmt: skip

    def form_vectors(self, module: Any, arrays: Any, groups: Sequence[tuple[int, int]]) -> Any:
        characters, sizes = arrays["characters"], arrays["form_sizes"]
        if self.inputs.char_boundaries:  # characters that affixes do not have
            characters, sizes = characters[:, 1:], (sizes - 2).clamp(min=1)
        return module(characters, sizes)

    def describe(self) -> str:
        return "prefixes, suffixes and shape"


def lower_cases(characters: Table, dotless: bool = False) -> list[int]:
    """Return the index of the lower case of each character, or its own index.

    dotless: whether the alphabet has a dotless i, see `letter_case`.
    """
    find = characters.indices.get
    return [find(lower(symbol, dotless), i) for i, symbol in enumerate(characters.symbols)]


def character_classes(characters: Table) -> list[int]:
    """Return the class of each character.

    1: lower case, 2: upper case, 3: other letters, 4: digits, 0: all others.
    """
    kinds = (str.islower, str.isupper, str.isalpha, str.isdigit)
    return [
        next((i for i, is_kind in enumerate(kinds, start=1) if is_kind(symbol)), 0)
        if len(symbol) == 1 else 0
        for symbol in characters.symbols
    ]  # fmt: skip
