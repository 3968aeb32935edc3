"""Runs of the engine under the checker."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypedDict, Union

from . import _native
from .errors import InvalidInput
from .findings import Finding
from .jobs import answers
from .progress import OnProgress, teller
from .settings import Settings, setting_words

if TYPE_CHECKING:
    from typing_extensions import Unpack

Scenario = Union[str, "os.PathLike[str]", Mapping[str, Any]]


class RunOptions(TypedDict, total=False):
    """How to run a scenario or traffic.

    traffic   instead of a scenario: a file of requests, or "synthetic"
    model     preset or config.json; default: the scenario's
    settings  engine settings, {"mamba_cache_mode": "align", "max_num_seqs": 4}, by their names in
              docs/scenario-format.md or the short names of the program's options
    engine    profile: "safe", "reference", "vllm-0.33.0", "vllm@2026-06-29"
    policies  single policies that override the profile, {"row_order": "query_len"}
    record    "FILE.db" or "FILE.db:NAME": keep the steps as a session
    level     of the session: "counts", "blocks" or "full"; default "blocks"
    steps     stop after this many; 0: at the end
    limit     requests of the traffic; 0: all
    traffic_format  name of the file's format (docs/traffic.md); default: recognised
    users     closed loop: this many users, who wait for their answers
    think_time    seconds from an answer to the next turn; default: the file's, else 0
    request_rate  conversations a second; default: the file's times, else 1
    check     "step": what each step wrote is checked; "all": every registered block, too
    state     "symbolic", or "bytes": state is kept in bytes as well
    backend   where: "cpu" or "cuda"
    device    which GPU
    """

    traffic: str
    model: str
    settings: Settings
    engine: str
    policies: Settings
    record: str
    level: str
    steps: int
    limit: int
    traffic_format: str
    users: int
    think_time: float
    request_rate: float
    check: str
    state: str
    backend: str
    device: int


class RunJob(RunOptions, total=False):
    """The arguments of run() as one dict."""

    scenario: Scenario


def _begin(scenario: Scenario | None, options: RunOptions) -> _native.Run:
    given: dict[str, Any] = {**options}
    unknown = given.keys() - RunOptions.__annotations__.keys()
    if unknown:
        raise TypeError(f"run() has no option {min(unknown)}")
    given["settings"] = setting_words(given.get("settings"), given.pop("engine", None),
                                      given.pop("policies", None))
    for key in ("think_time", "request_rate"):
        if key in given:
            given[key] = f"{given[key]:.6f}"
    if (scenario is None) == ("traffic" not in given):
        raise InvalidInput("give a scenario or traffic")
    if isinstance(scenario, Mapping):
        given.update(scenario="scenario", scenario_text=json.dumps(scenario))
    elif scenario is not None:
        given["scenario"] = os.fspath(scenario)
    return _native.Run(given)


@dataclasses.dataclass(frozen=True)
class RunResult:
    """What a run found.

    report    as `hybridscope run --json --no-timings` prints it: {"config": {...}, "state": {...},
              "summary": {name: int or bool, "findings_by_rule": {rule: int}}, "findings": [...]}
    outcome   "ok", "unmet" (expectations of the scenario), "findings" or "stopped"
    findings  the first 100, errors first; report["summary"]["findings_by_rule"] counts them all
    """

    report: dict[str, Any]
    outcome: str
    findings: list[Finding]

    @property
    def summary(self) -> dict[str, Any]:
        """Numbers of steps, requests, tokens, hits, copies, findings."""
        summary: dict[str, Any] = self.report["summary"]
        return summary

    @property
    def ok(self) -> bool:
        """Were there neither findings that the scenario does not expect nor unmet expectations?"""
        return self.outcome in ("ok", "stopped")


def _result(native: _native.Run) -> RunResult:
    report, outcome = native.finish()
    return RunResult(report, outcome, [Finding.from_dict(one) for one in report["findings"]])


class Run:
    """A run that goes step by step: an iterator of steps as dicts.

        with Run("scenarios/shared_prompts.json", settings={"mode": "align"}) as run:
            for step in run:
                if step["findings"]:
                    print(run.explain())
        print(run.result().summary)

    A step is what `hybridscope run --jsonl` prints:

        {"step": int, "num_scheduled_tokens": int, "num_free_blocks": int,
         "rows": [{"request": str, "class": str, ...}],          # [rows of the batch]
         "graph": {"runtime_mode": str, "num_tokens_padded": int, "num_reqs_padded": int},
         "pre_copies": [{"request": str, "group": int, ...}],    # [copies], also "post_copies"
         "committed": [{"request": str, "num_tokens": int, ...}],  # [rows of the returned frame]
         "findings": [...], ...}                                 # [findings], as Finding.to_dict()
    """

    def __init__(self, scenario: Scenario | None = None, **options: Unpack[RunOptions]) -> None:
        self._native = _begin(scenario, options)
        self._result: RunResult | None = None

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.result()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self

    def __next__(self) -> dict[str, Any]:
        if self._result is not None or not self._native.step():
            raise StopIteration
        return self._native.as_dict()

    def explain(self) -> str:
        """The current step in full."""
        return self._native.explain()

    @property
    def findings(self) -> list[Finding]:
        """All findings of the current step."""
        return [Finding.from_dict(one) for one in self._native.findings()]

    @property
    def notes(self) -> list[str]:
        """What was decided for you, one sentence each."""
        return self._native.notes()

    def result(self) -> RunResult:
        """Ends the run, and its session, and says what it found."""
        if self._result is None:
            self._result = _result(self._native)
        return self._result


def run(scenario: Scenario | None = None, *, progress: OnProgress | None = None,
        **options: Unpack[RunOptions]) -> RunResult:
    """Runs a scenario (a path or a dict in docs/scenario-format.md) or traffic to its end.

        result = run("scenarios/shared_prompts.json", engine="reference", record="runs.db:before")
        assert result.ok, result.findings[0].text

    Options: RunOptions. Raises InvalidInput for what cannot run, with the program's message.
    """
    native = _begin(scenario, options)
    native.run(teller(progress))
    return _result(native)


def _run_job(job: RunJob) -> RunResult:
    options: dict[str, Any] = {**job}
    return run(options.pop("scenario", None), **options)


def run_many(jobs: Iterable[RunJob], *, executor: Executor | None = None,
             progress: OnProgress | None = None) -> list[RunResult]:
    """run(**job) for each job, in their order.

        run_many([{"scenario": "a.json"}, {"scenario": "b.json", "engine": "reference"}],
                 executor=ProcessPoolExecutor())

    Paths must mean the same to the executor's workers.
    """
    return answers(_run_job, list(jobs), executor, progress)


@dataclasses.dataclass(frozen=True)
class SweepPoint:
    """A run of a sweep, and the settings it had."""

    settings: dict[str, Any]
    result: RunResult


def sweep(scenario: Scenario | None, grid: Mapping[str, Sequence[Any]], *,
          executor: Executor | None = None, progress: OnProgress | None = None,
          **options: Unpack[RunOptions]) -> list[SweepPoint]:
    """Runs a scenario under every combination of settings; the last one of `grid` varies fastest.

        points = sweep("a.json", {"mamba_cache_mode": ["all", "align"], "max_num_seqs": [2, 4, 8]})
        len(points)  # 6
    """
    base: dict[str, Any] = {**options}
    fixed = dict(base.pop("settings", {}))
    points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    jobs = [{"scenario": scenario, **base, "settings": {**fixed, **point}} for point in points]
    results = answers(_run_job, jobs, executor, progress)  # type: ignore[arg-type]
    return [SweepPoint(point, result) for point, result in zip(points, results)]
