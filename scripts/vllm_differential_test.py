#!/usr/bin/env python3
"""Tests vllm_differential without vllm: its plans, and runs with fakes of PYTHON and program."""

import json
import math
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

SCRIPT = Path(__file__).resolve().with_name("vllm_differential")

# Answers every plan with one call for each of its resets.
FAKE_PYTHON = """#!/usr/bin/env python3
import json, sys
print(json.dumps({"release": "0.33.0"}), flush=True)
for text in sys.stdin:
    plan = json.loads(text)
    calls = [{"op": "schedule", "step": 1, "rows": []}]
    calls += [{"op": "reset", "result": True} for event in plan.get("events", ())
              if event[0] == "reset"]
    print(json.dumps({"id": plan["id"], "config": plan["config"],
                      "calls": plan.get("calls", calls)}), flush=True)
"""

# Finds that the second call of a vector differs, if there is one.
FAKE_PROGRAM = """#!/usr/bin/env python3
import json, sys
vectors = [json.loads(text) for text in open(sys.argv[2])]
failures = [{"id": vector["id"], "pointer": "/results/1/result", "expected": "true",
             "got": "false", "asked": {"call": vector["calls"][1]}}
            for vector in vectors if len(vector["calls"]) > 1]
print(json.dumps({"files": [{"failures": failures, "errors": [], "failed": len(failures),
                             "invalid": 0}]}))
sys.exit(bool(failures))
"""


def load_script():
    loader = SourceFileLoader("vllm_differential", str(SCRIPT))
    spec = spec_from_loader(loader.name, loader)
    assert spec
    module = module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


SUBJECT = load_script()
PLANS, BUILDERS, WORKER, WORKER_V2 = (
    SUBJECT.importlib.import_module(f"vllm_plans_{what}")
    for what in ("scheduler", "builders", "worker", "worker_v2"))


class Plans(unittest.TestCase):
    def test_same_seed_same_plan(self) -> None:
        for release in ("0.24.0", "0.33.0"):
            plans = [PLANS.plan(release, "1/5") for _ in range(2)]
            self.assertEqual(plans[0], plans[1])

    def test_settings_fit_together(self) -> None:
        for number in range(300):
            for release in ("0.24.0", "0.30.0", "0.33.0"):
                plan = PLANS.plan(release, f"1/{number}")
                config = plan["config"]
                sizes = [group["block_size"] for group in config["groups"]]
                self.assertEqual({g["type"] for g in config["groups"]}, {"full", "mamba"})
                self.assertGreater(config["num_blocks"], PLANS.blocks_of_a_request(config))
                unit = config["prefix_match_unit"] or 1
                self.assertEqual([size % unit for size in sizes], [0] * len(sizes))
                if config["retention_interval"]:
                    self.assertEqual(config["retention_interval"] % math.lcm(*sizes), 0)
                if release == "0.24.0":
                    self.assertFalse(config["num_prefill_checkpoint_blocks"])
                if release == "0.33.0":
                    self.assertNotEqual(config["mamba_cache_mode"], "all")
                for request in plan["requests"]:
                    length = sum(count for _, count in request["prompt"])
                    self.assertTrue(0 < length < config["max_model_len"])

    def test_a_prompt_is_clipped_inside_a_range(self) -> None:
        self.assertEqual(PLANS.clipped([[10, 4], [50, 4]], 6), [[10, 4], [50, 2]])
        self.assertEqual(PLANS.clipped([[10, 4], [50, 4]], 4), [[10, 4]])


    def test_batches_fit_together(self) -> None:
        for number in range(300):
            for release in ("0.24.0", "0.33.0"):
                plan = BUILDERS.plan(release, f"1/{number}")
                self.assertEqual(plan, BUILDERS.plan(release, f"1/{number}"))
                for call in plan["calls"]:
                    batch = call["batch"]
                    rows = len(batch["seq_lens"])
                    self.assertEqual(len(batch["query_start_loc"]), rows + 1)
                    self.assertEqual(len(batch["block_table"]), rows)
                    self.assertLessEqual(max(batch["seq_lens"]), plan["config"]["max_model_len"])
                    self.assertGreaterEqual(batch["num_actual_tokens"],
                                            batch["query_start_loc"][-1])
                    if call["num_accepted_tokens"]:
                        self.assertEqual(len(call["num_decode_draft_tokens"]), rows)

    def test_a_row_less(self) -> None:
        call = {"batch": {"query_start_loc": [0, 2, 5], "seq_lens": [4, 9],
                          "num_actual_tokens": 6, "max_query_len": 3, "is_prefilling": [0, 1],
                          "block_table": [[1], [2]]},
                "num_accepted_tokens": [1, 2], "num_decode_draft_tokens": None}
        self.assertEqual(BUILDERS.without_row(call, 0), {
            "batch": {"query_start_loc": [0, 3], "seq_lens": [9], "num_actual_tokens": 4,
                      "max_query_len": 3, "is_prefilling": [1], "block_table": [[2]]},
            "num_accepted_tokens": [2], "num_decode_draft_tokens": None})

    def test_runner_v1_has_mode_align_only_with_caching(self) -> None:
        for number in range(100):
            config = WORKER.plan("0.28.0", f"1/{number}")["config"]
            self.assertEqual(config["runner"], "v1")
            self.assertIn(config["mamba_cache_mode"], ("none", "align"))
            self.assertTrue(config["enable_caching"] or config["mamba_cache_mode"] == "none")

    def test_runner_v2_has_mode_align_from_0_25_on_and_stays_v2_when_made_smaller(self) -> None:
        for number in range(100):
            for release in ("0.24.0", "0.28.0"):
                config = WORKER_V2.plan(release, f"1/{number}")["config"]
                self.assertEqual(config["runner"], "v2")
                self.assertLessEqual(config["cache_block_size"],
                                     min(group["block_size"] for group in config["groups"]))
                if release == "0.24.0":
                    self.assertNotEqual(config["mamba_cache_mode"], "align")
        plan = WORKER_V2.plan("0.33.0", "1/1")
        smaller = [made for candidates in WORKER_V2.passes((0, 33)) for made in candidates(plan)]
        self.assertTrue(smaller)
        self.assertEqual({made["config"]["runner"] for made in smaller}, {"v2"})


class WithFakes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.python = self.executable("python", FAKE_PYTHON)
        self.program = self.executable("program", FAKE_PROGRAM)

    def executable(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.write_text(text, encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return file

    def run_script(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [SCRIPT, self.python, "--program", self.program, "--keep", self.folder / "kept",
             *arguments], text=True, capture_output=True, timeout=60, check=False)

    def test_a_difference_is_made_small_and_kept(self) -> None:
        done = self.run_script("--scenarios", "20")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("x reset result", done.stdout)
        self.assertIn("vllm true, hybridscope false", done.stdout)
        kept = self.folder / "kept"
        plan = json.loads((kept / "plan.json").read_text(encoding="utf-8"))
        self.assertEqual([event[0] for event in plan["events"]], ["reset"])
        self.assertEqual(plan["requests"], [])
        vectors = (kept / "scheduler_0.33.0.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual(len(json.loads(vectors[0])["calls"]), 2)
        self.assertTrue((kept / "reset_result/failure.json").exists())

    def test_equal_decisions(self) -> None:
        self.executable("program", FAKE_PROGRAM.replace("> 1]", "> 99]"))
        vectors = self.folder / "all.jsonl"
        done = self.run_script("--scenarios", "5", "--golden-out", str(vectors))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("5 scenarios, 5 steps", done.stdout)
        self.assertIn(" 0 scenarios differ", done.stdout)
        self.assertEqual(len(vectors.read_text(encoding="utf-8").splitlines()), 5)
        again = self.run_script("--check", str(vectors))
        self.assertEqual((again.returncode, again.stdout.splitlines()[-1]),
                         (0, "5 passed, 0 failed"))
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-q", vectors], check=True)
            packed = self.run_script("--check", f"{vectors}.zst")
            self.assertEqual(packed.stdout, again.stdout)

    def test_a_release_that_the_program_does_not_know_is_judged_as_another(self) -> None:
        self.executable("python", FAKE_PYTHON.replace("0.33.0", "0.34.0"))
        done = self.run_script("--scenarios", "20", "--engine", "0.33.0")
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (1, "vllm 0.34.0"))
        self.assertTrue((self.folder / "kept/scheduler_0.33.0.jsonl").exists())

    def test_a_python_without_vllm(self) -> None:
        self.executable("python", "#!/bin/sh\nexit 1\n")
        done = self.run_script()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("its log is", done.stderr)


if __name__ == "__main__":
    unittest.main()
