"""python -m hybridscope.vllm hold|continue unix:PATH: tells an engine that serves PATH."""

import socket
import sys


def main(arguments):
    """Returns the exit code."""
    if len(arguments) != 2 or arguments[0] not in ("hold", "continue") \
            or not arguments[1].startswith("unix:"):
        print(__doc__, file=sys.stderr)
        return 2
    path = arguments[1].removeprefix("unix:")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(path)
        except OSError as error:
            print(f"{path}: no engine serves there: {error.strerror}", file=sys.stderr)
            return 4
        try:
            client.sendall(f"{arguments[0]}\n".encode())
            client.shutdown(socket.SHUT_WR)
            while client.recv(1 << 16):  # the trace, until the server has read the word
                pass
        except OSError:
            print(f"{path}: the engine hung up; its log says why", file=sys.stderr)
            return 4
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
