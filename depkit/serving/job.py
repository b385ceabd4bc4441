"""What to parse or tag: files, models and options."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

from depkit.convert.enhance.conventions import Conventions
from depkit.corpus.io import PathLike
from depkit.parsers.engine.names import EngineName, Precision
from depkit.parsers.ensemble_config import Mean


@dataclass(frozen=True)
class Job:
    """Files, the models to parse or tag them with, and how to read and write them.

    The fields without a comment are the options of `depkit parse` of the same names.
    """

    files: Sequence[str]
    models: Sequence[PathLike]
    _: KW_ONLY
    action: Literal["parse", "tag"] = "parse"  # the method of `Parser` to call
    tags: str = "missing"
    options: dict[str, Any] = field(default_factory=dict)  # see `Parser.options`
    mean: Mean | None = None
    input: str | None = None
    format: str | None = None
    output: str = "-"
    output_dir: str = ""
    elmo: Sequence[str] = ()
    also_read: Sequence[str] = ()  # other files that are read, so that no output may replace them
    settings: Sequence[str] = ()
    device: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    encoding: str = "utf-8"
    dependencies: Literal["sd", "ud", "ud2"] | None = None
    conventions: Conventions | None = None  # how enhanced dependencies are added; None to add none
    tokenizer: str = ""
    out_of_fold: bool = False
    shard: str = ""
    workers: int = 1
    skip_done: bool = False
    distribute: Literal["processes", "ray"] = "processes"
    engine: EngineName = "auto"
    precision: Precision = "auto"
    address: str = ""

    @property
    def has_workers(self) -> bool:
        """Whether other processes do the work."""
        return self.workers > 1 or self.distribute == "ray"


@dataclass
class Totals:
    """The numbers of sentences and words that a job has processed, and the time it took."""

    sentences: int = 0
    words: int = 0
    seconds: float = 0.0  # without loading the models
