"""The contract of an input of the network.

To add an input, write a file with a subclass of `Part` and a dataclass of its settings, and add the
class to `parts.PARTS`. Then run `python -m depkit.cli.pages`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from depkit.corpus.sentence import Sentence
from depkit.nn.settings import Encoder
from depkit.parsers.inputs.tables import TableRule

if TYPE_CHECKING:
    from depkit.parsers.inputs.vocabulary import Vocabulary


@dataclass(frozen=True)
class SelectedRows:
    """Selected rows of an array, in any order. A row is read only when it is indexed."""

    array: np.ndarray
    rows: np.ndarray

    def __getitem__(self, index: np.ndarray | slice) -> np.ndarray:
        return self.array[self.rows[index]]


Rows = np.ndarray | SelectedRows
# Makes arrays of a batch from the starts and sizes of its sentences, and their padded length
MakeArrays = Callable[[np.ndarray, np.ndarray, int], dict[str, np.ndarray]]


@dataclass(frozen=True)
class EncodingInput:
    """The sentences of a dataset, and what all parts need to encode them.

    An array of words has `total` entries: one for padding, then for each sentence one for w0, the
    artificial root, and one for each word.
    """

    sentences: Sequence[Sentence]
    forms: Sequence[str]  # the distinct forms; the first two stand for padding and w0
    form: np.ndarray  # [total], index into `forms`
    targets: dict[str, np.ndarray] = field(default_factory=dict)  # [total] each; {} in parsing
    context: Rows | None = None  # contextual vectors, [total, layers, width]
    transformer: Any = None  # it reads the sentences if there are no contextual vectors

    def per_word(
        self, values: Callable[[Sentence], Iterable[int]], padding: int, root: int
    ) -> np.ndarray:
        """Return the values of the words of each sentence, [total] int64."""
        entries = [padding]
        for sentence in self.sentences:
            entries += [root, *values(sentence)]
        return np.array(entries, dtype=np.int64)

    def per_form(self, value: Callable[[str], int], padding: int, root: int) -> np.ndarray:
        """Return values that depend on the form of a word alone, [total] int64."""
        return np.array([padding, root, *map(value, self.forms[2:])], dtype=np.int64)[self.form]


@dataclass(frozen=True)
class Part:
    """An input of the network: a part of the vector of a word.

    Parts of one group are concatenated; dropout drops the vector of a group as a whole.
    """

    # A frozen dataclass. Its fields are settings of section inputs; see `bounds.setting` for bounds
    # and for settings that have no effect without another one.
    settings: ClassVar[type]
    main_setting: ClassVar[str]  # the setting without which the part is not used
    name: ClassVar[str]  # of its module in the input layer
    group: ClassVar[str]
    # whether its vectors are computed once for each form, from the form's characters
    reads_forms: ClassVar[bool] = False
    # whether its vectors depend on the form of a word alone, except in training
    depends_on_form: ClassVar[bool] = False
    is_exported: ClassVar[bool] = True  # whether a model that reads it can be exported
    is_combined: ClassVar[bool] = True  # if not, it is neither dropped nor summed with others
    weight: ClassVar[float] = 1.0  # in the rescaling when parts are dropped
    table: ClassVar[str] = ""  # the name of its table in the vocabulary
    first_symbols: ClassVar[list[str]] = []  # those that this table begins with
    reads_dictionary: ClassVar[bool] = False  # whether it needs the tags in the lemma dictionary
    suits_pieces: ClassVar[bool] = False  # whether an encoder of word pieces can read it

    inputs: Any  # all settings of section inputs

    @property
    def size(self) -> int:
        """The size of its vector; 0 if it is not used. By default, the main setting."""
        return int(attrgetter(self.main_setting)(self.inputs))

    @property
    def is_used(self) -> bool:
        """Whether it is used; its size may be unknown yet."""
        return bool(attrgetter(self.main_setting)(self.inputs))

    @property
    def table_label(self) -> str:
        """What the symbols in its table are, for `depkit info`."""
        return self.table

    @property
    def is_added(self) -> bool:
        """Whether it is added to the vector of its group, and not concatenated with it."""
        return False

    @property
    def vector_dropout(self) -> float:
        """The dropout of the vector of its group, with one mask for a whole sentence."""
        return 0.0

    def table_rule(self) -> TableRule | None:
        """Return how its table is learned.

        None if it has no table, or if it is not used and the vocabulary can do without the table.
        """
        return None

    def check_encoder(self, encoder: Encoder) -> None:
        """Raise ValueError if the encoder cannot read the part, which is used."""
        if encoder.reads_pieces and not self.suits_pieces:
            unset = type(attrgetter(self.main_setting)(self.inputs))()
            raise ValueError(
                f"with encoder.kind={encoder.kind}, inputs.{self.main_setting} must be {unset!r},"
                " because the transformer reads only word pieces and tags"
            )

    def check(self, sentence: Sentence) -> None:
        """Raise FormatError if a sentence lacks what the part reads."""

    def findings(self, train: Sequence[Sentence], dev: Sequence[Sentence]) -> list[str]:
        """Return notes on oddities of the data that concern the part, as `data.findings`."""
        return []

    def encode(self, source: EncodingInput, vocabulary: "Vocabulary") -> dict[str, Rows]:
        """Return arrays of words, [total, ...], by name."""
        return {}

    def encode_forms(self, forms: Sequence[str], vocabulary: "Vocabulary") -> dict[str, np.ndarray]:
        """Return arrays of forms, [forms, ...], besides their characters (if `reads_forms`)."""
        return {}

    def batch_arrays(self, source: EncodingInput) -> MakeArrays | None:
        """Return a function that makes the arrays of a batch that have no row a word or form."""
        return None

    def module(self, vocabulary: "Vocabulary", transformer: Any) -> Any:
        """Make its module, with initial weights."""
        raise NotImplementedError

    def vectors(self, module: Any, batch: Any) -> Any:
        """Compute the vectors of a batch, [batch, length, size]."""
        raise NotImplementedError

    def form_vectors(self, module: Any, arrays: Any, groups: Sequence[tuple[int, int]]) -> Any:
        """Compute the vectors of forms from their arrays, [forms, size], if the part reads forms.

        groups: (end, width) of groups of rows, as for `CharLSTM.forward`.
        """
        raise NotImplementedError

    def embeddings(self, module: Any) -> dict[str, Any]:
        """Return the embeddings whose rows are learned, by the array with the indices of rows."""
        return {}

    def start_epoch(self, module: Any, words: dict[str, Rows]) -> None:
        """Prepare for an epoch of training on words with these arrays."""

    def describe(self) -> str:
        """Say what the part is, for model cards and `depkit info`."""
        return self.name
