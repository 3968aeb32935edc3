"""What the tests of the Python package share: the program beside it, and places of the tree."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("HYBRIDSCOPE_PROGRAM", str(ROOT / "build/release/app/hybridscope"))


def scenario(name):
    return str(ROOT / "scenarios" / f"{name}.json")


def recording(name):
    return str(ROOT / "tests/recordings" / f"{name}.jsonl.zst")


def program(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)


def json_of_program(*arguments):
    return json.loads(program(*arguments).stdout)


class PackageCase(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

