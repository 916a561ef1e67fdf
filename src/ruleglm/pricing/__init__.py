"""The search for rules that improve the model: three ways to ask the same question."""

from ruleglm.pricing.histogram import HistogramPricer
from ruleglm.pricing.problem import Penalty, Pricer, PricingResult

__all__ = ["HistogramPricer", "Penalty", "Pricer", "PricingResult"]
