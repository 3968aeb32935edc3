#!/usr/bin/env python3
"""Applies docs/scenario.schema.json to all shipped scenarios, to those inside lessons and to the
examples in the format's documentation, and checks that it refuses planted mistakes.

usage: check_scenarios.py [PROJECT_ROOT]
Exit: 0 fine, 1 a scenario or the schema is wrong, 77 the jsonschema module is missing.
"""

import copy
import json
import pathlib
import re
import sys

try:
    import jsonschema
except ImportError:
    print("check_scenarios: python3-jsonschema is not installed, nothing checked")
    sys.exit(77)

GOOD = {
    "version": 1,
    "model": "tiny-mamba2",
    "settings": {
        "mamba_cache_mode": "align",
        "kv_cache_memory_bytes": "1.5GiB",
        "block_size": 8,
        "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
        "policies": {"no_draft_step": "column_zero"},
        "cudagraph_capture_sizes": [1, 2, 4],
    },
    "requests": [
        {"id": "A", "prompt": 6, "max_tokens": 4},
        {"id": "B", "prompt": {"tokens": 22, "share": "A", "share_tokens": 9}, "at_step": 3},
    ],
    "script": [
        {"step": 2, "accept": {"A": 2}},
        {"step": 3, "budget": 3, "drafts": {"A": 0}, "preempt": ["A"], "abort": ["B"]},
        {"step": 4, "reset_prefix_cache": {"running": True}, "engine": "reference"},
        {"step": 5, "policies": {"no_draft_step": "verify_with_counts"}},
    ],
    "expect": {"findings": [{"rule": "running-state-wrong", "step": 3, "request": "A"}]},
}

# (path to the parent, key, bad value); MISSING removes the key.
MISSING = object()
PLANTED = [
    ([], "version", 2),
    ([], "version", MISSING),
    ([], "model", MISSING),
    ([], "model", ""),
    ([], "requests", MISSING),
    ([], "requests", []),
    ([], "extra", 1),
    (["settings"], "mamba_cache_mode", "aligned"),
    (["settings"], "max_num_sequences", 4),
    (["settings"], "max_num_seqs", 0),
    (["settings"], "block_size", 8.5),
    (["settings"], "watermark", 1.5),
    (["settings"], "kv_cache_memory_bytes", "60Gi"),
    (["settings"], "enable_prefix_caching", 1),
    (["settings"], "cudagraph_capture_sizes", [0]),
    (["settings", "speculative_config"], "num_speculative_tokens", -1),
    (["settings", "speculative_config"], "model", "x"),
    (["settings", "policies"], "no_draft_step", "column_one"),
    (["requests", 0], "id", MISSING),
    (["requests", 0], "id", ""),
    (["requests", 0], "id", "a\nb"),
    (["requests", 0], "prompt", MISSING),
    (["requests", 0], "prompt", [1, 2, 3]),
    (["requests", 0], "prompt", 0),
    (["requests", 0], "max_tokens", "4"),
    (["requests", 0], "at_step", 0),
    (["requests", 1, "prompt"], "tokens", MISSING),
    (["requests", 1, "prompt"], "share", MISSING),
    (["requests", 1, "prompt"], "share_tokens", 0),
    (["script", 0], "step", MISSING),
    (["script", 0, "accept"], "A", 0),
    (["script", 1], "budget", 0),
    (["script", 1], "preempt", "A"),
    (["script", 2], "reset_prefix_cache", {"runing": True}),
    (["script", 2], "engine", "page"),
    (["script", 3, "policies"], "no_draft_step", "column_one"),
    (["script", 3, "policies"], "block_registration", "at_allocation"),
    (["expect"], "findings", "some"),
    (["expect", "findings", 0], "rule", MISSING),
]


def planted(path, key, value):
    scenario = copy.deepcopy(GOOD)
    parent = scenario
    for part in path:
        parent = parent[part]
    if value is MISSING:
        del parent[key]
    else:
        parent[key] = value
    return scenario


def examples_of(document):
    """The scenarios among the document's fenced JSON blocks."""
    blocks = re.findall(r"```json\n(.*?)```", document.read_text(encoding="utf-8"), re.S)
    return [block for block in blocks if '"version"' in block]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    schema = json.loads((root / "docs/scenario.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []

    def expect_valid(name, text):
        for error in validator.iter_errors(json.loads(text)):
            failures.append(f"{name}: /{'/'.join(map(str, error.absolute_path))}: {error.message}")

    files = sorted((root / "scenarios").glob("*.json"))
    for file in files:
        expect_valid(file, file.read_text(encoding="utf-8"))
    lessons = sorted((root / "scenarios/lessons").glob("*.json"))
    for file in lessons:
        scenario = json.loads(file.read_text(encoding="utf-8"))["scenario"]
        if isinstance(scenario, dict):
            expect_valid(f"{file}: /scenario", json.dumps(scenario))
    document = root / "docs/scenario-format.md"
    examples = examples_of(document)
    for number, example in enumerate(examples, 1):
        expect_valid(f"{document} example {number}", example)
    expect_valid("the planted scenario before planting", json.dumps(GOOD))
    for path, key, value in PLANTED:
        if validator.is_valid(planted(path, key, value)):
            failures.append(f"schema accepts {'/'.join(map(str, path))}/{key} = {value!r}")

    if len(files) < 12 or not lessons or not examples:
        failures.append(f"{len(files)} scenarios, {len(lessons)} lessons and {len(examples)} "
                        f"examples found")
    for failure in failures:
        print(failure)
    print(f"{len(files)} scenarios, {len(lessons)} lessons, {len(examples)} examples, "
          f"{len(PLANTED)} planted mistakes: {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
