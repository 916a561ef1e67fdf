"""Docstrings that classes put together when they load, for the pages of the reference."""

import inspect
from typing import Any

import griffe


class LoadedDocstrings(griffe.Extension):
    """Ask the loaded class where its source has no plain docstring."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Called by griffe for every class that it has read."""
        if cls.docstring is None and not cls.name.startswith("_"):
            text = inspect.getdoc(griffe.dynamic_import(cls.path))
            cls.docstring = griffe.Docstring(text or "", parent=cls)
