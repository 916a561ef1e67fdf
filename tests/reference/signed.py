"""Brute force over the rules that constraints allow, each with the signs that it may have."""

from itertools import combinations

import numpy as np

from tests.reference.binarise import all_rules, rule_column


def directed_masks(bins, way, sign):
    """The conditions on one feature that a rule with a coefficient of some sign may have."""
    if way == 0:
        return list(bins.vocabulary.masks)
    last = bins.n_bins - (2 if bins.kind == "number" else 3)
    upto = [sum(1 << b for b in range(k + 1)) for k in range(last)]
    above = [sum(1 << b for b in range(k + 1, last + 1)) for k in range(last)]
    reserved = [1 << bins.missing_bin, (1 << bins.missing_bin) - 1]
    return [*(above if sign == way else upto), *reserved]


def may_interact(features, groups, apart):
    """Whether one rule may be on all of these features."""
    if len(features) == 1:
        return True
    inside = groups is None or any(set(features) <= set(group) for group in groups)
    return inside and not any(pair in apart for pair in combinations(features, 2))


def allowed_rules(codes, features, constraints, max_degree):
    """List (rule, degree, sign) of all rules, free ones with both signs."""
    ways = constraints.ways or [0] * len(features)
    found = []
    for sign in (1, -1):
        masks = [directed_masks(b, way, sign) for b, way in zip(features, ways, strict=True)]
        for rule, degree in all_rules(codes, masks, max_degree, per_feature=max_degree):
            if may_interact([f for f, _ in rule], constraints.groups, constraints.apart):
                found.append((rule, degree, sign))
    return found


def signed_columns(codes, rules):
    """The columns of rules, their degrees and signs; of equal ones that of the lowest degree."""
    prices = {}
    for rule, degree, sign in rules:
        key = rule_column(codes, rule).tobytes(), sign
        prices[key] = min(degree, prices.get(key, degree))
    columns = np.column_stack([np.frombuffer(column) for column, _ in prices])
    return columns, np.array(list(prices.values())), np.array([sign for _, sign in prices])
