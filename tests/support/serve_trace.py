#!/usr/bin/env python3
"""Serve a trace over a unix socket as a living engine does, to try --follow and --attach by hand.

serve_trace.py TRACE.jsonl[.zst] SOCKET [--steps-per-second N] [--trace N]

Listens on SOCKET, sends each client the lines that were "written" so far and then each further
line at the given pace (0: as fast as the client takes them), and understands "hold" and "continue"
(docs/trace-format.md, "Following an engine"). Of a file with several traces, --trace picks one
(from 1). Runs until it is interrupted.
"""

import argparse
import json
import os
import selectors
import socket
import stat
import subprocess
import time


def read_lines(path: str, wanted: int) -> list[bytes]:
    if path.endswith(".zst"):
        text = subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout
    else:
        with open(path, "rb") as file:
            text = file.read()
    traces: list[list[bytes]] = []
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(b'{"hybridscope_trace"') or not traces:
            traces.append([])
        traces[-1].append(line)
    return traces[wanted - 1]


def control(kind: str, **members: object) -> bytes:
    return (json.dumps({"control": kind, **members}) + "\n").encode()


class Engine:
    """The lines written so far, and whether the engine is held."""

    def __init__(self, lines: list[bytes], pace: float) -> None:
        self.lines, self.pace = lines, pace
        self.written = 1  # the header
        self.held = False
        self.next_at = time.monotonic()

    def run(self) -> None:
        """Writes what is due."""
        if self.held:
            return
        if self.pace <= 0:
            self.written = len(self.lines)
            return
        now = time.monotonic()
        while self.next_at <= now and self.written < len(self.lines):
            self.written += 1
            self.next_at += 1 / self.pace


class Client:
    def __init__(self, peer: socket.socket) -> None:
        self.peer, self.sent, self.rest, self.received = peer, 0, b"", b""


def serve(engine: Engine, path: str) -> None:
    if os.path.exists(path) and stat.S_ISSOCK(os.lstat(path).st_mode):
        os.unlink(path)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    server.listen(4)
    server.setblocking(False)
    clients: list[Client] = []
    poll = selectors.DefaultSelector()
    poll.register(server, selectors.EVENT_READ)

    def drop(client: Client) -> None:
        clients.remove(client)
        poll.unregister(client.peer)
        client.peer.close()

    def say(line: bytes) -> None:
        for client in clients:
            client.rest += line

    def hear(client: Client) -> None:
        try:
            data = client.peer.recv(4096)
        except BlockingIOError:
            return
        except ConnectionResetError:
            data = b""
        if not data:
            drop(client)
            return
        client.received += data
        while b"\n" in client.received:
            word, _, client.received = client.received.partition(b"\n")
            if word == b"hold" and not engine.held:
                engine.held = True
                step = json.loads(engine.lines[engine.written - 1]).get("step", 0)
                for other in clients:  # the control line comes after the lines written before
                    other.rest += b"".join(engine.lines[other.sent:engine.written])
                    other.sent = engine.written
                say(control("held", step=step, reason="a client asked for it"))
            if word == b"continue" and engine.held:
                engine.held, engine.next_at = False, time.monotonic()
                say(control("running"))

    def push(client: Client) -> None:
        while True:
            if not client.rest and client.sent < engine.written:
                client.rest = engine.lines[client.sent]
                client.sent += 1
            if not client.rest:
                return
            try:
                client.rest = client.rest[client.peer.send(client.rest):]
            except BlockingIOError:
                return
            except OSError:
                drop(client)
                return

    while True:
        engine.run()
        busy = any(client.rest or client.sent < engine.written for client in clients)
        for key, _ in poll.select(timeout=0.0005 if busy else 0.005):
            if key.fileobj is server:
                peer, _ = server.accept()
                peer.setblocking(False)
                clients.append(Client(peer))
                poll.register(peer, selectors.EVENT_READ)
            else:
                for client in [c for c in clients if c.peer is key.fileobj]:
                    hear(client)
        for client in list(clients):
            push(client)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace_file")
    parser.add_argument("socket")
    parser.add_argument("--steps-per-second", type=float, default=5)
    parser.add_argument("--trace", type=int, default=1)
    arguments = parser.parse_args()
    engine = Engine(read_lines(arguments.trace_file, arguments.trace), arguments.steps_per_second)
    try:
        serve(engine, arguments.socket)
    except KeyboardInterrupt:
        pass
    finally:
        os.unlink(arguments.socket)


if __name__ == "__main__":
    main()
