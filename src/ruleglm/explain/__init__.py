"""Explanations of a model: they read a `RuleEnsemble` and add up to what it predicts.

Data first: `importance`, `interactions`, `shapes`, `local`, `change`; then `words` and `figures`,
which show them. The estimators offer all of it as methods.
"""

from ruleglm.explain.change import Change, nearest_change
from ruleglm.explain.importance import feature_importances, rule_importances, term_importances
from ruleglm.explain.interactions import measure_interactions, pair_importances
from ruleglm.explain.local import Explanation, explain_row
from ruleglm.explain.methods import ExplainMethods
from ruleglm.explain.options import ColumnFacts, learn_facts, recall_facts
from ruleglm.explain.rows import TermSpread, measure_terms, recall_terms
from ruleglm.explain.shapes import LevelShape, NumberShape, Shapes, build_shapes, mean_shapes
from ruleglm.explain.words import mean_target, summarise

__all__ = [
    "Change",
    "ColumnFacts",
    "ExplainMethods",
    "Explanation",
    "LevelShape",
    "NumberShape",
    "Shapes",
    "TermSpread",
    "build_shapes",
    "explain_row",
    "feature_importances",
    "learn_facts",
    "mean_shapes",
    "mean_target",
    "measure_interactions",
    "measure_terms",
    "nearest_change",
    "pair_importances",
    "recall_facts",
    "recall_terms",
    "rule_importances",
    "summarise",
    "term_importances",
]
