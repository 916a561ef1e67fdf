"""``ruleglm fit`` and ``ruleglm path``: learn models from rows."""

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ruleglm.cli import options as opt
from ruleglm.cli.errors import UserError
from ruleglm.cli.files import STDOUT, check_outputs, check_table_name, write_file, write_frame
from ruleglm.cli.guess import Guess
from ruleglm.cli.models import SavedModel, open_model
from ruleglm.cli.reporting import report_fit
from ruleglm.cli.roles import Roles, Rows
from ruleglm.cli.shell import Screen, command, interrupted
from ruleglm.cli.training import (
    FitOptions,
    Fitted,
    check_options,
    choose_family,
    describe_fit,
    fit_rows,
    hold_out,
    read_rows,
    remark_identifiers,
)
from ruleglm.cli.view import count, path_table, show_model

NOT_KEPT = "The model is not kept: --out model.json writes it to a file."


@command
def fit(
    data: opt.Source,
    target: opt.Target,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    groups: opt.Groups = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    out_of_core: opt.OutOfCore = None,
    test: opt.TestFile = None,
    test_share: opt.TestShare = None,
    family: opt.Family = None,
    power: opt.Power = None,
    alpha: opt.Alpha = None,
    penalty: opt.Penalty = None,
    lambda_0: opt.Lambda0 = None,
    max_complexity: opt.MaxComplexity = None,
    max_rules: opt.MaxRules = None,
    max_degree: opt.MaxDegree = None,
    lines: opt.Lines = True,
    include: opt.Include = None,
    exclude: opt.Exclude = None,
    increasing: opt.Increasing = None,
    decreasing: opt.Decreasing = None,
    select: opt.Select = None,
    cv: opt.Folds = 5,
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = 1,
    seed: opt.Seed = 0,
    out: opt.ModelOut = None,
    report: opt.ReportOut = None,
    path: opt.PathOut = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
) -> None:
    """Learn a model from rows, show it, and write it to a file.

    Example: ruleglm fit loans.csv --target default --test-share 0.2 --out model.json
    """
    options = FitOptions(
        family=family,
        power=power,
        alpha=alpha,
        penalty=penalty,
        lambda_0=lambda_0,
        max_complexity=max_complexity,
        max_rules=max_rules,
        max_degree=max_degree,
        lines=lines,
        select=select,
        cv=cv,
        categorical=tuple(categorical or ()),
        include=tuple(include or ()),
        exclude=tuple(exclude or ()),
        increasing=tuple(increasing or ()),
        decreasing=tuple(decreasing or ()),
        time_limit=time_limit,
        jobs=jobs,
        seed=seed,
    )
    check_options(options)
    check_split(test, test_share)
    if path is not None and not options.folds:
        raise typer.BadParameter("--path is the table of all models, which needs --cv.")
    check_outputs([out, report, path], force)
    check_table_name(path)
    screen = Screen(as_json)
    roles = Roles(target, weights, exposure, offset, groups, tuple(drop or ()))
    started = time.perf_counter()
    rows, guess = read_fit(data, roles, options, out_of_core)
    rows, held_out = split_test(rows, guess, roles, test, test_share, seed)
    fitted = fit_rows(rows, guess, options, verbose=sys.stderr.isatty())
    model = describe_fit(fitted, roles, options, held_out)
    show_fit(screen, model, fitted, time.perf_counter() - started)
    written = write_outputs(model, fitted, out, path)
    if report is not None:
        report_fit(fitted, held_out, report)
        written.append(f"a page to explore all models to {report}")
    screen.show(f"Wrote {', '.join(written)}." if written else NOT_KEPT)
    screen.finish(model.document())
    if fitted.interrupted:
        raise interrupted()


@command
def path(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA|MODEL",
            help="Rows to fit a path to, or the .json file of a model that has one.",
            show_default=False,
        ),
    ],
    target: opt.PathTarget = None,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    groups: opt.Groups = None,
    drop: opt.Drop = None,
    categorical: opt.Categorical = None,
    family: opt.Family = None,
    penalty: opt.Penalty = None,
    max_complexity: opt.MaxComplexity = None,
    max_degree: opt.MaxDegree = None,
    lines: opt.Lines = True,
    cv: opt.PathFolds = 5,
    time_limit: opt.TimeLimit = None,
    jobs: opt.Jobs = 1,
    seed: opt.Seed = 0,
    every: Annotated[
        bool, typer.Option("--all", help="Models that simpler ones beat too.")
    ] = False,
    out: opt.TableOut = None,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
) -> None:
    """Show how loss falls as complexity grows: the models of a path.

    Example: ruleglm path loans.csv --target default --max-complexity 60
    """
    check_outputs([out], force)
    check_table_name(out)
    screen = Screen(as_json)
    if target is None:
        models = saved_path(data)
    else:
        options = FitOptions(
            family=family,
            penalty=penalty,
            max_complexity=max_complexity,
            max_degree=max_degree,
            lines=lines,
            cv=cv,
            categorical=tuple(categorical or ()),
            time_limit=time_limit,
            jobs=jobs,
            seed=seed,
        )
        roles = Roles(target, weights, exposure, offset, groups, tuple(drop or ()))
        rows, guess = read_fit(data, roles, options)
        models = fit_rows(rows, guess, options, verbose=sys.stderr.isatty()).path()
    if out is not None:
        write_records(models, out)
    if out != STDOUT:
        screen.show(path_table(models, every), path_note(models, every))
    if out not in (None, STDOUT):
        screen.show(f"Wrote {out}.")
    screen.finish({"path": models})


# ------------------------------------------------------------------------------------------- steps


def check_split(test: str | None, share: float | None) -> None:
    """Refuse test rows that are given twice or as no share."""
    if test is not None and share is not None:
        raise typer.BadParameter("--test and --test-share both give test rows; leave one out.")
    if share is not None and not 0 < share < 1:
        raise typer.BadParameter("--test-share is between 0 and 1, for example 0.2.")


def read_fit(
    data: str, roles: Roles, options: FitOptions, out_of_core: bool | None = None
) -> tuple[Rows, Guess]:
    """Read the rows of a fit and find their family."""
    rows = read_rows(data, roles, out_of_core=out_of_core)
    guess = choose_family(options, roles, rows)
    remark_identifiers(rows)
    return rows, guess


def split_test(
    rows: Rows, guess: Guess, roles: Roles, test: str | None, share: float | None, seed: int
) -> tuple[Rows, Rows | None]:
    """Return the rows to learn from and those to test on, if any."""
    if test is not None:
        return rows, read_rows(test, roles, rows.texts())
    return (rows, None) if share is None else hold_out(rows, share, guess.classifier, seed)


def saved_path(name: str) -> list[dict[str, Any]]:
    """Return the path that a model's file holds."""
    if not name.endswith(".json"):
        raise typer.BadParameter("Say which column to predict: --target NAME.")
    models = open_model(Path(name)).fit.get("path")
    if not models:
        raise UserError(f"{name}: a model without a path; 'ruleglm fit --cv 5' makes one.")
    return list(models)


# ------------------------------------------------------------------------------------------ output


def show_fit(screen: Screen, model: SavedModel, fitted: Fitted, seconds: float) -> None:
    """Show a fitted model and how long the fit took."""
    show_model(screen, model)
    screen.show(f"Fitted to {count(len(fitted.rows), 'row')} in {seconds:.1f} s.")


def path_note(models: list[dict[str, Any]], every: bool) -> str:
    """Say what a table of models leaves out, and what its losses are."""
    hidden = sum(not (row["efficient"] or row["chosen"]) for row in models)
    loss = "Losses are half the mean deviance of a row."
    if every or hidden == 0:
        return loss
    return f"{count(hidden, 'model')} that simpler ones beat not shown (--all). {loss}"


def write_outputs(
    model: SavedModel, fitted: Fitted, out: Path | None, path: Path | None
) -> list[str]:
    """Write what is asked for; return what to say of it."""
    written = []
    if out is not None:
        write_file(model.text() + "\n", out)
        written.append(f"the model to {out}")
    if path is not None:
        write_records(fitted.path(), path)
        written.append(f"the table of all models to {path}")
    return written


def write_records(records: list[dict[str, Any]], path: Path) -> None:
    """Write the models of a path as a table."""
    import pandas as pd

    write_frame(pd.DataFrame(records), path)
