#!/usr/bin/env python3
"""check_headers.py BUILD: whether each header compiles alone, by BUILD/compile_commands.json and
with clang++. What the target all_verify_interface_header_sets does, in less time: no code is generated,
and what a header and ours that it includes want of foreign headers comes precompiled."""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

STANDARD = ("optional", "string", "variant", "vector")
MORE = (*STANDARD, "algorithm", "functional")
MOST = (*MORE, "map", "memory")
JSON, CLI = "nlohmann/json.hpp", "CLI/CLI.hpp"
PRECOMPILED = (  # the longest first: a header takes the first of which it includes everything
    (*MOST, "unordered_map", "imgui.h"), (*MOST, "unordered_map"), (*MOST, JSON, CLI), (*MOST, CLI),
    (*STANDARD, JSON), ("functional", CLI), MOST, MORE, STANDARD, ("string", "variant"),
    ("string",), ("vector",))
COMPILER = ("clang++", "-fsyntax-only", "-x", "c++", "-std=c++20")


@lru_cache(maxsize=None)
def includes(path: Path) -> tuple[tuple[str, str], ...]:
    return tuple(re.findall(r'^#include ([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE))


def foreign_headers(path: Path, root: Path) -> set[str]:
    """What `path` and our headers that it includes in the end include of others."""
    found: set[str] = set()
    seen, ahead = {path}, [path]
    while ahead:
        file = ahead.pop()
        for kind, name in includes(file):
            if kind == "<":
                found.add(name)
                continue
            for place in (root / name, file.parent / name):
                if place.is_file() and place not in seen:
                    seen.add(place)
                    ahead.append(place)
    return found


def headers_of(build: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """Every header that is to compile alone, and the flags to find what it includes."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if "_verify_interface_header_sets" not in entry["file"]:
            continue
        header = re.search(r'"([^"]+)"|<([^>]+)>', Path(entry["file"]).read_text())
        flags = [word for at, word in enumerate(words)
                 if re.match("-[DI]|-isystem", word) or words[at - 1] == "-isystem"]
        found.append((Path(header[1] or header[2]), tuple(flags)))
    return found


class Check:
    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        self.precompiled: dict[tuple[str, ...], Path] = {}

    def precompile(self, flags: tuple[str, ...], names: tuple[str, ...]) -> None:
        if not names or names in self.precompiled:
            return
        place = self.folder / f"{len(self.precompiled)}.pch"
        source = place.with_suffix(".h")
        source.write_text("".join(f"#include <{name}>\n" for name in names))
        places = [flag for flag in flags if not flag.startswith("-D")]
        subprocess.run([COMPILER[0], "-x", "c++-header", COMPILER[-1], *places, str(source), "-o",
                        str(place)], check=True)
        self.precompiled[names] = place

    def alone(self, header: Path, flags: tuple[str, ...], names: tuple[str, ...]) -> str:
        """What the compiler says where the header does not compile alone."""
        options = ["-include-pch", str(self.precompiled[names])] if names else []
        done = subprocess.run([*COMPILER, *flags, *options, "-"], text=True, capture_output=True,
                              input=f'#include "{header}"\n', cwd=self.root, check=False)
        return done.stderr if done.returncode else ""


def main(root: Path, build: Path) -> int:
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        check = Check(root, Path(folder))
        jobs = []
        for header, flags in headers_of(build):
            foreign = foreign_headers(root / header, root)
            names = next((names for names in PRECOMPILED if foreign.issuperset(names)), ())
            check.precompile(flags, names)
            jobs.append((header, flags, names))
        failures = [said for said in pool.map(lambda job: check.alone(*job), jobs) if said]
    sys.stderr.write("".join(failures))
    print(f"headers: {len(jobs)} files, {len(failures)} faults")
    return 1 if failures or not jobs else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_headers.py BUILD")
    sys.exit(main(Path(__file__).resolve().parent.parent, Path(sys.argv[1]).resolve()))
