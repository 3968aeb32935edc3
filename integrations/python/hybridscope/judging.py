"""Judging what another engine decides, step by step."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable

from . import _native
from .findings import Finding

if TYPE_CHECKING:
    from .hybridscope_trace import Recording

try:
    import orjson

    _dumps: Callable[[Any], str | bytes] = orjson.dumps
except ImportError:
    _dumps = functools.partial(json.dumps, separators=(",", ":"))


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
        self._native = _native.Judge(name, check)
        self._rest = ""  # written, but no whole line yet
        self.on_finding: Callable[[Finding], None] | None = None
        """Is called with each finding, by feed() and write()."""

    @staticmethod
    def of(scheduler: Any, runner: Any, *, judge: Judge | None = None, **header: Any) -> Recording:
        """Judges a running vLLM engine: follows its scheduler and model runner from the next step on
        and returns the recording, whose close() ends it.

        Findings come through `judge.on_finding`; `header` goes to TraceWriter.header().

            judge = Judge()
            judge.on_finding = print
            recording = Judge.of(scheduler, runner, judge=judge)
        """
        from .hybridscope_trace import Recording, TraceWriter

        return Recording(TraceWriter(Judge() if judge is None else judge), scheduler, runner,
                         **header)

    def feed(self, line: Mapping[str, Any] | str | bytes) -> list[Finding]:
        """Takes a header or a step and returns all findings of this line.

        Raises InvalidInput or Corrupt with the line's number and the place in it; only a header can
        follow then.
        """
        text = line if isinstance(line, (str, bytes)) else _dumps(line)
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
        """The trace so far, as an element of "traces" of `hybridscope judge --json`."""
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
