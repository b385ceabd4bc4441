"""The table of the inputs of the network, and the groups that they form."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from depkit.corpus.sentence import Sentence
from depkit.nn.settings import Encoder
from depkit.parsers.inputs.affixes import Affixes
from depkit.parsers.inputs.characters import Characters
from depkit.parsers.inputs.context import ContextPart
from depkit.parsers.inputs.draft import Draft
from depkit.parsers.inputs.part import Part
from depkit.parsers.inputs.pretrained import PretrainedVectors
from depkit.parsers.inputs.priors import Prior
from depkit.parsers.inputs.tables import TableRule
from depkit.parsers.inputs.tags import Tags
from depkit.parsers.inputs.treebank import Treebank
from depkit.parsers.inputs.words import Words
from depkit.parsers.settings import ConfigError

if TYPE_CHECKING:
    from depkit.parsers.config import Inputs

# In the order in which modules are made and run, which the random numbers depend on. The parts of a
# group follow each other, and all or none of them read forms.
PARTS: tuple[type[Part], ...] = (
    Words, PretrainedVectors, Tags, Characters, Affixes, Prior, ContextPart, Treebank, Draft,
)  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Parts whose vectors are concatenated or added, and then dropped together."""

    name: str
    parts: list[Part]
    dropout: float  # of the vector, with one mask for a whole sentence

    @property
    def size(self) -> int:
        sizes = [part.size for part in self.parts]
        own = [size for part, size in zip(self.parts, sizes, strict=True) if not part.is_added]
        return sum(own) or sizes[0]

    @property
    def weight(self) -> float:
        """The weight of the group in the rescaling when groups are dropped."""
        return max(part.weight for part in self.parts)

    @property
    def reads_forms(self) -> bool:
        """Whether the vector of the group depends on the form of a word alone."""
        return self.parts[0].reads_forms

    @property
    def is_combined(self) -> bool:
        """Whether the vector is dropped and summed with those of other groups."""
        return self.parts[0].is_combined


def used_parts(inputs: "Inputs") -> list[Part]:
    """Return the parts that a network with these settings reads."""
    return [part for part in (kind(inputs) for kind in PARTS) if part.is_used]


def check_parts(inputs: "Inputs") -> None:
    """Raise ConfigError if there is nothing to read besides parts that are not combined."""
    if not any(part.is_combined for part in used_parts(inputs)):
        names = [f"inputs.{kind.main_setting}" for kind in PARTS if kind.is_combined]
        raise ConfigError(
            f"the parser has nothing to read; set {', '.join(names[:-1])} or {names[-1]}"
        )


def check_encoder(inputs: "Inputs", encoder: Encoder) -> None:
    """Raise ValueError if an encoder cannot read some part."""
    for part in used_parts(inputs):
        part.check_encoder(encoder)


def make_groups(inputs: "Inputs") -> list[Group]:
    """Return the groups that the parts of a network form.

    Raises ConfigError if there is no part, or if groups are to be summed but differ in size.
    """
    groups = []
    for name in dict.fromkeys(kind.group for kind in PARTS):
        parts = [kind(inputs) for kind in PARTS if kind.group == name]
        used = [part for part in parts if part.is_used]
        if used:
            groups.append(Group(name, used, max(part.vector_dropout for part in parts)))
    check_parts(inputs)
    sizes = {group.name: group.size for group in groups if group.is_combined}
    if inputs.combine == "sum" and len(set(sizes.values())) > 1:
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ConfigError(
            f"inputs.combine=sum needs parts of the same size, but the sizes are: {listed}"
        )
    return groups


def table_rules(inputs: "Inputs") -> list[TableRule]:
    """Return how the tables of all parts are learned."""
    return [rule for kind in PARTS if (rule := kind(inputs).table_rule())]


def known_tables() -> dict[str, list[str]]:
    """Return the tables that a vocabulary can have, with the symbols that each begins with."""
    return {kind.table: kind.first_symbols for kind in PARTS if kind.table}


def check_inputs(sentence: Sentence, inputs: "Inputs") -> None:
    """Raise FormatError if a sentence lacks what the parser reads."""
    for part in used_parts(inputs):
        part.check(sentence)


def describe_inputs(inputs: "Inputs") -> list[str]:
    """Describe the parts of a word's input vector, for model cards and `depkit info`."""
    return [part.describe() for part in used_parts(inputs)]


def reads_dictionary(inputs: "Inputs") -> bool:
    """Return whether some part needs the tags in the lemma dictionary."""
    return any(part.reads_dictionary for part in used_parts(inputs))
