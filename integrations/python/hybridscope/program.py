"""The program, as the package carries it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from .errors import NotAvailable


def path() -> str:
    """Where the program is: in the package, else on PATH."""
    packaged = Path(__file__).with_name("bin") / "hybridscope"
    if packaged.exists():
        return str(packaged)
    found = shutil.which("hybridscope")
    if found is None:
        raise NotAvailable("the package lacks its program: install it with pip or a wheel")
    return found


def execute(arguments: Sequence[str]) -> NoReturn:
    """Becomes the program with these arguments."""
    sys.stdout.flush()
    program = path()
    os.execv(program, [program, *arguments])


def main() -> NoReturn:
    """python -m hybridscope ARGUMENTS"""
    try:
        execute(sys.argv[1:])
    except NotAvailable as error:
        sys.exit(f"hybridscope: {error}")
