"""Trace writers that leave most of their work to a thread."""

import contextlib

from hybridscope import _native
from hybridscope.hybridscope_trace import RowReader, TraceWriter

from .background import Background


class _NoFile:
    """What a TraceWriter that does not write itself is given."""

    def write(self, text):
        """Takes nothing."""

    def flush(self):
        """Has nothing."""


def _add_states(record, states):
    """`states`: StateHashes or None."""
    if states is not None and (hashes := states.after_forward()) is not None:
        record["states"] = hashes


class LiveWriter(TraceWriter):
    """A TraceWriter whose lines are made text, written and judged in a thread that never has the
    interpreter to itself. What it reads of the device is copied behind the engine's own work."""

    def __init__(self, files, copies, on_error, *, judge=None, on_finding=None, rows=-1,
                 states=None, spool=None, on_full=None):
        """files   descriptors that get each line
        copies  DeviceCopies
        judge   a hybridscope.Judge that gets each line; on_finding(record) is called with the dict
                of each finding, of the first 20 of each rule
        rows    descriptor of a listening socket: the runner is in another process and tells there
                what inputs() and forward() tell here
        states  StateHashes of the runner, if it is here
        spool   descriptor of a file that is served, and the bytes that it may get; on_full(text)
                says that it gets no more lines
        on_error(text) says what ended the thread's work, which it does too when the spool is full
                and nothing else gets lines. These functions are called in the thread.
        """
        super().__init__(_NoFile(), copies)
        self._copies, self._rows_are_here, self._states = copies, rows < 0, states
        self._waiting = []  # arguments of LiveLines.put()
        self._thread = _native.LiveLines(list(files), rows, judge and judge._native,
                                         on_finding or (lambda record: None), on_error,
                                         spool or (-1, 0), on_full or (lambda text: None))

    def before_forward(self, attn_metadata):
        if self._states is not None:
            self._states.before_forward(attn_metadata)

    def forward(self, *args, **kwargs):
        super().forward(*args, **kwargs)
        _add_states(self._lines[-1], self._states)
        self._copies.launch()

    def launched(self):
        """Hands the finished lines to the thread."""
        while self._waiting:
            self._thread.put(*self._waiting.pop(0))

    def drain(self):
        """Waits until all finished lines are written and judged."""
        self.launched()
        self._thread.drain()

    def close(self):
        with contextlib.suppress(Exception):  # the device may have failed
            self._copies.launch()  # what a forward pass that never came has left
        try:
            super().close()
        finally:
            self.launched()
            self._thread.close()

    def _write(self, line):
        has_rows = (self._rows_are_here or "input_batch" in line
                    or "scheduler_output" not in line)
        self._waiting.append((line, has_rows))


class RowSender:
    """What the runner's process tells of its steps: inputs(), before_forward() and forward() as a
    TraceWriter has them, sent when a step's forward pass is queued."""

    def __init__(self, config, groups, link, on_error, copies, states=None):
        """`config`, `groups`: of RowReader; `link`: RowLink; on_error(error): called in a thread;
        `copies`: DeviceCopies; `states`: StateHashes."""
        self._copies, self._link, self._states = copies, link, states
        self._rows = RowReader(config, groups, copies)
        self._background = Background(lambda record: link.send(_native.record_text(record)),
                                      on_error)
        self._record = None

    @property
    def is_async(self):
        """Does the device have counts that the host has not?"""
        return self._rows.is_async

    def inputs(self, *args, **kwargs):
        """As TraceWriter.inputs()."""
        self._record = self._rows.inputs(*args, **kwargs)

    def before_forward(self, attn_metadata):
        """As TraceWriter.before_forward()."""
        if self._states is not None:
            self._states.before_forward(attn_metadata)

    def forward(self, *args, **kwargs):
        """As TraceWriter.forward(), and sends."""
        record, self._record = self._record, None
        self._rows.forward(record, *args, **kwargs)
        _add_states(record, self._states)
        self._copies.launch()
        self._background.put(record)

    def launched(self):
        """Nothing waits for the forward pass."""

    def close(self):
        """Sends what waits, and lets the other process know that no more comes."""
        self._background.close()
        self._link.close()
