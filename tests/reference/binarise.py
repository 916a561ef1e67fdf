"""Brute force over bin codes: every rule, and every rule's column, spelled out.

``codes`` is (n_features, n_rows) uint8 and a condition is a bit mask over the bins of one feature,
as in the library; here everything is expanded in plain NumPy and Python, however slow.
"""

from itertools import combinations, product

import numpy as np


def mask_column(codes_of_feature, mask):
    """Return 1.0 where the row's bin is in the mask, else 0.0."""
    return np.array([float(mask >> int(code) & 1) for code in codes_of_feature])


def condition_columns(codes, masks_per_feature):
    """Return the (n, K) 0/1 matrix of all conditions and its list of (feature, mask)."""
    conditions = [
        (feature, mask) for feature, masks in enumerate(masks_per_feature) for mask in masks
    ]
    columns = [mask_column(codes[feature], mask) for feature, mask in conditions]
    return np.reshape(columns, (len(conditions), codes.shape[1])).T, conditions


def all_rules(codes, masks_per_feature, max_degree, per_feature=2):
    """List (rule, degree) of every conjunction of 1 to ``max_degree`` conditions.

    A rule is a tuple of (feature, mask), sorted by feature, one mask a feature. Up to
    ``per_feature`` conditions on the same feature are merged into their intersection (if that has
    any bin) and count one each; a rule reached in several ways has its smallest degree.
    """
    n_features = codes.shape[0]
    merged = [_merge_conditions(masks, min(max_degree, per_feature)) for masks in masks_per_feature]
    rules = []
    for size in range(1, max_degree + 1):
        for features in combinations(range(n_features), size):
            for choice in product(*(merged[feature].items() for feature in features)):
                degree = sum(part for _, part in choice)
                if degree <= max_degree:
                    masks = [mask for mask, _ in choice]
                    rules.append((tuple(zip(features, masks, strict=True)), degree))
    return rules


def _merge_conditions(masks, most):
    """Map each non-empty intersection of at most ``most`` masks to its smallest degree."""
    degrees = {}
    for degree in range(1, most + 1):
        for chosen in combinations(masks, degree):
            mask = chosen[0]
            for other in chosen[1:]:
                mask &= other
            if mask:
                degrees.setdefault(mask, degree)
    return degrees


def rule_column(codes, rule):
    """Return 1.0 on the rows that satisfy every condition of the rule, else 0.0."""
    column = np.ones(codes.shape[1])
    for feature, mask in rule:
        column = column * mask_column(codes[feature], mask)
    return column
