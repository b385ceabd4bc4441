"""How treebanks and languages differ in their enhanced dependencies."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# The enhancements of the UD guidelines: `case` extends labels by prepositions, conjunctions and
# cases; `empty` creates empty nodes for elided predicates; `conj` gives conjuncts the relation of
# the first one; `shared` gives them the dependents that they share with it; `xsubj` adds the
# subjects of controlled and raised predicates; `relcl` connects relative clauses with their
# antecedents.
ENHANCEMENTS = ("case", "empty", "conj", "shared", "xsubj", "relcl")
_TABLE = Path(__file__).with_name("conventions.toml")


@dataclass(frozen=True)
class Conventions:
    """How a treebank is enhanced; the defaults follow the UD guidelines."""

    # the enhancements that the treebank has
    types: tuple[str, ...] = ("case", "conj", "shared", "xsubj", "relcl")
    # the relations whose labels are extended
    extended: tuple[str, ...] = ("acl", "advcl", "conj", "nmod", "obl")
    # whether labels of nominals also contain their feature Case: obl:in:acc
    case_feature: bool = False
    # the relations that conjuncts do not take from the first one
    unshared: tuple[str, ...] = ("parataxis", "root")
    # the relations of the dependents to the left of the first conjunct that later conjuncts share,
    # other than its subject
    shared: tuple[str, ...] = ()
    # the label of the added subjects of open clausal complements (xcomp)
    controlled_subject: str = "nsubj:xsubj"
    # the lemmas of subject-control verbs, such as promise: the subject of their complement is their
    # own subject even if they have an object
    subject_control: tuple[str, ...] = ()
    # whether relative pronouns keep their relation in the clause, in addition to `ref`
    keeps_relative: bool = False
    # the lemmas of antecedents that are adverbials in relative clauses without a pronoun, such as
    # time: the time I came
    adverbial_nouns: tuple[str, ...] = ()

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Conventions":
        """Make conventions from a TOML table."""
        arguments: dict[str, Any] = {
            name: tuple(x) if isinstance(x, list) else x for name, x in values.items()
        }
        return Conventions(**arguments)


GUIDELINES = Conventions()


@cache
def known_conventions() -> dict[str, Conventions]:
    """Return the conventions in conventions.toml by the names of treebanks, such as en_ewt."""
    tables = tomllib.loads(_TABLE.read_text("utf-8"))
    return {name: Conventions.from_dict(table) for name, table in tables.items()}
