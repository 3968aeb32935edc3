"""Recorded sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import _native
from .frames import frame_of

if TYPE_CHECKING:
    import pandas

# What a frame is made of: a view or table of docs/session-format.md, and the order of its rows.
_VIEWS = {
    "steps": ("v_steps", "step"),
    "rows": ("v_rows", "step, row, request"),
    "requests": ("v_requests", "request"),
    "copies": ("v_copies", "step, launch DESC, decision, grp"),
    "blocks": ("v_block_events", "step, ordinal"),
    "findings": ("v_findings", "step, ordinal"),
    "graphs": ("v_graph_padding", "step"),
    "lookups": ("lookups", "step, ordinal"),
    "commits": ("commits", "step, ordinal"),
    "preemptions": ("preemptions", "step, ordinal"),
}


def sessions(file: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The sessions of a file, oldest first, as `hybridscope sessions list --json` has them:
    [{"name": str, "kind": "run" or "judge", "status": str, "num_steps": int, ...}]."""
    return _native.list_sessions(os.fspath(file))


class Session:
    """A recorded session: its steps in order, as dicts.

        with Session("runs.db:before") as session:
            for step in session:
                print(step["step"], len(step["rows"]))
            session.frame("requests")["num_hit_tokens"].sum()

    place  "FILE.db:NAME", or "FILE.db" for the session begun last
    """

    def __init__(self, place: str | os.PathLike[str]) -> None:
        self._native = _native.Session(os.fspath(place))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; nothing can be read afterwards."""
        self._native.close()

    @property
    def info(self) -> dict[str, Any]:
        """As an element of sessions()."""
        return self._native.info()

    @property
    def steps(self) -> list[int]:
        """The numbers of the recorded steps; idle steps are left out."""
        return self._native.steps()

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for step in self.steps:
            yield self._native.step(step)

    def step(self, step: int) -> dict[str, Any]:
        """One step, as `hybridscope sessions show --json` has it. Raises NotFound."""
        return self._native.step(step)

    def explain(self, step: int) -> str:
        """One step in full. Raises InvalidInput at level counts, which keeps no decisions."""
        return self._native.explain(step)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """The rows of a SELECT on the session's file, which has all its sessions' rows:
        [{column: int, float, str or None}]  # [rows]; of a blob {"blob_bytes": int}."""
        return self._native.query_rows(sql)

    def frame(self, what: str) -> pandas.DataFrame:
        """A pandas frame of the session, without its columns session and session_name.

        what  "steps", "rows", "requests", "copies", "blocks", "findings", "graphs", "lookups",
              "commits" or "preemptions", with the columns that docs/session-format.md names and a
              row for each; or a SELECT

        Shape [rows, columns]. Whole numbers are int64, where some are missing Int64; other numbers
        float64 or Float64; texts, and columns of several kinds, object.
        """
        if what in _VIEWS:
            view, order = _VIEWS[what]
            number = self._native.number()
            what = f"SELECT * FROM {view} WHERE session = {number} ORDER BY {order}"
            return frame_of(self._native.query(what)).drop(
                columns=["session", "session_name"], errors="ignore")
        return frame_of(self._native.query(what))
