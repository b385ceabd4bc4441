"""The models of each file of a job; `auto` stands for the bundled model for its language."""

import os
import sys
from dataclasses import dataclass
from typing import BinaryIO

from depkit.corpus.io import PathLike
from depkit.corpus.text import split_by_rule
from depkit.files.storage import is_rereadable, open_file
from depkit.files.streams import STDIN, RecordedStream
from depkit.parsers.model_directory import AUTO, DEFAULT, ModelError
from depkit.parsers.settings import ConfigError
from depkit.parsers.text.language import choose_model, describe_model
from depkit.parsers.text.reading import read_input
from depkit.serving.job import Job

NUM_CHARACTERS = 2_000  # of the beginning of a file, by which its language is identified


@dataclass(frozen=True)
class Choice:
    """The models that a file is parsed with.

    note: a message to the user, if they were chosen; stream: the bytes of a file that cannot be
    opened again, such as standard input, because its beginning has been read; otherwise None.
    """

    models: tuple[PathLike, ...]
    note: str = ""
    stream: BinaryIO | None = None


def choose_models(job: Job) -> list[Choice]:
    """Return the models of each file of a job: those that the job names, or a chosen one for auto.

    Raises ConfigError if the job names auto and other models, ModelError if there is no model for a
    file, and the errors of `text.reading.read_input`.
    """
    if all(os.fspath(model) != AUTO for model in job.models):
        return [Choice(tuple(job.models))] * len(job.files)
    if len(job.models) > 1:
        raise ConfigError("`models` auto is one model for each file; leave the other models out")
    return [_choose(file, job) for file in job.files]


def _choose(file: str, job: Job) -> Choice:
    name, stream = STDIN if file == "-" else file, None
    if is_rereadable(file):
        text = _read_beginning(file, job)
    else:
        record = _record(file)
        text = _read_beginning(file, job, record.open())
        stream = record.rewind()
    if not text:
        return Choice((DEFAULT,), f"{name} is empty", stream)
    try:
        model = choose_model(text)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from None
    return Choice((model,), f"{name}: {describe_model(model)}", stream)


def _record(file: str) -> RecordedStream:
    if file != "-":
        return RecordedStream(open_file(file))
    if sys.stdin is None:
        raise OSError("standard input is closed")
    return RecordedStream(sys.stdin.buffer)


def _read_beginning(file: str, job: Job, stream: BinaryIO | None = None) -> str:
    """Return the first characters of the text of a file; little more is read of a stream."""
    sentences = read_input(
        file, None, job.input, job.encoding, segment=split_by_rule, stream=stream
    )
    text = ""
    for sentence in sentences:
        text += (sentence.text or " ".join(sentence.form)) + " "
        if len(text) >= NUM_CHARACTERS:
            break
    return text[:NUM_CHARACTERS]
