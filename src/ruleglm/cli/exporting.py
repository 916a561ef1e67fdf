"""``ruleglm export``: a saved model in another language."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruleglm.cli import options as opt
from ruleglm.cli.errors import UserError
from ruleglm.cli.files import STDOUT, check_outputs, write_file
from ruleglm.cli.models import SavedModel, open_model
from ruleglm.cli.roles import without_unknown
from ruleglm.cli.shell import command, remark
from ruleglm.cli.sources import read_source
from ruleglm.cli.use import read_known

if TYPE_CHECKING:
    from ruleglm.export import Scorecard


class ExportName(StrEnum):
    """What a model can be written as."""

    sql = "sql"
    python = "python"
    onnx = "onnx"
    scorecard = "scorecard"
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
    max_points: Annotated[
        int | None, typer.Option(metavar="N", help="scorecard: most points of a rule.", min=1)
    ] = None,
    pdo: Annotated[
        float | None, typer.Option(metavar="X", help="scorecard: points that double the odds.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="scorecard: rows to compare it on.")
    ] = None,
    out: opt.ExportOut = STDOUT,
    force: opt.Force = False,
) -> None:
    """Write a saved model in another language, to standard output unless --out is given.

    A scorecard is Markdown or HTML if --out ends with .md or .html. Example: ruleglm export
    model.json --to sql --table loans --key id --out score.sql
    """
    from ruleglm.export import to_json, to_onnx, to_python, to_sql

    if to == ExportName.onnx and out == STDOUT:
        raise typer.BadParameter("An ONNX graph is no text; name a file: --out model.onnx.")
    check_outputs([out], force)
    saved = open_model(model)
    columns = saved.fit.get("columns", {})
    if "exposure" in columns:
        remark(f"predictions are per unit of {columns['exposure']!r}: multiply them by it")
    offset = columns.get("offset")
    content: str | bytes
    match to:
        case ExportName.sql:
            parts = table.split(".") if "." in table else table
            content = to_sql(saved.ensemble, parts, dialect, keys=key or [], offset=offset) + "\n"
        case ExportName.onnx:
            content = to_onnx(saved.ensemble, offset=offset).SerializeToString()
        case ExportName.scorecard:
            content = write_card(make_card(saved, max_points, pdo, data), out) + "\n"
        case ExportName.python:
            content = to_python(saved.ensemble) + "\n"
        case ExportName.json:
            content = to_json(saved.ensemble) + "\n"
    if offset is not None and to not in (ExportName.sql, ExportName.onnx):
        remark(f"add {offset!r} to the linear predictor yourself", "warning")
    write_file(content, out)


def make_card(
    saved: SavedModel, max_points: int | None, pdo: float | None, data: str | None
) -> "Scorecard":
    """Round a model to points; rows whose target is known tell what that costs."""
    from ruleglm.export import to_scorecard

    ensemble = saved.reading()
    if data is None:
        return to_scorecard(ensemble, max_points=max_points, pdo=pdo)
    roles = saved.roles(target=None, weights=None)
    if roles.target is None:
        raise UserError("The model does not say what its target is; leave out --data.")
    rows, _ = without_unknown(read_known(saved, read_source(data, saved.texts()), roles))
    return to_scorecard(
        ensemble, max_points=max_points, pdo=pdo, X=rows.X, y=rows.y, sample_weight=rows.weights
    )


def write_card(card: "Scorecard", out: Path) -> str:
    """Write a scorecard in the format of a file's name, as text for others."""
    if out.suffix == ".md":
        return card.to_markdown()
    return card.to_html() if out.suffix == ".html" else str(card)
