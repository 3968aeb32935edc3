"""Where the lines of a trace go."""

from pathlib import Path


class Sinks:
    """Writes to all of them, in this order."""

    def __init__(self, *sinks):
        self._sinks = sinks

    def write(self, text):
        for sink in self._sinks:
            sink.write(text)

    def flush(self):
        for sink in self._sinks:
            sink.flush()

    def close(self):
        for sink in self._sinks:
            sink.close()


def open_new_file(path):
    """A new file at `path`, or beside it if there is one already: nothing is overwritten."""
    path, number = Path(path), 1
    while True:
        place = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            return open(place, "x", encoding="utf-8")
        except FileExistsError:
            number += 1


class JudgeSink:
    """Judges lines as they come."""

    def __init__(self, judge, log, on_finding):
        """`judge`: hybridscope.Judge; log(text); on_finding(finding)."""
        self._judge, self._log, self._on_finding = judge, log, on_finding
        self._num_findings = 0

    def write(self, line):
        for finding in self._judge.feed(line):
            self._num_findings += 1
            self._log(finding.text)
            self._on_finding(finding)

    def flush(self):
        """Each line is judged at once."""

    def close(self):
        found = f"{self._num_findings} findings" if self._num_findings else "no finding"
        self._log(f"judged {self._judge.num_steps} steps: {found}")
