"""Judging what another engine decides, step by step."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Callable, Union

from . import _native
from .findings import Finding
from .jobs import answers
from .progress import OnProgress, teller

if TYPE_CHECKING:
    from .hybridscope_trace import Recording

try:
    import orjson

    _dumps: Callable[[Any], str | bytes] = orjson.dumps
except ImportError:
    _dumps = functools.partial(json.dumps, separators=(",", ":"))

Place = Union[str, "os.PathLike[str]"]


class Judge:
    """Executes the decisions of another engine on symbolic state and says what is wrong with them.

    It is fed a header and then steps in the format of docs/trace-format.md:

        judge = Judge()
        judge.feed({"hybridscope_trace": 1, "config": {...}})
        for step in steps:
            for finding in judge.feed(step):
                print(finding.step, finding.request, finding.text)

    A further header begins a new trace. Threads may share a judge; feeding releases the GIL.

    name   what messages call the trace
    check  "step": what each step wrote is checked; "all": every registered block, too
    """

    def __init__(self, name: str = "<judge>", *, check: str = "step") -> None:
        self._native = _native.Judge({"input": name, "check": check})
        self._rest = ""  # written, but no whole line yet
        self.on_finding: Callable[[Finding], None] | None = None
        """Is called with each finding, by feed() and write()."""
        self.recording: Recording | None = None
        """Of the engine that of() follows."""

    @classmethod
    def of(cls, scheduler: Any, runner: Any, *, check: str = "step", **header: Any) -> Judge:
        """A judge that follows a running vLLM engine from its next step on.

            with Judge.of(scheduler, model_runner) as judge:
                judge.on_finding = print
                engine.generate(...)

        `recording` is its Recording, which close() ends. `header` goes to TraceWriter.header():
        name, conv_kernel, chunk_size, ... An error of the recorder ends the recording with a
        warning; the engine goes on.
        """
        from .hybridscope_trace import Recording, TraceWriter

        judge = cls(header.get("name") or "<engine>", check=check)
        judge.recording = Recording(TraceWriter(judge), scheduler, runner, **header)
        return judge

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the engine that of() follows."""
        if self.recording is not None:
            self.recording.close()

    def feed(self, line: Mapping[str, Any] | str | bytes) -> list[Finding]:
        """Takes a header or a step and returns all findings of this line.

        Raises InvalidInput or Corrupt with the line's number and the place in it; only a header can
        follow then.
        """
        text = line if isinstance(line, (str, bytes)) else _dumps(dict(line))
        found = [Finding.from_dict(record) for record in self._native.feed(text)]
        if self.on_finding is not None:
            for finding in found:
                self.on_finding(finding)
        return found

    def write(self, text: str) -> int:
        """Takes text as a file does, so that TraceWriter(judge) works: each whole line is fed."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            self.feed(line)
        return len(text)

    def flush(self) -> None:
        """Does nothing: a line is judged when its newline comes."""

    def explain(self) -> str:
        """The step of the last line in full: schedule, blocks, tables, rows, copies, metadata and
        findings. Raises NotFound when that line was no step."""
        return self._native.explain()

    @property
    def findings(self) -> list[Finding]:
        """The findings of the trace so far: the first 20 of each rule, in the order found."""
        return [Finding.from_dict(record) for record in self._native.findings()]

    def report(self) -> dict[str, Any]:
        """The trace so far, as an element of "traces" of `hybridscope judge --json`: {"name": str,
        "steps": int, "request_steps": int, "findings_by_rule": {rule: int}, "findings_by_request":
        [{"request": str, "findings": int, ...}], "findings": [at most 100], ...}."""
        return self._native.report()

    @property
    def notes(self) -> list[str]:
        """How start-up corrects settings of the headers."""
        return self._native.notes()

    @property
    def line(self) -> int:
        """The number of lines that were fed."""
        return self._native.line

    @property
    def step(self) -> int:
        """The step of the last line; 0 when it was no step."""
        return self._native.step

    @property
    def num_steps(self) -> int:
        """The number of steps of the trace so far."""
        return self._native.num_steps

    @property
    def num_request_steps(self) -> int:
        """The number of rows in all batches of the trace so far."""
        return self._native.num_request_steps


@dataclasses.dataclass(frozen=True)
class JudgeResult:
    """What judging a file found.

    report    as `hybridscope judge --json --no-timings` prints it: {"config": {...}, "summary":
              {...}, "traces": [{"name": str, "steps": int, "findings": [...], ...}]}  # [traces]
    findings  those of all traces in the report; report["traces"][i]["findings"] has them by trace
    """

    report: dict[str, Any]
    findings: list[Finding]

    @property
    def ok(self) -> bool:
        """Were there no findings of severity error, and no difference from `engine`?"""
        summary: dict[str, int] = self.report["summary"]
        return summary["findings"] == 0 and summary.get("differing_traces", 0) == 0


def judge(trace: Place, *, check: str = "step", engine: str = "", filter: str = "",
          record: str = "", level: str = "blocks", progress: OnProgress | None = None
          ) -> JudgeResult:
    """Judges a file in docs/trace-format.md, which may be compressed with zstd.

    check   "step" or "all", as for Judge
    engine  profile to compare the decisions with
    filter  only traces whose name contains it
    record  "FILE.db" or "FILE.db:NAME": keep the steps as a session at `level`
    """
    options = {"input": os.fspath(trace), "check": check, "engine": engine, "filter": filter,
               "record": record, "level": level}
    report = _native.judge_file(options, teller(progress))
    found = [Finding.from_dict(one) for one_trace in report["traces"]
             for one in one_trace["findings"]]
    return JudgeResult(report, found)


def _judge_job(job: tuple[str, dict[str, Any]]) -> JudgeResult:
    return judge(job[0], **job[1])


def judge_many(traces: Iterable[Place], *, executor: Executor | None = None,
               progress: OnProgress | None = None, check: str = "step", engine: str = "",
               filter: str = "") -> list[JudgeResult]:
    """judge() for each file, in their order."""
    options = {"check": check, "engine": engine, "filter": filter}
    jobs = [(os.fspath(trace), options) for trace in traces]
    return answers(_judge_job, jobs, executor, progress)
