"""Several methods on several data sets: mean ranks, Friedman's test and Holm's, as Demšar (2006).

Rank 1 is the best method of a data set; methods that tie share the mean of their ranks. As in
the paper and in Demšar, Friedman's statistic has no correction for ties (scipy's has one).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Friedman:
    """Friedman's test of the mean ranks of methods over data sets."""

    n_sets: int
    ranks: dict[str, float]
    statistic: float
    p_value: float
    """Of the F approximation (Iman and Davenport)."""
    p_chi2: float
    """Of the chi-squared approximation, which is more cautious."""


@dataclass(frozen=True)
class Comparison:
    """A method against the reference: above 0, ``z`` says that its mean rank is the worse."""

    method: str
    z: float
    p_value: float
    adjusted: float
    """The p-value by Holm's procedure: the smallest level at which it rejects."""


def rank_methods(values: np.ndarray, *, larger_is_better: bool) -> np.ndarray:
    """Return the mean rank of each column over the rows, one row a data set."""
    values = np.asarray(values, dtype=float)
    return stats.rankdata(-values if larger_is_better else values, axis=1).mean(axis=0)


def friedman_test(ranks: Mapping[str, float], n_sets: int) -> Friedman:
    """Return Friedman's test that all methods have the same mean rank."""
    k, n = len(ranks), n_sets
    if k < 2 or n < 2:
        raise ValueError(f"Friedman's test needs two methods and two data sets, got {k} and {n}")
    squares = sum(rank**2 for rank in ranks.values())
    statistic = 12 * n / (k * (k + 1)) * (squares - k * (k + 1) ** 2 / 4)
    left = n * (k - 1) - statistic
    f = np.inf if left <= 1e-9 * n else (n - 1) * statistic / left  # all sets rank alike
    return Friedman(
        n_sets=n,
        ranks=dict(ranks),
        statistic=statistic,
        p_value=float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        p_chi2=float(stats.chi2.sf(statistic, k - 1)),
    )


def adjust_holm(p_values: Sequence[float]) -> np.ndarray:
    """Return p-values adjusted by Holm's step-down procedure, in the order given."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values)
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return adjusted


def compare_with(reference: str, ranks: Mapping[str, float], n_sets: int) -> list[Comparison]:
    """Return each other method against the reference, by two-sided z-tests of the mean ranks."""
    k = len(ranks)
    scale = np.sqrt(k * (k + 1) / (6 * n_sets))
    others = [method for method in ranks if method != reference]
    z = np.array([(ranks[method] - ranks[reference]) / scale for method in others])
    p_values = 2 * stats.norm.sf(np.abs(z))
    return [
        Comparison(*line)
        for line in zip(
            others, z.tolist(), p_values.tolist(), adjust_holm(p_values).tolist(), strict=True
        )
    ]
