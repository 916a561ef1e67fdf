"""What every command has: two streams, one-line errors and warnings, exit codes, JSON."""

import json
import math
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from ruleglm.cli.errors import UserError

BAD_DATA, INTERRUPTED = 1, 130
"""Exit codes; 2 is a command that was not understood."""

TRACEBACK = "RULEGLM_TRACEBACK"
"""Set in the environment, errors come with their traceback."""

Command = TypeVar("Command", bound=Callable[..., None])


class Screen:
    """Where a command writes: results to standard output, remarks to standard error.

    Parameters
    ----------
    as_json : bool
        Whether the results are one JSON document, and nothing else.
    """

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.out = Console(highlight=False, markup=False)

    @property
    def width(self) -> int:
        """Characters of a line."""
        return self.out.width

    def show(self, *parts: Text | str) -> None:
        """Show results to a person: texts are wrapped between words, tables are left alone."""
        for part in () if self.as_json else parts:
            if isinstance(part, str):
                part = Text(textwrap.fill(part, self.width, break_on_hyphens=False))
            self.out.print(part, soft_wrap=True)

    def finish(self, document: Mapping[str, Any]) -> None:
        """Give results to a machine."""
        if self.as_json:
            text = json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False)
            sys.stdout.write(text + "\n")


def remark(text: str, kind: str = "") -> None:
    """Say something on standard error, on one line unless a terminal is narrower.

    Errors keep their lines, of which one may point at a place in another.
    """
    styles = {"error": "bold red", "warning": "yellow"}
    console = Console(stderr=True, highlight=False, markup=False)
    line = Text(text if kind == "error" else " ".join(text.split()))
    if kind:
        line = Text.assemble((f"{kind}: ", styles[kind]), line)
    console.print(line, soft_wrap=not console.is_terminal)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: numbers that are none become null."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def command(function: Command) -> Command:
    """Make a function a command: what goes wrong becomes a message and an exit code."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            with _one_line_warnings():
                function(*args, **kwargs)
        except KeyboardInterrupt:
            remark("interrupted; nothing was written", "error")
            raise interrupted() from None
        except BrokenPipeError:  # whoever read our output has enough
            sys.stderr.close()
            raise typer.Exit(0) from None
        except (UserError, ValueError, TypeError, ImportError, OSError, MemoryError) as error:
            if os.environ.get(TRACEBACK):
                raise
            remark(str(error) or type(error).__name__, "error")
            raise typer.Exit(BAD_DATA) from None

    return run  # type: ignore[return-value]


def interrupted() -> typer.Exit:
    """Return the exit after an interrupt that was dealt with.

    CPython remembers an interrupt that left code made from text, as ``dataclass`` and compilers
    make it, even when it is caught later, and then ends by the signal instead of with our exit
    code. Running any text makes it forget.
    """
    exec("")
    return typer.Exit(INTERRUPTED)


@contextmanager
def _one_line_warnings() -> Iterator[None]:
    """Show each warning once, as a line without the code that gave it."""
    said: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        text = str(message)
        if issubclass(category, (UserWarning, RuntimeWarning)) and text not in said:
            said.add(text)
            remark(text, "warning")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield
