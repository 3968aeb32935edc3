"""Sockets that only the user of this process may connect to."""

import contextlib
import errno
import fcntl
import os
import socket
import stat
import struct
import tempfile
import time

_CREDENTIALS = struct.Struct("iII")  # struct ucred: pid_t, uid_t, gid_t
_FOLDER_PATIENCE_S = 2  # while another engine takes a path in the same folder


class ListeningSocket:
    """Listens at a path until close(), which removes the path if it still names this socket."""

    def __init__(self, path=""):
        """`path`: of a socket, mode 0600 whatever the umask; empty: a new one in a new folder that
        nobody else may enter. A socket that nobody listens on any more is replaced, and nothing
        else is. Raises OSError: why this socket cannot listen there."""
        self._folder = "" if path else _private_folder()
        self.path = path or os.path.join(self._folder, "engine.sock")
        try:
            with _alone_in(os.path.dirname(self.path) or "."):
                _remove_dead_socket(self.path)
                self.socket = _bound(self.path)
        except OSError as error:
            self._remove_folder()
            raise OSError(f"unix:{self.path}: cannot serve there: "
                          f"{error.strerror or error}") from error
        self._identity = _identity(self.path)

    def close(self):
        """Nobody can connect any more."""
        self.socket.close()
        with contextlib.suppress(OSError):
            if _identity(self.path) == self._identity:
                os.unlink(self.path)
        self._remove_folder()

    def _remove_folder(self):
        if self._folder:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)


def user_of_peer(connection):
    """The user id of the process at the other end, when it connected."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return user


def _private_folder():
    """mkdtemp() makes it with mode 0700."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.access(runtime, os.W_OK | os.X_OK):
        return tempfile.mkdtemp(prefix="hybridscope-", dir=runtime)
    return tempfile.mkdtemp(prefix="hybridscope-")


@contextlib.contextmanager
def _alone_in(folder):
    """Two engines that start at once must not each take the other's socket for a dead one: between
    bind() and listen() it looks like one."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end = time.monotonic() + _FOLDER_PATIENCE_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise OSError(errno.EBUSY, "its folder is locked by another process") from error
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _remove_dead_socket(path):
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(errno.EEXIST, "what is there is not a socket, and stays")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)  # the queue of a process that never accepts may be full
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:
            pass
    raise OSError(errno.EADDRINUSE, "another process listens there; give this engine its own path")


def _bound(path):
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(server.fileno(), 0o600)  # bind() gives the path no more than this
        server.bind(path)
        os.chmod(path, 0o600)  # and the umask may have taken something from it
        server.listen()
    except OSError:
        server.close()
        raise
    return server


def _identity(path):
    found = os.lstat(path)
    return found.st_dev, found.st_ino
