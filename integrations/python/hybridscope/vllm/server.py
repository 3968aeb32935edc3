"""Serves a trace on a socket while it is written, and takes commands from whoever reads it."""

import contextlib
import json
import os
import socket
import tempfile
import threading
import time


POLL_S = 0.02


class TraceServer:
    """Serves the lines that somebody writes to its spool file. Each client gets the trace from its
    first line, then each line as it is written, and between lines a control line when the engine is
    held or goes on. A client may send the lines "hold" and "continue"; when it shuts down its side,
    it is served no more."""

    def __init__(self, path, on_command):
        """`path`: of the socket, made here and removed by close(). on_command(word): a client's
        line, called in its thread. The spool is a temporary file without a name."""
        self._path, self._on_command = path, on_command
        self._socket = _listen_at(path)
        self._spool = tempfile.TemporaryFile(prefix="hybridscope-", buffering=0)
        self._controls = []  # control lines so far
        self._closed = False
        self._clients = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def fileno(self):
        """Where lines are written to."""
        return self._spool.fileno()

    def tell(self, control, **members):
        """Sends a control line to whoever is there, and to whoever comes before the next one."""
        self._controls.append((json.dumps({"control": control, **members}) + "\n").encode())

    def close(self, patience_s=5):
        """Clients that read get the rest first, for at most `patience_s`."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._socket.close()
        for thread in self._clients:
            thread.join(patience_s)
        self._spool.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)

    def _accept(self):
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            thread.start()
            self._clients = [known for known in self._clients if known.is_alive()] + [thread]
            threading.Thread(target=self._listen, args=(client,), daemon=True).start()

    def _serve(self, client):
        sent, told = 0, max(0, len(self._controls) - 1)
        with client, contextlib.suppress(OSError, ValueError):  # ValueError: the spool is closed
            while True:
                closed = self._closed
                size = os.fstat(self._spool.fileno()).st_size
                while sent < size:
                    sent += os.sendfile(client.fileno(), self._spool.fileno(), sent, size - sent)
                if told < len(self._controls) and self._ends_a_line(size):
                    client.sendall(self._controls[told])
                    told += 1
                elif closed:
                    client.shutdown(socket.SHUT_WR)
                    return
                else:
                    time.sleep(POLL_S)

    def _ends_a_line(self, size):
        return size == 0 or os.pread(self._spool.fileno(), 1, size - 1) == b"\n"

    def _listen(self, client):
        with contextlib.suppress(OSError, ValueError):
            with client.makefile("r") as lines:
                for line in lines:
                    self._on_command(line.strip())
            client.shutdown(socket.SHUT_RDWR)


def _listen_at(path):
    """Takes over a path whose server is gone. Raises OSError: somebody serves there."""
    if os.path.exists(path):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(path)
            except ConnectionRefusedError:
                os.unlink(path)
            else:
                raise OSError(f"{path}: another engine serves there; give this one its own path")
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(path)
        server.listen()
    except OSError as error:
        server.close()
        raise OSError(f"{path}: cannot serve there: {error.strerror or error}") from error
    return server
