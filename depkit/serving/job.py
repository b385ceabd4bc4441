"""What to parse or tag: files, models and options, and where the results are written."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from depkit.corpus.formats import PTB, format_from_filename, is_bracketed
from depkit.corpus.io import PathLike
from depkit.files.storage import check_url, file_identity, is_url
from depkit.parsers.ensemble_config import Mean
from depkit.parsers.settings import ConfigError
from depkit.serving.parts import parse_shard


@dataclass(frozen=True)
class Job:
    """Files, the models to parse or tag them with, and how to read and write them.

    The fields without a comment are the options of `depkit parse` of the same names.
    """

    files: Sequence[str]
    models: Sequence[PathLike]
    action: Literal["parse", "tag"] = "parse"  # the method of `Parser` to call
    tags: str = "missing"
    options: dict[str, Any] = field(default_factory=dict)  # see `Parser.options`
    mean: Mean | None = None
    input: str | None = None
    format: str | None = None
    output: str = "-"
    output_dir: str = ""
    features: Sequence[str] = ()
    settings: Sequence[str] = ()
    device: str = "auto"
    batch_tokens: int | None = None
    threads: int | None = None
    encoding: str = "utf-8"
    dependencies: Literal["sd", "ud", "ud2"] | None = None
    tokenizer: str = ""
    out_of_fold: bool = False
    shard: str = ""
    workers: int = 1
    skip_done: bool = False
    engine: Literal["processes", "ray"] = "processes"
    address: str = ""


@dataclass
class Totals:
    """The numbers of sentences and words that a job has processed, and the time it took."""

    sentences: int = 0
    words: int = 0
    seconds: float = 0.0  # without loading the models


def get_output_paths(job: Job, format: str | None = None) -> list[str]:
    """Return the paths to write: one per input file if there is an output directory.

    format: the format of the output, None for that of the input.

    Raises ConfigError if the job's files or options contradict each other, and the errors of
    `storage.check_url`.
    """
    for name in filter(is_url, (*job.files, job.output, job.output_dir)):
        check_url(name)
    if url := next(filter(is_url, job.features), ""):
        raise ConfigError(f"--features cannot read the URL {url}; copy the file to this machine")
    if job.output_dir and job.output != "-":
        raise ConfigError("--output and --output-dir exclude each other; give only one of them")
    if job.files.count("-") > 1:
        raise ConfigError("only one file can be standard input; give - only once")
    if job.output_dir and job.out_of_fold:
        raise ConfigError("--out-of-fold writes one file; give --output instead of --output-dir")
    if job.output_dir and "-" in job.files:
        raise ConfigError("--output-dir cannot be used with standard input; name files")
    if (job.shard or job.skip_done) and not job.output_dir:
        option = "--shard" if job.shard else "--skip-done"
        raise ConfigError(f"{option} needs --output-dir, where each input file has its own output")
    names = [output_name(file, format or job.format) for file in job.files]
    if job.shard:
        names = list(map(parse_shard(job.shard).name, names))
    if job.output_dir and len(set(names)) < len(names):
        raise ConfigError(
            "two files in --output-dir would have the same name; rename one of the input files"
        )
    if job.features and len(job.features) != len(job.files):
        raise ConfigError(
            f"--features names {len(job.features)} files, but there are {len(job.files)} files to"
            " read; give --features once per file"
        )
    paths = [job.output]
    if job.output_dir:
        paths = [os.path.join(job.output_dir, name) for name in names]
    check_overwriting(job.files, paths)
    return paths


def check_overwriting(sources: Iterable[str], targets: Iterable[str]) -> None:
    """Raise ConfigError if a file to write is also a file to read."""
    files_to_read = set(map(file_identity, sources)) - {None}
    for target in targets:
        if file_identity(target) in files_to_read:
            raise ConfigError(f"{target} is one of the files to read; write to another file")


def output_name(source: str, format: str | None) -> str:
    """Return the name of the output file for an input file.

    If the suffix of the input file indicates the output format, the name is the same. Otherwise the
    suffix is replaced.

    Args:
        source: The path of the input file.
        format: The output format; None for the format of the input file, or CoNLL-U for text.
    """
    name = os.path.basename(source)
    source_format = PTB if is_bracketed(name) else format_from_filename(name)
    if source_format and format in (None, source_format.name):
        return name
    stem = re.sub(r"(\.gz|\.xz)?$", "", name, flags=re.I)
    stem = re.sub(
        r"(\.(txt|conllup?|cupt|conllx|conll09|conll2009|mrg|ptb|parquet))?$", "", stem, flags=re.I
    )
    return f"{stem}.{format or 'conllu'}"
