"""The engine that runs exported graphs with ONNX Runtime, on a CPU and without torch.

`engine.export` describes the graphs. They are run on sentences of the same length, and the scales
of quantised products are fixed, so the scores of a sentence do not depend on its batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime

from depkit.corpus.sentence import Sentence, new_sentence
from depkit.files.errors import first_line
from depkit.parsers.chunks import Prepare
from depkit.parsers.columns.arrays import ColumnArrays, column_arrays
from depkit.parsers.engine.engine import Engine
from depkit.parsers.inputs.append_rows import append_rows
from depkit.parsers.inputs.batching import Batch
from depkit.parsers.inputs.dataset import layout

if TYPE_CHECKING:
    from depkit.parsers.family import Family

MAX_WORDS = 4_000  # in a sentence; the weights of attention are in memory for all pairs of words
MAX_FORMS = 50_000  # the table of vectors is emptied when it has more distinct words
FORMS_AT_ONCE = 1_000  # words whose vectors are computed at a time

Arrays = dict[str, np.ndarray]


class Graphs:
    """The graphs of a model.

    paths: their files by name. Raises ValueError if a file is damaged.
    """

    def __init__(self, paths: Mapping[str, Path]) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised, so they need not be printed as well
        self.sessions = {name: _open_session(path, options) for name, path in paths.items()}
        self.inputs = {
            name: [value.name for value in session.get_inputs()]
            for name, session in self.sessions.items()
        }
        self.outputs = {
            name: [value.name for value in session.get_outputs()]
            for name, session in self.sessions.items()
        }
        # For each result of the graph `scores`, whether it has a value for each pair of words,
        # [batch, length, length]
        self.is_pairwise = {
            value.name: value.shape[1:2] == value.shape[2:3]
            for value in (self.sessions["scores"].get_outputs() if "scores" in paths else ())
        }

    def run(self, name: str, arrays: Mapping[str, np.ndarray]) -> Arrays:
        """Run a graph on its inputs, which are taken from `arrays` by name; return its outputs.

        Raises ValueError if the graph is that of another model.
        """
        if missing := next((key for key in self.inputs[name] if key not in arrays), None):
            raise ValueError(
                f"{name}.onnx belongs to another model, because it needs the input {missing}; make"
                " it with depkit export"
            )
        feed = {key: arrays[key] for key in self.inputs[name]}
        results = self.sessions[name].run(self.outputs[name], feed)
        return dict(zip(self.outputs[name], results, strict=True))


def _open_session(path: Path, options: Any) -> Any:
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the errors of ONNX Runtime have no public base class
        problem = f"belongs to another model or is damaged ({first_line(error)})"
        raise ValueError(f"{path.name} {problem}; make it with depkit export") from None


class ArrayNetwork:
    """The graphs of a parser, with the methods of its network that parsing needs."""

    transformer = None

    def __init__(self, graphs: Graphs) -> None:
        self.graphs = graphs

    def run(self, batch: Batch) -> Arrays:
        """Compute what trees and columns are decoded from, [batch, length, ...] each.

        The graph is run once for each length of sentences: padding would change how the sums over
        the words of a sentence are rounded, so that scores would depend on the batch.
        """
        vectors = batch.arrays.get("vectors")
        if vectors is None:
            vectors = self.graphs.run("words", batch.arrays)["vectors"]
        rows_of_lengths = [
            (length, np.flatnonzero(batch.sizes == length))
            for length in np.unique(batch.sizes).tolist()
        ]
        results = [
            self.graphs.run(
                "scores", {"vectors": vectors[rows, :length], "lengths": batch.sizes[rows]}
            )
            for length, rows in rows_of_lengths
        ]
        if len(results) == 1:
            return results[0]
        all_rows = [rows for _, rows in rows_of_lengths]
        return {
            name: _pad([part[name] for part in results], all_rows, self.graphs.is_pairwise[name])
            for name in results[0]
        }

    def tag_scores(self, batch: Batch) -> ColumnArrays:
        """Compute the logits of each predicted column except DEPREL."""
        return column_arrays(self.run(batch))


def _pad(parts: Sequence[np.ndarray], rows: Sequence[np.ndarray], of_pairs: bool) -> np.ndarray:
    """Join results for sentences of different lengths in one array, and pad them with zeros.

    parts: the results for each length, the longest last; rows: for each part, the indices of its
    sentences in the batch; of_pairs: whether there is a value for each pair of words. The padding
    of the second word of a pair is -inf if the first word is not padding.
    """
    longest = parts[-1]
    joined = np.zeros((sum(map(len, rows)), *longest.shape[1:]), dtype=longest.dtype)
    for part, indices in zip(parts, rows, strict=True):
        length = part.shape[1]
        if of_pairs:
            joined[indices, :length, length:] = -np.inf
            joined[indices, :length, :length] = part
        else:
            joined[indices, :length] = part
    return joined


@dataclass(frozen=True)
class OnnxEngine(Engine):
    """The graphs of a model on the CPU.

    reads_forms_only: whether the vector of a word depends on its form alone.
    """

    network: Any  # an ArrayNetwork of the family
    reads_forms_only: bool = False

    @property
    def kind(self) -> str:
        return "cpu"

    @property
    def device_name(self) -> str:
        return "cpu (ONNX Runtime)"

    @property
    def pads_batches(self) -> bool:
        return False

    @property
    def has_fixed_weights(self) -> bool:
        return True

    @property
    def max_words(self) -> int:
        return MAX_WORDS

    def with_network(self, network: Any) -> "OnnxEngine":
        return replace(self, network=network)

    def mean_network(self, family: "Family") -> type:
        return family.mean_arrays

    @contextmanager
    def context(self) -> Iterator[None]:
        yield

    def start(self, encode: Prepare) -> Prepare:
        return FormTable(self.network.graphs, encode).prepare if self.reads_forms_only else encode

    def send(self, batch: Any) -> Any:
        return batch

    def set_threads(self, threads: int) -> int:
        return 1  # One batch is computed by one thread.

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError) or "Failed to allocate memory" in str(error)


class FormTable:
    """The input vectors of distinct words, each of which is encoded once.

    encode: encodes sentences as a Dataset.
    """

    def __init__(self, graphs: Graphs, encode: Prepare) -> None:
        self.graphs, self.encode = graphs, encode
        self.lock = Lock()  # Several threads may parse at the same time.
        self.rows: dict[str, int] = {}
        self.table = np.empty((0, 0), dtype=np.float32)  # [words and free rows, size]

    def prepare(
        self, sentences: Sequence[Sentence], context: Sequence[np.ndarray]
    ) -> "FormBatches":
        """Look up or compute the vectors of the words of some sentences."""
        forms = [form for sentence in sentences for form in sentence.form]
        sizes, starts = layout(sentences)
        # Row 0 of the table is that of w0; padding has it, too.
        index = np.zeros(int(sizes.sum()) + 1, dtype=np.int64)
        is_word = np.ones(len(index), dtype=bool)
        is_word[0] = is_word[starts] = False
        with self.lock:
            self._add_new(forms)
            index[is_word] = np.fromiter(
                map(self.rows.__getitem__, forms), dtype=np.int64, count=len(forms)
            )
            return FormBatches(sizes, starts, index, self.table)

    def _add_new(self, forms: Sequence[str]) -> None:
        """Compute the vectors of those forms that have none."""
        if len(self.rows) > MAX_FORMS:
            self.rows, self.table = {}, self.table[:0]
        new = [form for form in dict.fromkeys(forms) if form not in self.rows]
        for start in range(0, len(new), FORMS_AT_ONCE):
            self._add(new[start : start + FORMS_AT_ONCE])

    def _add(self, forms: Sequence[str]) -> None:
        """Compute the vectors of new forms, as those of the words of one sentence."""
        batch = self.encode([new_sentence(forms)], []).batch(np.array([0]))
        vectors = self.graphs.run("words", batch.arrays)["vectors"][0, : len(forms) + 1]
        if not self.rows:
            self.table = append_rows(self.table, 0, vectors[:1])
        used = len(self.rows) + 1
        # Batches of earlier sentences keep the table that they have.
        self.table = append_rows(self.table, used, vectors[1:])
        self.rows |= {form: row for row, form in enumerate(forms, start=used)}


@dataclass(frozen=True)
class FormBatches:
    """Sentences whose words are rows of a table of vectors."""

    sizes: np.ndarray  # [sentences], number of words and w0
    starts: np.ndarray  # [sentences], index of w0's entry
    rows: np.ndarray  # [total], for each entry its row in the table
    table: np.ndarray  # [rows, size]

    def batch(self, indices: np.ndarray) -> Batch:
        """Make a batch of the sentences with these indices."""
        sizes, starts = self.sizes[indices], self.starts[indices]
        length = int(sizes.max())
        position = np.arange(length)
        rows = self.rows[np.where(position < sizes[:, None], starts[:, None] + position, 0)]
        words = int(sizes.sum()) - len(sizes)
        return Batch(sizes, length, words, {"vectors": self.table[rows]})
