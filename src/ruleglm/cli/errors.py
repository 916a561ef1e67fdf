"""The one error that the command line shows as a message, and never as a traceback."""

from typing import Any


class UserError(Exception):
    """Something that the user can put right; the message says what and how."""


def need_extra(extra: str, package: str, what: str) -> UserError:
    """Return the error of a package that is not installed."""
    return UserError(f'{what} needs {package}: pip install "ruleglm[{extra}]"')


def shown(value: Any) -> str:
    """Write a value of a column as a person would."""
    import pandas as pd

    if pd.isna(value) is True:
        return "missing"
    return repr(value.item() if hasattr(value, "item") else value)
