"""How the rows of a runner reach the scheduler's process (tensor parallelism)."""

import json
import os
import time
from multiprocessing.connection import Client, Listener


class RowReceiver:
    """Listens where the runner's process connects to."""

    def __init__(self, path):
        self._path = path
        self._listener = Listener(path, family="AF_UNIX")
        self._connection = None

    def next(self):
        """What the runner told of its next step; waits for it. Raises EOFError: it has ended."""
        if self._connection is None:
            self._connection = self._listener.accept()
        return json.loads(self._connection.recv_bytes())

    def close(self):
        if self._connection is not None:
            self._connection.close()
        self._listener.close()


class RowLink:
    """The runner's side: connects with the first record."""

    def __init__(self, path, patience_s=60):
        self._path, self._patience_s = path, patience_s
        self._connection = None

    def send(self, text):
        if self._connection is None:
            self._connection = self._connect()
        self._connection.send_bytes(text.encode())

    def _connect(self):
        end = time.monotonic() + self._patience_s
        while not os.path.exists(self._path) and time.monotonic() < end:
            time.sleep(0.05)
        return Client(self._path, family="AF_UNIX")
