"""One case: drawn from its seed, fitted, and checked."""

import re
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import ruleglm
from tests.fuzz.checks import check_model
from tests.fuzz.frames import draw_frame, pick
from tests.fuzz.parameters import draw_model
from tests.fuzz.targets import FAMILIES, draw_target

OURS = str(Path(ruleglm.__file__).parent)
OTHERS = re.compile(
    r"sklearn/(utils/(validation|_param_validation|multiclass|class_weight)|model_selection/_split)"
)
"""Where errors may come from beside the package: scikit-learn's own checks."""


@dataclass
class Outcome:
    """What became of a case: "fit", "refused" with a kind, or "failed" with a text."""

    seed: int
    what: str
    detail: str = ""
    seconds: float = 0.0


class RefusedError(Exception):
    """A documented error."""


@dataclass
class Case:
    """Rows, a target and an estimator.

    ``flaws`` are reasons for which the fit may be refused.
    """

    seed: int
    frame: object
    target: object
    model: object
    flaws: set = field(default_factory=set)

    def describe(self):
        columns = ", ".join(
            f"{name!r}: {column.dtype}"
            for name, column in zip(self.frame.names, self.frame.columns, strict=True)
        )
        return (
            f"{self.model!r}\n  {self.frame.n_rows} rows as {self.frame.library}: {columns}\n"
            f"  target {self.target.family}, {self.target.classes} classes, given "
            f"{sorted(self.target.given)}, flaws {sorted(self.flaws)}"
        )


def draw_case(seed):
    rng = np.random.default_rng(seed)
    frame = draw_frame(rng)
    family = "classes" if rng.random() < 0.45 else pick(rng, FAMILIES)
    target = draw_target(rng, frame, family)
    model, flaws = draw_model(rng, frame, target)
    flaws |= frame.flaws | target.flaws | fold_flaws(model, frame, target)
    return Case(seed, frame, target, model, flaws), rng


def fold_flaws(model, frame, target):
    """Whether the rows may be too few for the folds."""
    folds = getattr(model, "cv", 0)
    weights = target.given.get("sample_weight")
    if not folds:
        return set()
    rows = frame.n_rows if weights is None else int(np.count_nonzero(weights))
    rarest = min(Counter(target.y).values(), default=0) if target.classes else rows
    return {"folds"} if min(rows, rarest) < 3 * folds else set()


def run_case(seed):
    """Run a case and say what became of it."""
    case = None
    try:
        case, rng = draw_case(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            run(case, rng)
    except RefusedError as refusal:
        return Outcome(seed, "refused", str(refusal))
    except Exception:
        drawn = "" if case is None else case.describe()
        return Outcome(seed, "failed", f"{drawn}\n{traceback.format_exc()}")
    return Outcome(seed, "fit")


def run(case, rng):
    X, given = case.frame.build(), case.target.given
    try:
        model = clone(case.model).fit(X, case.target.y, **given)
    except (ValueError, TypeError) as error:
        kind = documented(error)
        if kind is None or not case.flaws:
            raise
        raise RefusedError(kind) from error
    must = case.flaws & MUST_REFUSE
    assert not must, f"fitted in spite of {must}"
    check_model(case, model, X, rng)


MUST_REFUSE = {
    "no rows", "no columns", "duplicates", "type", "one class", "length", "unknown target",
    "negative weight", "no weight", "exposure", "huge target", "huge weights", "huge offset",
    "pricing", "levels of an order", "no level above",
}  # fmt: skip
"""Flaws that no fit may pass over."""


def documented(error):
    """The place that raised an error if it is one of ours and names something, else None."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = frame.filename.startswith(OURS)
    if not (ours or OTHERS.search(frame.filename)) or len(str(error)) < 20:
        return None
    module = Path(frame.filename).relative_to(OURS).as_posix() if ours else "scikit-learn"
    return f"{type(error).__name__} in {module}: {frame.name}"
