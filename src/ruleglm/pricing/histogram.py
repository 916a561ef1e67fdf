"""Exact pricing from joint histograms (design, section 3)."""

from collections.abc import Container

import numpy as np

from ruleglm import kernels
from ruleglm.binning import BinRule, FeatureBins
from ruleglm.dtypes import FloatArray
from ruleglm.engines.base import Engine
from ruleglm.pricing.problem import Penalty, PricingResult

SLACK = 1e-9
"""A reduced cost below this share of the penalty is rounding, not an improvement."""


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
        for (feature,), histogram in zip(
            self._tuples.tolist(), engine.joint_histograms(self._tuples), strict=True
        ):
            bins = self._features[feature]
            values = np.abs(condition_values(histogram, bins))
            largest = max(largest, float(values.max()))
            for k in peaks(values, price * (1 + SLACK)):
                rule = ((feature, bins.vocabulary.masks[bins.first_degree[k]]),)
                if rule not in held:
                    found.append((float(values[k]), rule))
        found.sort(key=lambda item: (-item[0], item[1]))
        ratio = largest / price if price > 0 else np.inf
        return PricingResult([rule for _, rule in found], largest - price, ratio, complete=True)


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


def peaks(values: FloatArray, floor: float) -> list[int]:
    """Return the positions above ``floor`` whose neighbours are not larger.

    Neighbouring thresholds give nearly the same column; one of each hill is enough for a round.
    """
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    higher = (values >= padded[:-2]) & (values > padded[2:]) & (values > floor)
    return [int(k) for k in np.flatnonzero(higher)]
