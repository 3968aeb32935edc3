"""Explanations of single steps, and differences of two runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from typing import Any, Union

from . import _native
from .errors import NotFound
from .progress import OnProgress, teller
from .running import Run, Scenario
from .recorded import Session
from .settings import Settings, setting_words

Place = Union[str, "os.PathLike[str]"]


def explain(place: Scenario, step: int, **options: Any) -> str:
    """One step in full: every decision with its inputs.

    place    a scenario (a path that ends in .json, or a dict), a trace (.jsonl, .jsonl.zst), or a
             session "FILE.db[:NAME]"
    options  of a scenario: RunOptions; of a trace: check and filter
    """
    if isinstance(place, Mapping):
        return _explain_run(place, step, **options)
    text = os.fspath(place)
    if text.endswith(".json"):
        return _explain_run(text, step, **options)
    if text.endswith((".jsonl", ".zst")):
        return _native.explain_trace({"input": text, **options}, step)
    with Session(text) as session:
        return session.explain(step)


def _explain_run(scenario: Scenario, step: int, **options: Any) -> str:
    run = Run(scenario, **options)
    last = 0
    for one in run:
        last = one["step"]
        if last == step:
            return run.explain()
    raise NotFound(f"there is no step {step}: the last one is {last}")


@dataclasses.dataclass(frozen=True)
class DiffResult:
    """How two runs differ.

    report   as `hybridscope diff --json` prints it
    text     as `hybridscope diff` prints it
    differs  do they?
    """

    report: dict[str, Any]
    text: str
    differs: bool


def diff(a: str | os.PathLike[str] | Settings, b: str | os.PathLike[str] | Settings, *,
         scenario: Place | None = None, ignore: Iterable[str] = (), level: str = "full",
         limit: int = 100, all: bool = False, first: bool = False, requests: bool = False,
         progress: OnProgress | None = None) -> DiffResult:
    """Compares two sessions, or one scenario under two sets of settings.

        diff("runs.db:before", "runs.db:after")
        diff({"runner": "v1"}, {"runner": "v2"}, scenario="scenarios/shared_prompts.json")

    ignore    rules of docs/debug.md
    level     at which the scenario is recorded
    limit     the most steps, or requests, in the report
    all       the fields of every step, not only of the first that differs
    first     stop at the first difference
    requests  compare what each request got in all
    """
    options: dict[str, Any] = {"ignore": list(ignore), "level": level, "limit": limit, "all": all,
                               "first": first, "requests": requests}
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        if scenario is None or not isinstance(a, Mapping) or not isinstance(b, Mapping):
            raise TypeError("settings are compared on a scenario: diff({...}, {...}, scenario=...)")
        options.update(scenario=os.fspath(scenario), settings_a=_words(a), settings_b=_words(b))
    else:
        options["sessions"] = [os.fspath(a), os.fspath(b)]
    return DiffResult(*_native.diff(options, teller(progress)))


def _words(settings: Settings) -> list[str]:
    return [f"{name}={value}" for name, value in setting_words(settings)]
