#!/usr/bin/env python3
"""Finds unfinished marks, paths of one machine, dead links, citations of rules, bugs and files that
do not exist, tests that documents name but that do not exist, and C++ files that nothing builds.

check_tree.py [ROOT] prints one line per fault and exits with 1; long C++ files are only listed.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from citations import Citations
from source_tree import CPP_SUFFIXES, files

LONG_FILE_LINES = 400

# Character classes of one letter keep these lines from matching themselves.
_LINE_RULES = (
    (re.compile(r"\bTOD[O]\b|\bFIXM[E]\b|\bstu[b]s?\b|\bnot implemente[d]\b", re.IGNORECASE),
     "unfinished mark"),
    (re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:work|root)/"), "path of one machine"),
)
# The only loop over the steps of a run: sessions/run/drive.cpp.
_STEP_LOOP = re.compile(r"\b(?:while|for)\b.*\bhas_ended\(\)")
_NO_STEP_LOOP = ("tests/", "bench/", "sessions/run/drive.cpp")
# A comment that begins in mid-sentence: its reader would need what stands elsewhere.
_FRAGMENT = re.compile(r"^\s*// (?:Of|The same|Those|As many|Each of)\b")
_NO_FRAGMENTS = ("tests/", "bench/")
_TEST_NAME = re.compile(r"`([A-Z]\w*)\.([A-Z]\w*)`")
_TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)")


def _anchors(page: Path) -> set[str]:
    """What a link to a heading of the page says behind its #."""
    fenced = False
    found: set[str] = set()
    for line in page.read_text(encoding="utf-8").splitlines():
        fenced ^= line.startswith("```")
        if (heading := _HEADING.match(line)) and not fenced:
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            found.add(re.sub(r"[^\w -]", "", words).replace(" ", "-"))
    return found


def _dead_links(root: Path, path: str, line: str) -> Iterator[str]:
    for target, anchor in _LINK.findall(line):
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (root / path).parent / target if target else root / path
        if not file.exists():
            yield f"link to {target}, which does not exist"
        elif anchor and file.suffix == ".md" and anchor not in _anchors(file):
            yield f"link to {target}#{anchor}, which is no heading"


def _tests(root: Path) -> set[tuple[str, str]]:
    """(suite, name) of every GoogleTest in the tree."""
    return {test for path in files(root, CPP_SUFFIXES) if path.startswith("tests/")
            for test in _TEST.findall((root / path).read_text(encoding="utf-8"))}


def _absent_tests(tests: set[tuple[str, str]], line: str) -> Iterator[str]:
    for suite, name in _TEST_NAME.findall(line):
        if (suite, name) not in tests:
            yield f"test {suite}.{name}, which does not exist"


def _unbuilt(root: Path, path: str) -> str | None:
    """Sources are listed one by one: the nearest CMakeLists.txt above a C++ file must name it, or a
    .cmake file beside it, which the root's CMakeLists.txt includes; or the CMakeLists.txt beside it
    takes every file of its kind, and looks for new ones at each build."""
    file = root / path
    if path.startswith("tests/") and path.endswith(".h"):
        return None  # headers shared by the files of one test program belong to no library
    for folder in file.parents:
        if (folder / "CMakeLists.txt").exists():
            listings = (folder / "CMakeLists.txt", *file.parent.glob("*.cmake"))
            listing = "\n".join(listing.read_text(encoding="utf-8") for listing in listings)
            name = re.escape(file.relative_to(folder).as_posix())
            if re.search(rf"(?<![\w./-]){name}(?![\w./-])", listing):
                return None
            every = rf"file\(GLOB [^)]*CONFIGURE_DEPENDS \*{re.escape(file.suffix)}\)"
            if folder == file.parent and re.search(every, listing):
                return None
            where = (folder / "CMakeLists.txt").relative_to(root).as_posix()
            return f"not listed in {where}: it is not built"
        if folder == root:
            break
    return "no CMakeLists.txt above it"


def _read(path: Path) -> list[str] | None:
    """Lines of a text file, None for a binary one."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", errors="replace").splitlines()


def _fragments(lines: list[str]) -> Iterator[int]:
    """Lines, from 1, on which a comment begins in mid-sentence."""
    for before, (number, line) in zip(["", *lines], enumerate(lines, start=1)):
        if _FRAGMENT.search(line) and not before.lstrip().startswith("//"):
            yield number


def faults(root: Path) -> list[str]:
    found: list[str] = []
    tests = _tests(root)
    citations = Citations(root)
    found += citations.faults_of_pages()
    for path in files(root):
        lines = _read(root / path) or []
        found += citations.faults_of_text(path, "\n".join(lines))
        for number, line in enumerate(lines, start=1):
            found += [f"{path}:{number}: {name}" for rule, name in _LINE_RULES if rule.search(line)]
            if path.endswith(".md"):
                found += [f"{path}:{number}: {text}" for text in _dead_links(root, path, line)]
                found += [f"{path}:{number}: {text}" for text in _absent_tests(tests, line)]
    for path in files(root, CPP_SUFFIXES):
        if fault := _unbuilt(root, path):
            found.append(f"{path}: {fault}")
        if not path.startswith(_NO_FRAGMENTS):
            found += [f"{path}:{number}: a comment that begins in mid-sentence"
                      for number in _fragments(_read(root / path) or [])]
        if path.startswith(_NO_STEP_LOOP):
            continue
        found += [f"{path}:{number}: a loop over steps: drive() is the only one"
                  for number, line in enumerate(_read(root / path) or [], start=1)
                  if _STEP_LOOP.search(line)]
    return found


def long_files(root: Path) -> list[str]:
    """C++ files that are too long for a review (above 400 lines)."""
    lengths = {path: len(_read(root / path) or ()) for path in files(root, CPP_SUFFIXES)}
    return [f"{path}: {n} lines" for path, n in lengths.items() if n > LONG_FILE_LINES]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    number = sum(1 for _ in files(root))
    if number == 0:
        print(f"tree: no file under {root}", file=sys.stderr)
        return 1
    found = faults(root)
    for fault in found:
        print(fault)
    for warning in long_files(root):
        print(f"warning: {warning}")
    print(f"tree: {number} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
