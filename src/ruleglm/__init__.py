"""Generalized linear rule models: a few short if-then rules, each with a coefficient."""

from ruleglm.dispersion import estimate_alpha
from ruleglm.ensemble import RuleEnsemble
from ruleglm.estimators import RuleClassifier, RuleRegressor
from ruleglm.estimators_cv import RuleClassifierCV, RuleRegressorCV
from ruleglm.export import load_model, save_model
from ruleglm.parser import RuleSyntaxError, parse_rule
from ruleglm.path import TradeoffPath
from ruleglm.progress import FitProgress
from ruleglm.refitting import refit
from ruleglm.rules import LinearTerm, Rule

__version__ = "0.1.0"

__all__ = [
    "FitProgress",
    "LinearTerm",
    "Rule",
    "RuleClassifier",
    "RuleClassifierCV",
    "RuleEnsemble",
    "RuleRegressor",
    "RuleRegressorCV",
    "RuleSyntaxError",
    "TradeoffPath",
    "estimate_alpha",
    "load_model",
    "parse_rule",
    "refit",
    "save_model",
]
