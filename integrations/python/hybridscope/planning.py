"""Which settings for a model, its memory and its traffic."""

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

Value = Union[bool, int, float, str, None]


@dataclasses.dataclass(frozen=True)
class PlanResult:
    """What a plan found.

    report       as `hybridscope plan --json` prints it: {"plan": {...}, "goals": [str],
                 "recommended": str, "front": [str], "reasons": [str],
                 "results": [{"name": str, "sizes": {...}, "figures": {...}, ...}]}
    text         as `hybridscope plan` prints it
    recommended  name of a combination, "max_num_seqs=64 ..."; None: none ran
    """

    report: dict[str, Any]
    text: str
    recommended: str | None


@dataclasses.dataclass(frozen=True)
class _Case:
    """A job: runs one combination."""

    options: dict[str, Any]
    name: str


def _run_case(job: _Case) -> str:
    return _native.run_plan_case(job.options, job.name)


def _word(value: Value) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sweep_words(sweep: Mapping[str, Union[str, Sequence[Value]]]) -> list[str]:
    return [f"{name}={values if isinstance(values, str) else ','.join(map(_word, values))}"
            for name, values in sweep.items()]


def plan(traffic: str | os.PathLike[str], *, model: str = "",
         sweep: Mapping[str, Union[str, Sequence[Value]]] | None = None,
         settings: Settings | None = None, engine: str | None = None,
         policies: Settings | None = None,
         prefer: Sequence[str] = ("hits", "concurrency", "preemptions", "lost"),
         step_time: str = "", limit: int = 0, traffic_format: str = "", users: int = 0,
         think_time: float | None = None, request_rate: float | None = None,
         out: str | os.PathLike[str] | None = None, executor: Executor | None = None,
         progress: OnProgress | None = None) -> PlanResult:
    """Runs the traffic with each combination of settings, one job each, as docs/plan.md says. The
    result is the same on any executor.

        plan("trace.jsonl", model="nemotron-h-8b", settings={"kv_cache_memory_bytes": "60GiB"},
             sweep={"mamba_cache_mode": ["align", "none"], "max_num_seqs": "64..512"},
             executor=ProcessPoolExecutor())

    traffic   file of requests, or "synthetic"
    model     preset or config.json
    sweep     values of settings, as a list or as the program's --sweep takes them;
              default: the model's cache modes and max_num_seqs
    settings, engine, policies  the same in all combinations, as for run()
    prefer    goals
    step_time  how long a step takes, an assumption from which times follow: a sum, or a file of
              `hybridscope plan fit`
    limit, traffic_format, users, think_time, request_rate  as for run()
    out       result file: an interrupted plan goes on from there
    """
    options: dict[str, Any] = {
        "traffic": os.fspath(traffic), "model": model, "sweeps": _sweep_words(sweep or {}),
        "settings": setting_words(settings, engine, policies), "prefer": ",".join(prefer),
        "step_time": step_time, "limit": limit, "traffic_format": traffic_format, "users": users,
        "think_time": "" if think_time is None else str(think_time),
        "request_rate": "" if request_rate is None else str(request_rate)}
    native = _native.Plan({**options, "out": "" if out is None else os.fspath(out)})
    names = native.missing()
    done = 0

    def take(_: int, line: str) -> None:
        nonlocal done
        native.add(line)
        done += 1
        if progress is not None:
            progress(Progress("runs", done, len(names)))

    for_each(_run_case, [_Case(options, name) for name in names], executor, take)
    report = native.report()
    return PlanResult(report, native.text(), report["recommended"])
