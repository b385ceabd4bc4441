"""Conversion of constituency trees to dependencies and of tabular formats to each other.

Import the submodules: the package itself loads none of them. `depkit.convert(...)`, a call of the
package, is `treebank.convert`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """The package, which is also the function `depkit.convert` of the Python API."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        module = import_module("depkit.convert.treebank")
        return module.convert(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
