"""A model as a Python module that imports nothing but `math`."""

import keyword
import math
from typing import Any

from ruleglm.conditions import Condition
from ruleglm.ensemble import INTERCEPT, RuleEnsemble
from ruleglm.export.inputs import (
    Among,
    Between,
    IsMissing,
    find_used,
    is_compared_as_number,
    simplify,
)
from ruleglm.export.source import get_ensemble
from ruleglm.family import Link
from ruleglm.rules import LinearTerm, Rule

HEADER = '''"""A {family} model with {link} link, written by ruleglm.

`{name}(row)` returns {returns} of a row, a mapping from column
names to values; None and NaN are missing values. `explain(row)` returns the terms that add up to
the linear predictor.
"""

import math

'''

READERS = '''

def _number(row, name):
    """Return a number, or None if it is missing."""
    value = row[name]
    if value is None or value != value:
        return None
    if isinstance(value, str):
        raise ValueError(f"Column {name!r} holds the text {value!r} where a number is needed.")
    return float(value)


def _level(row, name):
    """Return a level, or None if it is missing."""
    value = row[name]
    return None if value is None or value != value else value
'''

MEANS: dict[Link, str] = {
    "identity": """

def _mean(eta):
    return eta
""",
    "log": """

def _mean(eta):
    try:
        return math.exp(eta)
    except OverflowError:
        return math.inf
""",
    "logit": """

def _mean(eta):
    if eta >= 0.0:
        return 1.0 / (1.0 + math.exp(-eta))
    odds = math.exp(eta)
    return odds / (1.0 + odds)
""",
    "softmax": """

def _mean(eta):
    largest = max(eta)
    shares = [math.exp(part - largest) for part in eta]
    return [share / sum(shares) for share in shares]
""",
}

PREDICT = '''

def linear_predictor(row, offset=0.0):
    """Return the sum of the terms of a row."""
    return sum((part for _, part in explain(row)), offset)


def {name}(row, offset=0.0):
    """Return {returns}."""
    return _mean(linear_predictor(row, offset))
'''

PREDICT_CLASSES = '''

def linear_predictor(row, offset=0.0):
    """Return the sum of the terms of a row, one for each class."""
    terms = explain(row)
    return [sum((parts[k] for _, parts in terms), offset) for k in range(len(CLASSES))]


def {name}(row, offset=0.0):
    """Return {returns}."""
    return dict(zip(CLASSES, _mean(linear_predictor(row, offset))))
'''

LABELS = {
    "logit": '''

def predict_class(row, offset=0.0):
    """Return the more probable class."""
    return CLASSES[linear_predictor(row, offset) > 0.0]
''',
    "softmax": '''

def predict_class(row, offset=0.0):
    """Return the most probable class."""
    eta = linear_predictor(row, offset)
    return CLASSES[eta.index(max(eta))]
''',
}

OWN_NAMES = frozenset(
    {"math", "CLASSES", "explain", "linear_predictor", "predict_class"}
    | {"_mean", "_number", "_level"}
)


def to_python(model: Any, name: str = "predict") -> str:
    """Write a model as the source of a Python module that needs the standard library only.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
    name : str
        Name of the function that predicts.

    Returns
    -------
    str
        A module with the functions ``predict(row, offset=0.0)``: the mean, a dict of probabilities
        if there are more than two classes; ``linear_predictor(row, offset=0.0)``;
        ``explain(row)``: a list of (text, contribution), rules that do not hold left out; and for
        classifiers ``predict_class(row, offset=0.0)``.
    """
    ensemble = get_ensemble(model)
    if not name.isidentifier() or keyword.iskeyword(name) or name in OWN_NAMES:
        raise ValueError(f"name={name!r} cannot be the name of the function; try 'predict'.")
    link, several = ensemble.family.link, bool(ensemble.family.output_shape)
    returns = "the mean"
    if ensemble.classes:
        returns = "the probability of the second class"
    if several:
        returns = "the probability of each class"
    filled = {"name": name, "returns": returns, "link": link, "family": ensemble.family.name}
    parts = [HEADER.format_map(filled)]
    if ensemble.classes:
        parts.append(f"CLASSES = {ensemble.classes!r}\n")
    parts += [READERS, MEANS[link], _write_explain(ensemble)]
    parts.append((PREDICT_CLASSES if several else PREDICT).format_map(filled))
    if ensemble.classes:
        parts.append(LABELS[link])
    return "".join(parts)


def _write_explain(ensemble: RuleEnsemble) -> str:
    """Write the function that lists the terms of a row."""
    variables = {name: f"x{k}" for k, name in enumerate(find_used(ensemble))}
    lines = [
        "",
        "",
        "def explain(row):",
        '    """Return (text, contribution) of each term of a row."""',
        *(
            f"    {variable} = {_reader(ensemble, feature)}(row, {feature!r})"
            for feature, variable in variables.items()
        ),
        f"    parts = [({INTERCEPT!r}, {_repr_numbers(ensemble.intercept)})]",
    ]
    slopes = zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True)
    for term, slope in slopes:
        lines += _write_line(term, slope, variables[term.feature])
    for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True):
        lines += _write_rule(rule, coefficient, variables)
    return "\n".join([*lines, "    return parts", ""])


def _reader(ensemble: RuleEnsemble, feature: str) -> str:
    """Return the function that reads a column: as a number if it is compared as one."""
    return "_number" if is_compared_as_number(ensemble, feature) else "_level"


def _write_line(term: LinearTerm, slope: Any, variable: str) -> list[str]:
    value = variable
    if term.low > -math.inf:
        value = f"max({value}, {term.low!r})"
    if term.high < math.inf:
        value = f"min({value}, {term.high!r})"
    filled = f"{term.fill!r} if {variable} is None else {value}"
    if slope.ndim:
        product = f"[slope * value for slope in {_repr_numbers(slope)}]"
    else:
        product = f"{_repr_numbers(slope)} * value"
    return [f"    value = {filled}", f"    parts.append(({term.text()!r}, {product}))"]


def _write_rule(rule: Rule, coefficient: Any, variables: dict[str, str]) -> list[str]:
    tests = [_write_condition(part, variables[part.feature]) for part in rule.conditions]
    append = f"parts.append(({rule.text()!r}, {_repr_numbers(coefficient)}))"
    if not tests:
        return [f"    {append}"]
    return [f"    if {' and '.join(tests)}:", f"        {append}"]


def _write_condition(condition: Condition, variable: str) -> str:
    match simplify(condition, "any"):
        case IsMissing(negated=negated):
            return f"{variable} is {'not ' if negated else ''}None"
        case Among(levels=levels, negated=True):
            return f"{variable} is not None and {variable} not in {_repr_set(levels)}"
        case Among(levels=levels):
            return f"{variable} in {_repr_set(levels)}"
        case Between(low=low, high=high):
            above = f"{low!r} < " if low > -math.inf else ""
            upto = f" <= {high!r}" if high < math.inf else ""
            return f"{variable} is not None and {above}{variable}{upto}"


def _repr_set(levels: Any) -> str:
    return "{" + ", ".join(map(repr, levels)) + "}"


def _repr_numbers(numbers: Any) -> str:
    return repr(numbers.tolist() if hasattr(numbers, "tolist") else float(numbers))
