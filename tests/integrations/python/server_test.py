"""The server in an engine's process, with real sockets. Nothing here waits longer than 10 seconds,
and what must not wait says how long it may take."""

import contextlib
import io
import json
import os
import resource
import socket
import stat
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from live_support import Client, Folder

from hybridscope.vllm import __main__ as commands
from hybridscope.vllm.listening import ListeningSocket, user_of_peer
from hybridscope.vllm.server import MAX_CLIENTS, MAX_COMMAND_BYTES, TraceServer


def connected(path):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(10)
    client.connect(path)
    return client


def is_hung_up_on(client):
    """Waits for it; False if something is received."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:  # hung up before it had read what was sent
        return True


class Place(Folder):
    """Which paths are taken, and who may connect."""

    def listen(self, path):
        listening = ListeningSocket(str(path))
        self.addCleanup(listening.close)
        return listening

    def refusal(self, path):
        with self.assertRaises(OSError) as raised:
            ListeningSocket(str(path))
        return str(raised.exception)

    def test_a_file_stays(self):
        path = self.folder / "results.txt"
        path.write_text("a week of work")
        self.assertEqual(self.refusal(path), f"unix:{path}: cannot serve there: what is there is "
                                             "not a socket, and stays")
        self.assertEqual(path.read_text(), "a week of work")

    def test_a_folder_a_pipe_and_a_link_stay(self):
        (self.folder / "folder").mkdir()
        os.mkfifo(self.folder / "pipe")
        (self.folder / "link").symlink_to(self.folder / "nothing")
        for name in ("folder", "pipe", "link"):
            self.assertIn("is not a socket, and stays", self.refusal(self.folder / name))
            self.assertTrue(os.path.lexists(self.folder / name), name)

    def test_a_link_to_a_dead_socket_stays(self):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(self.folder / "dead"))
        (self.folder / "link").symlink_to("dead")
        self.assertIn("is not a socket, and stays", self.refusal(self.folder / "link"))

    def test_a_dead_socket_is_replaced(self):
        path = str(self.folder / "dead.sock")
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
        listening = self.listen(path)
        with connected(path):
            listening.socket.accept()[0].close()

    def test_a_socket_that_somebody_listens_on_stays(self):
        path = str(self.folder / "s.sock")
        listening = self.listen(path)
        self.assertIn("another process listens there", self.refusal(path))
        with connected(path):
            listening.socket.accept()[0].close()

    def test_one_who_never_accepts_cannot_make_the_engine_wait(self):
        path = str(self.folder / "s.sock")
        with socket.socket(socket.AF_UNIX) as squatter, contextlib.ExitStack() as queue:
            squatter.bind(path)
            squatter.listen(0)
            with contextlib.suppress(BlockingIOError):  # until its queue is full
                for _ in range(100):
                    waiting = queue.enter_context(socket.socket(socket.AF_UNIX))
                    waiting.setblocking(False)
                    waiting.connect(path)
            started = time.monotonic()
            self.assertIn("another process listens there", self.refusal(path))
            self.assertLess(time.monotonic() - started, 1)

    def test_user_ids_above_2_to_the_31_are_read_as_they_are(self):
        connection = mock.Mock()
        connection.getsockopt.return_value = struct.pack("iII", 77, 4294967294, 4294967293)
        self.assertEqual(user_of_peer(connection), 4294967294)
        connection.getsockopt.assert_called_once_with(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)

    def test_a_path_that_is_too_long_is_an_error(self):
        self.assertIn("too long", self.refusal(self.folder / ("s" * 200)))

    def test_nobody_but_the_user_may_open_it_whatever_the_umask(self):
        for umask in (0, 0o022, 0o777):
            previous = os.umask(umask)
            self.addCleanup(os.umask, previous)
            path = self.folder / f"{umask}.sock"
            self.listen(path)
            os.umask(previous)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600, oct(umask))

    def test_without_a_path_it_is_in_a_folder_that_nobody_else_may_enter(self):
        for runtime in (str(self.folder), str(self.folder / "none"), "relative", ""):
            with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=runtime):
                listening = ListeningSocket()
            folder = Path(listening.path).parent
            self.assertEqual(folder.parent == self.folder, runtime == str(self.folder), runtime)
            self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
            self.assertEqual(stat.S_IMODE(os.stat(listening.path).st_mode), 0o600)
            listening.close()
            self.assertFalse(folder.exists())

    def test_the_end_removes_its_own_socket_and_no_other_file(self):
        path = self.folder / "s.sock"
        listening = ListeningSocket(str(path))
        path.unlink()
        path.write_text("somebody else's")
        listening.close()
        self.assertEqual(path.read_text(), "somebody else's")


class Served(Folder):
    def setUp(self):
        super().setUp()
        self.path, self.words, self.log = str(self.folder / "s.sock"), [], []
        self.server = TraceServer(self.path, self.words.append, self.log.append)
        self.server.start()
        self.is_open = True
        self.addCleanup(self.close)

    def close(self):
        if self.is_open:
            self.is_open = False
            self.server.close()

    def write(self, text):
        os.write(self.server.fileno(), text.encode())

    def client(self):
        client = Client(self.path)
        self.addCleanup(client.close)
        return client

    def raw_client(self):
        return self.enterContext(connected(self.path))

    def wait_for(self, is_true):
        end = time.monotonic() + 10
        while not is_true() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(is_true())


class Server(Served):
    def test_a_client_gets_the_trace_from_its_first_line_and_goes_on(self):
        self.write("one\n")
        self.write("two\n")
        client = self.client()
        self.assertEqual([client.line(), client.line()], ["one\n", "two\n"])
        self.write("three\n")
        self.assertEqual(client.line(), "three\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_control_lines_stand_between_lines(self):
        client = self.client()
        self.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.write("tw")
        self.server.tell("held", reason="why")
        self.write("o\n")
        self.assertEqual(client.line(), "two\n")
        self.assertEqual(json.loads(client.line()), {"control": "held", "reason": "why"})

    def test_who_comes_later_learns_that_the_engine_is_held(self):
        self.write("one\n")
        self.server.tell("held", reason="why")
        client = self.client()
        self.assertEqual(client.line(), "one\n")
        self.assertEqual(json.loads(client.line())["control"], "held")

    def test_of_many_control_lines_the_last_one_is_kept(self):
        for step in range(1000):
            self.server.tell("held", step=step)
            self.server.tell("running")
        client = self.client()
        self.assertEqual(json.loads(client.line()), {"control": "running"})
        self.server.tell("held", step=1000)
        self.assertEqual(json.loads(client.line())["step"], 1000)

    def test_lines_of_a_client_are_commands(self):
        self.assertEqual(commands.main(["hold", f"unix:{self.path}"]), 0)
        self.assertEqual(self.words, ["hold"])
        client = self.raw_client()
        client.sendall(b"continue\nho")
        client.sendall(b"ld\r\nunfinished")
        self.wait_for(lambda: len(self.words) == 3)
        client.close()
        self.client().close()
        self.assertEqual(self.words, ["hold", "continue", "hold"])

    def test_a_client_that_leaves_does_not_matter(self):
        self.client().close()
        self.write("one\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_the_end_comes_after_the_last_line_and_removes_the_socket(self):
        client = self.client()
        self.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.write("two\n")
        self.close()
        self.assertEqual([client.line(), client.line()], ["two\n", ""])
        self.assertFalse(os.path.exists(self.path))

    def test_a_command_without_an_engine_says_so(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(commands.main(["continue", f"unix:{self.folder}/none"]), 4)
            self.assertEqual(commands.main(["continue"]), 2)
        self.assertIn("none: no engine serves there", errors.getvalue())


class Limits(Served):
    """What clients can do to the engine's process."""

    def test_a_client_that_does_not_read_keeps_nobody_from_reading(self):
        self.raw_client()
        for _ in range(8):
            self.write("x" * 999_999 + "\n")
        reader = self.client()
        for _ in range(8):
            self.assertEqual(len(reader.line()), 1_000_000)

    def test_the_end_waits_for_none_of_eight_clients_that_do_not_read(self):
        for _ in range(8):
            self.raw_client()
        self.write("x" * 4_000_000 + "\n")  # more than a socket holds
        self.wait_for(lambda: len(self.server._clients) == 8)
        started = time.monotonic()
        self.close()
        self.assertLess(time.monotonic() - started, 2)

    def test_a_line_without_an_end_is_not_kept(self):
        client = self.raw_client()
        with self.assertRaises(OSError):  # of 800 MiB at most a few hundred kB are taken
            for _ in range(800):
                client.sendall(b"x" * (1 << 20))
        self.write("one\n")
        self.assertEqual(self.client().line(), "one\n")
        self.assertEqual(self.words, [])
        self.assertEqual(self.log, ["a client sent a line above 1024 bytes: hung up on"])

    def test_a_line_of_the_greatest_length_is_a_command(self):
        client = self.raw_client()
        client.sendall(b"x" * MAX_COMMAND_BYTES + b"\nhold\n")
        self.wait_for(lambda: len(self.words) == 2)
        client.sendall(b"x" * (MAX_COMMAND_BYTES + 1) + b"\nhold\n")
        self.assertTrue(is_hung_up_on(client))
        self.assertEqual([len(word) for word in self.words], [MAX_COMMAND_BYTES, len("hold")])

    def test_so_many_clients_are_served_and_one_more_when_one_leaves(self):
        clients = [self.raw_client() for _ in range(MAX_CLIENTS)]
        self.assertTrue(is_hung_up_on(self.raw_client()))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(commands.main(["hold", f"unix:{self.path}"]), 4)
        self.assertIn("the engine hung up; its log says why", errors.getvalue())
        self.assertEqual((self.words, self.log), ([], ["more than 16 clients are not served"]))
        clients[3].close()
        self.wait_for(lambda: len(self.server._clients) == MAX_CLIENTS - 1)
        self.write("one\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_the_server_serves_again_when_there_are_descriptors_again(self):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.addCleanup(client.close)
        client.settimeout(10)
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        client.connect(self.path)
        self.wait_for(lambda: self.log)
        self.assertEqual(self.log, ["nobody can connect for now: Too many open files"])
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.write("one\n")
        self.assertEqual(client.recv(4), b"one\n")

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_process_of_another_user_is_hung_up_on(self):
        self.folder.chmod(0o755)
        os.chmod(self.path, 0o666)  # so that nothing but the server is in its way
        self.write("secret\n")
        script = ("import os, socket, sys\n"
                  "os.setgid(65534)\nos.setuid(65534)\n"
                  "client = socket.socket(socket.AF_UNIX)\n"
                  "client.settimeout(10)\n"
                  "client.connect(sys.argv[1])\n"
                  "print(client.recv(100))\n")
        child = subprocess.run([sys.executable, "-c", script, self.path], capture_output=True,
                               text=True, timeout=60)
        self.assertEqual(child.stdout, "b''\n", child.stderr)
        self.assertEqual(self.log, ["a process of user 65534 may not connect"])

    @unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
    def test_a_process_of_another_user_may_not_open_the_socket(self):
        self.folder.chmod(0o755)
        script = ("import os, socket, sys\n"
                  "os.setgid(65534)\nos.setuid(65534)\n"
                  "try:\n    socket.socket(socket.AF_UNIX).connect(sys.argv[1])\n"
                  "except PermissionError:\n    print('refused')\n")
        child = subprocess.run([sys.executable, "-c", script, self.path], capture_output=True,
                               text=True, timeout=60)
        self.assertEqual(child.stdout, "refused\n", child.stderr)

    def test_a_thread_that_has_ended_before_it_is_woken_is_no_error(self):
        self.server._closed = True
        self.raw_client()  # it wakes the thread, which sees that it is the end
        self.server._thread.join(10)
        self.assertFalse(self.server._thread.is_alive())
        self.close()

    def test_nobody_wakes_the_server_of_an_engine_without_clients(self):
        self.assertIsNone(self.server._timeout())


if __name__ == "__main__":
    unittest.main()
