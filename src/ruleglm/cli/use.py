"""``ruleglm show``, ``predict``, ``explain`` and ``evaluate``: what a saved model is for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ruleglm.cli import options as opt
from ruleglm.cli.errors import UserError
from ruleglm.cli.files import STDOUT, check_outputs, check_table_name, write_frame
from ruleglm.cli.large import open_large, read_frames
from ruleglm.cli.models import SavedModel, open_model
from ruleglm.cli.roles import Roles, Rows, no_column, split_roles, without_unknown
from ruleglm.cli.scores import score_rows
from ruleglm.cli.shell import Screen, command, remark
from ruleglm.cli.sources import read_source
from ruleglm.cli.view import count, scores_table, show_model
from ruleglm.dtypes import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from ruleglm.ensemble import RuleEnsemble


@command
def show(model: opt.ModelFile, as_json: opt.AsJson = False) -> None:
    """Show a saved model: its rules, most important first, and how good it was."""
    saved = open_model(model)
    screen = Screen(as_json)
    show_model(screen, saved)
    screen.finish(saved.document())


@command
def predict(
    model: opt.ModelFile,
    data: opt.Source,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="Column of DATA to write too; may be repeated."),
    ] = None,
    out_of_core: opt.OutOfCore = None,
    out: opt.PredictionOut = STDOUT,
    as_json: opt.AsJson = False,
    force: opt.Force = False,
) -> None:
    """Predict rows: a table of predictions, to standard output unless --out names a file.

    Example: ruleglm predict model.json new.csv --keep id --out predictions.csv
    """
    import pandas as pd

    check_outputs([out], force)
    check_table_name(out)
    screen = Screen(as_json)
    saved = open_model(model)
    roles, kept = saved.roles(exposure=exposure, offset=offset), keep or []
    files = open_large(data, out_of_core)
    if files is None:
        predicted = predict_frame(saved, read_source(data, saved.texts()), roles, kept)
    else:
        predict_frame(saved, files.header(), roles, kept)  # are the columns there?
        wanted = {*saved.reading().names, *roles.named().values(), *kept}
        names = [name for name in files.names if name in wanted]
        parts = (predict_frame(saved, one, roles, kept) for one in read_frames(files, names))
        predicted = pd.concat(parts, ignore_index=True)
    if not (as_json and out == STDOUT):
        write_frame(predicted, out)
    screen.finish({"rows": len(predicted), "predictions": predicted.to_dict(orient="list")})


@command
def evaluate(
    model: opt.ModelFile,
    data: opt.Source,
    target: opt.KnownTarget = None,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    as_json: opt.AsJson = False,
) -> None:
    """Score a saved model on rows whose target is known.

    Classes: log-loss, Brier score, AUC, accuracy, calibration error. Numbers: R2, RMSE, deviance.
    """
    screen = Screen(as_json)
    saved = open_model(model)
    roles = saved.roles(target=target, weights=weights, exposure=exposure, offset=offset)
    if roles.target is None:
        raise typer.BadParameter("Say which column to compare with: --target NAME.")
    rows, n_unknown = without_unknown(read_known(saved, read_source(data, saved.texts()), roles))
    if n_unknown:
        remark(f"{count(n_unknown, 'row')} without a target are left out", "warning")
    if len(rows) == 0:
        raise UserError(f"target {roles.target!r} is missing in every row.")
    scores = score_rows(saved.reading(), rows)
    screen.show(f"{count(len(rows), 'row')}, target {roles.target!r}", scores_table(scores))
    screen.finish({"rows": len(rows), "target": roles.target, "scores": scores})


# ------------------------------------------------------------------------------------------- steps


def read_known(saved: SavedModel, frame: "pd.DataFrame", roles: Roles) -> Rows:
    """Take the columns of a table apart as they were in the fit; the model's have to be there."""
    for name in saved.reading().names:
        if name not in frame.columns:
            lacking = no_column(name, list(frame.columns))
            raise UserError(f"The model needs columns that the rows lack: {lacking}")
    known = saved.fit.get("columns", {})
    for option, name in roles.named().items():
        if name not in frame.columns and known.get(option) == name and option != "target":
            raise UserError(
                f"The model was fitted with --{option} {name!r}, which the rows lack; "
                f"--{option} names another column, or a number for all rows."
            )
    return split_roles(frame, roles)


def predict_frame(
    saved: SavedModel, frame: "pd.DataFrame", roles: Roles, keep: Sequence[str]
) -> "pd.DataFrame":
    """Return the predictions of rows, after the columns to keep."""
    rows = read_known(saved, frame, roles)
    for name in keep:
        if name not in frame.columns:
            raise UserError(f"--keep: {no_column(name, list(frame.columns))}")
    predicted = predict_rows(saved.reading(), rows) if len(frame) else frame[[]].copy()
    for name in reversed(keep):
        if name in predicted.columns:
            raise UserError(f"--keep: the column {name!r} has the name of a prediction.")
        predicted.insert(0, name, frame[name].to_numpy())
    return predicted


def total_offset(ensemble: "RuleEnsemble", rows: Rows) -> FloatArray | None:
    """Return what is added to the linear predictors of rows."""
    from ruleglm.checks import check_offset

    return check_offset(rows.offset, rows.exposure, ensemble.family, len(rows))


def predict_rows(ensemble: "RuleEnsemble", rows: Rows) -> "pd.DataFrame":
    """Return the predictions: for classes the likeliest and the probability of each."""
    import pandas as pd

    mean = ensemble.family.mean
    eta = ensemble.decision_function(rows.X, total_offset(ensemble, rows))
    if not ensemble.classes:
        return pd.DataFrame({"prediction": mean(eta)})
    if eta.ndim == 1:
        shares, likeliest = np.column_stack([mean(-eta), mean(eta)]), (eta > 0).astype(np.int64)
    else:
        shares, likeliest = mean(eta), eta.argmax(axis=1)
    labels = [ensemble.classes[k] for k in likeliest]
    columns = {f"probability of {label}": shares[:, k] for k, label in enumerate(ensemble.classes)}
    return pd.DataFrame({"prediction": labels, **columns})
