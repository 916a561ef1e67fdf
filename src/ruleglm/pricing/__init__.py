"""The search for rules that improve the model: three ways to ask the same question."""

from ruleglm.pricing.beam import BeamOptions, BeamPricer
from ruleglm.pricing.choose import PRICERS, build_pricer
from ruleglm.pricing.histogram import HistogramPricer
from ruleglm.pricing.mip import MipOptions, MipPricer
from ruleglm.pricing.problem import Limits, Penalty, Pricer, PricingResult
from ruleglm.pricing.vocabulary import ConditionTable

__all__ = [
    "PRICERS",
    "BeamOptions",
    "BeamPricer",
    "ConditionTable",
    "HistogramPricer",
    "Limits",
    "MipOptions",
    "MipPricer",
    "Penalty",
    "Pricer",
    "PricingResult",
    "build_pricer",
]
