#!/usr/bin/env python3
"""Does g++ take the sources of the program? CI's build is clang's, scripts/demo's is g++'s.

check_gcc.py reads every source as build/syntax would compile it, without making code, two at a time.
What g++ says of a file is printed; exit code 1: it refused one. Headers that the build writes are
taken from build/asan, which must be built.
"""

import json
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/syntax"
BUILT = ROOT / "build/asan"


def is_of_program(source: str) -> bool:
    """Tests, kernels, precompiled headers and headers that are compiled alone are not."""
    place = Path(source).relative_to(ROOT)
    return ("tests" not in place.parts and place.suffix != ".cu"
            and not re.search("cmake_pch|verify_interface", source))


def without_code(command: str) -> list[str]:
    """The compiler's command without what it writes, with the headers that are written already."""
    words = [re.sub(f"^-I{BUILD}/(.*generated)$", rf"-I{BUILT}/\1", word)
             for word in shlex.split(command)]
    output = words.index("-o")
    del words[output:output + 2]
    words.remove("-c")
    return words + ["-fsyntax-only"]


def is_taken(entry: dict[str, str]) -> bool:
    """Does g++ take the source? What it says is printed."""
    done = subprocess.run(without_code(entry["command"]), cwd=entry["directory"], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout, end="")
    return done.returncode == 0


def main() -> int:
    subprocess.run(["cmake", "--preset", "syntax"], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    sources = [entry for entry in commands if is_of_program(entry["file"])]
    with ThreadPoolExecutor(2) as pool:
        num_taken = sum(pool.map(is_taken, sources))
    print(f"g++ takes {num_taken} of {len(sources)} sources")
    return 0 if sources and num_taken == len(sources) else 1


if __name__ == "__main__":
    sys.exit(main())
