"""Lets an engine begin its steps, or holds it before the next one."""

import threading


class Gate:
    """Open at first."""

    def __init__(self, on_change=None):
        """on_change(reason): the gate closed, or opened (reason ""); called in any thread."""
        self._open = threading.Event()
        self._open.set()
        self._on_change = on_change or (lambda reason: None)
        self._lock = threading.Lock()

    def hold(self, reason):
        with self._lock:
            was_open = self._open.is_set()
            self._open.clear()
        if was_open:
            self._on_change(reason)

    def go_on(self):
        with self._lock:
            was_open = self._open.is_set()
            self._open.set()
        if not was_open:
            self._on_change("")

    def wait(self):
        """Returns when the gate is open: did that take a while?"""
        if self._open.is_set():
            return False
        self._open.wait()
        return True
