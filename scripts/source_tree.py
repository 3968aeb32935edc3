#!/usr/bin/env python3
"""The project's own files; source_tree.py SUFFIX... prints those that end in one of them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

CPP_SUFFIXES = (".h", ".hpp", ".cpp", ".cu", ".cuh")
HIDDEN_OF_OURS = (".ci", ".clang-format", ".clang-tidy", ".gitignore")
NOT_OURS = ("build", "out", "shared", "__pycache__")


def _is_ours(name: str) -> bool:
    if name.startswith("."):
        return name in HIDDEN_OF_OURS
    return name not in NOT_OURS and not name.startswith("build-")


def files(root: Path, suffixes: tuple[str, ...] = ()) -> Iterator[str]:
    """Paths relative to `root`, sorted; all files, or those that end in one of `suffixes`."""
    found: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if _is_ours(name)]
        for name in names:
            if _is_ours(name) and (not suffixes or name.endswith(suffixes)):
                found.append((Path(folder) / name).relative_to(root).as_posix())
    return iter(sorted(found))


if __name__ == "__main__":
    for path in files(Path(__file__).resolve().parent.parent, tuple(sys.argv[1:])):
        print(path)
