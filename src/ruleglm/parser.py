"""Text to rule: ``parse_rule("age > 50 and sex = 'F' and bmi is not missing")``.

The grammar, with keywords in any case::

    rule       = "true" | condition { "and" condition }
    condition  = value below name [ below value ]  |  value above name [ above value ]
               | name ( below | above ) value
               | name ( "=" | "==" | "!=" | "<>" ) value
               | name [ "not" ] "in" "{" value { "," value } "}"
               | name "is" [ "not" ] "missing"
    below      = "<" | "<="          above = ">" | ">="
    value      = number | 'text', a quote doubled | "true" | "false"
    name       = a word, dots and hyphens allowed | `any text, a backquote doubled`

Nothing is ever evaluated as code.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ruleglm.conditions import (
    BARE_NAME,
    KEYWORDS,
    Condition,
    Levels,
    Missing,
    Range,
    format_level,
    quote_name,
)
from ruleglm.frames import Level, near_names
from ruleglm.rules import Rule

TokenKind: TypeAlias = Literal["name", "value", "keyword", "sign", "end"]

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"
    rf"|(?P<word>{BARE_NAME.pattern})"
    r"|(?P<backquoted>`[^`]*(?:``[^`]*)*`)"
    r"|(?P<quoted>'[^']*(?:''[^']*)*')"
    r"|(?P<sign><=|>=|<>|!=|==|[<>={},])"
)
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_COMPARISONS = {"=", "==", "!=", "<>", *_FLIPPED}
_VALUE = "a value (a number, 'text' in single quotes, true or false)"


class RuleSyntaxError(ValueError):
    """A text that is not a rule; the message shows the place.

    Parameters
    ----------
    problem : str
        What is wrong there.
    text : str
        The whole text.
    position : int
        Index of the character where the problem is.
    """

    def __init__(self, problem: str, text: str, position: int) -> None:
        super().__init__(problem, text, position)
        self.problem = problem
        self.text = text
        self.position = position

    def __str__(self) -> str:
        shown = "".join(char if char.isprintable() else " " for char in self.text)
        indent = sum(_display_width(char) for char in shown[: self.position])
        return f"{self.problem}\n    {shown}\n    {' ' * indent}^"


def _display_width(char: str) -> int:
    """Return how many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


@dataclass(frozen=True)
class _Token:
    """A piece of the text; `value` is what it means, `text` how it was written."""

    kind: TokenKind
    value: Level
    text: str
    start: int


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise RuleSyntaxError(_stray_character(text[position]), text, position)
        if match.lastgroup != "space":
            yield _read_token(match)
        position = match.end()
    yield _Token("end", "", "", len(text))


def _read_token(match: re.Match[str]) -> _Token:
    raw, start = match.group(), match.start()
    if match.lastgroup == "number":
        return _Token("value", _read_number(match), raw, start)
    if match.lastgroup == "quoted":
        return _Token("value", raw[1:-1].replace("''", "'"), raw, start)
    if match.lastgroup == "backquoted":
        return _Token("name", raw[1:-1].replace("``", "`"), raw, start)
    if match.lastgroup == "sign":
        return _Token("sign", raw, raw, start)
    word = raw.lower()
    if word in ("true", "false"):
        return _Token("value", word == "true", raw, start)
    if word in KEYWORDS:
        return _Token("keyword", word, raw, start)
    return _Token("name", raw, raw, start)


def _read_number(match: re.Match[str]) -> int | float:
    raw = match.group()
    try:
        number = float(raw) if set(raw) & set(".eE") else int(raw)
    except ValueError:  # Python refuses integers of several thousand digits
        number = math.inf
    if abs(number) == math.inf:
        raise RuleSyntaxError("This number is too large.", match.string, match.start())
    return number


def _stray_character(char: str) -> str:
    if char == "`":
        return "This backquote is never closed."
    if char == "'":
        return "This quote is never closed; a quote inside text is written twice."
    if char == '"':
        return "Text goes in single quotes: 'F'."
    return f"Unexpected character {char!r}; a column name that contains it goes in backquotes."


@dataclass(frozen=True)
class Mention:
    """A column that a text names, and the levels that it compares it with.

    Attributes
    ----------
    feature : str
    position : int, index of the character where its name begins
    levels : list of (level, position)
    """

    feature: str
    position: int
    levels: list[tuple[Level, int]]


class _Parser:
    """Reads one text from left to right; `here` is the token it stands at."""

    def __init__(
        self,
        text: str,
        orders: Mapping[str, tuple[Level, ...]],
        names: Sequence[str] | None = None,
    ) -> None:
        self.text = text
        self.orders = orders
        self.names = names
        self.mentions: list[Mention] = []
        self.tokens = _tokens(text)
        self.here = next(self.tokens)

    # ------------------------------------------------------------------------------ small steps

    def error(self, expected: str) -> RuleSyntaxError:
        found = self.here.text or "the end"
        return RuleSyntaxError(f"Expected {expected}, found {found}.", self.text, self.here.start)

    def advance(self) -> _Token:
        token = self.here
        if token.kind != "end":
            self.here = next(self.tokens)
        return token

    def accept(self, *words: str) -> str | None:
        """Step over a keyword or sign if it is one of these."""
        if self.here.kind in ("keyword", "sign") and self.here.value in words:
            return str(self.advance().value)
        return None

    def expect(self, word: str, expected: str | None = None) -> None:
        if not self.accept(word):
            raise self.error(expected or f"`{word}`")

    def name(self) -> str:
        if self.here.kind != "name":
            raise self.error("a column name")
        token = self.advance()
        feature = str(token.value)
        if self.names is not None and feature not in self.names:
            problem = f"There is no column {feature!r}; {near_names(feature, self.names)}."
            raise RuleSyntaxError(problem, self.text, token.start)
        self.mentions.append(Mention(feature, token.start, []))
        return feature

    def value(self) -> _Token:
        if self.here.kind != "value":
            raise self.error(_VALUE)
        return self.advance()

    # ----------------------------------------------------------------------------- the grammar

    def rule(self) -> Rule:
        if self.here.value is True:
            always = self.advance()
            if self.here.kind == "end":
                return Rule(())
            return Rule((self.range_from_value(always), *self.more_conditions()))
        return Rule((self.condition(), *self.more_conditions()))

    def more_conditions(self) -> Iterator[Condition]:
        while self.accept("and"):
            yield self.condition()
        if self.here.kind != "end":
            raise self.error("`and` or the end")

    def condition(self) -> Condition:
        if self.here.kind == "value":
            return self.range_from_value(self.advance())
        if self.here.kind != "name":
            raise self.error("a condition such as `age > 50`")
        feature = self.name()
        if self.accept("is"):
            present = self.accept("not")
            self.expect("missing", "`missing`" if present else "`missing` or `not missing`")
            return Missing(feature, missing=not present)
        if self.accept("not"):
            self.expect("in")
            return Levels(feature, self.level_set(), negated=True)
        if self.accept("in"):
            return Levels(feature, self.level_set())
        return self.comparison(feature)

    def comparison(self, feature: str) -> Condition:
        sign = self.accept(*_COMPARISONS)
        if sign is None:
            raise self.error("a comparison (<=, >, <, >=, =, !=, in, not in, is)")
        value = self.value()
        if sign in _FLIPPED:
            return self.build_range(feature, (sign, value))
        self.mentions[-1].levels.append((value.value, value.start))
        return Levels(feature, (value.value,), negated=sign in ("!=", "<>"))

    def level_set(self) -> tuple[Level, ...]:
        self.expect("{")
        tokens = [self.value()]
        while self.accept(","):
            tokens.append(self.value())
        self.expect("}", "`,` or `}`")
        self.mentions[-1].levels.extend((token.value, token.start) for token in tokens)
        return tuple(token.value for token in tokens)

    def range_from_value(self, first: _Token) -> Range:
        """Read what follows a leading value: ``3 < name`` or ``3 < name <= 5``."""
        sign = self.accept(*_FLIPPED)
        if sign is None:
            raise self.error("one of <, <=, >, >=")
        feature = self.name()
        bounds = [(_FLIPPED[sign], first)]
        again = self.accept("<", "<=") if sign in ("<", "<=") else self.accept(">", ">=")
        if again:
            bounds.append((again, self.value()))
        return self.build_range(feature, *bounds)

    # --------------------------------------------------------------------------------- bounds

    def build_range(self, feature: str, *bounds: tuple[str, _Token]) -> Range:
        order = self.orders.get(feature)
        low, high = -math.inf, math.inf
        for sign, token in bounds:
            if order is None:
                bound = self.number_bound(feature, sign, token)
            else:
                bound = self.rank_bound(feature, sign, token, order)
            low, high = max(low, bound[0]), min(high, bound[1])
        return Range(feature, low, high, None if order is None else tuple(order))

    def number_bound(self, feature: str, sign: str, token: _Token) -> tuple[float, float]:
        """Return (low, high); ``<`` and ``>=`` become a bound at the next double down."""
        value = token.value
        if isinstance(value, (str, bool)):
            problem = (
                f"A range needs a number. To compare levels of {quote_name(feature)}, they need an "
                f"order: an ordered category, or parse_rule(text, orders={{{feature!r}: (...)}})."
            )
            raise RuleSyntaxError(problem, self.text, token.start)
        try:
            bound = float(value)
        except OverflowError:
            bound = math.inf
        if sign in ("<", ">="):
            bound = math.nextafter(bound, -math.inf)
        if math.isinf(bound):
            raise RuleSyntaxError("This number is too large.", self.text, token.start)
        return (bound, math.inf) if sign in (">", ">=") else (-math.inf, bound)

    def rank_bound(
        self, feature: str, sign: str, token: _Token, order: tuple[Level, ...]
    ) -> tuple[float, float]:
        """Return (low, high) as positions in the order."""
        if token.value not in order:
            known = ", ".join(map(format_level, order))
            problem = f"{token.text} is no level of {quote_name(feature)}; its order is {known}."
            raise RuleSyntaxError(problem, self.text, token.start)
        rank = order.index(token.value) - (sign in ("<", ">="))
        if rank < 0 and sign == ">=":
            return -math.inf, float(len(order) - 1)
        if rank < 0:
            problem = f"No row can satisfy this: {token.text} is the first level of the order."
            raise RuleSyntaxError(problem, self.text, token.start)
        return (float(rank), math.inf) if sign in (">", ">=") else (-math.inf, float(rank))


def parse_rule(text: str, orders: Mapping[str, tuple[Level, ...]] | None = None) -> Rule:
    """Read a rule from its text, exactly: ``parse_rule(str(rule), orders) == rule``.

    Parameters
    ----------
    text : str
        Conditions joined by ``and``; ``true`` is the rule that always holds.
    orders : mapping from column name to tuple of levels, optional
        The levels of ordered categories, lowest first, needed for ``size <= 'M'``.

    Returns
    -------
    Rule
        In canonical form.

    Raises
    ------
    RuleSyntaxError
        If the text is not a rule. It is a ValueError.
    ValueError
        If no row can satisfy the rule.

    Examples
    --------
    >>> print(parse_rule("sex = 'F' and 30 <= age and age < 50"))
    30 <= age < 50 and sex = 'F'
    """
    return _Parser(text, orders or {}).rule()


def read_rule(
    text: str, orders: Mapping[str, tuple[Level, ...]], names: Sequence[str]
) -> tuple[Rule, list[Mention]]:
    """Read a rule about known columns, and where its text mentions which column and level."""
    parser = _Parser(text, orders, names)
    return parser.rule(), parser.mentions
