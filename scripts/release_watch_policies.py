"""Which policy values explain that vectors of a release differ from the profile of another: a
greedy search with `hybridscope conformance FILE... --policy NAME=VALUE`.

Each step takes the smallest vectors of each kind of difference, cut behind the call that differs,
tries every value of every policy that the parts behind these vectors obey, and keeps the value with
which the most vectors agree to their end, then the most calls. A difference that needs two values
at once is not found: it is left over, and the page says so.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CASES_A_FILE = 20  # the program lists the first 20 differing cases of a file
SMALLEST_A_KIND = 2
# The headers with the policies of what a kind of vectors calls; kinds are asked in this order.
OBEYED = {
    "split": ("core/engine/aligned_split", "core/caching/manager"),
    "scheduler": ("core/caching/", "core/engine/aligned_split", "core/engine/scheduler"),
    "builders": ("core/metadata/", "core/engine/batch_metadata", "core/engine/row_inputs"),
    "graphs": ("core/metadata/", "core/engine/batch_metadata"),
    "worker": ("core/engine/worker", "core/engine/row_inputs", "core/engine/batch_metadata",
               "core/caching/manager"),
}
RELEASE_TABLE = "core/engine/releases.cpp"

Vector = dict[str, Any]


@dataclass(frozen=True)
class Value:
    policy: str  # "NullRows", the enum's name
    value: str

    def option(self) -> str:
        """null_rows=run"""
        return re.sub(r"(?<!^)([A-Z])", r"_\1", self.policy).lower() + f"={self.value}"

    def row(self, release: str) -> str:
        return f"    {{Release::v{release.replace('.', '_')}, {self.policy}::{self.value}}},"


# ---- the tree's tables ----


@dataclass(frozen=True)
class Policy:
    name: str
    values: tuple[str, ...]
    safe: str
    header: str


def policies(root: Path) -> list[Policy]:
    found = []
    for header in sorted((root / "core").rglob("*_policies.h")):
        text = re.sub(r"//.*", "", header.read_text(encoding="utf-8"))
        for name, body in re.findall(r"enum class (\w+) : std::uint8_t \{([^}]*)\}", text):
            safe = re.search(rf"PolicyAt<{name}::(\w+)", text)
            if safe:
                found.append(Policy(name, tuple(re.findall(r"\w+", body)), safe[1],
                                    header.relative_to(root).as_posix()))
    return found


def table(root: Path) -> list[tuple[str, Value, str]]:
    """(release, value, runner or "") of every change in the table of releases."""
    text = (root / RELEASE_TABLE).read_text(encoding="utf-8")
    rows = re.findall(r"\{Release::v(\d+_\d+_\d+), (\w+)::(\w+)(?:, ModelRunner::(v\d))?\},", text)
    return [(release.replace("_", "."), Value(policy, value), runner)
            for release, policy, value, runner in rows]


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def known_releases(root: Path) -> list[str]:
    text = (root / "core/base/release.h").read_text(encoding="utf-8")
    names = re.findall(r"^  v(\d+_\d+_\d+),", text, re.MULTILINE)
    return [name.replace("_", ".") for name in names]


def profile(root: Path, release: str) -> dict[str, set[str]]:
    """The values of each policy in the release, one or one a runner."""
    found = {policy.name: {"v1": policy.safe, "v2": policy.safe} for policy in policies(root)}
    for since, value, runner in table(root):
        if number(since) <= number(release) and value.policy in found:
            for each in (runner,) if runner else ("v1", "v2"):
                found[value.policy][each] = value.value
    return {name: set(values.values()) for name, values in found.items()}


def candidates(root: Path, release: str, kind: str) -> list[Value]:
    """Values that the release does not have, of policies that the kind's vectors can show."""
    of_release = profile(root, release)
    return [Value(policy.name, value) for policy in policies(root)
            if policy.header.startswith(OBEYED[kind])
            for value in policy.values if {value} != of_release[policy.name]]


# ---- the program ----


@dataclass(frozen=True)
class Difference:
    call: int
    kind: str  # the call and the field, without numbers and names
    expected: str
    got: str


class Ended(Exception):
    """The program ended without an answer, as by a contract that the policy values break."""


@dataclass
class Program:
    path: Path
    work: Path
    engine: str  # the release whose profile is asked
    runs: int = 0

    def has_policies(self) -> bool:
        done = subprocess.run([self.path, "conformance", "--help"], capture_output=True, text=True,
                              check=False)
        return "--policy" in done.stdout

    def judge(self, kind: str, vectors: list[Vector], chosen: list[Value]) -> Iterator[Any]:
        """(index, failure) of vectors that differ, (index, message) of those that make no sense
        because an earlier decision was different."""
        files = []
        for start in range(0, len(vectors), CASES_A_FILE):
            file = self.work / f"{start}_{kind}_{self.engine}.jsonl"
            file.write_text("".join(json.dumps(vector, separators=(",", ":")) + "\n"
                                    for vector in vectors[start:start + CASES_A_FILE]))
            files.append(file)
        self.runs += 1
        options = [text for value in chosen for text in ("--policy", value.option())]
        command = [self.path, "conformance", *files, "--json", "--no-timings", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout.startswith("{"):
            raise Ended(f"conformance {' '.join(options)}: exit code {done.returncode}\n"
                        f"{(done.stderr or done.stdout)[-500:]}")
        for answer in json.loads(done.stdout)["files"]:
            start = int(Path(answer["file"]).name.split("_")[0])
            for failure in answer["failures"]:
                yield start + failure["line"] - 1, failure
            for error in answer["errors"]:
                if not error["line"]:
                    sys.exit(f"release_watch: {error['message']}")
                yield start + error["line"] - 1, error["message"]

    def differences(self, kind: str, vectors: list[Vector],
                    chosen: list[Value]) -> dict[int, Difference]:
        found: dict[int, Difference] = {}
        again: dict[int, tuple[int, str]] = {}
        for index, what in self.judge(kind, vectors, chosen):
            if isinstance(what, str):
                place = re.search(r"/calls/(\d+)", what)
                again[index] = (int(place[1]) if place else 0, what.split(": ", 1)[-1])
            else:
                found[index] = difference_of(what)
        # The calls before the one that makes no sense tell where the difference began.
        asked = [index for index, (call, _) in again.items() if call]
        shorter = [cut(vectors[index], again[index][0]) for index in asked]
        earlier = dict(self.judge(kind, shorter, chosen)) if shorter else {}
        for index, (call, message) in again.items():
            what = earlier.get(asked.index(index)) if index in asked else None
            found[index] = difference_of(what) if isinstance(what, dict) else \
                Difference(call, "a call that makes no sense", "", message)
        return found


def difference_of(failure: dict[str, Any]) -> Difference:
    place = re.match(r"/results/(\d+)/?(?:metadata/)?([a-z_]*)", failure["pointer"])
    call = failure.get("asked", {}).get("call")
    op = call.get("op", "") if isinstance(call, dict) else ""
    name = place[2] if place else failure["pointer"].strip("/").split("/")[0]
    return Difference(int(place[1]) if place else 0, f"{op} {name}".strip() or "the answer",
                      str(failure["expected"])[:100], str(failure["got"])[:100])


def cut(vector: Vector, calls: int) -> Vector:
    return {**vector, "calls": vector["calls"][:calls]} if "calls" in vector else vector


# ---- the search ----


@dataclass
class Step:
    value: Value
    vectors: str  # their kind
    before: int  # vectors that differ
    after: int
    explains: list[str]  # kinds of differences that go
    also: list[Value]  # values that would do as well


@dataclass
class Search:
    program: Program
    root: Path
    chosen: list[Value] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)

    def explain(self, kind: str, vectors: list[Vector]) -> tuple[int, dict[int, Difference]]:
        """How many differ from the profile with the values so far, and what no value explains."""
        differing = self.program.differences(kind, vectors, self.chosen)
        at_first = len(differing)
        helped: list[Value] = []  # in the step before: most of them explain something else
        while differing:
            step = self.best_step(kind, vectors, differing, helped) or self.best_step(
                kind, vectors, differing, candidates(self.root, self.program.engine, kind))
            if step is None:
                break
            differing, helped = step
        return at_first, differing

    def best_step(self, kind: str, vectors: list[Vector], differing: dict[int, Difference],
                  values: list[Value]) -> tuple[dict[int, Difference], list[Value]] | None:
        """Keeps the best value: what differs with it, and which others explain something."""
        small = smallest(vectors, differing)
        taken = {value.policy for value in self.chosen}
        tried = [(result, value) for value in values
                 if value.policy not in taken
                 and (result := self.result(kind, vectors, differing, small, value))]
        tried.sort(key=lambda one: one[0], reverse=True)
        fit: list[tuple[tuple[int, int], Value, dict[int, Difference]]] = []
        for place, (result, value) in enumerate(tried):
            if fit and result != tried[place - 1][0]:
                break  # those that explain as much were looked at
            after = self.differing(kind, vectors, value)
            if after is not None and score(vectors, after) > score(vectors, differing):
                fit.append((score(vectors, after), value, after))
        if not fit:
            return None
        best, value, after = max(fit, key=lambda one: one[0])
        gone = {one.kind for one in differing.values()} - {one.kind for one in after.values()}
        also = [other for result, other, _ in fit if result == best and other != value]
        self.steps.append(Step(value, kind, len(differing), len(after), sorted(gone), also))
        self.chosen.append(value)
        return after, [other for _, other in tried if other.policy != value.policy]

    def result(self, kind: str, vectors: list[Vector], differing: dict[int, Difference],
               small: list[Vector], value: Value) -> tuple[int, int] | None:
        """How far the differing vectors agree with the value; none if it explains no small one."""
        left = self.differing(kind, small, value)
        if left is None or len(left) == len(small):
            return None
        asked = [vectors[index] for index in differing]
        after = self.differing(kind, asked, value)
        return None if after is None else score(asked, after)

    def differing(self, kind: str, vectors: list[Vector],
                  value: Value) -> dict[int, Difference] | None:
        """What differs with the value too; none if the program ends."""
        try:
            return self.program.differences(kind, vectors, [*self.chosen, value])
        except Ended:
            return None


def score(vectors: list[Vector], differing: dict[int, Difference]) -> tuple[int, int]:
    """Vectors that agree, and calls before the first difference."""
    calls = sum(differing[index].call if index in differing else len(vector.get("calls", ()))
                for index, vector in enumerate(vectors))
    return len(vectors) - len(differing), calls


def smallest(vectors: list[Vector], differing: dict[int, Difference]) -> list[Vector]:
    kinds: dict[str, list[Vector]] = defaultdict(list)
    for index, one in differing.items():
        kinds[one.kind].append(cut(vectors[index], one.call + 1))
    return [vector for group in kinds.values()
            for vector in sorted(group, key=lambda one: len(json.dumps(one)))[:SMALLEST_A_KIND]]
