"""A model as a scorecard: whole points for each rule, and what a total of points means.

A scorecard is a model itself: its coefficients are points divided by `factor`, so that it predicts
and is exported as any other.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ruleglm.checks import check_row_vector, check_weights
from ruleglm.conditions import Condition, Levels, Missing, Range
from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.export.scorecard_text import write_html, write_markdown, write_text
from ruleglm.export.source import get_ensemble
from ruleglm.frames import Column, Level, LevelColumn, NumberColumn
from ruleglm.rules import LinearTerm, Rule

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_MAX_POINTS = 10

MOST_TOTALS = 25
"""Lines in the table of totals; with more of them it shows every second, fifth, tenth and so on."""


@dataclass(frozen=True, eq=False)
class Scorecard:
    """Whole points for rules, and the prediction that belongs to each total.

    Attributes
    ----------
    rules : tuple of Rule
        Those that get points.
    points : ndarray of shape (n_rules,), int64
        What each adds to the total where it holds; never 0.
    start : int
        Points of a row on which no rule holds.
    factor : float
        Points for one unit of the linear predictor.
    ensemble : RuleEnsemble
        The same as a model: its coefficients are ``points / factor``.
    left_out : tuple of str
        Terms of the model that are worth less than half a point.
    accuracy : dict of str to (float, float)
        Measures of the model and of the scorecard on the rows given; empty if none were.
    limits : tuple of int
        Between which all totals lie.
    observed : tuple of int, or None
        Least and most points of the rows given.
    """

    rules: tuple[Rule, ...]
    points: IntArray
    start: int
    factor: float
    ensemble: RuleEnsemble
    left_out: tuple[str, ...]
    accuracy: dict[str, tuple[float, float]]
    limits: tuple[int, int]
    observed: tuple[int, int] | None = None

    def score(self, X: Any) -> IntArray:
        """Return the total points of each row."""
        table = self.ensemble.read(X)
        total = np.full(table.n_rows, self.start, dtype=np.int64)
        for rule, points in zip(self.rules, self.points, strict=True):
            total += points * rule.holds(table)
        return total

    def predict(self, X: Any) -> FloatArray:
        """Return the mean that belongs to the points of each row."""
        return self.mean_of(self.score(X))

    def mean_of(self, total: Any) -> FloatArray:
        """Return the mean that belongs to a total of points."""
        away = np.asarray(total, dtype=np.float64) - self.start
        return self.ensemble.family.mean(self.ensemble.intercept + away / self.factor)

    @property
    def mean_name(self) -> str:
        """What the points tell: the probability of a class, or the mean."""
        if self.ensemble.classes:
            return f"probability of {self.ensemble.classes[1]}"
        return "probability" if self.ensemble.family.link == "logit" else "mean"

    def table(self) -> "pd.DataFrame":
        """Return the rules with their points, most points first, as a data frame."""
        import pandas as pd

        order = np.argsort(-np.abs(self.points), kind="stable")
        texts = [self.rules[k].text() for k in order]
        return pd.DataFrame({"rule": texts, "points": self.points[order]})

    def totals(self) -> "pd.DataFrame":
        """Return totals of points and what they mean, at most 25 of them, as a data frame.

        They are those of the rows given to `to_scorecard`, or all that are possible.
        """
        import pandas as pd

        lowest, highest = self.observed or self.limits
        step = _choose_step(highest - lowest)
        totals = np.arange(math.ceil(lowest / step) * step, highest + 1, step)
        return pd.DataFrame({"points": totals, self.mean_name: self.mean_of(totals)})

    def __str__(self) -> str:
        return write_text(self)

    def to_markdown(self) -> str:
        """Write the card as Markdown tables."""
        return write_markdown(self)

    def to_html(self) -> str:
        """Write the card as HTML tables, to be put into a page."""
        return write_html(self)

    def _repr_html_(self) -> str:
        return self.to_html()


def _choose_step(width: int) -> int:
    """Return 1, 2, 5, 10, 20 and so on, so that not too many steps make up the width."""
    decade = 1
    while True:
        for step in (decade, 2 * decade, 5 * decade):
            if width / step < MOST_TOTALS:
                return step
        decade *= 10


def to_scorecard(
    model: Any,
    *,
    max_points: int | None = None,
    pdo: float | None = None,
    base_points: int = 0,
    base_odds: float = 1.0,
    line_steps: int = 10,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
) -> Scorecard:
    """Round a model to whole points.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
        For two classes or a fraction (logit link), or with a log link.
    max_points : int, optional
        The most points that a term can get; 10 if `pdo` is not given either. A row on which no rule
        holds then has 0 points.
    pdo : float, optional
        Points that double the odds (with a log link the mean), as credit scores have them.
    base_points : int
        With `pdo`: the total at which the odds are `base_odds`.
    base_odds : float
        With `pdo`: odds of the second class, or with a log link the mean, at `base_points`.
    line_steps : int
        The most steps that a linear term is turned into; a step is worth a point at least.
    X, y, sample_weight : rows, optional
        On which the scorecard is compared with the model; best rows that were not trained on.

    Returns
    -------
    Scorecard
        Prints as a table of at most 80 columns; ``to_markdown()``, ``to_html()``.
    """
    ensemble = get_ensemble(model)
    _check_request(ensemble, pdo, base_points, base_odds, line_steps)
    if (X is None) != (y is None):
        raise ValueError("Give both `X` and `y` to compare the scorecard with the model.")
    factor = _find_factor(ensemble, max_points, pdo)
    stepped, origins = _replace_lines(ensemble, factor, line_steps)
    anchor = stepped.intercept if pdo is None else math.log(base_odds)
    start = round(base_points + factor * (stepped.intercept - anchor))
    points = np.rint(factor * stepped.coefficients).astype(np.int64)
    kept = np.flatnonzero(points)
    lowest, highest = _find_limits(stepped, points)
    used = {origins[k] for k in kept}
    card = Scorecard(
        rules=tuple(stepped.rules[k] for k in kept),
        points=points[kept],
        start=start,
        factor=factor,
        ensemble=replace(
            stepped,
            intercept=anchor + (start - base_points) / factor,
            rules=tuple(stepped.rules[k] for k in kept),
            coefficients=points[kept] / factor,
        ),
        left_out=tuple(dict.fromkeys(text for text in origins if text not in used)),
        accuracy={},
        limits=(start + lowest, start + highest),
    )
    return card if X is None else _compare(ensemble, card, X, y, sample_weight)


def _check_request(
    ensemble: RuleEnsemble,
    pdo: float | None,
    base_points: int,
    base_odds: float,
    line_steps: int,
) -> None:
    """Refuse models without odds or ratios, and a scale that makes no sense."""
    if ensemble.family.link not in ("logit", "log"):
        raise ValueError(
            f"A scorecard needs two classes or a log link; this is a {ensemble.family.name} model "
            f"with {ensemble.family.link} link."
        )
    if pdo is None and (base_points, base_odds) != (0, 1.0):
        raise ValueError("`base_points` and `base_odds` belong to `pdo`; give that too.")
    if not 0 < base_odds < math.inf:
        raise ValueError(f"base_odds={base_odds!r} has to be positive.")
    if line_steps < 1:
        raise ValueError(f"line_steps={line_steps!r} has to be at least 1.")


def _find_factor(ensemble: RuleEnsemble, max_points: int | None, pdo: float | None) -> float:
    """Return the points for one unit of the linear predictor."""
    if max_points is not None and pdo is not None:
        raise ValueError("Give either `max_points` or `pdo`; each of them sets the scale.")
    if pdo is not None:
        if not (pdo > 0 and math.isfinite(pdo)):
            raise ValueError(f"pdo={pdo!r} has to be positive.")
        return float(pdo) / math.log(2.0)
    most = DEFAULT_MAX_POINTS if max_points is None else max_points
    if most < 1:
        raise ValueError(f"max_points={most!r} has to be at least 1.")
    lines = zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True)
    rises = [abs(slope) * _width(term) for term, slope in lines]
    sizes = [*np.abs(ensemble.coefficients), *rises]
    largest = max(sizes, default=0.0)
    return most / float(largest) if largest > 0 else float(most)


def _width(term: LinearTerm) -> float:
    """Return the length of a line, or refuse one without an end."""
    width = term.high - term.low
    if not math.isfinite(width):
        raise ValueError(
            f"The line of column {term.feature!r} has no end, so that no number of points is "
            "enough; fit with linear_terms=False, or drop it."
        )
    return width


# ------------------------------------------------------------------------------------------- lines


def _replace_lines(
    ensemble: RuleEnsemble, factor: float, line_steps: int
) -> tuple[RuleEnsemble, list[str]]:
    """Return a model of rules only, and of which term each rule is.

    Lines become steps, and the rule that always holds is added to the intercept.
    """
    intercept = ensemble.intercept
    rules: list[Rule] = []
    coefficients: list[float] = []
    origins: list[str] = []
    for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True):
        if rule.conditions:
            rules.append(rule)
            coefficients.append(coefficient)
            origins.append(rule.text())
        else:
            intercept += coefficient
    for term, slope in zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True):
        rise = round(abs(slope) * _width(term) * factor)
        steps = list(_make_steps(term, min(line_steps, rise + 1)))
        first = steps[0][1]
        intercept += slope * first
        for rule, value in [*steps[1:], (Rule((Missing(term.feature, missing=True),)), term.fill)]:
            rules.append(rule)
            coefficients.append(slope * (value - first))
            origins.append(term.label())
    stepped = replace(
        ensemble,
        intercept=intercept,
        rules=tuple(rules),
        coefficients=np.array(coefficients),
        linear_terms=(),
        linear_coefficients=np.empty(0),
    )
    return stepped, origins


def _make_steps(term: LinearTerm, n_steps: int) -> Iterator[tuple[Rule, float]]:
    """Yield parts of a line, lowest first: a rule, and the value in the middle of the part."""
    width = _width(term) / n_steps
    digits = 1 - math.floor(math.log10(width)) if width > 0 else 0
    inner = [round(term.low + width * k, digits) for k in range(1, n_steps)]
    edges = [term.low, *dict.fromkeys(edge for edge in inner if term.low < edge < term.high)]
    for low, high in zip(edges, [*edges[1:], term.high], strict=True):
        below = -math.inf if low == term.low else low
        above = math.inf if high == term.high else high
        is_whole = math.isinf(below) and math.isinf(above)
        present = Missing(term.feature, missing=False)
        condition = present if is_whole else Range(term.feature, below, above)
        yield Rule((condition,)), 0.5 * (low + high)


# -------------------------------------------------------------------------------- limits, accuracy


def _find_limits(stepped: RuleEnsemble, points: IntArray) -> tuple[int, int]:
    """Return the least and the most points that the rules add.

    Rules of one condition are taken together by column, so that of two that exclude each other only
    one counts; of longer rules, each by itself.
    """
    groups: dict[Any, list[int]] = {}
    for k, rule in enumerate(stepped.rules):
        groups.setdefault(rule.features[0] if len(rule.conditions) == 1 else k, []).append(k)
    lowest = highest = 0
    for key, places in groups.items():
        totals = np.array([0, points[places[0]]])
        if isinstance(key, str):
            conditions = [stepped.rules[k].conditions[0] for k in places]
            column = _try_values(key, conditions)
            holds = np.array([condition.holds(column) for condition in conditions])
            totals = points[places] @ holds
        lowest, highest = lowest + int(totals.min()), highest + int(totals.max())
    return lowest, highest


def _try_values(name: str, conditions: list[Condition]) -> Column:
    """Return a column with a value for every way in which the conditions can turn out."""
    ranges = [c for c in conditions if isinstance(c, Range)]
    bounds = [b for c in ranges if c.order is None for b in (c.low, c.high) if math.isfinite(b)]
    numbers = [*bounds, *(math.nextafter(bound, math.inf) for bound in bounds)]
    levels: list[Level] = [level for c in ranges for level in c.order or ()]
    levels += [level for c in conditions if isinstance(c, Levels) for level in c.levels]
    texts = [level for level in levels if isinstance(level, str)]
    if not texts or numbers:  # what is compared with numbers holds no text
        numbers += [float(level) for level in levels if not isinstance(level, str)]
        return NumberColumn(name, np.array([-math.inf, *numbers, math.inf, math.nan]))
    distinct = tuple(dict.fromkeys([*levels, "-".join(["unseen", *texts])]))
    return LevelColumn(name, np.arange(-1, len(distinct)), distinct)


def _compare(
    ensemble: RuleEnsemble, card: Scorecard, X: Any, y: Any, sample_weight: Any
) -> Scorecard:
    """Return the card with measures of it and of the model on some rows."""
    from sklearn.metrics import roc_auc_score

    table = ensemble.read(X)
    target = _encode(ensemble, y, table.n_rows)
    weights = check_weights(sample_weight, table.n_rows)
    etas = [each.decision_function(table) for each in (ensemble, card.ensemble)]
    scores = card.score(table)
    losses = [np.average(ensemble.family.loss(target, eta), weights=weights) for eta in etas]
    if ensemble.family.link == "logit":
        measures = {"log loss": (float(losses[0]), float(losses[1]))}
        counted = target if weights is None else target[weights > 0]
        if set(np.unique(counted)) == {0.0, 1.0}:
            ranked = (etas[0], scores)  # whole points, so that equal totals are ties
            areas = [roc_auc_score(target, each, sample_weight=weights) for each in ranked]
            measures["AUC"] = (float(areas[0]), float(areas[1]))
    else:
        measures = {"mean deviance": (2 * float(losses[0]), 2 * float(losses[1]))}
    return replace(card, accuracy=measures, observed=(int(scores.min()), int(scores.max())))


def _encode(ensemble: RuleEnsemble, y: Any, n_rows: int) -> FloatArray:
    """Return the target as numbers: of labels, whether it is the second class."""
    if not ensemble.classes:
        target = check_row_vector(y, "y", n_rows)
        ensemble.family.check_target(target)
        return target
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(f"`y` has shape {labels.shape}; give one label a row, ({n_rows},)")
    strange = [label for label in labels.tolist() if label not in ensemble.classes]
    if strange:
        raise ValueError(f"`y` holds {strange[0]!r}, which is none of {ensemble.classes}.")
    return np.array([float(label == ensemble.classes[1]) for label in labels.tolist()])
