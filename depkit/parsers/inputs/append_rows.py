"""Tables to which rows are appended."""

import numpy as np


def append_rows(table: np.ndarray, used: int, rows: np.ndarray) -> np.ndarray:
    """Write rows after the used rows of a table, and return the table.

    A full table is copied into a new one of twice the size, so that the time of appending n rows
    one by one is linear in n. Arrays that share memory with the old one do not change then.
    """
    size = used + len(rows)
    if size > len(table):
        larger = np.empty((2 * size, *rows.shape[1:]), dtype=rows.dtype)
        if used:
            larger[:used] = table[:used]
        table = larger
    table[used:size] = rows
    return table
