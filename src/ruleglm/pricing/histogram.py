"""Exact pricing from joint histograms (design, section 3)."""

from collections.abc import Container

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule, FeatureBins
from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Penalty, PricingResult

DIGITS = 9
"""Decimals of ``|sum g a| / lambda`` that count; the rest is rounding, and must decide nothing."""


class HistogramPricer:
    """Prices every first-degree rule from one histogram a feature.

    Of two complementary rules only one is in the class: with the intercept they are collinear.
    """

    def __init__(self, features: tuple[FeatureBins, ...]) -> None:
        self._features = features
        used = [f for f, bins in enumerate(features) if len(bins.first_degree)]
        self._tuples = np.array(used, np.int64).reshape(-1, 1)

    def describe(self) -> str:
        """Return the class of rules searched, in words."""
        return "all rules of degree 1 over these bins"

    def price(self, engine: Engine, penalty: Penalty, held: Container[BinRule]) -> PricingResult:
        """Return, for each feature, the rules at the peaks of the reduced cost."""
        price = penalty.of(1)
        found: list[tuple[float, BinRule]] = []
        largest = 0.0
        histograms = engine.joint_histograms(self._tuples)
        for (feature,), histogram in zip(self._tuples.tolist(), histograms, strict=True):
            bins = self._features[feature]
            ratios = np.abs(condition_values(histogram, bins)) / price
            largest = max(largest, float(ratios.max()))
            for k in peaks(ratios):
                rule = ((feature, bins.vocabulary.masks[bins.first_degree[k]]),)
                if rule not in held:
                    found.append((-round(float(ratios[k]), DIGITS), rule))
        rules = [rule for _, rule in sorted(found)]
        best = (largest - 1.0) * price
        return PricingResult(rules, [1] * len(rules), best, largest, complete=True)


def condition_values(histogram: FloatArray, bins: FeatureBins) -> FloatArray:
    """Return the row sum of each first-degree condition from its feature's histogram."""
    vocabulary, kept = bins.vocabulary, bins.first_degree
    out = np.empty((1, len(kept), 1))
    kernels.contract_axis(
        histogram.reshape(1, -1, 1),
        vocabulary.lo[kept],
        vocabulary.hi[kept],
        vocabulary.negate[kept],
        bins.n_bins - 1,
        out,
    )
    return out[0, :, 0]


def peaks(ratios: FloatArray) -> list[int]:
    """Return the positions above 1 whose neighbours are not larger.

    Neighbouring thresholds give nearly the same column; one of each hill is enough for a round.
    """
    rounded = np.round(ratios, DIGITS)
    padded = np.concatenate([[-np.inf], rounded, [-np.inf]])
    higher = (rounded >= padded[:-2]) & (rounded > padded[2:]) & (rounded > 1.0)
    return [int(k) for k in np.flatnonzero(higher)]
