"""The nearest change of a row that flips a decision, exactly, by branch and bound.

Fewest features first, then the smallest sum of changes in standard deviations (a changed level
counts 1). Features are changed one after the other; a branch is left when even the best of the
changes still allowed cannot carry the linear predictor across the threshold. The bound counts, for
each feature that may still change, what its best value would do to the rules: one that holds can be
ended by any of its features, and one that does not hold needs all of those that fail.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.optimize import linprog

from ruleglm.dtypes import FloatArray, IntArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.local import describe_mean, read_value, write_value
from ruleglm.explain.options import NICETY, Facts, Options, list_options
from ruleglm.explain.rows import find_class, read_row
from ruleglm.frames import Column, Level, LevelColumn, NumberColumn, Table, check_name
from ruleglm.thresholds import shortest_between

if TYPE_CHECKING:
    import pandas as pd

Step: TypeAlias = tuple[int, int]
"""A feature (its place among the options) and the option that it changes to."""

Places: TypeAlias = dict[str, tuple[Any, float]]
"""New values by feature, with their distances."""

TINY = 1e-10
"""Share of the coefficients' sum by which a margin may miss or has to exceed 0."""


@dataclass(frozen=True, eq=False)
class Change:
    """A change of one row that flips the decision of a model.

    Attributes
    ----------
    changes : pandas.DataFrame
        One line a feature: ``feature``, ``from``, ``to``, ``distance`` in standard deviations.
    values : dict
        The new values by feature.
    distance : float
        Sum of the distances.
    before, after : float
        The prediction: the mean of the target, or the probability of the class reached.
    what : str
        What the predictions are of.
    """

    changes: "pd.DataFrame"
    values: dict[str, Level]
    distance: float
    before: float
    after: float
    what: str

    def __str__(self) -> str:
        lines = zip(self.changes["feature"], self.changes["from"], self.changes["to"], strict=True)
        steps = [f"{name} from {write_value(a)} to {write_value(b)}" for name, a, b in lines]
        return f"{', '.join(steps)}: {self.what} from {self.before:.3g} to {self.after:.3g}"


def nearest_change(
    ensemble: RuleEnsemble,
    row: Any,
    *,
    threshold: float | None = None,
    target: Level | None = None,
    fixed: Iterable[str] = (),
    max_features: int = 3,
    facts: Facts | None = None,
    offset: float = 0.0,
) -> Change | None:
    """Return the smallest change of a row that moves its prediction across a threshold.

    Parameters
    ----------
    ensemble : RuleEnsemble
    row : mapping, pandas.Series, list, one-dimensional array, or data of one row
    threshold : float, optional
        Of the prediction, which counts as above it only if it is larger; 0.5 for two classes.
    target : label, optional
        Of several classes the one to be reached; by default any other than now.
    fixed : iterable of str
        Features that must not change.
    max_features : int
        The most features that may change.
    facts : dict from name to ColumnFacts, optional
        Standard deviations, whole numbers and levels: `learn_facts` has them from rows, without
        them the model's own thresholds and levels have to do.
    offset : float
        Added to the linear predictor.

    Returns
    -------
    Change, or None if no change of so few features does it
        Values do not become missing. Where the model has lines, the distance is the smallest to
        within 0.01 a feature, or 1 unit of a feature of whole numbers.
    """
    table = read_row(ensemble, row)
    fixed = {fixed} if isinstance(fixed, str) else set(fixed)
    for name in fixed:
        check_name(name, ensemble.names)
    listed = list_options(ensemble, table, facts or {})
    options = [one for one in listed if one.feature not in fixed and len(one)]
    goals = _set_goals(ensemble, table, threshold, target, offset)
    searches = [_Search(ensemble, table, options, goal) for goal in goals]
    for n_features in range(1, min(max_features, len(options)) + 1):
        for search in searches:
            search.run(n_features)
        ended = [search for search in searches if search.best is not None]
        if ended:
            return _report(min(ended, key=_Search.limit))
    return None


# ----------------------------------------------------------------------------------------- goals


@dataclass(frozen=True, eq=False)
class _Goal:
    """What the linear predictor has to do: all of ``weights @ eta - shift`` be positive.

    The last word has `reached`, which decides ties as the model does.
    """

    weights: FloatArray
    shift: FloatArray
    offset: float
    above: bool
    threshold: float
    target: int | None

    def margins(self, eta: FloatArray) -> FloatArray:
        """Return how far beyond the threshold linear predictors are, shape (n, n_margins)."""
        return eta @ self.weights.T - self.shift

    def reached(self, eta: FloatArray) -> bool:
        """Whether the linear predictor of a row, offset included, is where it should be."""
        if self.target is not None:
            return int(np.argmax(eta)) == self.target
        return bool(eta[0] > self.threshold) is self.above


def _set_goals(
    ensemble: RuleEnsemble,
    row: Table,
    threshold: float | None,
    target: Level | None,
    offset: float,
) -> list[_Goal]:
    eta = np.atleast_1d(ensemble.decision_function(row)[0]) + offset
    if not ensemble.family.output_shape:
        if target is not None:
            raise ValueError("`target` is for models of three classes and more; give `threshold`.")
        limit = link_threshold(ensemble, threshold)
        above = not eta[0] > limit
        sign = 1.0 if above else -1.0
        shift = np.array([sign * (limit - offset)])
        return [_Goal(np.array([[sign]]), shift, offset, above, limit, None)]
    if threshold is not None:
        raise ValueError("`threshold` is for models with one prediction; give `target`, a class.")
    now = int(np.argmax(eta))
    wanted = range(len(eta)) if target is None else [find_class(ensemble, target)]
    if target is not None and now == wanted[0]:
        raise ValueError(f"The model gives the row the class {target!r} as it is.")
    identity = np.eye(len(eta))
    return [
        _Goal(np.delete(identity[k] - identity, k, 0), np.zeros(len(eta) - 1), offset, True, 0.0, k)
        for k in wanted
        if k != now
    ]


def link_threshold(ensemble: RuleEnsemble, threshold: float | None) -> float:
    """Return a threshold of the mean on the scale of the linear predictor."""
    link = ensemble.family.link
    if threshold is None:
        if link != "logit":
            raise ValueError("Give the `threshold` of the prediction that has to be crossed.")
        return 0.0
    if link == "logit" and 0 < threshold < 1:
        return float(np.log(threshold) - np.log1p(-threshold)) if threshold != 0.5 else 0.0
    if link == "log" and threshold > 0:
        return float(np.log(threshold))
    if link == "identity" and np.isfinite(threshold):
        return float(threshold)
    raise ValueError(f"A prediction with the {link} link never crosses threshold={threshold!r}.")


# ---------------------------------------------------------------------------------------- search


@dataclass(frozen=True, eq=False)
class Found:
    """A change that reaches the goal."""

    distance: float
    places: Places


class _Search:
    """Branch and bound over the options of the features.

    Parameters
    ----------
    ensemble : RuleEnsemble
    row : Table of one row
    options : list of Options, each with at least one
    goal : _Goal
    """

    def __init__(
        self, ensemble: RuleEnsemble, row: Table, options: list[Options], goal: _Goal
    ) -> None:
        self.ensemble, self.row, self.goal = ensemble, row, goal
        self.best: Found | None = None
        coefficients = ensemble.coefficients.reshape(len(ensemble.rules), goal.weights.shape[1])
        self.coef = coefficients @ goal.weights.T  # of each rule in each margin
        self.options = options
        self.near = [o.near_lines @ goal.weights.T for o in options]
        self.best_line = [
            np.maximum(near, o.far_lines @ goal.weights.T)
            for o, near in zip(options, self.near, strict=True)
        ]
        eta = np.atleast_1d(ensemble.decision_function(row)[0])
        self.start = goal.margins(eta)
        truths = [
            [bool(c.holds(row.column(c.feature))[0]) for c in rule.conditions]
            for rule in ensemble.rules
        ]
        self.failing = np.array([len(found) - sum(found) for found in truths], dtype=np.int64)
        self.slack = TINY * (1.0 + np.abs(self.coef).sum() + np.abs(self.start).max(initial=0.0))

    def run(self, n_features: int) -> None:
        """Look for the nearest change of so many features."""
        self._descend([], self.failing, self.start, 0.0, list(range(len(self.options))), n_features)

    def limit(self) -> float:
        """Return the distance of the best change so far."""
        return np.inf if self.best is None else self.best.distance

    def _descend(
        self,
        steps: list[Step],
        failing: IntArray,
        margin: FloatArray,
        distance: float,
        free: list[int],
        left: int,
    ) -> None:
        """Try every change of `left` of the free features on top of the steps taken.

        `margin` has the lines of the steps taken at their best.
        """
        gains = [self._gains(j, failing, left) for j in free]
        best = np.array([gain.max(axis=0) for gain in gains])
        for place, (j, gain) in self._promising(free, gains, best, margin, left):
            later = free[place + 1 :]
            others = _largest(best[place + 1 :], left - 1)
            for k in np.flatnonzero((margin + gain + others >= -self.slack).all(axis=1)).tolist():
                far = distance + self.options[j].distances[k]
                if far >= self.limit():
                    break  # options are sorted by distance
                step, after = [*steps, (j, k)], self._fail(j, k, failing)
                rules = self.options[j].rules
                turned = (after[rules] == 0).astype(float) - (failing[rules] == 0)
                new = margin + turned @ self.coef[rules] + self.best_line[j][k]
                if left > 1:
                    self._descend(step, after, new, far, later, left - 1)
                elif (new >= -self.slack).all():
                    self._settle(step, after)

    def _promising(
        self,
        free: list[int],
        gains: list[FloatArray],
        best: FloatArray,
        margin: FloatArray,
        left: int,
    ) -> Iterator[tuple[int, tuple[int, FloatArray]]]:
        """Yield the features from which, with those after them, the goal is within reach."""
        for place, (j, gain) in enumerate(zip(free, gains, strict=True)):
            if place + left > len(free):
                return
            if not (margin + _largest(best[place:], left) >= -self.slack).all():
                return
            yield place, (j, gain)

    def _gains(self, j: int, failing: IntArray, left: int) -> FloatArray:
        """Return at least what each option of a feature can add to each margin."""
        options = self.options[j]
        coef, count = self.coef[options.rules], failing[options.rules]
        ends = np.where((count == 0)[:, None], np.maximum(-coef, 0.0), 0.0)
        within = (count > 0) & (count <= left) & ~options.now
        starts = np.where(within[:, None], np.maximum(coef, 0.0), 0.0)
        starts = starts / np.maximum(count, 1)[:, None]
        return ~options.truths @ ends + options.truths @ starts + self.best_line[j]

    def _fail(self, j: int, k: int, failing: IntArray) -> IntArray:
        """Return how many conditions of each rule fail after one more change."""
        options, after = self.options[j], failing.copy()
        after[options.rules] += options.now.astype(np.int64) - options.truths[k]
        return after

    def _settle(self, steps: list[Step], failing: IntArray) -> None:
        """Put the changed features where they just suffice, and keep the change if it is best."""
        turned = (failing == 0).astype(float) - (self.failing == 0)
        lines = sum(self.near[j][k] for j, k in steps)
        margin = self.start + turned @ self.coef + lines
        enough = (margin >= -self.slack).all()
        if not (enough and self._keep(steps, np.zeros(len(steps)))):
            moves = self._move(steps, margin)
            if moves is not None:
                self._keep(steps, moves)

    def _keep(self, steps: list[Step], moves: FloatArray) -> bool:
        """Keep a change if it reaches the goal and is the best so far; tell whether it reaches."""
        for rounded in (True, False):
            places = {
                self.options[j].feature: _place(self.options[j], k, float(move), rounded)
                for (j, k), move in zip(steps, moves, strict=True)
            }
            if self.goal.reached(self._eta(places)):
                distance = sum(way for _, way in places.values())
                if distance < self.limit():
                    self.best = Found(distance, places)
                return True
        return False

    def _move(self, steps: list[Step], margin: FloatArray) -> FloatArray | None:
        """Return the least moves from near to far ends, as shares of the way, that suffice."""
        gains = np.array([self._stretch(j, k) for j, k in steps])
        if not gains.any():
            return None
        ways = np.array([_way(self.options[j], k) for j, k in steps])
        need = margin - self.slack
        answer = linprog(ways, -gains.T, need, bounds=[(0.0, 1.0)] * len(steps))
        return np.asarray(answer.x) if answer.status == 0 else None

    def _stretch(self, j: int, k: int) -> FloatArray:
        options = self.options[j]
        change = options.far_lines[k] - options.near_lines[k]
        return np.asarray(change @ self.goal.weights.T)

    def _eta(self, places: Places) -> FloatArray:
        """Return the linear predictor of the changed row, offset included."""
        eta = self.ensemble.decision_function(change_row(self.row, places))[0]
        return np.atleast_1d(eta) + self.goal.offset


def _largest(gains: FloatArray, count: int) -> Any:
    """Return the sum of the `count` largest gains in each margin."""
    if count <= 0 or len(gains) == 0:
        return 0.0
    return np.sort(gains, axis=0)[-count:].sum(axis=0)


def _way(options: Options, k: int) -> float:
    """Return the distance from the near to the far end of an option."""
    near, far = options.nears[k], options.fars[k]
    return 0.0 if near == far else abs(far - near) / options.scale


def _place(options: Options, k: int, share: float, rounded: bool) -> tuple[Any, float]:
    """Return the value at a share of the way and its distance.

    If `rounded`, to a number of few digits not far beyond; a whole number otherwise is the next.
    """
    near, far = options.nears[k], options.fars[k]
    if near == far or share == 0.0:
        return near, float(options.distances[k])
    sign = 1.0 if far > near else -1.0
    value = near + share * (far - near)
    if options.whole:
        up = np.ceil(sign * value - 1e-9) if rounded else np.floor(sign * value + 1e-9) + 1.0
        value = sign * float(up)
    elif rounded:
        limit = value + sign * NICETY * options.scale
        low, high = sorted((value, sign * min(sign * limit, sign * far)))
        between = shortest_between(low, high) if low < high else None
        value = between if between is not None and sign * between >= sign * value else value
    value = sign * min(sign * value, sign * far)
    return value, float(options.distances[k]) + abs(value - near) / options.scale


def change_row(row: Table, places: Places) -> Table:
    """Return a row with some values changed."""
    columns: list[Column] = []
    for column in row.columns:
        if column.name not in places:
            columns.append(column)
            continue
        value = places[column.name][0]
        if isinstance(column, NumberColumn):
            columns.append(NumberColumn(column.name, np.array([value], dtype=float)))
        else:
            levels = tuple(dict.fromkeys([*column.levels, value]))
            codes = np.array([levels.index(value)])
            columns.append(LevelColumn(column.name, codes, levels, column.ordered))
    return Table(tuple(columns))


def _report(search: _Search) -> Change:
    import pandas as pd

    ensemble, row, goal = search.ensemble, search.row, search.goal
    places = {} if search.best is None else search.best.places
    means = [
        ensemble.family.mean(np.asarray(ensemble.decision_function(table)[0] + goal.offset))
        for table in (row, change_row(row, places))
    ]
    before, after = (float(mean if goal.target is None else mean[goal.target]) for mean in means)
    lines = [(name, read_value(row, name), new, way) for name, (new, way) in places.items()]
    frame = pd.DataFrame(lines, columns=["feature", "from", "to", "distance"])
    frame = frame.astype({"from": object, "to": object})
    values = {name: value for name, (value, _) in places.items()}
    class_ = None if goal.target is None else ensemble.classes[goal.target]
    return Change(frame, values, search.limit(), before, after, describe_mean(ensemble, class_))
