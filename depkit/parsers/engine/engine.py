"""The contract of an engine, which runs a network on batches of arrays."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from depkit.parsers.chunks import Prepare
    from depkit.parsers.family import Family


# The number of words in the longest sentence that is parsed or tagged. With torch and the bundled
# model, parsing it takes a minute and 4 GB; both are quadratic.
MAX_WORDS = 20_000


class Engine(ABC):
    """A network on a device.

    Batches come from the host as numpy arrays. What the methods of the network return, such as the
    scores of a batch, stays on the device; its own methods return arrays on the host.
    """

    network: Any  # with the methods that the parsers of its family call

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind of device: "cpu", "cuda" or "mps"."""

    @property
    @abstractmethod
    def device_name(self) -> str:
        """The name of the device, for people."""

    @property
    def pads_batches(self) -> bool:
        """Whether the network reads sentences that are padded to the longest one of their batch.

        Sums over padding are rounded differently, so the scores of a sentence depend on its batch.
        """
        return True

    @property
    def has_fixed_weights(self) -> bool:
        """Whether the weights of the network never change."""
        return False

    @property
    def max_words(self) -> int:
        """The number of words in the longest sentence that fits in memory."""
        return MAX_WORDS

    @property
    def one_batch_at_a_time(self) -> bool:
        """Whether the network cannot compute several batches at the same time."""
        return False

    @abstractmethod
    def with_network(self, network: Any) -> "Engine":
        """Return an engine that runs another network on the same device."""

    @abstractmethod
    def mean_network(self, family: "Family") -> type:
        """Return the class of the networks of ensembles of a family, as this engine runs them."""

    @abstractmethod
    def context(self) -> AbstractContextManager[None]:
        """Within the block, the network can be run for prediction."""

    @abstractmethod
    def start(self, encode: "Prepare") -> "Prepare":
        """Prepare the network for prediction with its present weights.

        Args:
            encode: A function that encodes sentences, and their contextual vectors, as a Dataset.

        Returns:
            A function with the same arguments. If the engine can, it computes vectors that depend
            only on the form of a word once for each form.
        """

    @abstractmethod
    def send(self, batch: Any) -> Any:
        """Copy a batch, or a list of one batch for each member of an ensemble, to the device."""

    @abstractmethod
    def set_threads(self, threads: int) -> int:
        """Set the number of threads of the calling thread's operations; return the former one."""

    @abstractmethod
    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error means that the host or the device ran out of memory."""

    def score(self, batch: Any) -> Any:
        """Score a batch; the result is the family's, see `score` of its network."""
        with self.context():
            return self.network.score(batch)

    def tag_scores(self, batch: Any) -> Any:
        """Score the tags of a batch, without trees; see `columns.network.ColumnScores`."""
        with self.context():
            return self.network.tag_scores(batch)
