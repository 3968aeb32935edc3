"""How the rows of a runner reach the scheduler's process (tensor parallelism)."""

import contextlib
import os
import socket
import time


def listen_for_rows(path):
    """A socket for LiveWriter, where the runner's process connects to."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    server.listen()
    return server


class RowLink:
    """The runner's side: connects with the first record."""

    def __init__(self, path, patience_s=60):
        self._path, self._patience_s = path, patience_s
        self._socket = None

    def send(self, text):
        """Sends bytes, their length before them."""
        if self._socket is None:
            self._socket = self._connect()
        self._socket.sendall(len(text).to_bytes(4, "little") + text)

    def close(self):
        """No more is sent; the other side learns it even if nothing was."""
        with contextlib.suppress(OSError):
            if self._socket is None:
                self._patience_s = 0
                self._socket = self._connect()
            self._socket.close()

    def _connect(self):
        end = time.monotonic() + self._patience_s
        while not os.path.exists(self._path) and time.monotonic() < end:
            time.sleep(0.05)
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.connect(self._path)
        return client
