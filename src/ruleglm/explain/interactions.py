"""How strongly pairs of features act together: Friedman and Popescu (2008), section 8.1.

The partial dependence on a set of features is the mean prediction (on the scale of the linear
predictor) over rows whose other features vary as in the data. What the partial dependence on two
features has beyond the sum of those on each is their interaction; H compares its standard
deviation with that of the whole. For a rule it is exact and cheap: the partial dependence of a
rule is the truth of its conditions on the chosen features times the share of the rows that satisfy
the others, and only rules that name both features add to the interaction.
"""

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ruleglm.dtypes import FloatArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.explain.importance import term_importances
from ruleglm.explain.rows import TermSpread, find_class, less_mean, measure_terms, row_shares
from ruleglm.frames import Level, Table

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_ROWS = 5000
"""Rows on which interactions are measured, evenly spread over those given."""


def pair_importances(
    ensemble: RuleEnsemble, spread: TermSpread, class_: Level | None = None
) -> "pd.DataFrame":
    """Return the pairs of features that share rules, most important first.

    The columns: ``feature_1``, ``feature_2``, ``n_rules``, ``importance``: of all rules that name
    both features.
    """
    import pandas as pd

    importances = term_importances(ensemble, spread, class_)[len(ensemble.linear_terms) :]
    sums: dict[tuple[str, str], list[float]] = {}
    for rule, importance in zip(ensemble.rules, importances, strict=True):
        for pair in combinations(rule.features, 2):
            sums.setdefault(pair, []).append(float(importance))
    frame = pd.DataFrame(
        {
            "feature_1": [one for one, _ in sums],
            "feature_2": [other for _, other in sums],
            "n_rules": [len(parts) for parts in sums.values()],
            "importance": [sum(parts) for parts in sums.values()],
        }
    )
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def measure_interactions(
    ensemble: RuleEnsemble,
    X: Any,
    sample_weight: ArrayLike | None = None,
    class_: Level | None = None,
) -> "pd.DataFrame":
    """Return the pairs of features that share rules, strongest first.

    To the columns of `pair_importances` come ``strength``, the standard deviation over the rows of
    what the pair does beyond its features one by one, in units of the linear predictor, and ``h``,
    its share in the standard deviation of the pair's whole partial dependence: 0 is none, 1 all.
    Over several classes, their squares are added up after taking off the mean of the classes.

    Parameters
    ----------
    ensemble : RuleEnsemble
    X : data frame, array or Table with n_rows rows
        Of more than 5,000 rows, as many are taken, evenly spread.
    sample_weight : array-like of shape (n_rows,), optional
    class_ : label, optional
        For this class of several.
    """
    table = ensemble.read(X)
    weights = row_shares(sample_weight, table.n_rows)
    if table.n_rows > SAMPLE_ROWS:
        kept = np.linspace(0, table.n_rows - 1, SAMPLE_ROWS).astype(np.int64)
        table, weights = table.take(kept), row_shares(weights[kept], SAMPLE_ROWS)
    frame = pair_importances(ensemble, measure_terms(ensemble, table, weights), class_)
    dependence = PartialDependence(ensemble, table, weights)
    place = None if class_ is None else find_class(ensemble, class_)
    strengths, shares = [], []
    for one, other in zip(frame["feature_1"], frame["feature_2"], strict=True):
        whole = dependence.of(one, other)
        beyond = whole - dependence.of(one) - dependence.of(other)
        strength, size = (dependence.deviation(values, place) for values in (beyond, whole))
        strengths.append(strength)
        shares.append(strength / size if size > 1e-12 else 0.0)
    frame = frame.assign(strength=strengths, h=shares)
    return frame.sort_values("strength", ascending=False, kind="stable", ignore_index=True)


class PartialDependence:
    """Partial dependence of the linear predictor on some features, at the rows of a table.

    Parameters
    ----------
    ensemble : RuleEnsemble
    table : Table
    weights : (n_rows,) float64, summing to 1
    """

    def __init__(self, ensemble: RuleEnsemble, table: Table, weights: FloatArray) -> None:
        self._ensemble, self._table, self._weights = ensemble, table, weights
        self._masks = {
            condition: condition.holds(table.column(condition.feature)).astype(np.float64)
            for rule in ensemble.rules
            for condition in rule.conditions
        }
        self._lines = [term.values(table) for term in ensemble.linear_terms]

    def of(self, *features: str) -> FloatArray:
        """Return the dependence on features, less what does not depend on them.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes), float64
        """
        ensemble = self._ensemble
        sums = np.zeros((self._table.n_rows, *ensemble.family.output_shape))
        for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True):
            inside = np.ones(self._table.n_rows)
            outside = np.ones(self._table.n_rows)
            for condition in rule.conditions:
                part = inside if condition.feature in features else outside
                part *= self._masks[condition]
            if not set(features).isdisjoint(rule.features):
                sums += np.multiply.outer(inside * (self._weights @ outside), coefficient)
        lines = zip(ensemble.linear_terms, self._lines, ensemble.linear_coefficients, strict=True)
        for term, values, slope in lines:
            if term.feature in features:
                sums += np.multiply.outer(values, slope)
        return sums

    def deviation(self, values: FloatArray, place: int | None = None) -> float:
        """Return the standard deviation over the rows, of one class or of all together."""
        values = less_mean(values) if place is None else values[:, place]
        squares = self._weights @ (values - self._weights @ values) ** 2
        return float(np.sqrt(np.sum(squares)))
