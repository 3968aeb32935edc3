"""Trace writers that leave most of their work to a thread."""

from hybridscope.hybridscope_trace import RowReader, TraceWriter, line_of

from .background import Background


class LiveWriter(TraceWriter):
    """A TraceWriter whose lines are finished in a thread and go to `sink`, which has write() and
    flush(). What it reads of the device is copied behind the engine's own work."""

    def __init__(self, sink, on_error, copies, rows=None):
        """on_error(error): what ended it, called in the thread. `copies`: DeviceCopies. `rows`: the
        runner is in another process; rows.next() waits for what it tells of the next step."""
        self._copies = copies
        super().__init__(sink, copies.snapshot)
        self._remote_rows = rows
        self._background = Background(self._finish_line, on_error)

    def inputs(self, *args, **kwargs):
        super().inputs(*args, **kwargs)
        self._copies.launch()

    def forward(self, *args, **kwargs):
        super().forward(*args, **kwargs)
        self._copies.launch()

    def drain(self):
        """Waits until the sink has all lines that are complete."""
        self._background.drain()

    def close(self):
        super().close()
        self._background.close()

    def _write(self, line):
        self._background.put(line)

    def _finish_line(self, line):
        if self._remote_rows is not None and "step" in line and "input_batch" not in line:
            line.update(self._remote_rows.next())
        self._file.write(line_of(line))
        self._file.flush()


class RowSender:
    """What the runner's process tells of its steps: inputs() and forward() as a TraceWriter has
    them, sent when a step's forward pass begins."""

    def __init__(self, config, groups, send, on_error, copies):
        """`config`, `groups`: of RowReader; send(text), on_error(error): called in a thread;
        `copies`: DeviceCopies."""
        self._copies = copies
        self._rows = RowReader(config, groups, copies.snapshot)
        self._background = Background(lambda record: send(line_of(record)), on_error)
        self._record = None

    @property
    def is_async(self):
        return self._rows.is_async

    def inputs(self, *args, **kwargs):
        self._record = self._rows.inputs(*args, **kwargs)
        self._copies.launch()

    def forward(self, *args, **kwargs):
        record, self._record = self._record, None
        self._rows.forward(record, *args, **kwargs)
        self._copies.launch()
        self._background.put(record)

    def close(self):
        self._background.close()
