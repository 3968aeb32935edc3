"""The results of scripts/mutations as a page."""

from collections import Counter

from mutation import AREAS, Mutation

# Reasons why the matrix does not find these.
MISSED: dict[str, str] = {
    "all_mode_remembers_any_step":
        "the function is the reference's and profile `safe` does not call it: it remembers the "
        "column after every step.",
    "gdn_offsets_end_early":
        "the last padding row ends where a row of an earlier batch did. It has the null block, so "
        "no state is read or written for it, and the checker looks at the offsets of rows that "
        "hold a request.",
    "last_state_is_last_block":
        "with drafts, the state before a chunk that skips columns is held until the request ends. "
        "Nothing wrong is read and all is given back; it would show as a request that never gets "
        "its blocks, in a pool that is just large enough. No rule bounds how many blocks of state "
        "a request may hold.",
    "grid_ends_at_prompt":
        "nothing is wrong in the end: a chunk of a preempted request's answer ends off the grid, "
        "which is a warning, and the branch above lets the next one end at the boundary.",
    "frees_under_frame_in_flight":
        "blocks of a KV consumer are free while a frame in flight still writes them. Later frames "
        "run behind it, so only a connector's writes can go wrong, and they are not modelled "
        "(`hybridscope matrix --list`).",
}

# Random scenarios per cell; mutations that the few miss get as many as a real run of the matrix.
FEW, MANY = 12, 150

_HEAD = """# Mutations: does the matrix notice a mistake?

`scripts/mutations` plants one mistake of one line at a time in a copy of the tree
(scripts/mutation_table.py has them), builds the program and runs
the combination matrix of profile `safe` on it, `hybridscope matrix --engine safe --only
retention=dense --only match_unit=block --only checkpoints=none`, with {few} random scenarios per cell, and with {many}
where {few} find nothing. After that come the reference
vectors (`conformance`) and the shipped scenarios and known bugs (`run scenarios --state bytes`,
`bugs run --all`), whatever the matrix found. All of them take 40 minutes (`scripts/nightly`),
`--only NAME` runs one; an interrupted run resumes. This page is `scripts/mutations --markdown`.

A mistake is found by the matrix when a rule of core/check reports an error, or
when the program stops because one of its own contracts does not hold. No mistake here only costs
speed, and none changes the checker; six that turned out to corrupt nothing were replaced.

No vector can notice a mistake in the boundary copies of mode all (`all_mode_misses_last_boundary`,
`all_mode_bias`, `all_mode_resets_at_any_copy`): the reference makes no such copies. A scenario does,
and so do the tests of `core/state/mode_copies.h`.
"""


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text else "(nothing)"


def _by_matrix(result: dict) -> bool:
    return bool(result["matrix"]["found"])


def _others(result: dict) -> list[str]:
    others = []
    if result.get("vectors"):
        others.append("vectors")
    if result.get("scenarios"):
        others.append("scenarios")
    return others


def _found_by(result: dict) -> str:
    names = {"findings": ["matrix"], "stopped": ["matrix"], "compiler": ["compiler"], "": []}
    return ", ".join(names[result["matrix"]["found"]] + _others(result)) or "**nothing**"


def _cells(result: dict) -> str:
    matrix = result["matrix"]
    if matrix["found"] != "findings":
        return {"stopped": "stops", "compiler": "", "": "0"}[matrix["found"]]
    note = "" if result["scenarios_a_cell"] == FEW else f" (of {result['scenarios_a_cell']} each)"
    return f"{matrix['cells']:,}{note}"


def _rule(result: dict) -> str:
    return _code(result["matrix"]["rule"]) if _by_matrix(result) else ""


def _numbers(done: list[tuple[Mutation, dict]]) -> str:
    results = [result for _, result in done]
    matrix = [one for one in results if _by_matrix(one)]
    elsewhere = [one for one in results if not _by_matrix(one) and _others(one)]
    nothing = [one for one in results if not _by_matrix(one) and not _others(one)]
    only = sum(not _others(one) for one in matrix)
    ways = Counter(one["matrix"]["found"] for one in results)
    few = sum(one.get("scenarios_a_cell") == FEW for one in matrix)
    dates = sorted({one["date"] for one in results})
    cells = max((one["matrix"].get("cells_run", 0) for one in results), default=0)
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    rows = {
        "the matrix": f"{len(matrix)} ({len(matrix) / len(done):.1%})",
        "of these by a rule of the checker": ways["findings"],
        "of these by a contract of the program, or a signal": ways["stopped"],
        "of these by the compiler": ways["compiler"],
        f"of these with {FEW} scenarios a cell": few,
        "of these by no vector and no shipped scenario": only,
        "vectors or shipped scenarios only": len(elsewhere),
        "nothing": len(nothing),
    }
    lines = [f"Run of {when}, {len(done)} mutations, {cells:,} cells:", "",
             "| found by | mutations |", "| --- | ---: |"]
    return "\n".join(lines + [f"| {by} | {number} |" for by, number in rows.items()]) + "\n"


def _areas(done: list[tuple[Mutation, dict]]) -> str:
    lines = ["| area | mutations | found by the matrix |", "| --- | ---: | ---: |"]
    for area in AREAS:
        results = [result for mutation, result in done if mutation.area == area]
        lines.append(f"| {area} | {len(results)} | {sum(map(_by_matrix, results))} |")
    return "\n".join(lines) + "\n"


def _missed(done: list[tuple[Mutation, dict]]) -> str:
    lines = [f"- `{mutation.name}` ({_found_by(result).strip('*')}): {MISSED[mutation.name]}"
             for mutation, result in done if not _by_matrix(result)]
    return "\n".join(lines or ["None."]) + "\n"


def _table(done: list[tuple[Mutation, dict]]) -> str:
    lines = ["| mutation | area | file | from | to | found by | cells "
             "| first rule, or why it stopped |",
             "| --- | --- | --- | --- | --- | --- | ---: | --- |"]
    for mutation, result in done:
        lines.append(
            f"| {mutation.name} | {mutation.area} | {mutation.file.removeprefix('core/')} "
            f"| {_code(mutation.before)} | {_code(mutation.after)} | {_found_by(result)} "
            f"| {_cells(result)} | {_rule(result)} |")
    return "\n".join(lines) + "\n"


def markdown(mutations: list[Mutation], results: dict) -> str:
    done = [(one, results[one.name]) for one in mutations if one.name in results]
    if not done:
        return ""
    return "\n".join((_HEAD.format(few=FEW, many=MANY), _numbers(done), _areas(done),
                      "## What the matrix does not find\n", "Deduced from reading the code, not "
                      "from a run that does find them.\n", _missed(done),
                      "## All of them\n", "Files are below `core/`; a cell counts once, however "
                      "often it went wrong.\n", _table(done)))
