"""Download files of models from the Hugging Face hub with its package huggingface_hub.

The package keeps what it has downloaded in its cache. Its environment variables apply, such as
HF_HUB_OFFLINE, HF_HOME, HF_ENDPOINT and HF_TOKEN.
"""

import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from depkit.files.errors import first_line
from depkit.files.storage import PathLike

PREFIX = "hf:"
_NAME = re.compile(r"hf:([\w.-]+/[\w.-]+)(?:@(\S+))?", re.ASCII)


class HubError(ValueError):
    """Files of the hub cannot be downloaded; the message is one line."""


def is_on_hub(name: PathLike) -> bool:
    """Return whether a name is that of a repository of the hub, such as hf:USER/NAME@REVISION."""
    return os.fspath(name).startswith(PREFIX)


def parse_name(name: PathLike) -> tuple[str, str]:
    """Return the repository USER/NAME and the revision, "" for none, of hf:USER/NAME@REVISION.

    Raises HubError if the name has another form.
    """
    text = os.fspath(name).replace(os.sep, "/")  # On Windows, a Path has backslashes.
    match = _NAME.fullmatch(text)
    if not match:
        raise HubError(
            f"{text} does not name a model of the Hugging Face hub; write hf:USER/NAME or"
            " hf:USER/NAME@REVISION"
        )
    return match[1], match[2] or ""


def download(repository: str, revision: str, patterns: Sequence[str]) -> Path:
    """Download those files of a repository whose names match a pattern, unless they are cached.

    Args:
        repository: USER/NAME.
        revision: A branch, a tag or a commit; "" is the main branch.
        patterns: Patterns as in the module `fnmatch`.

    Returns:
        The directory of the cache with the files. Its name is the hash of the commit, and it does
        not exist if no file matches.

    Raises:
        HubError: There is no such repository or revision, or the hub cannot be reached.
    """
    try:
        from huggingface_hub import constants, snapshot_download
    except ModuleNotFoundError:
        raise HubError(
            "models of the Hugging Face hub need huggingface_hub: pip install huggingface_hub"
        ) from None
    try:
        with silence_hub():
            return Path(
                snapshot_download(
                    repository,
                    revision=revision or None,
                    allow_patterns=list(patterns),
                    local_files_only=constants.HF_HUB_OFFLINE,
                )
            )
    except Exception as error:  # The hub, the network and the disk raise many types.
        name = f"{PREFIX}{repository}" + (f"@{revision}" if revision else "")
        raise HubError(f"{name}: {_describe_error(error, revision)}") from error


def _describe_error(error: Exception, revision: str) -> str:
    from huggingface_hub import constants
    from huggingface_hub import utils as errors  # before 0.25, there is no module `errors`

    if isinstance(error, errors.GatedRepoError):
        return "its owner must allow you to read it; ask there for access, and set HF_TOKEN"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "the hub has no such repository; if it is a private one, set HF_TOKEN"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"the repository has no revision {revision!r}"
    if isinstance(error, errors.LocalEntryNotFoundError) and constants.HF_HUB_OFFLINE:
        return (
            "it has not been downloaded before, and HF_HUB_OFFLINE forbids downloading it; unset"
            " that variable"
        )
    reason = error.__cause__ if isinstance(error, errors.LocalEntryNotFoundError) else error
    return f"it cannot be downloaded from {constants.ENDPOINT}: {first_line(reason or error)}"


@contextmanager
def silence_hub() -> Iterator[None]:
    """Keep the package from printing progress bars, and messages other than errors."""
    from huggingface_hub.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    logger = logging.getLogger("huggingface_hub")
    level, had_bars = logger.level, not are_progress_bars_disabled()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logger.setLevel(logging.ERROR)
        disable_progress_bars()
        try:
            yield
        finally:
            logger.setLevel(level)
            if had_bars:
                enable_progress_bars()
