"""The nodes of an ONNX graph: columns, conditions, rules, one matrix product, the inverse link."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper

from ruleglm.conditions import Condition
from ruleglm.dtypes import AnyArray
from ruleglm.ensemble import RuleEnsemble
from ruleglm.export.inputs import (
    EXACT_INTEGERS,
    Among,
    Between,
    InputType,
    IsMissing,
    Test,
    find_types,
    simplify,
)
from ruleglm.rules import LinearTerm, Rule

OPSET = 19
"""The first in which texts can be compared."""

IR_VERSION = 9

MEAN_OPERATORS = {"identity": "Identity", "log": "Exp", "logit": "Sigmoid", "softmax": "Softmax"}

LABEL_TYPES = {
    str: TensorProto.STRING,
    bool: TensorProto.BOOL,
    int: TensorProto.INT64,
    float: TensorProto.DOUBLE,
}


class Graph:
    """Collects the nodes and constants of one model; what is computed has shape (n, 1)."""

    def __init__(self, ensemble: RuleEnsemble, missing: str, offset: str | None) -> None:
        self.ensemble = ensemble
        self.missing = missing
        self.offset = offset
        self.types = find_types(ensemble)
        if not self.types:  # the number of rows has to come from somewhere
            first = ensemble.names[0]
            is_number = ensemble.kinds.get(first) == "number"
            self.types = {first: "number" if is_number else "any"}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.tests: dict[Condition, str] = {}
        self.prefix = "node"
        while any(name.startswith(self.prefix) for name in self._input_names()):
            self.prefix += "_"
        self._check()

    def _input_names(self) -> list[str]:
        return [*self.types, *([] if self.offset is None else [self.offset])]

    def _check(self) -> None:
        names = self._input_names()
        if "" in names:
            raise ValueError("A column has an empty name, which ONNX cannot have; rename it.")
        if self.offset in self.types:
            raise ValueError(f"The offset cannot be called {self.offset!r}, like a column.")
        for rule in self.ensemble.rules:
            for condition in rule.conditions:
                self._check_levels(condition)

    def _check_levels(self, condition: Condition) -> None:
        kind = self.types[condition.feature]
        test = simplify(condition, kind)
        for level in test.levels if isinstance(test, Among) else ():
            if level == self.missing and isinstance(level, str):
                raise ValueError(
                    f"The text {level!r} is a level of column {condition.feature!r}; let `missing` "
                    "be another text, which stands for missing values."
                )
            if isinstance(level, int) and abs(level) > EXACT_INTEGERS:
                raise ValueError(
                    f"Column {condition.feature!r} has the level {level}, which is no double; "
                    "convert the column to text."
                )

    # ------------------------------------------------------------------------- nodes, constants

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"{self.prefix}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def hold(self, values: ArrayLike) -> str:
        """Add a constant and return its name."""
        array = np.asarray(values)
        name = f"{self.prefix}_constant_{len(self.constants)}"
        if array.dtype.kind in "UO":
            texts: Any = [str(text).encode("utf-8") for text in array.ravel()]
            tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
        else:
            tensor = numpy_helper.from_array(array, name)
        self.constants.append(tensor)
        return name

    def number(self, value: float) -> str:
        """Add a double and return its name."""
        return self.hold(np.float64(value))

    def as_double(self, name: str) -> str:
        """Turn truth values into 0 and 1."""
        return self.add("Cast", name, to=TensorProto.DOUBLE)

    # --------------------------------------------------------------------------- conditions, rules

    def rule(self, rule: Rule) -> str:
        """Return the truth of a rule that has conditions."""
        tests = [self.condition(condition) for condition in rule.conditions]
        truth = tests[0]
        for test in tests[1:]:
            truth = self.add("And", truth, test)
        return truth

    def condition(self, condition: Condition) -> str:
        """Return the truth of a condition; each is computed once."""
        if condition not in self.tests:
            kind = self.types[condition.feature]
            self.tests[condition] = self._test(condition.feature, kind, simplify(condition, kind))
        return self.tests[condition]

    def _test(self, column: str, kind: InputType, test: Test) -> str:
        if isinstance(test, Between):
            above = self._compare("Greater", column, test.low)
            upto = self._compare("LessOrEqual", column, test.high)
            return self.add("And", above, upto) if above and upto else above or upto
        if isinstance(test, IsMissing):
            missing = self._is_missing(column, kind)
            return self.add("Not", missing) if test.negated else missing
        if not test.negated:
            return self._among(column, kind, test.levels)
        either = self._is_missing(column, kind)
        if test.levels:
            either = self.add("Or", self._among(column, kind, test.levels), either)
        return self.add("Not", either)

    def _compare(self, operator: str, column: str, bound: float) -> str:
        """Compare a column with a bound; without one there is nothing to compare."""
        return "" if math.isinf(bound) else self.add(operator, column, self.number(bound))

    def _is_missing(self, column: str, kind: InputType) -> str:
        if _is_text(kind):
            return self.add("Equal", column, self.hold([self.missing]))
        return self.add("IsNaN", column)

    def _among(self, column: str, kind: InputType, levels: Sequence[Any]) -> str:
        """Return whether a value is one of the levels: all are compared, and the best taken."""
        if not levels:
            levels = [math.nan]  # equals nothing
        row: AnyArray = np.array(levels, dtype=object if _is_text(kind) else np.float64)
        equal = self.add("Equal", column, self.hold(row[None, :]))
        if len(levels) == 1:
            return equal
        best = self.add("ReduceMax", self.as_double(equal), self.hold([1]), keepdims=1)
        return self.add("Cast", best, to=TensorProto.BOOL)

    def line(self, term: LinearTerm) -> str:
        """Return the values of a linear term."""
        value = term.feature
        if term.low > -math.inf:
            value = self.add("Max", value, self.number(term.low))
        if term.high < math.inf:
            value = self.add("Min", value, self.number(term.high))
        missing = self.add("IsNaN", term.feature)
        return self.add("Where", missing, self.number(term.fill), value)

    # ------------------------------------------------------------------------------ the whole

    def predictor(self) -> str:
        """Return the linear predictor: a product of the terms and their coefficients."""
        ensemble = self.ensemble
        n_outputs = math.prod(ensemble.family.output_shape)
        intercept = np.array(ensemble.intercept, dtype=np.float64).reshape(1, n_outputs)
        columns = [self.line(term) for term in ensemble.linear_terms]
        weights = [*ensemble.linear_coefficients]
        for rule, coefficient in zip(ensemble.rules, ensemble.coefficients, strict=True):
            if rule.conditions:
                columns.append(self.as_double(self.rule(rule)))
                weights.append(coefficient)
            else:
                intercept = intercept + coefficient
        if columns:
            terms = self.add("Concat", *columns, axis=1)
            matrix = self.hold(np.array(weights).reshape(len(columns), n_outputs))
            total = self.add("Add", self.add("MatMul", terms, matrix), self.hold(intercept))
        else:
            rows = self.add("Shape", next(iter(self.types)), start=0, end=1)
            shape = self.add("Concat", rows, self.hold([n_outputs]), axis=0)
            total = self.add("Expand", self.hold(intercept), shape)
        return total if self.offset is None else self.add("Add", total, self.offset)

    def label(self, eta: str) -> tuple[str, int] | None:
        """Return the most probable label and its type; None for labels of several types."""
        kinds = set(map(type, self.ensemble.classes))
        if len(kinds) != 1 or not kinds <= set(LABEL_TYPES):
            return None
        if self.ensemble.family.output_shape:
            place = self.add("ArgMax", eta, axis=1, keepdims=0)
        else:
            positive = self.add("Greater", eta, self.number(0.0))
            flat = self.add("Squeeze", positive, self.hold([1]))
            place = self.add("Cast", flat, to=TensorProto.INT64)
        labels = self.hold(np.array(self.ensemble.classes))
        return self.add("Gather", labels, place), LABEL_TYPES[kinds.pop()]

    def build(self) -> onnx.ModelProto:
        """Return the whole model, checked."""
        family = self.ensemble.family
        n_outputs = math.prod(family.output_shape)
        eta = self.predictor()
        outputs = [
            self._output("linear_predictor", eta, TensorProto.DOUBLE, ["n", n_outputs]),
            self._output(
                "probability" if self.ensemble.classes else "mean",
                self.add(MEAN_OPERATORS[family.link], eta),
                TensorProto.DOUBLE,
                ["n", n_outputs],
            ),
        ]
        label = self.label(eta)
        if label is not None:
            outputs.append(self._output("label", *label, ["n"]))
        graph = helper.make_graph(
            self.nodes, "ruleglm", self._inputs(), outputs, self.constants, str(self.ensemble)
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(
            graph, producer_name="ruleglm", opset_imports=[opset], ir_version=IR_VERSION
        )
        onnx.checker.check_model(model)
        return model

    def _inputs(self) -> list[Any]:
        kinds = {
            name: TensorProto.STRING if _is_text(kind) else TensorProto.DOUBLE
            for name, kind in self.types.items()
        }
        if self.offset is not None:
            kinds[self.offset] = TensorProto.DOUBLE
        return [helper.make_tensor_value_info(name, kind, ["n", 1]) for name, kind in kinds.items()]

    def _output(self, name: str, computed: str, kind: int, shape: list[Any]) -> Any:
        """Give a computed value its public name."""
        while name in self._input_names():
            name += "_"
        self.nodes.append(helper.make_node("Identity", [computed], [name]))
        return helper.make_tensor_value_info(name, kind, shape)


def _is_text(kind: InputType) -> bool:
    """Whether an input is of text; a column of any type is, as only text can say all."""
    return kind in ("text", "any")
