"""The window. The only package that imports PySide6."""

import builtins
from importlib import import_module

import_module("PySide6.QtCore")
# From now on PySide has a function of its own in the place of Python's import. For the sake of
# `from __feature__ import ...`, which nothing here uses, it reads the source of every module that is imported later.
builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)  # docs/decisions/0006
