#!/usr/bin/env python3
"""The tests that `hybridscope export --as pytest` writes, run against a stand-in for vLLM.

export_pytest_test.py PROGRAM [unittest arguments]

The stand-in answers from a copy of the file's own numbers, all but the split of mode align, which it
computes by the reference's rule (Scheduler._mamba_block_aligned_split at 61ab70ec3); for a scenario
that stores states inside a prefill it answers from the file's numbers too. So this shows that the
files run, that the split is the reference's, and that a wrong number fails; not that vLLM answers
so. scripts/vllm_exports asks vLLM itself.
"""

import copy
import json
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from types import SimpleNamespace as Object
from unittest import mock

PROGRAM = ""
SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"


class Record:
    def __init__(self, *names, **members):
        self.__dict__.update(members)


class Request:
    def __init__(self, request_id, prompt_token_ids, **settings):
        self.request_id = request_id
        self.tokens = list(prompt_token_ids)
        self.num_prompt_tokens = len(prompt_token_ids)
        self.num_computed_tokens = 0

    num_tokens = property(lambda self: len(self.tokens))

    def append_output_token_ids(self, tokens):
        self.tokens += tokens


class Scheduler:
    def _mamba_block_aligned_split(self, request, num_new_tokens, num_new_local_computed_tokens=0,
                                   num_external_computed_tokens=0,
                                   num_uncached_common_prefix_tokens=0):
        if self.mamba_has_prefill_checkpoint_blocks:
            return answered_split(self, request, num_new_tokens)
        computed = request.num_computed_tokens + num_new_local_computed_tokens
        if computed >= max(request.num_prompt_tokens, request.num_tokens - 1):
            return num_new_tokens
        size = self.cache_config.block_size
        last = request.num_tokens // size * size
        if self.use_eagle:
            last = max(last - size, 0)
        if computed + num_new_tokens < last:
            num_new_tokens = num_new_tokens // size * size
        elif computed < last < computed + num_new_tokens:
            num_new_tokens = last - computed
        if size <= num_uncached_common_prefix_tokens < num_new_tokens:
            num_new_tokens = num_uncached_common_prefix_tokens // size * size
        return num_new_tokens


def answered_split(scheduler, request, num_new_tokens):
    """The split of a later release, from the file's own numbers."""
    return Manager.newest.next_row(request)["scheduled"]


class Manager:
    """Answers from `steps`, row by row."""

    steps = []
    newest = None

    def __init__(self, config, max_model_len, hash_block_size, enable_caching, use_eagle, watermark):
        Manager.newest = self
        self.rows = [row for step in Manager.steps for row in step["rows"]]
        self.copies = [step["block_copies"] for step in Manager.steps]
        self.registered = []
        self.block_pool = Object(free_blocks=lambda blocks: None)
        self.coordinator = Object(single_type_managers=[])

    def new_step_starts(self):
        pass

    def reset_prefix_cache(self):
        return True

    def free(self, request):
        pass

    def next_row(self, request):
        row = self.rows[0]
        assert row["request"] == request.request_id
        return row

    def get_computed_blocks(self, request):
        row = self.next_row(request)
        return None, row["hit"], row["hit"] + row["uncached"] if row["uncached"] else 0

    def allocate_slots(self, request, num_new_tokens, num_new_computed_tokens, new_computed_blocks,
                       num_lookahead_tokens, full_sequence_must_fit):
        row = self.next_row(request)
        self.rows.pop(0)
        self.coordinator.single_type_managers = [
            Object(req_to_blocks={request.request_id: [
                Object(block_id=block, is_null=block == 0, block_hash=key or None,
                       block_hash_num_tokens=key)
                for block, key in zip(*lists)]})
            for lists in zip(row["blocks"], row["keys"])]
        return object()

    def take_kv_cache_block_copies(self):
        copies = self.copies.pop(0)
        return [Object(src_block_id=source, dst_block_id=block) for source, block in copies], []

    def cache_blocks(self, request, num_computed_tokens):
        self.registered.append((request.request_id, num_computed_tokens))


def stand_in():
    """Modules by the names that the tests import."""
    members = {
        "torch": {"float32": 4},
        "pytest": {"mark": Object(cpu_test=None)},
        "vllm.sampling_params": {"SamplingParams": Record},
        "vllm.utils.hashing": {"sha256": hash},
        "vllm.v1.core.kv_cache_manager": {"KVCacheManager": Manager},
        "vllm.v1.core.kv_cache_utils": {"get_request_block_hasher": lambda size, function: None,
                                        "init_none_hash": lambda function: None},
        "vllm.v1.core.sched.scheduler": {"Scheduler": Scheduler},
        "vllm.v1.kv_cache_interface": {name: Record for name in (
            "FullAttentionSpec", "KVCacheConfig", "KVCacheGroupSpec", "MambaSpec")},
        "vllm.v1.request": {"Request": Request,
                            "RequestStatus": Object(RUNNING=1, PREEMPTED=2)},
    }
    modules = {}
    for name, values in members.items():
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            modules.setdefault(".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
        modules[name].__dict__.update(values)
    return modules


def exported(scenario, profile="reference"):
    result = subprocess.run(
        [PROGRAM, "export", str(scenario), "--as", "pytest", "--engine", profile,
         "--no-async-scheduling"], capture_output=True, text=True, check=True)
    names = {}
    exec(compile(result.stdout, scenario.stem, "exec"), names)
    return names


def run(test, steps):
    """Runs it against a manager that answers from `steps`."""
    Manager.steps = steps
    test["test_hits_split_blocks_and_labels"]()


def of_a_later_release():
    return mock.patch.object(Scheduler, "_mamba_block_aligned_split", answered_split)


def of_chunked_prefill():
    return exported(SCENARIOS / "chunked_prefill.json")


def hits_inside_blocks():
    """The scenario of the lesson, as profile vllm-0.33.0 runs it: one prompt's tail is copied."""
    lesson = json.loads((SCENARIOS / "lessons" / "hits_inside_blocks.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "hits_inside_blocks.json"
        scenario.write_text(json.dumps(lesson["scenario"]))
        return exported(scenario, "vllm-0.33.0")


class ExportedTests(unittest.TestCase):
    def test_every_shipped_scenario_runs_and_splits_as_the_reference(self):
        scenarios = sorted(SCENARIOS.glob("*.json"))
        self.assertGreater(len(scenarios), 20)
        for scenario in scenarios:
            with self.subTest(scenario=scenario.stem):
                test = exported(scenario)
                run(test, test["STEPS"])

    def fails(self, message, change):
        test = of_chunked_prefill()
        steps = copy.deepcopy(test["STEPS"])
        change(steps)
        with self.assertRaisesRegex(AssertionError, message):
            run(test, steps)

    def test_another_hit_fails(self):
        self.fails("step 1 A: tokens of the prefix hit",
                   lambda steps: steps[0]["rows"][0].update(hit=8))

    def test_another_place_to_stop_at_fails(self):
        self.fails("step 1 A: tokens behind the hit",
                   lambda steps: steps[0]["rows"][0].update(uncached=8))

    def test_another_block_fails(self):
        self.fails("step 3 A: block ids",
                   lambda steps: steps[2]["rows"][0].update(blocks=[[1, 2, 3], [4, 5, 6]]))

    def test_another_key_fails(self):
        self.fails("step 2 A: tokens that the blocks' hashes cover",
                   lambda steps: steps[1]["rows"][0].update(keys=[[0, 0], [0, 0]]))

    def test_another_copy_fails(self):
        test = hits_inside_blocks()
        self.assertEqual(test["STEPS"][2]["block_copies"], [[6, 8], [7, 9]])
        steps = copy.deepcopy(test["STEPS"])
        steps[2]["block_copies"] = [[6, 8], [7, 10]]
        with of_a_later_release(), \
                self.assertRaisesRegex(AssertionError, "step 3: copies of blocks"):
            run(test, steps)

    def test_what_is_registered_when_a_step_returns_reaches_the_manager(self):
        test = exported(SCENARIOS / "align_boundary_by_accepted_drafts.json", "vllm-0.33.0")
        told = [(row["request"], row["registered"]) for step in test["STEPS"]
                for row in step["rows"] if row["registered"] is not None]
        self.assertIn(("A", 8), told)
        with of_a_later_release():
            run(test, test["STEPS"])
        self.assertEqual(Manager.newest.registered, told)

    def test_another_split_fails(self):
        test = of_chunked_prefill()
        test["STEPS"][0]["rows"][0]["wanted"] = 7
        with self.assertRaisesRegex(AssertionError, "step 1 A: tokens after the split"):
            run(test, test["STEPS"])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    sys.modules.update(stand_in())
    unittest.main()
