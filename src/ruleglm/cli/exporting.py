"""``ruleglm export``: a saved model in another language."""

from enum import StrEnum
from typing import Annotated

import typer

from ruleglm.cli import options as opt
from ruleglm.cli.files import STDOUT, check_outputs, write_file
from ruleglm.cli.models import open_model
from ruleglm.cli.shell import command, remark
from ruleglm.export import to_json, to_onnx, to_python, to_sql


class ExportName(StrEnum):
    """What a model can be written as."""

    sql = "sql"
    python = "python"
    onnx = "onnx"
    json = "json"


@command
def export(
    model: opt.ModelFile,
    to: Annotated[ExportName, typer.Option("--to", help="What to write.", show_default=False)],
    table: Annotated[
        str, typer.Option(metavar="NAME", help="sql: table to read, e.g. sales.orders.")
    ] = "t",
    dialect: Annotated[
        str,
        typer.Option(metavar="NAME", help="sql: duckdb, postgres, sqlite, snowflake, spark, ..."),
    ] = "duckdb",
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="sql: column to return too; may be repeated."),
    ] = None,
    out: opt.ExportOut = STDOUT,
    force: opt.Force = False,
) -> None:
    """Write a saved model as SQL, Python, ONNX or JSON, to standard output unless --out is given.

    Example: ruleglm export model.json --to sql --table loans --key id --out score.sql
    """
    if to == ExportName.onnx and out == STDOUT:
        raise typer.BadParameter("An ONNX graph is no text; name a file: --out model.onnx.")
    check_outputs([out], force)
    saved = open_model(model)
    columns = saved.fit.get("columns", {})
    if "exposure" in columns:
        remark(f"predictions are per unit of {columns['exposure']!r}: multiply them by it")
    offset = columns.get("offset")
    content: str | bytes
    if to == ExportName.sql:
        parts = table.split(".") if "." in table else table
        content = to_sql(saved.ensemble, parts, dialect, keys=key or [], offset=offset) + "\n"
    elif to == ExportName.onnx:
        content = to_onnx(saved.ensemble, offset=offset).SerializeToString()
    else:
        content = (to_python if to == ExportName.python else to_json)(saved.ensemble) + "\n"
        if offset is not None:
            remark(f"add {offset!r} to the linear predictor yourself", "warning")
    write_file(content, out)
