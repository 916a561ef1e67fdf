"""Generalized linear rule models: a few short if-then rules, each with a coefficient."""

from ruleglm.ensemble import RuleEnsemble
from ruleglm.estimators import RuleClassifier, RuleRegressor
from ruleglm.parser import RuleSyntaxError, parse_rule
from ruleglm.rules import LinearTerm, Rule

__version__ = "0.1.0"

__all__ = [
    "LinearTerm",
    "Rule",
    "RuleClassifier",
    "RuleEnsemble",
    "RuleRegressor",
    "RuleSyntaxError",
    "parse_rule",
]
