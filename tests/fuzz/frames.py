"""Random frames: columns of every type, odd names, few rows, huge and tiny values."""

import datetime as dt
import math
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

NAMES = (
    "x", "age", "false",
    "select", "from", "TRUE", "and", "is missing", "a b", "it's", 'say "hi"', "back`tick",
    "😀", "日本", "<script>alert(1)</script>", "new\nline", "tab\t", "\\", "%s{x}", "-1", "1e5",
    " ", "", "(intercept)", "coefficient", "class", "rule", "None", "nan", "e\u0301",
    "; DROP TABLE t; --", "n" * 300,
)  # fmt: skip
LEVELS = (
    "a",
    "b",
    "it's",
    "",
    "true",
    "1",
    "nan",
    "None",
    "😀",
    "<b>",
    'q"',
    "a\nb",
    "`",
    "\\",
    "x" * 99,
)
EXTREMES = (1e300, -1e300, 1.7e308, -1.7e308, 1e-300, 5e-324, -5e-324, 0.0, -0.0, 1.0, -1.0, 1e15)
WIDTHS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@dataclass(frozen=True)
class Column:
    """Values of a column, None for missing, and the pandas type that they are dressed in.

    ``kind`` is what the model should read: "number", "level", "ordered", or "" if it refuses it.
    """

    values: list
    dtype: object
    kind: str
    unseen: tuple = ()
    flaw: str = ""

    def dress(self, values=None):
        """A series of these values, or of others, of the column's type."""
        values = self.values if values is None else values
        dtype = self.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            extra = [v for v in dict.fromkeys(values) if v is not None]
            more = [v for v in extra if v not in dtype.categories]
            dtype = pd.CategoricalDtype([*dtype.categories, *more], dtype.ordered)
        if dtype == "bool" and None in values:
            dtype = "object"
        if isinstance(dtype, str) and dtype in WIDTHS and None in values:
            dtype = "float64"
        if isinstance(dtype, str) and dtype.startswith("float"):
            values = [math.nan if value is None else value for value in values]
        with np.errstate(over="ignore"):
            return pd.Series(values, dtype=dtype)


def pick(rng, options, p=None):
    return options[rng.choice(len(options), p=p)]


def gaps(rng, values):
    """Some values missing, sometimes."""
    share = pick(rng, (0.0, 0.0, 0.2, 0.7))
    return [None if rng.random() < share else value for value in values]


# ----------------------------------------------------------------------------------- columns


def draw_ints(rng, n):
    width = pick(rng, WIDTHS)
    info = np.iinfo(width)
    if rng.random() < 0.3:
        pool = [info.min, info.max, 0, 1]
        return Column([int(pick(rng, pool)) for _ in range(n)], width, "number")
    low, high = pick(rng, ((0, 3), (0, 100), (max(info.min, -50), 50)))
    return Column(rng.integers(low, high + 1, n).tolist(), width, "number")


def draw_floats(rng, n):
    dtype = pick(rng, ("float16", "float32", "float64", "float64"))
    size = 1.0 if dtype == "float16" else pick(rng, (1.0, 1.0, 1e-8, 1e8))
    values = rng.normal(0.0, size, n)
    if rng.random() < 0.4:
        values = np.round(values / size, 1)
    return Column(gaps(rng, values.tolist()), dtype, "number")


def draw_extremes(rng, n):
    pool = [pick(rng, EXTREMES) for _ in range(rng.integers(2, 6))]
    if rng.random() < 0.3:
        pool += [math.inf, -math.inf]
    if rng.random() < 0.3:
        pool += [math.nextafter(pool[0], 0.0)]
    return Column(gaps(rng, [pick(rng, pool) for _ in range(n)]), "float64", "number")


def draw_bools(rng, n):
    values = (rng.random(n) < 0.4).tolist()
    dtype = pick(rng, ("bool", "object", "boolean"))
    values = values if dtype == "bool" else gaps(rng, values)
    kind = "level" if dtype != "object" or any(v is not None for v in values) else "number"
    return Column(values, dtype, kind)


def draw_nullable(rng, n):
    dtype = pick(rng, ("Int8", "Int64", "UInt32", "Float32", "Float64", "double[pyarrow]"))
    if "loat" in dtype or "double" in dtype:
        return Column(gaps(rng, rng.normal(size=n).tolist()), dtype, "number")
    return Column(gaps(rng, rng.integers(0, 30, n).tolist()), dtype, "number")


def draw_strings(rng, n):
    pool = list(rng.permutation(np.array(LEVELS, dtype=object))[: rng.integers(1, 9)])
    if rng.random() < 0.1:
        pool = [f"level {k}" for k in range(n)]
    dtype = pick(rng, ("object", "object", "string", "string[pyarrow]", "category"))
    values = gaps(rng, [str(pick(rng, pool)) for _ in range(n)]) if pool else []
    if dtype == "category":
        dtype = pd.CategoricalDtype(sorted(set(pool)), ordered=False)
    empty = dtype == "object" and all(value is None for value in values)
    unseen = () if empty else ("unseen", "it`s 'new'")
    return Column(values, dtype, "number" if empty else "level", unseen)


def draw_categories(rng, n):
    pools = (list("abcd"), [3, 1, 2], [0.5, 1.5, 2.0], ["b", "a", "unused"], [True, False])
    pool = pick(rng, pools)
    ordered = bool(rng.random() < 0.6)
    values = gaps(rng, [pick(rng, pool[:-1] if len(pool) > 2 else pool) for _ in range(n)])
    unseen = {str: ("unseen",), bool: ()}.get(type(pool[0]), (99,))
    return Column(
        values, pd.CategoricalDtype(pool, ordered), "ordered" if ordered else "level", unseen
    )


def draw_constant(rng, n):
    value, dtype, kind = pick(
        rng,
        (
            (1.0, "float64", "number"),
            (0, "int64", "number"),
            ("a", "object", "level"),
            (True, "bool", "level"),
            (1e300, "float64", "number"),
            (None, "float64", "number"),
            (None, "object", "number"),
            (None, "Int64", "number"),
        ),
    )
    return Column([value] * n, dtype, kind)


def draw_objects(rng, n):
    """Objects that are numbers: ints beyond 64 bits, decimals, booleans among numbers."""
    pool = pick(
        rng, ((1, 2.5, 3), (Decimal("1.1"), Decimal(2)), (2**70, -(2**70), 5), (True, 2, 0))
    )
    values = gaps(rng, [pick(rng, pool) for _ in range(n)])
    if all(isinstance(value, bool) for value in values if value is not None):
        values = [None if value is None else int(value) + 1 for value in values]
    return Column(values, "object", "number")


def draw_refused(rng, n):
    """Types that the model refuses by an error that names the column."""
    pool, dtype = pick(
        rng,
        (
            ((dt.datetime(2020, 1, 1), dt.datetime(2021, 5, 5)), "datetime64[ns]"),
            ((dt.timedelta(1), dt.timedelta(2)), "timedelta64[ns]"),
            ((dt.date(2020, 1, 1),), "object"),
            ((1 + 2j, 3j), "complex128"),
            (("a", 1, 2.5), "object"),
            (([1], [2, 3]), "object"),
            ((b"bytes",), "object"),
        ),
    )
    values = [pool[k % len(pool)] for k in range(n)]
    mixed_alone = pool == ("a", 1, 2.5) and n < 2
    flaw = "" if mixed_alone or n == 0 else "type"
    return Column(values, dtype, "level" if mixed_alone else "", flaw=flaw)


DRAWS = (
    draw_ints, draw_floats, draw_floats, draw_extremes, draw_bools, draw_nullable, draw_strings,
    draw_strings, draw_categories, draw_constant, draw_objects,
)  # fmt: skip


# ------------------------------------------------------------------------------------ frames


@dataclass
class Frame:
    """Columns with names, and the library that they come in."""

    names: list
    columns: list
    library: str
    n_rows: int
    flaws: set = field(default_factory=set)

    def build(self):
        """The rows to fit to."""
        return convert(self.pandas(), self.library)

    def pandas(self, columns=None):
        columns = columns or [column.dress() for column in self.columns]
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(self.n_rows))
        frame.columns = pd.Index(self.names, dtype=object)
        return frame

    def kinds(self):
        """What the model should read each column as, by its name in the model."""
        names = self.model_names()
        return {name: column.kind for name, column in zip(names, self.columns, strict=True)}

    def model_names(self):
        if self.library in ("numpy", "list"):
            return [f"x{k}" for k in range(len(self.names))]
        return [str(name) for name in self.names]

    def new_rows(self, rng, n=25):
        """Rows like those of the fit, some values missing, some levels unseen."""
        columns = []
        for column in self.columns:
            pool = [*column.values, None, *column.unseen]
            values = [pool[k] for k in rng.integers(0, len(pool), n)]
            columns.append(column.dress(values))
        rows = convert(self.pandas(columns), self.library)
        if self.library == "polars":
            rows.columns = list(self.names)
        return rows


def draw_frame(rng):
    n = int(pick(rng, (0, 1, 2, 3, 7, 20, 40, 80, 200), (*[0.02] * 4, 0.1, 0.2, 0.32, 0.2, 0.1)))
    p = int(pick(rng, (0, 1, 2, 3, 5, 8, 30), (0.01, 0.14, 0.2, 0.25, 0.25, 0.11, 0.04)))
    columns = [pick(rng, DRAWS)(rng, n) for _ in range(p)]
    if p and rng.random() < 0.04:
        columns[-1] = draw_refused(rng, n)
    if p > 1 and rng.random() < 0.15:
        columns[-1] = columns[0]
    names = draw_names(rng, p)
    frame = Frame(names, columns, "pandas", n)
    if rng.random() < 0.03 and p > 1:
        names[1] = names[0]
        frame.flaws.add("duplicates")
    elif rng.random() < 0.4:
        choose_library(rng, frame)
    elif rng.random() < 0.1:
        frame.names = list(range(p))  # names that are no strings
    frame.flaws |= {column.flaw for column in frame.columns if column.flaw}
    frame.flaws |= {"no rows"} if n == 0 else set()
    frame.flaws |= {"no columns"} if p == 0 else set()
    return frame


def draw_names(rng, p):
    if rng.random() < 0.5:
        return [f"c{k}" for k in range(p)]
    names = list(rng.permutation(np.array(NAMES, dtype=object))[:p])
    return [str(name) for name in names[:p]]


def choose_library(rng, frame):
    """Another library, if it takes these columns and keeps what they are."""
    library = pick(rng, ("polars", "pyarrow", "numpy", "list"))
    if library in ("numpy", "list"):
        plain = [k for k, column in enumerate(frame.columns) if is_plain(column)]
        frame.names = [frame.names[k] for k in plain]
        frame.columns = [frame.columns[k] for k in plain]
        if not plain or frame.n_rows == 0:
            frame.flaws.add("no columns")
    else:
        try:
            converted = convert(frame.pandas(), library)
        except (TypeError, ValueError, OverflowError, pa.ArrowException, pl.exceptions.PolarsError):
            return
        frame.columns = [as_kept(column, library) for column in frame.columns]
        names = converted.columns if library == "polars" else converted.column_names
        frame.names = list(names)  # polars names a single column without a name
    frame.library = library


def is_plain(column):
    """Whether an array of objects reads it as the frame does."""
    return not column.flaw and column.kind == "number" and column.dtype != "object"


def as_kept(column, library):
    """The column as another library has it; categories of polars are text and have no order."""
    if library != "polars" or column.dtype != "category":
        return column
    floats = any(isinstance(value, float) for value in column.values)
    return Column(column.values, column.dtype, "number" if floats else "level", column.unseen)


def convert(frame, library):
    if library == "polars":
        return pl.from_pandas(frame)
    if library == "pyarrow":
        return pa.Table.from_pandas(frame, preserve_index=False)
    if library == "numpy":
        return frame.astype(float).to_numpy()
    if library == "list":
        return frame.astype(float).to_numpy().tolist()
    return frame
