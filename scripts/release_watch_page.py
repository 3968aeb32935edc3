"""The page of scripts/release_watch, in Markdown."""

from collections import Counter
from dataclasses import dataclass, field

from release_watch_files import (
    FileChange, Registry, classes, diff, fields_of_decisions, settings)
from release_watch_policies import Difference, Search, Value

NAMED = 12  # functions of a file in its line of the table


@dataclass
class Judged:
    """What became of the vectors of one kind."""
    kind: str
    vectors: int
    differ: int
    left: dict[int, Difference]


@dataclass
class Findings:
    release: str
    since: str
    changes: list[FileChange]
    beside: list[tuple[str, str]]
    registry: Registry
    differentials: list[tuple[str, str]] = field(default_factory=list)  # what was run, its output
    judged: list[Judged] = field(default_factory=list)
    search: Search | None = None
    of_table: list[tuple[Value, str]] = field(default_factory=list)  # if the tree has the release
    not_done: list[str] = field(default_factory=list)  # with the reason


def code(text: str) -> str:
    return "`" + " ".join(text.split()).replace("|", "\\|") + "`"


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(row) + " |" for row in rows), ""]


def section(title: str, lines: list[str], none: str) -> list[str]:
    return [f"## {title}", "", *(lines or [none, ""])]


def page(found: Findings) -> str:
    lines = [f"# What is new for hybrid caching in vLLM {found.release}", "",
             f"Compared with {found.since}, by `scripts/release_watch`. Comments, docstrings and "
             "formatting are left out.", "", *in_short(found), *profile(found), *differences(found),
             *section("Settings", table_of_fields(settings(found.changes)),
                      "No field has changed."),
             *section("Specs, managers, builders, metadata, schedulers",
                      table_of_classes(found.changes), "No class is new or gone."),
             *section("Their fields", table_of_fields(fields_of_decisions(found.changes)),
                      "No field has changed."),
             *models(found), *files(found)]
    return "\n".join(lines).rstrip() + "\n"


def in_short(found: Findings) -> list[str]:
    functions = sum(len(names) for change in found.changes for names in change.names("function"))
    lines = [f"- {len(found.changes)} mirrored files differ, in {functions} functions; "
             f"{len(found.beside)} others in their folders do."]
    for judged in found.judged:
        lines.append(f"- Vectors of kind {judged.kind}: {judged.differ} of {judged.vectors} differ "
                     f"from profile vllm-{found.since}, {len(judged.left)} with the values below.")
    if found.search:
        lines.append(f"- {len(found.search.steps)} policy values are proposed.")
    lines += [f"- Not done: {reason}" for reason in found.not_done]
    return [*lines, ""]


# ---- the draft profile ----


def profile(found: Findings) -> list[str]:
    if found.search is None:
        return []
    lines = []
    steps = found.search.steps
    if steps:
        lines += [f"To go on with in the table of `core/engine/releases.cpp`, behind the rows of "
                  f"{found.since}:", "", "```cpp",
                  *(step.value.row(found.release) for step in steps), "```", "",
                  "The search does not know whether a value holds with one runner only.", ""]
        lines += table(("value", "found in", "vectors that differ", "what it explains",
                        "explains as much"),
                       [(code(step.value.option()), step.vectors,
                         f"{step.before} → {step.after}",
                         ", ".join(step.explains) or "the first difference of some vectors",
                         ", ".join(code(value.option()) for value in step.also))
                        for step in steps])
    return [*section("Draft profile", lines, "No value of a policy explains a difference."),
            *beside_the_table(found)]


def beside_the_table(found: Findings) -> list[str]:
    """Is what the search found what the tree's table has, if it knows the release already?"""
    if not found.of_table or found.search is None:
        return []
    proposed = {step.value.policy: step for step in found.search.steps}
    explained = not any(judged.left for judged in found.judged)
    rows = []
    for value, runner in found.of_table:
        step = proposed.pop(value.policy, None)
        if step is None:
            said = "not found" + ("; no vector differs without it" if explained else "")
        elif step.value == value:
            said = "found"
        elif value in step.also:
            said = f"found, as good as {code(step.value.option())}"
        else:
            said = f"another value: {code(step.value.option())}"
        rows.append((code(value.option()), f"runner {runner}" if runner else "", said))
    rows += [(code(step.value.option()), "", "proposed, not in the table")
             for step in proposed.values()]
    return [f"The table has {found.release} already:", "",
            *table(("its value", "with", "here"), rows)]


# ---- differences ----


def differences(found: Findings) -> list[str]:
    lines = []
    for judged in found.judged:
        kinds: dict[str, list[Difference]] = {}
        for one in judged.left.values():
            kinds.setdefault(one.kind, []).append(one)
        if kinds:
            lines += [f"Of kind {judged.kind}, not explained by a single value of a policy:", "",
                      *table(("difference", "vectors", "vllm", "hybridscope"),
                             [(kind, str(len(ones)), code(ones[0].expected or "-"),
                               code(ones[0].got or "-")) for kind, ones in kinds.items()])]
    for what, output in found.differentials:
        lines += folded(f"vllm_differential --what {what}", "", output.splitlines())
    none = "Not looked for." if not found.judged else "The values above explain all." \
        if any(judged.differ for judged in found.judged) else "None was found."
    return section("Differences", lines, none)


# ---- the wheels ----


def table_of_fields(fields: list[tuple[str, str, str]]) -> list[str]:
    rows = [(code(name), code(old) if old else "new", code(new) if new else "gone")
            for name, old, new in fields]
    return table(("field", "before", "now"), rows) if rows else []


def table_of_classes(changes: list[FileChange]) -> list[str]:
    rows = [(state, code(name), path) for state, name, path in classes(changes)]
    return table(("", "class", "file"), rows) if rows else []


def models(found: Findings) -> list[str]:
    registry = found.registry
    rows = [("new", code(name), "yes" if hybrid else "no")
            for name, hybrid in registry.added.items()]
    rows += [("gone", code(name), "yes" if hybrid else "no")
             for name, hybrid in registry.removed.items()]
    lines = table(("", "architecture", "recurrent layers"), rows) if rows else []
    if registry.not_known_here:
        lines += ["With recurrent layers, and not in `sessions/startup/architectures.cpp`: "
                  + ", ".join(map(code, registry.not_known_here)) + ".", ""]
    if registry.modules:
        lines += ["Known here, with a module that has changed: "
                  + ", ".join(map(code, registry.modules)) + ".", ""]
    return section("Architectures", lines, "The registry has not changed.")


def one_line(change: FileChange) -> str:
    if change.state != "changed":
        return ", ".join([change.state, *moves(change)])
    added, removed, changed = change.names("function")
    names = [f"+{name}" for name in added] + [f"-{name}" for name in removed] + changed
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    words = [code(name) for name in names[:NAMED]] + more
    others = sum(len(group) for kind in ("class", "field") for group in change.names(kind))
    if others:
        words.append(f"{others} classes or fields")
    return ", ".join(words + moves(change))


def moves(change: FileChange) -> list[str]:
    """ "12 moved to vllm/v1/core/kv_cache_planning.py" """
    counts = Counter(change.moved.values())
    return [f"{count} moved {where}" for where, count in counts.items()]


def folded(title: str, language: str, lines: list[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", f"````{language}", *lines, "````", "",
            "</details>", ""]


def files(found: Findings) -> list[str]:
    lines = []
    if found.changes:
        lines += table(("file", "here", "what changed (+ new, - gone)"),
                       [(change.path, change.room, one_line(change)) for change in found.changes])
    for change in found.changes:
        texts: list[str] = []
        for name, one in change.added.items():
            texts += [f"+++ {name}", *(f"+{line}" for line in one.text.splitlines()[:40])]
        texts += [f"--- {name}" for name in change.removed]
        for name, (old, new) in change.changed.items():
            texts += [f"*** {name}", *diff(old, new)]
        lines += folded(change.path, "diff", texts)
    if found.beside:
        lines += folded("In the same folders, not mirrored", "",
                        [f"{state:8}{name}" for name, state in found.beside])
    return section("Files", lines, "No mirrored file has changed.")
