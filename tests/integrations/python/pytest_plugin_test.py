"""pytest --hybridscope, on tests of a stand-in for vLLM's scheduler."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from package_case import PackageCase

SCHEDULER = '''
import sys
sys.path.insert(0, {tests!r})
import small_engine as small
from types import SimpleNamespace as Object


class Scheduler:
    """One request: 6 tokens of a prompt, then one a step."""

    def __init__(self, connector=None):
        self.connector = self.ec_connector = connector
        self.kv_cache_manager, self.num_steps = small.KVCacheManager(), 0
        self.requests = self.kv_cache_manager.requests
        self.kv_cache_config, self.vllm_config = small.kv_cache_config(), small.vllm_config()

    def schedule(self, block=2):
        self.num_steps += 1
        self.kv_cache_manager.hold("a", [1], [block, 3, 4])
        if self.num_steps == 1:
            return small.scheduler_output({{"a": 6}}, new=[
                small.new_request("a", [11, 12, 13, 14, 15, 16], ([1], [2, 3, 4]), 10)])
        return small.scheduler_output(
            {{"a": 1}}, cached={{"a": (None, 4 + self.num_steps, self.num_steps - 1)}})

    def update_from_output(self, scheduled, output):
        self.requests["a"].num_tokens = 6 + self.num_steps

    def has_unfinished_requests(self):
        return True
'''

TESTS = '''
from types import SimpleNamespace as Object
from vllm.v1.core.sched.scheduler import Scheduler


def run(scheduler, blocks, tokens=(20,)):
    for block in blocks:
        scheduled = scheduler.schedule(block)
        scheduler.update_from_output(scheduled, Object(req_ids=["a"],
                                                       sampled_token_ids=[list(tokens)]))


def test_right():
    run(Scheduler(), [2, 2, 2])


def test_another_block():
    run(Scheduler(), [2, 9, 9])


def test_fails_by_itself():
    run(Scheduler(), [2, 9, 9])
    assert False, "of its own"


def test_made_up_tokens():
    run(Scheduler(), [2, 9, 9], tokens=())


def test_connector():
    run(Scheduler(connector="one"), [2, 9, 9])


def test_without_scheduler():
    pass
'''


@unittest.skipIf(subprocess.run([sys.executable, "-m", "pytest", "--version"], capture_output=True,
                                check=False).returncode, "pytest is not installed")
class Plugin(PackageCase):
    def setUp(self):
        super().setUp()
        folder = self.folder / "vllm/v1/core/sched"
        folder.mkdir(parents=True)
        (self.folder / "vllm/__init__.py").write_text('__version__ = "0.33.0"\n')
        tests = str(Path(__file__).resolve().parents[1])
        (folder / "scheduler.py").write_text(SCHEDULER.format(tests=tests))
        (self.folder / "test_sample.py").write_text(TESTS)

    def pytest(self, *arguments):
        path = os.pathsep.join([str(self.folder), *sys.path[1:]])
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p",
             "hybridscope.pytest_plugin", *arguments, "test_sample.py"],
            cwd=self.folder, capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}).stdout

    def test_without_the_option_nothing_is_judged(self):
        text = self.pytest()
        self.assertIn("1 failed, 5 passed", text)
        self.assertNotIn("judged", text)

    def test_a_finding_fails_its_test_and_keeps_its_trace(self):
        text = self.pytest("--hybridscope", "--hybridscope-traces", "kept")
        self.assertIn("2 failed, 4 passed", text)
        self.assertRegex(text, r"(?m)^block-table-mismatch: step 2 a row 0 .* block 9 ")
        command = re.search(r"hybridscope judge (kept/\S*test_another_block.jsonl) --explain 2",
                            text)
        self.assertTrue((self.folder / command[1]).is_file())
        self.assertIn("AssertionError: of its own", text)

    def test_the_summary_says_what_was_judged_and_what_not(self):
        text = self.pytest("--hybridscope")
        self.assertRegex(text, r"(?m)^10 steps of 4 tests were judged$")
        self.assertIn("not judged, or not to the end: 1 of 5 schedulers: ValueError: states that "
                      "come through a connector are not modelled", text)
        self.assertIn("not judged, or not to the end: 1 of 5 schedulers: the test gives back other "
                      "numbers of tokens than a model would", text)


if __name__ == "__main__":
    unittest.main()
