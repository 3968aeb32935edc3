"""Serves a trace on a socket while it is written, and takes commands from whoever reads it."""

import contextlib
import json
import os
import socket
import tempfile
import threading


class TraceServer:
    """A sink for lines of a trace. Each client gets the trace from its first line, then each line
    as it is written, and between lines a control line when the engine is held or goes on. A client
    may send the lines "hold" and "continue"; when it shuts down its side, it is served no more."""

    def __init__(self, path, on_command):
        """`path`: of the socket, made here and removed by close(). on_command(word): a client's
        line, called in its thread. What was written lies in a temporary file without a name."""
        self._path, self._on_command = path, on_command
        self._socket = _listen_at(path)
        self._spool = tempfile.TemporaryFile(prefix="hybridscope-")
        self._size = 0
        self._control = b""  # the last control line
        self._num_controls = 0
        self._changed = threading.Condition()
        self._closed = False
        self._clients = []
        threading.Thread(target=self._accept, name="hybridscope-server", daemon=True).start()

    def write(self, text):
        data = text.encode()
        self._spool.write(data)
        self._spool.flush()
        with self._changed:
            self._size += len(data)
            self._changed.notify_all()

    def flush(self):
        """Each write() is complete already."""

    def tell(self, control, **members):
        """Sends a control line to whoever is there, and to whoever comes before the next one."""
        line = json.dumps({"control": control, **members}) + "\n"
        with self._changed:
            self._control, self._num_controls = line.encode(), self._num_controls + 1
            self._changed.notify_all()

    def close(self, patience_s=5):
        """Clients that read get the rest first, for at most `patience_s`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in list(self._clients):
            thread.join(patience_s)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
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
        sent, told = 0, 0
        with client, contextlib.suppress(OSError, ValueError):  # ValueError: the spool is closed
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._size > sent
                                           or self._num_controls > told)
                    size, control = self._size, self._control
                    is_new, told = self._num_controls > told, self._num_controls
                    ends = self._closed and size == sent
                while sent < size:
                    sent += os.sendfile(client.fileno(), self._spool.fileno(), sent, size - sent)
                if is_new:
                    client.sendall(control)
                if ends:
                    client.shutdown(socket.SHUT_WR)
                    return

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
