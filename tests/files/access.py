"""Errors of access to files."""

import errno
import os


def refuse_access(path):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
