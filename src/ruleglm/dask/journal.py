"""What parts have been told, so that one that is lost can be told again elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Step:
    """Something that every part has to do; numbers grow."""

    number: int
    method: str
    arguments: tuple[Any, ...]


class Journal:
    """The steps that the present state of a part depends on.

    ``move_to`` makes all moves before it void, but for those that lead to where the second
    derivatives were frozen; a direction proposed before it is not to be used after it. Done again
    from the start, the steps give the same state to the last bit.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.last = 0
        self._rules: Sequence[Any] = ()

    def write(self, method: str, *arguments: Any) -> None:
        """Add a step, and forget those that it makes void."""
        if method == "hold":
            self._rules = arguments[0]
        elif method == "set_coarse":
            self.steps = [step for step in self.steps if step.method != "set_coarse"]
        elif method == "move_to":
            self._keep_only(slice(0, 1 + self._find("freeze")))
            self._add("hold", self._rules)
        elif method == "freeze":
            self._keep_only(slice(max(0, self._find("move_to") - 1), None))
        self._add(method, *arguments)

    def since(self, number: int) -> list[Step]:
        """Return the steps after the one of a number."""
        return [step for step in self.steps if step.number > number]

    def _add(self, method: str, *arguments: Any) -> None:
        self.last += 1
        self.steps.append(Step(self.last, method, arguments))

    def _find(self, method: str) -> int:
        """Return the place of the last step of a kind, -1 if there is none."""
        places = [k for k, step in enumerate(self.steps) if step.method == method]
        return places[-1] if places else -1

    def _keep_only(self, places: slice) -> None:
        coarse = [step for step in self.steps if step.method == "set_coarse"]
        kept = [step for step in self.steps[places] if step.method != "set_coarse"]
        self.steps = coarse + kept
