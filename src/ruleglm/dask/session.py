"""One fit on a cluster: its futures, its actors, what is done when some are lost, and its traffic.

The coordinator talks to the first of a tree of actors. Coded partitions are futures, which the
scheduler computes again when their worker is gone; actors are not, so that they are made again
here and told all that they have missed.
"""

import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import astuple, dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import finalize

import numpy as np

from ruleglm.dask.groups import Failure, Group, Request, Shared
from ruleglm.dask.journal import Journal
from ruleglm.engines import Traffic

if TYPE_CHECKING:
    import pandas as pd

FAN_OUT = 4
"""Groups below each group of the tree."""

PATIENCE = 2.0
"""Seconds after which an answer that has not come is a reason to look whether workers are lost."""

MOST_LOSSES = 20
"""Times that lost workers are replaced for one question."""

RECONNECT = 10.0
"""Seconds that the connection to the scheduler may be interrupted."""

NEW_WORKER = 60.0
"""Seconds to wait for a worker if there is none."""


class ClusterLostError(RuntimeError):
    """The scheduler cannot be reached, or there are no workers."""


@dataclass
class Use:
    """What was moved for one kind of question."""

    questions: int = 0
    messages: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    seconds: float = 0.0


class Session:
    """The futures of a fit and what it has moved.

    Parameters
    ----------
    client : distributed.Client

    Attributes
    ----------
    blocks : futures of the partitions as they came
    uses : what was moved for each kind of question
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.blocks: list[Any] = []
        self.uses: dict[str, Use] = {}
        self._futures: list[Any] = []
        self._groups: list[Groups] = []
        self._lock = RLock()

    @property
    def traffic(self) -> Traffic:
        """What was moved so far."""
        uses = list(self.uses.values())
        moved = sum(use.bytes_sent + use.bytes_received for use in uses)
        return Traffic(sum(use.messages for use in uses), moved)

    def table(self) -> "pd.DataFrame":
        """Return what was moved, one line for each kind of question."""
        import pandas as pd

        lines = [(name, *astuple(use)) for name, use in self.uses.items()]
        names = ["question", *Use.__dataclass_fields__]
        return pd.DataFrame(lines, columns=names).set_index("question")

    def count(self, method: str, n_edges: int, sent: int, received: int, seconds: float) -> None:
        """Write down a question that went over each edge of a tree, and its answers."""
        with self._lock:
            use = self.uses.setdefault(method, Use())
            use.questions += 1
            use.messages += 2 * n_edges
            use.bytes_sent += n_edges * sent
            use.bytes_received += n_edges * received
            use.seconds += seconds

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run something on the cluster; return its future."""
        future = self.client.submit(function, *arguments, pure=False, **options)
        self.hold([future])
        return future

    def hold(self, futures: Sequence[Any]) -> None:
        """Take note of futures that are to be gone when the fit ends."""
        with self._lock:
            self._futures.extend(futures)

    def map_blocks(
        self, name: str, function: Callable[..., Any], blocks: Sequence[Any], *more: Any
    ) -> list[Any]:
        """Return what a function gives for each of some futures, in their order."""
        began = time.perf_counter()
        futures = [self.submit(function, block, *more) for block in blocks]
        answers: list[Any] = self.collect(futures)
        seconds = time.perf_counter() - began
        for answer in answers:
            self.count(name, 1, payload(more), payload(answer), seconds / len(answers))
        return answers

    def collect(self, futures: Sequence[Any]) -> Any:
        """Return the results of futures, which are let go."""
        try:
            return self.client.gather(list(futures))
        finally:
            self.release(futures)

    def release(self, futures: Sequence[Any]) -> None:
        """Let go of futures."""
        gone = {id(future) for future in futures}
        with self._lock:
            self._futures = [future for future in self._futures if id(future) not in gone]
        for future in futures:
            future.release()

    def workers(self) -> dict[str, int]:
        """Return the addresses of the workers and their numbers of threads."""
        self.check()
        known = self.client.scheduler_info(n_workers=-1)["workers"]
        return {address: known[address]["nthreads"] for address in sorted(known)}

    def check(self) -> None:
        """Refuse to go on without a scheduler."""
        end = time.monotonic() + RECONNECT
        while self.client.status != "running":
            if self.client.status == "closed" or time.monotonic() > end:
                raise ClusterLostError(
                    "the connection to the Dask scheduler is lost; the last model is kept, start "
                    "the cluster again and fit with warm_start=True to go on from it"
                )
            time.sleep(0.1)

    def close(self) -> None:
        """Leave nothing on the cluster."""
        with self._lock:
            futures, self._futures = self._futures, []
            groups, self._groups = self._groups, []
        for each in groups:
            each.leave()
        self.cancel(futures)

    def cancel(self, futures: Sequence[Any]) -> None:
        """Stop what is under way and let go of it."""
        if self.client.status == "running" and futures:
            self.client.cancel(list(futures), force=True)
        self.release(futures)

    def keep(self, groups: "Groups") -> None:
        """Take note of actors that are to be gone when the fit ends."""
        with self._lock:
            self._groups.append(groups)

    def drop(self, groups: "Groups") -> None:
        """Let go of actors before the fit ends."""
        with self._lock:
            self._groups = [each for each in self._groups if each is not groups]
        self.release(groups.leave())


def payload(values: Any) -> int:
    """Return about how many bytes something takes as a message."""
    if isinstance(values, np.ndarray):
        return values.nbytes
    if isinstance(values, (tuple, list)) and any(isinstance(v, np.ndarray) for v in values):
        return sum(map(payload, values))
    return len(pickle.dumps(values, protocol=5))


class Groups:
    """The actors that hold the coded rows.

    Parameters
    ----------
    session : Session
    rows : for each group, futures of its PartRows
    places : for each group, the address of the worker that it should be on
    shared : Shared
    """

    def __init__(
        self,
        session: Session,
        rows: Sequence[Sequence[Any]],
        places: Sequence[str],
        shared: Shared,
    ) -> None:
        self.session = session
        self._rows = [list(each) for each in rows]
        self._places = list(places)
        self._shared = shared
        self._futures: list[Any] = [None] * len(rows)
        self._actors: list[Any] = [None] * len(rows)
        self._made = 0
        self._gone: list[int] = []
        self._lock = RLock()
        session.keep(self)

    def leave(self) -> list[Any]:
        """Let go of all actors and rows; return their futures."""
        futures = [future for future in self._futures if future is not None]
        futures += [row for rows in self._rows for row in rows]
        self._actors, self._futures, self._rows = [], [], []
        return futures

    def new_engine(self) -> int:
        """Return the number of an engine that is about to ask."""
        self._made += 1
        return self._made

    def drop(self, engine: int) -> None:
        """Tell the groups with the next question that an engine is no longer needed."""
        self._gone.append(engine)

    def exchange(self, request: Request) -> Any:
        """Return the answer of all groups, or a `Failure`; replace those that are lost."""
        cause: BaseException | None = None
        with self._lock:
            for _ in range(MOST_LOSSES):
                try:
                    if not all(self._actors):
                        self._make()
                    return self._wait(self._actors[0].ask(request))
                except ClusterLostError:
                    raise
                except (OSError, RuntimeError, ValueError, KeyError, CancelledError) as error:
                    cause = error
                if not self._find_lost():
                    time.sleep(0.2)  # the scheduler may hear of it later than we do
                    self._find_lost()
        raise ClusterLostError(
            f"workers are lost faster than they can be replaced ({cause}); the last model is kept, "
            "fit with warm_start=True to go on from it"
        )

    def pending(self) -> list[int]:
        """Return the engines that are no longer needed, once."""
        gone, self._gone = self._gone, []
        return gone

    @property
    def n_edges(self) -> int:
        """Messages that one question takes."""
        return len(self._rows)

    def _wait(self, answer: Any) -> Any:
        """Wait for an answer; if it takes long, look whether somebody is gone."""
        while True:
            try:
                return answer.result(timeout=PATIENCE)
            except TimeoutError as error:
                if answer.done():
                    continue
                if self._find_lost():
                    raise OSError("a worker is gone") from error

    def _find_lost(self) -> bool:
        """Forget the actors whose workers are gone; tell whether there are any."""
        alive = self.session.workers()
        for k, actor in enumerate(self._actors):
            future = self._futures[k]
            lost = future is not None and future.status != "finished"
            if actor is None or actor._address not in alive or lost:
                self._actors[k] = self._futures[k] = None
                if future is not None:  # or the scheduler would make it anew, without our steps
                    self.session.cancel([future])
        return not all(self._actors)

    def _make(self) -> None:
        """Make the actors that there are not, and tell all of them who is below them."""
        alive = self.session.workers()
        if not alive:
            self._await_worker()
            alive = self.session.workers()
        missing = [k for k, actor in enumerate(self._actors) if actor is None]
        load = dict.fromkeys(alive, 0)
        for k, actor in enumerate(self._actors):
            if actor is not None and actor._address in load:
                load[actor._address] += len(self._rows[k])
        for k in missing:
            if self._places[k] not in alive:
                self._places[k] = min(load, key=lambda address: load[address] / alive[address])
                load[self._places[k]] += len(self._rows[k])
            self._futures[k] = self.session.submit(
                Group,
                self._rows[k],
                self._shared,
                actor=True,
                workers=[self._places[k]],
                allow_other_workers=True,
            )
        for k in missing:
            self._actors[k] = self._bind(self._futures[k])
        for k, actor in enumerate(self._actors):
            below = self._actors[FAN_OUT * k + 1 : FAN_OUT * k + 1 + FAN_OUT]
            if below:
                self._wait(actor.connect(below))

    def _bind(self, future: Any) -> Any:
        """Return an actor that is reached by the client of this fit, not by the current one."""
        actor = future.result()
        actor._worker, actor._client, actor._future = None, self.session.client, future
        return actor

    def _await_worker(self) -> None:
        try:
            self.session.client.wait_for_workers(1, timeout=NEW_WORKER)
        except TimeoutError as error:
            raise ClusterLostError(
                "the cluster has no workers; the last model is kept, add workers and fit with "
                "warm_start=True to go on from it"
            ) from error


class ActorTransport:
    """What one engine uses to reach its parts on the workers.

    Parameters
    ----------
    groups : Groups
    linear : tuple of int, the linear terms of the engine
    """

    def __init__(self, groups: Groups, linear: tuple[int, ...]) -> None:
        self._groups = groups
        self._linear = linear
        self._engine = groups.new_engine()
        self._journal = Journal()
        self._sent = 0
        finalize(self, groups.drop, self._engine)

    @property
    def traffic(self) -> Traffic:
        """What was moved so far."""
        return self._groups.session.traffic

    def tell(self, method: str, *arguments: Any) -> None:
        """Let every part do something before its next answer."""
        self._journal.write(method, *arguments)

    def ask(self, method: str, *arguments: Any) -> Any:
        """Return the answers of all parts, added up."""
        began = time.perf_counter()
        for _ in range(MOST_LOSSES):
            steps = self._journal.since(self._sent)
            request = Request(
                *(self._engine, self._linear, self._sent, steps, method, arguments),
                self._groups.pending(),
            )
            answer = self._groups.exchange(request)
            if not isinstance(answer, Failure):
                break
            if answer.error is not None:
                raise answer.error
            self._sent = 0  # somebody is new, so that the journal is told from the start
        self._sent = self._journal.last
        told = [(step.method, step.arguments) for step in steps]
        sent = payload(arguments) + sum(payload(arguments) for _, arguments in told)
        seconds = time.perf_counter() - began
        self._groups.session.count(method, self._groups.n_edges, sent, payload(answer), seconds)
        return answer
