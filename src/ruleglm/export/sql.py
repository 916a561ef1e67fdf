"""A model as one SELECT: linear predictor and mean of every row of a table."""

from collections.abc import Sequence
from typing import Any

from ruleglm.export.source import get_ensemble

NAN_EQUALS_ITSELF = ("duckdb", "postgres", "redshift", "snowflake", "spark", "databricks")
NAN_HAS_A_FUNCTION = ("bigquery", "trino")
NO_NAN = ("sqlite",)

DIALECTS = (*NAN_EQUALS_ITSELF, *NAN_HAS_A_FUNCTION, *NO_NAN)


def to_sql(
    model: Any,
    table: str | Sequence[str] = "t",
    dialect: str = "duckdb",
    *,
    keys: Sequence[str] = (),
    offset: str | None = None,
) -> str:
    """Write a model as one SELECT.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
    table : str or sequence of str
        Name of the table; several parts are a schema and a table. Its columns are called as in
        training and have the same types: numbers, text, booleans (in SQLite 0 and 1). NULL and NaN
        are missing values.
    dialect : str
        "duckdb", "postgres" and "sqlite" are tested on their engines; "redshift", "snowflake",
        "spark", "databricks", "bigquery" and "trino" are written by the same rules.
    keys : sequence of str
        Columns of the table that come first in the result.
    offset : str, optional
        A column of the table that is added to the linear predictor.

    Returns
    -------
    str
        The result has the keys, ``linear_predictor`` and ``mean`` (of a classifier
        ``probability``, that of the second class). For several classes it has
        ``linear_predictor_x`` and ``probability_x`` for each label x. Before an exponential the
        linear predictor is cut at -700 and 700.
    """
    try:
        from ruleglm.export.sql_query import Query, has_line_breaks
    except ImportError as error:
        raise ImportError('to_sql needs sqlglot: pip install "ruleglm[sql]".') from error
    if dialect not in DIALECTS:
        raise ValueError(f"dialect={dialect!r} is not known; choose one of {', '.join(DIALECTS)}.")
    if isinstance(keys, str):
        raise TypeError(f"`keys` must be a list of columns; write [{keys!r}].")
    parts = (table,) if isinstance(table, str) else tuple(table)
    query = Query(get_ensemble(model), parts, dialect, tuple(keys), offset).build()
    # some versions of sqlglot would move a line break in a name or a level
    text: str = query.sql(dialect, pretty=not has_line_breaks(query), copy=False)
    return text
