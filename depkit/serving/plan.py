"""A resolved job: the format of each file, where its result is written, and what part is read."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import BinaryIO

from depkit.corpus.blocks import Shard
from depkit.corpus.formats import (
    CONLLU,
    CONLLUP,
    FORMATS,
    PARQUET,
    PTB,
    SUFFIXES,
    format_from_filename,
)
from depkit.corpus.io import PathLike
from depkit.files.compression import check_output_suffix
from depkit.files.storage import check_overwriting, check_url, is_rereadable, is_url
from depkit.parsers.families import get_family
from depkit.parsers.loading import uses_torch
from depkit.parsers.model_directory import (
    ENSEMBLE,
    find_model,
    pin_model,
    read_config,
    read_ensemble,
)
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.reading import TEXT_INPUTS, detect_input
from depkit.serving.auto_models import choose_models
from depkit.serving.job import Job

_COMPRESSION = re.compile(r"(\.gz|\.xz)$", re.I)
_JSON = re.compile(r"\.jsonl?(\.gz|\.xz)?$", re.I)
_SUFFIX = re.compile(f"({'|'.join(map(re.escape, ['.txt', *SUFFIXES]))})$", re.I)


@dataclass(frozen=True)
class FilePlan:
    """A file to read, and the file to write, which can be that of all files."""

    path: str
    output: str
    kind: str | None  # the format of the input; None if it is recognised when the file is read
    elmo: str  # the file of its ELMo vectors, "" for none
    models: tuple[PathLike, ...]  # with which it is parsed
    stream: BinaryIO | None = None  # as for `open_bytes`


@dataclass(frozen=True)
class Plan:
    """A job with everything resolved."""

    job: Job
    files: tuple[FilePlan, ...]
    format: str | None  # of the output; None for that of the input
    shard: Shard | None  # the part of each file that is read; None for all of it
    notes: tuple[str, ...] = ()  # what to tell the user

    @property
    def uses_torch(self) -> bool:
        """Whether torch runs a model of the job, so that it can use a GPU."""
        job = self.job
        return any(
            uses_torch(
                models, engine=job.engine, device=job.device, precision=job.precision,
                settings=job.settings,
            )
            for models in {file.models for file in self.files}
        )  # fmt: skip


def resolve(job: Job) -> Plan:
    """Check a job before the models are loaded, and resolve what it leaves open.

    Raises ConfigError if the job's files or options contradict each other, ModelError if there is
    no such model, or none for the language of a file, and the errors of `storage.check_url`,
    `text.reading.detect_input` and `text.reading.read_input`.
    """
    if not job.format:
        job = replace(job, format=_format_from_output(job.output))
    _check_files(job)
    # All processes must read the same models, even if the hub has new versions in the meantime.
    job = replace(
        job,
        models=[pin_model(model) for model in job.models],
        tokenizer=os.fspath(pin_model(job.tokenizer)),
    )
    shard = _parse_shard(job.shard) if job.shard else None
    kinds = [job.input] * len(job.files)
    if shard or job.has_workers:
        kinds = [_check_divisible(job, file) for file in job.files]
    paths = [job.output] * len(job.files)
    if not job.output_dir:
        check_overwriting([*job.files, *job.elmo, *job.also_read], paths)
    choices = choose_models(job)
    format = _choose_format(job, {model for choice in choices for model in choice.models})
    if job.output_dir:
        names = [
            output_name(file, format or _default_format(job, file, kind))
            for file, kind in zip(job.files, kinds, strict=True)
        ]
        names = list(map(shard.name, names)) if shard else names
        _check_names(names)
        paths = [os.path.join(job.output_dir, name) for name in names]
        check_overwriting([*job.files, *job.elmo, *job.also_read], paths)
    files = [
        FilePlan(path, output, kind, elmo, choice.models, choice.stream)
        for path, output, kind, elmo, choice in zip(
            job.files, paths, kinds, job.elmo or [""] * len(job.files), choices, strict=True
        )
    ]
    notes = [choice.note for choice in choices if choice.note]
    if job.tokenizer and not any(map(partial(_may_be_split, job.encoding), job.files, kinds)):
        notes.append(f"the tokenizer {job.tokenizer} is not used, because no input is running text")
    return Plan(job, tuple(files), format, shard, tuple(notes))


def _may_be_split(encoding: str, file: str, kind: str | None) -> bool:
    """Whether a tokenizer splits a file; it may split one that can be read only once."""
    if kind is None and is_rereadable(file):
        kind = detect_input(file, encoding)
    return kind in (None, "text", "lines")


def _format_from_output(path: str) -> str | None:
    """Return the format for the suffix of the output, if it is not one with a word on each line."""
    if _JSON.search(path):
        return "json"
    return PARQUET.name if format_from_filename(path) is PARQUET else None


def _default_format(job: Job, file: str, kind: str | None) -> str | None:
    """Return the format that the result for a file has by default, to name a file in a directory.

    None if it is that of the file's suffix, or CoNLL-U without such a suffix, or if the file can be
    read only once. kind: what the file contains, if it is known.
    """
    named = format_from_filename(file)
    if named and kind is None:
        kind = named.name
    elif kind is None and is_rereadable(file):
        kind = detect_input(file, job.encoding)
    if kind in (*TEXT_INPUTS, PARQUET.name) or (kind == PTB.name and job.action == "parse"):
        return CONLLU.name
    is_conllu = kind in (CONLLU.name, CONLLUP.name) and named in (None, CONLLU, CONLLUP)
    return None if is_conllu else kind


def _check_files(job: Job) -> None:
    """Raise ConfigError if files and options contradict each other."""
    for name in filter(is_url, (*job.files, job.output, job.output_dir)):
        check_url(name)
    check_output_suffix(job.output)
    if url := next(filter(is_url, job.elmo), ""):
        raise ConfigError(f"`elmo` cannot read the URL {url}; copy the file to this machine")
    if job.output_dir and job.output != "-":
        raise ConfigError("`output` and `output_dir` exclude each other; give only one of them")
    if job.files.count("-") > 1:
        raise ConfigError("only one file can be standard input; give - only once")
    if job.output_dir and job.out_of_fold:
        raise ConfigError("`out_of_fold` writes one file; give `output` instead of `output_dir`")
    if job.out_of_fold and job.options.get("best"):
        raise ConfigError("`out_of_fold` writes one tree of each sentence; leave `best` out")
    if job.output_dir and "-" in job.files:
        raise ConfigError("`output_dir` cannot be used with standard input; name files")
    if job.output_dir:
        _check_names(list(map(os.path.basename, job.files)))
    if (job.shard or job.skip_done) and not job.output_dir:
        name = "shard" if job.shard else "skip_done"
        raise ConfigError(f"`{name}` needs `output_dir`, where each input file has its own output")
    if job.elmo and len(job.elmo) != len(job.files):
        raise ConfigError(
            f"`elmo` names {len(job.elmo)} files, but there are {len(job.files)} files to read;"
            " give `elmo` once per file"
        )
    if job.has_workers:
        workers = "`distribute` ray" if job.distribute == "ray" else "`workers`"
        if job.format == PARQUET.name:
            raise ConfigError(
                f"{workers} cannot write Parquet; use `shard`, which writes several files"
            )
        if len(job.files) > 1 and not job.output_dir:
            raise ConfigError(f"{workers} with several files needs `output_dir`")


def _check_names(names: Sequence[str]) -> None:
    """Raise ConfigError if two files to write have the same name."""
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise ConfigError(
            f"two files in `output_dir` would have the same name, {twice[0]}; rename an input file"
        )


def _parse_shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise ConfigError(f"`shard`: {error}") from None


def _choose_format(job: Job, models: Iterable[PathLike]) -> str | None:
    """Return the output format; None for the input format.

    Raises ConfigError if the models do not predict what the format contains.
    """
    if job.action == "tag":
        return job.format
    if not any(map(_predicts_constituents, models)):
        option = "`dependencies`" if job.dependencies else "`format` ptb"
        if job.dependencies or job.format == PTB.name:
            raise ConfigError(f"the model predicts no constituency trees; leave {option} out")
        return job.format
    if job.dependencies:
        if job.format == PTB.name:
            raise ConfigError("`dependencies` and `format` ptb exclude each other")
        return job.format or CONLLU.name
    if job.format in FORMATS or job.format == PARQUET.name:
        raise ConfigError(
            f"the model predicts constituency trees; for `format` {job.format}, choose a conversion"
            " to dependencies with `dependencies` sd, ud or ud2"
        )
    return job.format or PTB.name


def _predicts_constituents(model: PathLike) -> bool:
    path = find_model(model)
    if (path / ENSEMBLE).is_file():
        path /= read_ensemble(path).members[0]
    config, _ = read_config(path)
    return get_family(config).parser.trees == "constituents"


def _check_divisible(job: Job, file: str) -> str:
    """Return the format of a file to read. Raises ConfigError if it cannot be divided."""
    kind = reason = ""
    if file == "-":
        reason = "it is standard input; name a file"
    elif not is_rereadable(file):
        os.stat(file)  # raises an error if there is no such file
        reason = "it is not a regular file"
    elif file.lower().endswith((".gz", ".xz")):
        reason = "it is compressed; decompress it first"
    if not reason:
        kind = job.input or detect_input(file, job.encoding)
        if kind == PTB.name:
            reason = "it has bracketed trees; convert it with depkit convert, or split it yourself"
        elif job.format == "json" and kind not in TEXT_INPUTS:
            reason = "`format` json needs the whole file for its offsets; choose another format"
        elif job.elmo:
            reason = "a file of `elmo` has the vectors of a whole file"
        elif job.out_of_fold:
            reason = "`out_of_fold` needs all of its sentences"
    if reason:
        raise ConfigError(f"{file} cannot be divided: {reason}")
    return kind


def output_name(source: str, format: str | None) -> str:
    """Return the name of the output file for an input file.

    If the suffix of the input file indicates the output format, the name is the same. Otherwise the
    suffix is replaced.

    Args:
        source: The path of the input file.
        format: The output format; None for the format of the input file, or CoNLL-U for text.
    """
    name = os.path.basename(source)
    source_format = format_from_filename(name)
    if source_format and format in (None, source_format.name):
        return name
    stem = _SUFFIX.sub("", _COMPRESSION.sub("", name))
    return f"{stem}.{format or 'conllu'}"
