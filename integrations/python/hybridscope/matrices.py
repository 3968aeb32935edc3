"""Which combinations of settings are safe in an engine."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, Union

from . import _native
from .jobs import for_each
from .progress import OnProgress, Progress
from .settings import Settings, setting_words

Only = Mapping[str, Union[str, Sequence[str]]]


@dataclasses.dataclass(frozen=True)
class MatrixResult:
    """What a matrix found.

    report  as `hybridscope matrix --json` prints it: {"engine": str, "cells": {verdict: int},
            "faults": [{"cause": str, "file": str, ...}], ...}  # [faults]
    text    as `hybridscope matrix` prints it
    safe    are all its cells safe?
    scenarios  the small scenario of each fault, by its "file" in the report
    """

    report: dict[str, Any]
    text: str
    safe: bool
    scenarios: dict[str, str]


@dataclasses.dataclass(frozen=True)
class _Cell:
    """A job: runs the scenarios of one cell."""

    options: dict[str, Any]
    name: str


@dataclasses.dataclass(frozen=True)
class _Fault:
    """A job: makes the scenario of one fault small. `cells`: results of the cells that show it."""

    options: dict[str, Any]
    key: str
    cells: list[str]


def _run_cell(job: _Cell) -> str:
    return _native.run_matrix_cell(job.options, job.name)


def _shrink(job: _Fault) -> tuple[str, str]:
    return _native.shrink_matrix_fault(job.options, job.key, job.cells)


def _only_words(only: Only) -> list[str]:
    return [f"{axis}={values if isinstance(values, str) else ','.join(values)}"
            for axis, values in only.items()]


def matrix(engine: str, *, only: Only | None = None, policies: Settings | None = None,
           scenarios: int = 48, seed: int = 1, labels_only: bool = False, shrink: bool = True,
           out: str | os.PathLike[str] | None = None, executor: Executor | None = None,
           progress: OnProgress | None = None) -> MatrixResult:
    """Runs the cells of the matrix of docs/ci.md, one job each, then makes the scenario of each
    fault small, one job each. The result is the same on any executor.

        matrix("vllm@2026-06-29", only={"mode": "align", "runner": ["v1", "v2"]},
               executor=ProcessPoolExecutor())

    engine       profile in question
    only         values of axes
    policies     override single policies of the profile
    scenarios    random scenarios a cell
    labels_only  keep no state in bytes
    shrink       make faults small
    out          folder of the results: an interrupted matrix goes on from there
    """
    words = setting_words(policies)
    options: dict[str, Any] = {
        "engine": engine, "policies": [f"{name}={value}" for name, value in words],
        "only": _only_words(only or {}), "scenarios": scenarios, "seed": seed,
        "labels_only": labels_only}
    native = _native.Matrix({**options, "folder": "" if out is None else os.fspath(out)})
    names = native.missing_cells()
    done = found = 0

    def tell(what: str, total: int) -> None:
        if progress is not None:
            progress(Progress(what, done, total, found))

    def take_cell(_: int, cell: str) -> None:
        nonlocal done, found
        found += native.add_cell(cell)
        done += 1
        tell("cells", len(names))

    for_each(_run_cell, [_Cell(options, name) for name in names], executor, take_cell)
    faults = native.missing_faults() if shrink else []
    done = 0

    def take_fault(_: int, fault: tuple[str, str]) -> None:
        nonlocal done
        native.add_fault(*fault)
        done += 1
        tell("faults", len(faults))

    for_each(_shrink, [_Fault(options, key, cells) for key, cells in faults], executor, take_fault)
    return MatrixResult(native.report(), native.text(), native.is_safe(), native.scenarios())
