"""What the tests of watched engines share."""

import socket
import tempfile
import unittest
from pathlib import Path

from hybridscope import _native
from hybridscope.hybridscope_trace import Values


class HostCopies(Values):
    """DeviceCopies without a device."""

    def __init__(self):
        values = _native.StepValues(None, {}, copies=None)
        self.launched, self.part, self.fields = 0, values.part, values.fields
        self.snapshot = values.snapshot

    def launch(self):
        self.launched += 1


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))


class Client:
    """Whoever connects to a server."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self._lines = self.socket.makefile("r")

    def line(self):
        return self._lines.readline()

    def close(self):
        self._lines.close()
        self.socket.close()
