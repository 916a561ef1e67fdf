"""Kernels compiled before a first fit needs them, by several processes at the same time.

One process compiles in one thread only. Each of several takes kernels that no other one has claimed
and leaves them in the cache on disk, where the fit finds them. Where that cannot be done, kernels
are compiled one after the other when they are first called, as they are anyway.
"""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any

from numba import types

from ruleglm import kernels

SCALARS = {
    "f": types.float64,
    "s": types.float32,
    "i": types.int64,
    "w": types.uint64,
    "c": types.uint8,
    "b": types.boolean,
}
"""Letters of the types in signatures: f for a float64, f2 for an array of them with two axes."""

COMMON = {
    "fill_histograms": "c2 i2 i1 f2 i1 f2",
    "choose_cuts": "f1 i f b1",
    "weighted_gram": "w2 s1 i i i f2",
    "add_terms": "f f2 f1 w2 f1 i i f1",
    "evaluate_rules": "c2 i1 w2 i1 w2",
    "sum_logistic": "f1 f1 f1 f f1 f1",
    "sort_numbers": "f1 w1 w1 f1",
    "sum_lines": "w2 f2 f1 i i f2",
    "gram_lines": "f2 f1 i i f2",
    "encode_numbers": "f1 f1 i c1",
    "sum_columns": "w2 f1 i i f1",
    "hash_columns": "w2 i i b w2",
    "round_cuts": "f1 f1 i1 f f1 f1 f1",
    "join_columns": "w2 i1 i1 i w2",
    "count_gram": "w2 w2 f2",
    "logistic_loss": "f1 f1 f1",
    "logistic_derivatives": "f1 f1 f1 f1 f1",
    "await_change": "i1 i i i i i1",
}
"""Signatures of the kernels that most fits use, those that take longest first."""

OF_PENALTY = {
    "l0": {
        "extend_rules": "c2 c2 w2 i1 f1 c2 i1 i1 i1 i1 i1 i1 f2 f2 f f f2 i1 b1 i3 f2",
        "gain_pairs": "f2 i1 i2 i1 i1 i1 i1 b1 i1 i1 f f b i f2 i3",
        "refit_logistic": "f1 f1 f2 w2 f2 f1 f b f1 f1 f1 f1 f1",
        "gain_lines": "f3 i2 f2 b2 i1 i1 i1 i1 i1 f f b f2 i2",
        "fill_within": "c2 w2 b2 b1 i1 f2 f2 i1 f3",
        "gain_spans": "f2 i1 i1 i1 i1 f f f1 i2",
        "rate_swaps": "f2 i1 i1 f1 i1 f2",
        "sweep_column": "i f2",
        "rate_additions": "f2 b1 f1 i1 f f1",
        "count_rows": "w2 i1",
    },
    "l1": {
        "score_pairs": "f1 i1 i2 i1 i1 i1 i1 b1 i1 i1 b f3 i4",
        "descend": "f2 f1 f1 i1 f i f1",
        "scan_second_degree": "f1 i i f1 i2",
    },
}
"""The same of the kernels that only one penalty needs."""

SIGNATURES = COMMON | OF_PENALTY["l0"] | OF_PENALTY["l1"]

FEW = 4
"""Kernels for which other processes are not worth their start."""

MOST_PROCESSES = 4
"""The dearest kernel alone takes half as long as four of them take for all."""

PATIENCE = 300.0
"""Seconds that other processes may take."""

START = """
import sys
sys.path.append(sys.argv[1])
from ruleglm.kernels.ahead import compile_unclaimed
compile_unclaimed(sys.argv[2], sys.argv[3:])
"""
"""What another process runs: the folder of the package, that of the claims, names of kernels."""


@cache
def compile_ahead(penalty: str) -> None:
    """Compile the kernels that a fit needs and that are not on disk yet, and say so, once."""
    cold = [name for name in (*OF_PENALTY[penalty], *COMMON) if is_cold(getattr(kernels, name))]
    if not cold:
        return
    some = "a kernel" if len(cold) == 1 else f"{len(cold)} kernels"
    sys.stderr.write(f"ruleglm: compiling {some}, once on this machine (some seconds)\n")
    sys.stderr.flush()
    if len(cold) > FEW:
        compile_apart(cold, min(count_cores(), MOST_PROCESSES))


def compile_apart(names: Sequence[str], n_processes: int) -> None:
    """Compile kernels in other processes; what is left undone is compiled when it is called."""
    if n_processes < 2 or not Path(sys.executable or "").name.lower().startswith("python"):
        return  # some programs that Python runs in would start themselves
    with TemporaryDirectory(prefix="ruleglm-") as claims:
        home = str(Path(__file__).parents[2])
        command = [sys.executable, "-P", "-c", START, home, claims, *names]
        others: list[subprocess.Popen[bytes]] = []
        try:
            while len(others) < n_processes:
                silent = subprocess.Popen(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
                others.append(silent)
            until = time.monotonic() + PATIENCE
            for other in others:
                other.wait(max(0.0, until - time.monotonic()))
        except (OSError, subprocess.TimeoutExpired):
            pass
        finally:
            for other in others:
                other.kill()
                other.wait()


def compile_unclaimed(claims: str, names: Iterable[str]) -> None:
    """Compile the kernels that no other process has claimed; a claim is a file in a folder."""
    gc.disable()  # it would take a seventh of the time to look through the compiler's objects
    for name in names:
        try:
            (Path(claims) / name).touch(exist_ok=False)
        except FileExistsError:
            continue
        getattr(kernels, name).compile(read_signature(SIGNATURES[name]))


def read_signature(text: str) -> tuple[Any, ...]:
    """Return the types that a signature names."""
    return tuple(
        types.Array(SCALARS[one[0]], int(one[1:]), "C") if one[1:] else SCALARS[one]
        for one in text.split()
    )


def is_cold(compiled: Any) -> bool:
    """Tell whether a kernel is neither in memory nor on disk; False where numba does not say."""
    if getattr(compiled, "signatures", True):
        return False
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    load_index = getattr(cache_file, "_load_index", None)
    return load_index is not None and not load_index()


def count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
