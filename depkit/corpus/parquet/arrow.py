"""The optional package pyarrow, and errors about the content of its files and batches."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from depkit.files.errors import FormatError


def import_pyarrow() -> Any:
    """Return the module pyarrow. Raises ValueError if it is not installed."""
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise ValueError("Parquet needs pyarrow: pip install 'depkit-parser[parquet]'") from None
    return pyarrow


@contextmanager
def arrow_errors(file: str, message: str) -> Iterator[None]:
    """Turn the errors of Arrow about the content of a file into FormatError."""
    from pyarrow import ArrowException

    try:
        yield
    except FormatError:
        raise
    except (ArrowException, OSError, ValueError, OverflowError, StopIteration) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        reason = " ".join(str(error).split())[:200]
        raise FormatError(file, 0, "", f"{message}: {reason}") from None


def raise_row_error(file: str, row: int, message: str) -> NoReturn:
    """Raise FormatError for a row, which is counted from 1."""
    raise FormatError(file, 0, "", f"row {row}: {message}")
