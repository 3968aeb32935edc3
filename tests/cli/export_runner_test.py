#!/usr/bin/env python3
"""The tests that `hybridscope export --as runner-test` writes, without vLLM.

export_runner_test.py PROGRAM [unittest arguments]

Each file is Python, and what its steps tell the runner adds up to what they expect of it: rows,
block tables, computed tokens and the blocks of copies. scripts/vllm_exports asks vLLM itself.
"""

import ast
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = ""
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
KEPT = ("CONFIG", "GROUPS", "REQUESTS", "STEPS")


def exported(scenario, *options):
    """The file's literals by name; None for a scenario that is refused with exit code 2."""
    result = subprocess.run(
        [PROGRAM, "export", str(scenario), "--as", "runner-test", *options],
        capture_output=True, text=True, check=False)
    if result.returncode == 2:
        return None
    assert result.returncode == 0, result.stderr
    tree = ast.parse(result.stdout)
    return {node.targets[0].id: ast.literal_eval(node.value) for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in KEPT}


class Told:
    """What a runner knows after the steps so far: block tables and rows."""

    def __init__(self, groups):
        self.groups = groups
        self.tables = {}

    def take(self, step):
        for name in step["finished"]:
            self.tables.pop(name, None)
        for row in step["scheduled"]:
            if row["admission"] != "running":
                self.tables[row["request"]] = [[] for _ in self.groups]
            for table, blocks in zip(self.tables[row["request"]], row["new_blocks"]):
                table.extend(blocks)


class RunnerTests(unittest.TestCase):
    def scenarios(self):
        found = [(path, exported(path, "--engine", "reference", "--no-async-scheduling"))
                 for path in sorted(SCENARIOS.glob("*.json"))]
        return [(path.stem, test) for path, test in found if test is not None]

    def check(self, test):
        told = Told(test["GROUPS"])
        for step in test["STEPS"]:
            told.take(step)
            tokens = {row["request"]: row for row in step["scheduled"]}
            self.assertEqual(sorted(tokens), sorted(row["request"] for row in step["rows"]))
            held = [set() for _ in test["GROUPS"]]
            for row in step["rows"]:
                name = row["request"]
                self.assertEqual(row["tables"], told.tables[name], f"step {step['step']} {name}")
                self.assertEqual(row["computed"], tokens[name]["computed"])
                self.assertLessEqual(row["sampled"], 1 + tokens[name]["drafts"])
                for blocks, table in zip(held, row["tables"]):
                    blocks.update(table)
            for group, conv, temporal, target, bias in step["pre_copies"] + step["post_copies"]:
                self.assertEqual(test["GROUPS"][group]["type"], "mamba")
                self.assertLessEqual({conv, temporal, target}, held[group])
                self.assertLessEqual(bias, test["CONFIG"]["num_speculative_tokens"])

    def test_what_the_runner_is_told_adds_up_to_what_is_expected_of_it(self):
        tests = self.scenarios()
        self.assertGreater(len(tests), 20)
        for name, test in tests:
            with self.subTest(scenario=name):
                self.check(test)

    def test_a_block_that_was_not_told_is_noticed(self):
        test = exported(SCENARIOS / "align_boundary_by_decode.json", "--no-async-scheduling")
        test["STEPS"][0]["rows"][0]["tables"][1] = [9]
        with self.assertRaisesRegex(AssertionError, "step 1 A"):
            self.check(test)

    def test_asynchronous_steps_are_python_too(self):
        test = exported(SCENARIOS / "async_worked_example.json", "--async-scheduling")
        self.assertTrue(test["CONFIG"]["async_scheduling"])

    def test_runner_v2_and_mode_all_are_refused(self):
        self.assertIsNone(exported(SCENARIOS / "v2_slots.json", "--runner", "v2"))
        self.assertIsNone(exported(SCENARIOS / "shared_prefix_all.json"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
