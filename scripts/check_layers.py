#!/usr/bin/env python3
"""Do the #include lines follow the arrows between folders (docs/architecture.md)?

check_layers.py [ROOT] prints one line for each include that does not, and exits with 1.
"""

import re
import sys
from pathlib import Path

from source_tree import CPP_SUFFIXES, files

_BELOW_CACHING = ("core/base", "core/model")
_BELOW_TRACE = _BELOW_CACHING + ("core/caching", "core/metadata", "core/state", "core/numeric")
_BELOW_CHECK = _BELOW_TRACE + ("core/trace",)
_CORE = _BELOW_CHECK + ("core/engine", "core/check", "core/language")


def _room(*rooms: str) -> tuple[str, ...]:
    return _CORE + tuple(f"sessions/{room}" for room in rooms)


_BELOW_RECORD = ("text", "scenario", "explain", "run")

# The folders of sessions from the bottom layer up, then one per tool.
_ROOMS: dict[str, tuple[str, ...]] = {
    "sessions/text": ("core/base",),
    "sessions/palette": ("core/base",),
    "sessions/page": ("core/base", "sessions/palette", "sessions/text"),
    "sessions/startup": ("core/base", "core/model", "sessions/text"),
    "sessions/scenario": _room("text", "startup"),
    "sessions/traffic": _room("text", "scenario"),
    "sessions/weights": (
        "core/base", "core/model", "core/numeric", "sessions/text", "sessions/startup",
        "sessions/scenario",
    ),
    "sessions/explain": _room("text", "scenario"),
    "sessions/run": _room("text", "scenario", "traffic", "explain"),
    "sessions/record": _room(*_BELOW_RECORD),
    "sessions/live": _room(*_BELOW_RECORD, "record"),
    "sessions/replay": _room(),
    "sessions/conformance": _room("text", "startup", "scenario", "weights", "replay"),
    "sessions/judge": _room(*_BELOW_RECORD, "replay", "conformance"),
    "sessions/breakpoint": _room("text", "record"),
    "sessions/cache_report": _room("text", "scenario", "explain", "run"),
    "sessions/diff": _room(*_BELOW_RECORD, "record"),
    "sessions/export": _room(*_BELOW_RECORD, "known_bugs", "live"),
    "sessions/known_bugs": _room(*_BELOW_RECORD),
    "sessions/lessons": _room("text", "scenario", "run", "live", "breakpoint"),
    "sessions/report": _room("text", "explain", "run", "record", "page"),
    "sessions/shrink": _room(*_BELOW_RECORD, "judge", "known_bugs"),
    "sessions/plan": _room(
        "text", "startup", "scenario", "traffic", "explain", "run", "cache_report", "page", "judge"
    ),
    "sessions/matrix": _room("text", "scenario", "explain", "run", "shrink", "page", "known_bugs"),
}

# Folder -> folders whose headers it may include besides its own. A file belongs to the longest
# folder here that contains it. `app` may include everything.
ARROWS: dict[str, tuple[str, ...]] = {
    "core/base": (),
    "core/model": ("core/base",),
    "core/caching": _BELOW_CACHING,
    "core/metadata": _BELOW_CACHING,
    "core/state": _BELOW_CACHING,
    "core/numeric": ("core/base",),
    "core/trace": _BELOW_TRACE,
    "core/engine": _BELOW_CHECK,
    "core/check": _BELOW_CHECK,
    "core/language": _BELOW_CHECK + ("core/check",),
    "kernels": _CORE,
    **_ROOMS,
    "storage": _CORE + tuple(_ROOMS),
    "sessions/job": _CORE + tuple(_ROOMS) + ("storage",),
    "gui/model": _CORE + tuple(_ROOMS) + ("storage", "sessions/job"),
    "gui/web": _CORE + tuple(_ROOMS) + ("gui/model",),
    "gui": _CORE + tuple(_ROOMS) + ("gui/model",),
    "cli": _CORE + tuple(_ROOMS) + ("storage", "sessions/job"),
    "app": _CORE
    + tuple(_ROOMS)
    + ("kernels", "storage", "sessions/job", "gui/model", "gui/web", "gui", "cli"),
    "integrations/python": _CORE + tuple(_ROOMS) + ("kernels", "storage", "sessions/job", "app"),
}

# Tests and benches may include any folder above, but external headers only as the folder that they
# mirror (tests/gui/model may not include ImGui either).
MIRRORS = ("tests", "bench")

# Prefix of an external header -> folders that may include it. The most specific folder counts: gui
# does not cover gui/model; sessions covers all its subfolders.
HOMES: dict[str, tuple[str, ...]] = {
    "imgui": ("gui",),
    "GLFW/": ("gui",),
    "GL/": ("gui",),
    "EGL/": ("gui",),
    "png.h": ("gui",),
    "sqlite3.h": ("storage",),
    "SQLiteCpp/": ("storage",),
    "cuda": ("kernels",),
    "cub/": ("kernels",),
    "nlohmann/": (
        "sessions", "cli", "storage", "gui/model", "gui/web", "integrations/python", "tests"
    ),
    "pybind11/": ("integrations/python",),
    "simdjson.h": ("sessions", "storage"),
    "yaml.h": ("sessions/plan",),
    "xxhash.h": ("sessions", "storage", "tests"),
    "zlib.h": ("sessions", "storage", "tests"),
    "zstd.h": ("sessions", "storage"),
    "fmt/": (
        "sessions", "storage", "gui/model", "gui/web", "gui", "cli", "app", "integrations/python",
        "tests",
    ),
    "backends/imgui_": ("gui",),
    "spdlog/": ("app",),
    "CLI/": ("cli", "app"),
    "fnmatch.h": ("cli",),
    "link.h": ("sessions",),
    "unistd.h": ("sessions", "storage", "gui", "cli", "app", "integrations/python", "tests"),
    "fcntl.h": ("sessions", "storage"),
    "poll.h": ("sessions", "integrations/python", "tests"),
    "sys/file.h": ("sessions",),
    "sys/ioctl.h": ("sessions",),
    "sys/mman.h": ("sessions/weights",),
    "sys/socket.h": ("sessions", "integrations/python", "tests"),
    "sys/stat.h": ("sessions", "storage", "gui", "cli", "app", "tests"),
    "sys/un.h": ("sessions", "tests"),
    "sys/": ("storage", "gui", "cli", "app", "tests"),
    "gtest/": ("tests",),
    "gmock/": ("tests",),
    "rapidcheck": ("tests",),
    "benchmark/": ("bench",),
}

# Standard headers for I/O, formatting, threads, clocks and random numbers: core has none.
NOT_IN_CORE = frozenset(
    "iostream istream ostream fstream sstream syncstream iomanip cstdio filesystem format print"
    " thread future mutex shared_mutex condition_variable stop_token semaphore barrier latch"
    " chrono ctime random".split()
)

# Headers that most of the program includes may reach only values (structs, enums and small
# functions of them): no class such as a manager or builder, and no expensive standard header.
VALUE_HEADERS = ("core/trace/step_trace.h",)
NOT_IN_VALUES = frozenset(
    "algorithm deque functional map memory numeric ranges regex set string unordered_map"
    " unordered_set".split()
)

_CLASS = re.compile(r"^\s*(?:template\s*<.*>\s*)?class\s+(?:\[\[.*?\]\]\s*)?(\w+)[^;]*$")
_INCLUDE = re.compile(r"^\s*#\s*include\s*(?:([<\"])([^>\"]+)[>\"]|(.*))")


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def unit_of(path: str) -> str | None:
    """The longest folder of ARROWS that contains `path`."""
    holders = [folder for folder in ARROWS if _holds(folder, path)]
    return max(holders, key=len, default=None)


def _external_fault(where: str, unit: str | None, header: str) -> str | None:
    """`where`: the including folder (a unit, tests or bench); `unit`: the folder a test mirrors."""
    if re.fullmatch(r"[a-z_0-9]+", header):
        if where.startswith("core/") and header in NOT_IN_CORE:
            return f"core includes no <{header}> (no I/O, threads, clock, formatting, random)"
        return None
    prefix = next((prefix for prefix in HOMES if header.startswith(prefix)), None)
    if prefix is None:
        return f"<{header}> has no home in scripts/check_layers.py"
    rooms = tuple(folder for folder in ARROWS if folder.startswith("sessions/"))
    homes = HOMES[prefix] + (rooms if "sessions" in HOMES[prefix] else ())
    if where in homes or (where in MIRRORS and unit in homes):
        return None
    return f"<{header}> belongs to {', '.join(HOMES[prefix])}"


def include_fault(path: str, kind: str, header: str) -> str | None:
    """What is wrong with the file `path` (relative to the root) including `header`, or None."""
    top, _, rest = path.partition("/")
    mirror = top in MIRRORS
    unit = unit_of(rest if mirror else path)
    where = top if mirror else unit
    if where is None:
        return "its folder has no row in scripts/check_layers.py"
    target = unit_of(header)
    if target is None and header.partition("/")[0] in MIRRORS:
        return None if mirror else f"{where} must not include {header}"
    if target is None:
        if kind == '"':
            return f'"{header}": our own headers are named from the project root'
        return _external_fault(where, unit, header)
    if kind != '"':
        return f'<{header}>: our own headers are included with ""'
    if mirror or target == where or target in ARROWS[where]:
        return None
    return f"{where} must not include {target} ({header})"


def value_faults(root: Path) -> list[str]:
    """What VALUE_HEADERS reach that is not a value."""
    found: list[str] = []
    seen: set[str] = set()
    waiting = [header for header in VALUE_HEADERS if (root / header).is_file()]
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        where = "" if path in VALUE_HEADERS else f" ({VALUE_HEADERS[0]} reaches this header)"
        lines = (root / path).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            defined, included = _CLASS.match(line), _INCLUDE.match(line)
            header = included.group(2) if included else None
            if defined:
                fault = f"class {defined.group(1)}: values are structs"
                found.append(f"{path}:{number}: {fault}{where}")
            elif header in NOT_IN_VALUES:
                found.append(f"{path}:{number}: value headers include no <{header}>{where}")
            elif header and (root / header).is_file():
                waiting.append(header)
    return sorted(found)


def faults(root: Path) -> list[str]:
    found: list[str] = []
    for path in files(root, CPP_SUFFIXES):
        lines = (root / path).read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, start=1):
            match = _INCLUDE.match(line)
            if match is None:
                continue
            kind, header, other = match.groups()
            fault = (
                include_fault(path, kind, header)
                if header
                else f"an include names its file ({other.strip()})"
            )
            if fault:
                found.append(f"{path}:{number}: {fault}")
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    number = sum(1 for _ in files(root, CPP_SUFFIXES))
    if number == 0:
        print(f"layers: no source file under {root}", file=sys.stderr)
        return 1
    found = faults(root) + value_faults(root)
    for fault in found:
        print(fault)
    print(f"layers: {number} files, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
