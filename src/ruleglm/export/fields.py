"""Fields of a JSON document, read with care: every complaint says which field it is about."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ruleglm.frames import Level

T = TypeVar("T")


class ModelFormatError(ValueError):
    """A text that is no saved model; the message names the field."""


@dataclass(frozen=True)
class Field:
    """A value of a document and the way to it.

    Parameters
    ----------
    value : any
        What `json.loads` made of it.
    path : str
        How to find it, such as ``rules[2].coefficient``; empty for the whole document.
    """

    value: Any
    path: str = ""

    def fail(self, wanted: str) -> NoReturn:
        """Say what the field should have been."""
        shown = repr(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
        raise ModelFormatError(f"Field `{self.path or 'document'}` is {shown}; {wanted}.")

    # ---------------------------------------------------------------------------- objects, lists

    def has(self, name: str) -> bool:
        """Whether the object has that field, and it is not null."""
        return self.mapping().get(name) is not None

    def get(self, name: str) -> "Field":
        """Return a field of the object, which has to be there."""
        path = f"{self.path}.{name}" if self.path else name
        if name not in self.mapping():
            raise ModelFormatError(f"Field `{path}` is lacking.")
        return Field(self.mapping()[name], path)

    def mapping(self) -> dict[str, Any]:
        """Return the value if it is an object."""
        if not isinstance(self.value, dict):
            self.fail("an object is needed")
        return self.value

    def items(self) -> "list[Field]":
        """Return the elements of a list."""
        if not isinstance(self.value, list):
            self.fail("a list is needed")
        return [Field(value, f"{self.path}[{place}]") for place, value in enumerate(self.value)]

    # ------------------------------------------------------------------------------------ values

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.fail("a text is needed")
        return self.value

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            self.fail("true or false is needed")
        return self.value

    def number(self) -> float:
        """Return a finite number as a double."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.fail("a number is needed")
        try:
            number = float(self.value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self.fail("a finite number is needed")
        return number

    def whole(self) -> int:
        """Return a whole number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.fail("a whole number is needed")
        return self.value

    def level(self) -> Level:
        """Return a text, a truth value or a finite number, each as it is."""
        if isinstance(self.value, (str, bool, int)):
            return self.value
        return self.number()

    def numbers(self, shape: tuple[int, ...]) -> Any:
        """Return one number, or a list of as many as the shape says."""
        if not shape:
            return self.number()
        parts = self.items()
        if len(parts) != shape[0]:
            self.fail(f"a list of {shape[0]} numbers is needed")
        return [part.numbers(shape[1:]) for part in parts]

    def choice(self, allowed: tuple[str, ...]) -> str:
        """Return one of some words."""
        if self.value not in allowed:
            self.fail(f"one of {', '.join(map(repr, allowed))} is needed")
        return str(self.value)

    def build(self, make: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Build a value from parts of this field; its own complaints are given the path."""
        try:
            return make(*args, **kwargs)
        except (ValueError, TypeError) as error:
            if isinstance(error, ModelFormatError):
                raise
            where = f"Field `{self.path}`" if self.path else "The document"
            raise ModelFormatError(f"{where} is no valid part of a model: {error}") from error
