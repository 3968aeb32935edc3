"""Serves a trace on a socket while it is written, and takes commands from whoever reads it."""

import contextlib
import json
import os
import selectors
import socket
import tempfile
import threading
import time

from .listening import ListeningSocket, user_of_peer

POLL_S = 0.02  # how late a written line may be noticed
MAX_CLIENTS = 16
MAX_COMMAND_BYTES = 1024
_MAX_SENT_AT_ONCE = 1 << 20  # to one client, before the others have their turn
_ACCEPT_PAUSE_S = 0.5  # after an error, as when the process has no descriptor left
# After close(): readers get the rest for so long, and are given up sooner when none of them reads.
_CLOSING_S = 1.0
_CLOSING_STALLED_S = 0.1


class TraceServer:
    """Serves the lines that somebody writes to its spool file. Each client gets the trace from its
    first line, then each line as it is written, and between lines a control line when the engine is
    held or goes on. A client may send the lines "hold" and "continue"; when it shuts down its side,
    it is served no more.

    One thread serves all, and waits for none: what a client has not read stays in the spool, so
    that a slow one takes no memory. Processes of another user, clients above MAX_CLIENTS and those
    whose line is longer than MAX_COMMAND_BYTES are hung up on."""

    def __init__(self, path, on_command, log=lambda text: None):
        """`path`: as of a ListeningSocket. on_command(word): a client's line; log(text): why
        somebody was hung up on. Both are called in the server's thread, after start(). The spool is
        a temporary file without a name."""
        self._on_command, self._log = on_command, log
        with contextlib.ExitStack() as opened:
            self._listening = opened.enter_context(contextlib.closing(ListeningSocket(path)))
            self._spool = opened.enter_context(
                tempfile.TemporaryFile(prefix="hybridscope-", buffering=0))
            self._selector = opened.enter_context(selectors.DefaultSelector())
            self._waker, self._woken = socket.socketpair()
            opened.pop_all()
        self._listening.socket.setblocking(False)
        self.path = self._listening.path
        self._newest = (0, b"")  # how many control lines there were, and the last of them
        self._tell_lock = threading.Lock()
        self._logged = set()
        self._clients = []
        self._closed = False
        self._accept_again_at = 0.0
        self._thread = threading.Thread(target=self._run, name="hybridscope-server", daemon=True)

    def start(self):
        """Who connects before it waits until then."""
        self._thread.start()

    def fileno(self):
        """Where lines are written to."""
        return self._spool.fileno()

    def tell(self, control, **members):
        """Sends a control line to whoever is there, and to whoever comes before the next one. Of
        several that come sooner than a client reads, it gets the last one."""
        line = (json.dumps({"control": control, **members}) + "\n").encode()
        with self._tell_lock:
            self._newest = (self._newest[0] + 1, line)

    def close(self):
        """Clients that read get the rest first; nobody else is waited for."""
        self._closed = True
        with contextlib.suppress(BrokenPipeError):  # the thread has seen it and is gone
            self._waker.send(b"x")
        self._thread.join()
        self._waker.close()
        self._spool.close()

    def _run(self):
        with contextlib.closing(self._listening), self._woken, self._selector:
            self._selector.register(self._listening.socket, selectors.EVENT_READ)
            self._selector.register(self._woken, selectors.EVENT_READ)
            while not self._closed:
                for key, events in self._selector.select(self._timeout()):
                    if key.fileobj is self._listening.socket:
                        self._accept()
                    elif key.data is not None and events & selectors.EVENT_READ:
                        self._hear(key.data)
                if self._accept_again_at and time.monotonic() >= self._accept_again_at:
                    self._accept_again_at = 0.0
                    self._selector.register(self._listening.socket, selectors.EVENT_READ)
                for client in list(self._clients):
                    self._send(client)
            self._send_the_rest()

    def _timeout(self):
        """None, for ever, where nobody is served: the engine's thread is left alone."""
        if self._clients:
            return POLL_S
        return _ACCEPT_PAUSE_S if self._accept_again_at else None

    def _accept(self):
        try:
            peer, _ = self._listening.socket.accept()
        except BlockingIOError:
            return  # it has left
        except OSError as error:
            self._log_once(f"nobody can connect for now: {error.strerror}")
            self._accept_again_at = time.monotonic() + _ACCEPT_PAUSE_S
            self._selector.unregister(self._listening.socket)
            return
        if (user := user_of_peer(peer)) != os.geteuid():
            self._log_once(f"a process of user {user} may not connect")
        elif len(self._clients) >= MAX_CLIENTS:
            self._log_once(f"more than {MAX_CLIENTS} clients are not served")
        else:
            peer.setblocking(False)
            client = _Client(peer, self._newest[0])
            self._clients.append(client)
            self._selector.register(peer, selectors.EVENT_READ, client)
            return
        peer.close()

    def _hear(self, client):
        try:
            words = client.heard()
        except OSError:
            words = None
        except _TooLong:
            self._log_once(f"a client sent a line above {MAX_COMMAND_BYTES} bytes: hung up on")
            words = None
        if words is None:
            self._hang_up(client)
            return
        for word in words:
            self._on_command(word)
        if client.has_ended:
            self._hang_up(client)

    def _send(self, client):
        """Did the client take something?"""
        try:
            took, is_behind = client.send(self._spool.fileno(), self._newest)
        except OSError:
            self._hang_up(client)
            return True
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if is_behind else 0)
        if self._selector.get_key(client.peer).events != events:
            self._selector.modify(client.peer, events, client)
        return took

    def _send_the_rest(self):
        end = time.monotonic() + _CLOSING_S
        stalled_at = time.monotonic() + _CLOSING_STALLED_S
        while self._clients and time.monotonic() < min(end, stalled_at):
            for client in list(self._clients):
                if self._send(client):
                    stalled_at = time.monotonic() + _CLOSING_STALLED_S
                elif client.has_all(self._spool.fileno()):
                    self._hang_up(client)
            time.sleep(0.001)
        for client in list(self._clients):
            self._hang_up(client)

    def _hang_up(self, client):
        self._clients.remove(client)
        self._selector.unregister(client.peer)
        with contextlib.suppress(OSError):
            client.peer.shutdown(socket.SHUT_RDWR)  # a process that was forked may have it too
        client.peer.close()

    def _log_once(self, text):
        """Somebody who tries again and again must not fill the engine's log."""
        if text not in self._logged and len(self._logged) < 64:
            self._logged.add(text)
            self._log(text)


class _TooLong(Exception):
    pass


class _Client:
    """One that is served: what it was sent, and the begin of the line that it sends."""

    def __init__(self, peer, num_controls):
        self.peer, self.has_ended = peer, False
        self._sent, self._told = 0, max(0, num_controls - 1)
        self._control = b""  # the rest of a control line
        self._received = b""

    def heard(self):
        """The lines that have come. Sets has_ended. Raises OSError, _TooLong."""
        try:
            data = self.peer.recv(MAX_COMMAND_BYTES)
        except BlockingIOError:
            return []
        self.has_ended = not data
        *lines, self._received = (self._received + data).split(b"\n")
        if max(map(len, (*lines, self._received))) > MAX_COMMAND_BYTES:
            raise _TooLong
        return [line.strip().decode(errors="replace") for line in lines]

    def send(self, spool, newest):
        """Sends what the client takes at once. Returns: it took something, and it has not all yet.
        Raises OSError: it is gone."""
        begin = self._sent, self._told, len(self._control)
        size = os.fstat(spool).st_size
        try:
            if not self._control and self._sent < size:
                self._sent += os.sendfile(self.peer.fileno(), spool, self._sent,
                                          min(size - self._sent, _MAX_SENT_AT_ONCE))
            if not self._control and newest[0] > self._told and self._sent == size \
                    and _ends_a_line(spool, size):
                self._told, self._control = newest
            if self._control:
                self._control = self._control[self.peer.send(self._control):]
        except BlockingIOError:
            return begin != (self._sent, self._told, len(self._control)), True
        return begin != (self._sent, self._told, len(self._control)), \
            self._sent < size or bool(self._control)

    def has_all(self, spool):
        return self._sent == os.fstat(spool).st_size and not self._control


def _ends_a_line(spool, size):
    return size == 0 or os.pread(spool, 1, size - 1) == b"\n"
