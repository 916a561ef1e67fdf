"""``ruleglm explain``: why a row is predicted as it is."""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from ruleglm.cli import options as opt
from ruleglm.cli.errors import UserError
from ruleglm.cli.models import open_model
from ruleglm.cli.shell import Screen, command
from ruleglm.cli.sources import read_source
from ruleglm.cli.use import read_known, total_offset
from ruleglm.cli.view import Line, align_numbers, lines_table, number_text, signed, term_parts

if TYPE_CHECKING:
    from ruleglm.ensemble import RuleEnsemble
    from ruleglm.explain import Explanation


@command
def explain(
    model: opt.ModelFile,
    data: opt.Source,
    row: Annotated[
        list[int] | None,
        typer.Option(
            "--row", "-r", metavar="N", min=0, help="Row, the first is 0; may be repeated."
        ),
    ] = None,
    of_class: Annotated[
        str | None,
        typer.Option("--class", metavar="LABEL", help="One of several; default: the likeliest."),
    ] = None,
    exposure: opt.Exposure = None,
    offset: opt.Offset = None,
    as_json: opt.AsJson = False,
) -> None:
    """Explain predictions of single rows: what each rule adds, up to the prediction.

    Example: ruleglm explain model.json new.csv --row 0 --row 7
    """
    from ruleglm.explain import explain_row

    screen = Screen(as_json)
    saved = open_model(model)
    frame, ensemble = read_source(data, saved.texts()), saved.reading()
    rows = read_known(saved, frame, saved.roles(exposure=exposure, offset=offset))
    wanted = row or [0]
    if max(wanted) >= len(rows):
        raise UserError(f"--row {max(wanted)}: the rows are 0 to {len(rows) - 1}.")
    rows = rows.take(np.array(wanted))
    shifts = total_offset(ensemble, rows)
    documents = []
    for place, number in enumerate(wanted):
        one = rows.X.iloc[[place]]
        shift = 0.0 if shifts is None else float(shifts[place])
        label = find_label(ensemble, of_class, one, shift)
        told = explain_row(ensemble, one, offset=shift, class_=label)
        documents.append(describe(number, told))
        screen.show(f"Row {number}", explanation_text(told, ensemble, screen.width))
        screen.show(conclusion(told, ensemble), *([] if number == wanted[-1] else [""]))
    screen.finish({"rows": documents})


def find_label(ensemble: "RuleEnsemble", text: str | None, row: Any, offset: float) -> Any:
    """Return the class of several to explain: the one named, or the likeliest."""
    if not ensemble.family.output_shape:
        if text is not None:
            raise UserError("--class is for models of three classes and more.")
        return None
    if text is None:
        return ensemble.classes[int(ensemble.decision_function(row, offset)[0].argmax())]
    named = {str(label): label for label in ensemble.classes}
    if text not in named:
        raise UserError(f"--class: there is no class {text!r}; there are {', '.join(named)}.")
    return named[text]


def explanation_text(told: "Explanation", ensemble: "RuleEnsemble", width: int) -> Text:
    """Lay out the terms at work, what each adds and the prediction so far."""
    parts = dict(zip(ensemble.terms[1:], term_parts(ensemble), strict=True))
    terms = told.terms
    added = align_numbers(terms["contribution"].to_numpy(), "+")
    means = [mean_text(ensemble, mean) for mean in terms["mean"]]
    lines = []
    for k, (term, features) in enumerate(zip(terms["term"], terms["features"], strict=True)):
        values = [f"{name} is {value_text(told.values[name])}" for name in features]
        lines.append(Line(parts.get(term, (term,)), (added[k], means[k]), ", ".join(values)))
    return lines_table(["adds", "so far"], lines, width)


def conclusion(told: "Explanation", ensemble: "RuleEnsemble") -> str:
    """Say what the terms add up to."""
    return f"Sum {signed(told.eta)}, {told.what}: {mean_text(ensemble, told.mean)}"


def mean_text(ensemble: "RuleEnsemble", mean: float) -> str:
    """Write a prediction: a probability as a percentage."""
    share = ensemble.family.link in ("logit", "softmax")
    return f"{mean:.1%}" if share else number_text(mean)


def value_text(value: Any) -> str:
    """Write a value of a row."""
    if value is None:
        return "missing"
    return (
        repr(value)
        if isinstance(value, str)
        else f"{value:.6g}"
        if isinstance(value, float)
        else str(value)
    )


def describe(number: int, told: "Explanation") -> dict[str, Any]:
    """Return an explanation as JSON can hold it."""
    terms = told.terms.to_dict(orient="records")
    return {
        "row": number,
        "of": told.what,
        "prediction": told.mean,
        "sum": told.eta,
        "terms": terms,
        "values": told.values,
    }
