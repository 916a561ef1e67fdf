"""``ruleglm report``, and the report of a fit: a page to explore models in."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ruleglm.cli import options as opt
from ruleglm.cli.files import check_outputs
from ruleglm.cli.models import SavedModel, open_model
from ruleglm.cli.roles import Rows, without_unknown
from ruleglm.cli.shell import Screen, command, remark
from ruleglm.cli.sources import read_source
from ruleglm.cli.training import Fitted
from ruleglm.cli.use import read_known

if TYPE_CHECKING:
    from ruleglm.refitting import Rows as TestRows
    from ruleglm.report import Subject

TITLE = typer.Option(metavar="TEXT", help="Headline of the page.", rich_help_panel=opt.OUTPUT)


@command
def report(
    model: opt.ModelFile,
    data: opt.Source,
    target: opt.KnownTarget = None,
    weights: opt.Weights = None,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    title: Annotated[str | None, TITLE] = None,
    out: opt.ReportFile = Path("report.html"),
    as_json: opt.AsJson = False,
    force: opt.Force = False,
) -> None:
    """Write a page to explore a saved model in; rows give it ranges, and scores if they can.

    The page of 'ruleglm fit --report' shows all models of the path, this one the saved model.
    """
    from ruleglm.report import write_report

    check_outputs([out], force)
    screen = Screen(as_json)
    saved = open_model(model)
    frame = read_source(data, saved.texts())
    roles = saved.roles(target=target, weights=weights, exposure=exposure, offset=offset)
    if target is None and roles.target is not None and roles.target not in frame.columns:
        remark(f"no column {roles.target!r}, so the page has no scores", "warning")
        roles = replace(roles, target=None)
    rows = read_known(saved, frame, roles)
    write_report(out, describe_saved(saved, rows), read_tests(saved, rows), title=title)
    screen.show(f"Wrote {out}; open it in a browser.")
    screen.finish({"report": str(out), "rows": len(rows)})


def describe_saved(saved: SavedModel, rows: Rows) -> "Subject":
    """Return what a page is about: one model, with the bins of the rows at hand."""
    from ruleglm.binning import build_binning
    from ruleglm.explain import measure_terms
    from ruleglm.report import Candidate, Subject

    ensemble, fit = saved.reading(), saved.fit
    spread = measure_terms(ensemble, rows.X, rows.weights)
    return Subject(
        candidates=(Candidate(ensemble, spread, str(saved.summary.get("certificate") or "")),),
        features=build_binning(ensemble.read(rows.X)).features,
        estimator=str(saved.summary.get("estimator") or ""),
        n_rows=int(fit.get("rows") or len(rows)),
        target=str(fit.get("columns", {}).get("target") or ""),
    )


def read_tests(saved: SavedModel, rows: Rows) -> "TestRows | None":
    """Return the rows that can be scored, None if their target is not known."""
    from ruleglm.refitting import Rows as TestRows

    if rows.y is None:
        return None
    known, n_unknown = without_unknown(rows)
    if n_unknown:
        remark(f"{n_unknown} rows without a target are not scored", "warning")
    return TestRows.read(
        saved.reading(), known.X, known.y, known.weights, known.offset, known.exposure
    )


def report_fit(fitted: Fitted, tests: Rows | None, path: Path) -> None:
    """Write the page of a fit: all models of its path, and their scores on test rows."""
    scored: dict[str, Any] = {}
    if tests is not None:
        scored = {"X_test": tests.X, "y_test": tests.y, "sample_weight": tests.weights}
        scored |= {"offset": tests.offset, "exposure": tests.exposure}
    fitted.estimator.report(path, **scored)
