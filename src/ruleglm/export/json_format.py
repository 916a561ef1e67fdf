"""A model as JSON: a versioned text that reads back as the same model, bit by bit.

The format is described by ``model.schema.json`` beside this file and in ``docs/exports.md``.
Nothing in a file is ever run, so a model from a stranger can be opened.
"""

import dataclasses
import json
import math
import os
import secrets
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ruleglm.conditions import Condition, Levels, Missing, Range
from ruleglm.dtypes import AnyArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.export.fields import Field, ModelFormatError
from ruleglm.export.source import get_ensemble, summarize
from ruleglm.families import FAMILIES
from ruleglm.family import Family
from ruleglm.frames import Level
from ruleglm.multinomial import Multinomial
from ruleglm.rules import LinearTerm, Rule

FORMAT = "ruleglm model"

VERSION = (1, 0)
"""A file of a later second number is read, its new fields ignored; of a later first, refused."""

KINDS = ("number", "level", "ordered")

ALL_FAMILIES: dict[str, type[Family]] = {**FAMILIES, Multinomial.name: Multinomial}


# -------------------------------------------------------------------------------------------- write


def to_json(model: Any, *, summary: Mapping[str, Any] | None = None, indent: int | None = 2) -> str:
    """Write a model as JSON.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
    summary : mapping, optional
        What else is known of the model, as JSON can hold it; NaN and infinity become null. It is
        added to what an estimator says itself: supports, importances, the certificate and more.
    indent : int or None
        Spaces by which each level is moved in; None writes one line.

    Returns
    -------
    str
        Numbers are written with as many digits as it takes to read the same double back.
    """
    document = describe_ensemble(get_ensemble(model))
    known = {**summarize(model), **(summary or {})}
    if known:
        document["summary"] = _plain(known, "summary")
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # halves of surrogate pairs


def save_model(
    model: Any, path: str | os.PathLike[str], *, summary: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a JSON file.

    Parameters
    ----------
    model : RuleEnsemble or fitted estimator
    path : path
        Replaced at once when the new file is complete, so that no reader ever sees half a model.
    summary : mapping, optional
        As in `to_json`.
    """
    write_whole(path, to_json(model, summary=summary) + "\n")


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file under another name, then rename it."""
    target = Path(path).resolve()
    temporary = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def describe_ensemble(ensemble: RuleEnsemble) -> dict[str, Any]:
    """Return a model as dictionaries and lists that JSON can hold."""
    return {
        "format": FORMAT,
        "version": ".".join(map(str, VERSION)),
        "family": _describe_family(ensemble.family),
        "classes": [_plain_level(label, "classes") for label in ensemble.classes],
        "columns": [_describe_column(ensemble, name) for name in ensemble.names],
        "intercept": _plain(ensemble.intercept, "intercept"),
        "linear_terms": [
            {**_describe_line(term), "coefficient": _plain(slope, "coefficient")}
            for term, slope in zip(ensemble.linear_terms, ensemble.linear_coefficients, strict=True)
        ],
        "rules": [
            {
                "text": rule.text(),
                "conditions": [_describe_condition(part) for part in rule.conditions],
                "coefficient": _plain(coefficient, "coefficient"),
            }
            for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True)
        ],
    }


def _describe_family(family: Family) -> dict[str, Any]:
    if ALL_FAMILIES.get(family.name) is not type(family):
        raise ValueError(
            f"The family {family!r} is none of {', '.join(ALL_FAMILIES)}, so that a file could not "
            "be read back."
        )
    return {"name": family.name, "link": family.link, **dataclasses.asdict(family)}


def _describe_column(ensemble: RuleEnsemble, name: str) -> dict[str, Any]:
    column: dict[str, Any] = {"name": name}
    if name in ensemble.kinds:
        column["kind"] = ensemble.kinds[name]
    if name in ensemble.orders:
        column["order"] = [_plain_level(level, name) for level in ensemble.orders[name]]
    return column


def _describe_line(term: LinearTerm) -> dict[str, Any]:
    return {"feature": term.feature, **_describe_bounds(term), "fill": term.fill}


def _describe_condition(condition: Condition) -> dict[str, Any]:
    parts: dict[str, Any]
    match condition:
        case Range():
            order = {} if condition.order is None else {"order": list(condition.order)}
            parts = {"type": "range", **_describe_bounds(condition), **order}
        case Levels():
            parts = {
                "type": "levels",
                "levels": list(condition.levels),
                "negated": condition.negated,
            }
        case Missing():
            parts = {"type": "missing", "missing": condition.missing}
    return {"feature": condition.feature, **parts}


def _describe_bounds(bounded: Range | LinearTerm) -> dict[str, float]:
    """Return the finite bounds; a bound that is not written is infinite."""
    bounds = {"low": bounded.low, "high": bounded.high}
    return {name: bound for name, bound in bounds.items() if math.isfinite(bound)}


def _plain_level(level: Any, where: str) -> Level:
    """Return a label or level as JSON can hold it, of the same type."""
    value = level.item() if isinstance(level, np.generic) else level
    if not isinstance(value, (str, bool, int, float)):
        raise TypeError(
            f"`{where}` holds {level!r} of type {type(level).__name__}; a saved model can hold "
            "text, numbers and truth values: convert the labels, e.g. with astype(str)."
        )
    return value


def _plain(value: Any, where: str) -> Any:
    """Return a value as JSON can hold it: arrays as lists, numbers that are none as null."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(name): _plain(part, f"{where}.{name}") for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part, where) for part in value]
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return _plain_level(value, where)


# --------------------------------------------------------------------------------------------- read


def from_json(text: str | bytes) -> RuleEnsemble:
    """Read a model that `to_json` wrote.

    Raises
    ------
    ModelFormatError
        If the text is no model, or one of a later format; it is a ValueError.
    """
    return _read_ensemble(_open_document(text))


def load_model(path: str | os.PathLike[str]) -> RuleEnsemble:
    """Read a model from a file that `save_model` or an estimator's ``save`` wrote."""
    return from_json(Path(path).read_bytes())


def load_summary(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read what a file says of a model beside the model itself; empty if it says nothing."""
    document = _open_document(Path(path).read_bytes())
    return dict(document.get("summary").mapping()) if document.has("summary") else {}


def model_schema() -> dict[str, Any]:
    """Return the JSON schema of the format."""
    text = files("ruleglm.export").joinpath("model.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _open_document(text: str | bytes) -> Field:
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8")
        document = Field(json.loads(text, parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"This is no JSON text, so no saved model: {error}") from error
    if not isinstance(document.value, dict) or document.value.get("format") != FORMAT:
        raise ModelFormatError(
            f"This JSON text is no saved model: its field `format` is not {FORMAT!r}."
        )
    _check_version(document.get("version"))
    return document


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it holds {name}, which is no JSON number")


def _check_version(version: Field) -> None:
    first = version.text().split(".")[0]
    if not first.isdecimal():
        version.fail("a version such as '1.0' is needed")
    if int(first) > VERSION[0]:
        raise ModelFormatError(
            f"This model is of format version {version.value}, which is later than "
            f"{VERSION[0]}.{VERSION[1]}, the one that is known here: install a newer ruleglm."
        )


def _read_ensemble(document: Field) -> RuleEnsemble:
    family = _read_family(document.get("family"))
    shape = family.output_shape
    columns = document.get("columns").items()
    rules, lines = document.get("rules").items(), document.get("linear_terms").items()
    names = tuple(column.get("name").text() for column in columns)
    named = dict(zip(names, columns, strict=True))
    return document.build(
        RuleEnsemble,
        intercept=document.get("intercept").numbers(shape),
        rules=tuple(_read_rule(rule) for rule in rules),
        coefficients=_read_coefficients(rules, shape),
        linear_terms=tuple(_read_line(line) for line in lines),
        linear_coefficients=_read_coefficients(lines, shape),
        family=family,
        names=names,
        kinds={name: c.get("kind").choice(KINDS) for name, c in named.items() if c.has("kind")},
        orders={name: _read_levels(c.get("order")) for name, c in named.items() if c.has("order")},
        classes=_read_levels(document.get("classes")) if document.has("classes") else (),
    )


def _read_coefficients(terms: list[Field], shape: tuple[int, ...]) -> AnyArray:
    numbers = [term.get("coefficient").numbers(shape) for term in terms]
    return np.array(numbers, dtype=np.float64).reshape(len(terms), *shape)


def _read_family(field: Field) -> Family:
    kind = ALL_FAMILIES[field.get("name").choice(tuple(ALL_FAMILIES))]
    parameters = {}
    for parameter in dataclasses.fields(kind):
        if field.has(parameter.name):
            part = field.get(parameter.name)
            parameters[parameter.name] = part.whole() if parameter.type is int else part.number()
    return field.build(kind, **parameters)


def _read_rule(field: Field) -> Rule:
    conditions = [_read_condition(part) for part in field.get("conditions").items()]
    return field.build(Rule, tuple(conditions))


def _read_condition(field: Field) -> Condition:
    feature = field.get("feature").text()
    match field.get("type").choice(("range", "levels", "missing")):
        case "range":
            order = _read_levels(field.get("order")) if field.has("order") else None
            return field.build(Range, feature, *_read_bounds(field), order)
        case "levels":
            negated = field.get("negated").truth() if field.has("negated") else False
            return field.build(Levels, feature, _read_levels(field.get("levels")), negated)
        case _:
            return Missing(feature, field.get("missing").truth())


def _read_line(field: Field) -> LinearTerm:
    feature, fill = field.get("feature").text(), field.get("fill").number()
    return field.build(LinearTerm, feature, *_read_bounds(field), fill)


def _read_bounds(field: Field) -> tuple[float, float]:
    low = field.get("low").number() if field.has("low") else -math.inf
    high = field.get("high").number() if field.has("high") else math.inf
    return low, high


def _read_levels(field: Field) -> tuple[Level, ...]:
    return tuple(part.level() for part in field.items())
