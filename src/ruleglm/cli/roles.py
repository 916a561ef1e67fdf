"""Columns and what they are for: target, weights, exposure, offset, groups, features."""

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.cli.errors import UserError, shown
from ruleglm.dtypes import AnyArray, FloatArray
from ruleglm.files import RowFiles

if TYPE_CHECKING:
    import pandas as pd

ID_ROWS = 50
"""Rows from which on a column without repetitions looks like an identifier."""

NUMBERS = ("weights", "exposure", "offset")
"""Roles that a single number may play."""


@dataclass(frozen=True)
class Roles:
    """Names of the columns that are no features; None for roles that no column has."""

    target: str | None = None
    weights: str | None = None
    exposure: str | None = None
    offset: str | None = None
    groups: str | None = None
    drop: tuple[str, ...] = ()

    def named(self) -> dict[str, str]:
        """Return the names by option, those that are given."""
        options = ("target", "weights", "exposure", "offset", "groups")
        given = {option: getattr(self, option) for option in options}
        return {option: name for option, name in given.items() if name is not None}


@dataclass(frozen=True, eq=False)
class Rows:
    """Features, a frame or `RowFiles`, target and what comes with them; None if not given."""

    X: Any
    y: Any
    weights: FloatArray | None
    exposure: FloatArray | None
    offset: FloatArray | None
    groups: AnyArray | None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def in_files(self) -> bool:
        """Whether the features are in files."""
        return isinstance(self.X, RowFiles)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return list(self.X.names if isinstance(self.X, RowFiles) else self.X.columns)

    def texts(self) -> set[str]:
        """Return the columns that hold texts, the target if it does; none of files with types."""
        from pandas.api.types import is_object_dtype, is_string_dtype

        if isinstance(self.X, RowFiles):
            return set()
        columns = [self.X[name] for name in self.X.columns] + [self.y]
        kinds = (is_string_dtype, is_object_dtype)
        return {str(one.name) for one in columns if any(is_kind(one.dtype) for is_kind in kinds)}

    def take(self, rows: AnyArray) -> "Rows":
        """Return some of the rows, by number or mask; of rows in memory only."""
        if isinstance(self.X, RowFiles):
            raise TypeError("rows in files cannot be taken by number")
        others = ("weights", "exposure", "offset", "groups")
        parts = {name: getattr(self, name) for name in others}
        return replace(
            self,
            X=self.X.iloc[rows].reset_index(drop=True),
            y=None if self.y is None else self.y.iloc[rows].reset_index(drop=True),
            **{name: None if part is None else part[rows] for name, part in parts.items()},
        )


def split_roles(frame: "pd.DataFrame", roles: Roles) -> Rows:
    """Take the columns of a table apart.

    Parameters
    ----------
    frame : pandas.DataFrame
    roles : Roles
        Of weights, exposure and offset also a number, for all rows, in place of a column's name.

    Returns
    -------
    Rows
        The features are the columns that have no role, in their order.
    """
    for option, name in roles.named().items():
        if name not in frame.columns and not (option in NUMBERS and _is_number(name)):
            raise UserError(f"--{option}: {no_column(name, list(frame.columns))}")
    for name in roles.drop:
        if name not in frame.columns:
            raise UserError(f"--drop: {no_column(name, list(frame.columns))}")
    used = list(roles.named().values())
    twice = [name for name in used if used.count(name) > 1 and name in frame.columns]
    if twice:
        raise UserError(f"Column {twice[0]!r} has two roles; each needs a column of its own.")
    features = [name for name in frame.columns if name not in {*used, *roles.drop}]
    return Rows(
        X=frame[features],
        y=None if roles.target is None else frame[roles.target],
        weights=_read_numbers(frame, roles.weights, "weights"),
        exposure=_read_numbers(frame, roles.exposure, "exposure"),
        offset=_read_numbers(frame, roles.offset, "offset"),
        groups=None if roles.groups is None else frame[roles.groups].to_numpy(),
    )


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _read_numbers(frame: "pd.DataFrame", name: str | None, option: str) -> FloatArray | None:
    """Return a column of finite numbers, or say which row of it holds none."""
    import pandas as pd

    if name is None:
        return None
    if name not in frame.columns:
        values = np.full(len(frame), float(name))
    else:
        values = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
    wrong = ~np.isfinite(values)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        value = shown(frame[name].iloc[row])
        raise UserError(
            f"--{option}: column {name!r} is {value} in row {row} (rows count from 0); it needs a "
            "finite number in every row."
        )
    low = {"weights": values < 0.0, "exposure": values <= 0.0}.get(option, wrong)
    if low.any():
        row = int(np.flatnonzero(low)[0])
        remedy = "weights are 0 or more" if option == "weights" else "exposures are positive"
        raise UserError(f"--{option}: {name!r} is {values[row]:g} in row {row}; {remedy}.")
    return values


def no_column(name: str, names: list[str]) -> str:
    """Say that there is no such column, and which look alike."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if near:
        return f"there is no column {name!r}; did you mean {' or '.join(map(repr, near))}?"
    more = "" if len(names) <= 8 else ", ..."
    return f"there is no column {name!r}; there are {', '.join(map(repr, names[:8]))}{more}."


def without_unknown(rows: Rows) -> tuple[Rows, int]:
    """Leave out the rows whose target is missing; return how many they were."""
    unknown = rows.y.isna().to_numpy()
    count = int(unknown.sum())
    return (rows.take(np.flatnonzero(~unknown)) if count else rows), count


def find_identifiers(X: "pd.DataFrame") -> list[str]:
    """Return the columns that look like names or numbers of the rows, not like features."""
    from pandas.api.types import is_integer_dtype, is_numeric_dtype

    if len(X) < ID_ROWS:
        return []
    found = []
    for name in X.columns:
        column = X[name]
        if is_integer_dtype(column.dtype) and not column.isna().any():
            numbered = bool((np.diff(column.to_numpy(np.int64)) == 1).all())
        else:
            numbered = not is_numeric_dtype(column.dtype) and column.nunique() == len(column)
        if numbered:
            found.append(str(name))
    return found
