#!/usr/bin/env python3
"""JUnit reports as continuous integration reads them, and the commands of docs/ci.md.

reports_test.py PROGRAM [unittest arguments]
"""

import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ""
CI_VARIABLES = ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GTEST_TOTAL_SHARDS",
                "GTEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", "TEST_SHARD_INDEX")
PROBLEMS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_program(self, *arguments):
        environment = {name: value for name, value in os.environ.items()
                       if name not in CI_VARIABLES}
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=60, check=False)

    def faulty_scenario(self, path):
        text = (ROOT / "scenarios/starved_request.json").read_text(encoding="utf-8")
        scenario = json.loads(text)
        scenario["settings"]["policies"] = {"accepted_count_owner": "persistent_row"}
        path.write_text(json.dumps(scenario, indent=1), encoding="utf-8")


class Junit(Folder):
    def report(self, *arguments):
        result = self.run_program(*arguments, "--junit", "report.xml")
        root = ElementTree.parse(self.folder / "report.xml").getroot()
        self.assertEqual(root.tag, "testsuites")
        self.counts_add_up(root)
        return result, root

    def counts_add_up(self, root):
        for suite in root:
            self.assertEqual(suite.tag, "testsuite")
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            for attribute, element in PROBLEMS.items():
                self.assertEqual(int(suite.get(attribute)), len(suite.findall("*/" + element)))
            names = [(case.get("classname"), case.get("name")) for case in cases]
            self.assertEqual(len(names), len(set(names)))
        for attribute in ("tests", *PROBLEMS):
            self.assertEqual(int(root.get(attribute)),
                             sum(int(suite.get(attribute)) for suite in root))

    def test_of_a_suite_has_a_testsuite_a_scenario(self):
        scenarios = self.folder / "scenarios"
        scenarios.mkdir()
        self.faulty_scenario(scenarios / "faulty.json")
        (scenarios / "broken.json").write_text("{\n 7", encoding="utf-8")
        (scenarios / "plain.json").write_text(
            (ROOT / "scenarios/plain_decode.json").read_text(encoding="utf-8"), encoding="utf-8")
        result, root = self.report("run", "scenarios", "--mode", "align")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual([suite.get("name") for suite in root],
                         ["broken", "starved request", "plain decode"])
        broken, faulty, plain = root
        error = broken.find("testcase/error")
        self.assertIn("scenarios/broken.json:2:", error.get("message"))
        self.assertEqual(broken.find("testcase").get("line"), "2")
        self.assertEqual(len(plain), 1 + 22)  # properties, and the rules
        self.assertEqual(plain.get("failures"), "0")
        self.assertGreaterEqual(float(plain.get("time")), 0)
        properties = {property_.get("name"): property_.get("value")
                      for property_ in faulty.findall("properties/property")}
        self.assertEqual(set(properties), {"version", "model", "profile", "mamba_cache_mode",
                                           "runner", "seed"})
        self.assertEqual((properties["seed"], properties["runner"]), ("0", "v1"))
        case = faulty.find("testcase[@name='running-state-wrong']")
        self.assertEqual(case.get("file"), "scenarios/faulty.json")
        self.assertIn('"id"', (scenarios / "faulty.json").read_text(
            encoding="utf-8").splitlines()[int(case.get("line")) - 1])
        failure = case.find("failure")
        self.assertEqual(failure.get("type"), "running-state-wrong")
        self.assertRegex(failure.get("message"), r"step \d+ [AC] ")
        self.assertNotIn("\n", failure.get("message"))
        self.reproduces(failure.text)

    def reproduces(self, body):
        command = re.search(r"^reproduce: hybridscope (.*)$", body, re.MULTILINE).group(1)
        result = self.run_program(*shlex.split(command))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("running-state-wrong", result.stdout)

    def test_of_one_scenario_has_one_testsuite(self):
        result, root = self.report("run", str(ROOT / "scenarios/plain_decode.json"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(root.get("tests"), "22")

    def test_of_traces_has_a_testsuite_a_trace(self):
        self.faulty_scenario(self.folder / "faulty.json")
        trace = ""
        for scenario in ("faulty.json", str(ROOT / "scenarios/plain_decode.json")):
            self.run_program("run", scenario, "--trace", "trace.jsonl")
            trace += (self.folder / "trace.jsonl").read_text(encoding="utf-8")
        (self.folder / "trace.jsonl").write_text(trace, encoding="utf-8")
        result, root = self.report("judge", "trace.jsonl")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual([suite.get("name") for suite in root], ["starved request", "plain decode"])
        case = root[0].find("testcase[@name='running-state-wrong']")
        step = json.loads(trace.splitlines()[int(case.get("line")) - 1])
        self.assertIn(f"step {step['step']} ", case.find("failure").get("message"))
        self.reproduces(case.find("failure").text)

    def test_of_a_trace_that_breaks_off_has_an_error(self):
        self.run_program("run", str(ROOT / "scenarios/plain_decode.json"), "--trace", "trace.jsonl")
        with open(self.folder / "trace.jsonl", "a", encoding="utf-8") as file:
            file.write("{broken\n")
        result, root = self.report("judge", "trace.jsonl")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(root.get("errors"), "1")


def documented_commands():
    """Every command of the program that docs/ci.md has in its code blocks."""
    text = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if match := re.search(r"(?<![\w./-])hybridscope ((?:run|judge|conformance) .*)", line):
                yield match.group(1).removesuffix(" &")


class Documentation(Folder):
    def test_every_command_runs(self):
        (self.folder / "scenarios").symlink_to(ROOT / "scenarios")
        (self.folder / "mine").mkdir()
        (self.folder / "mine/starved.json").symlink_to(ROOT / "scenarios/starved_request.json")
        self.run_program("run", "scenarios/plain_decode.json", "--trace", "trace.jsonl")
        commands = list(documented_commands())
        self.assertGreaterEqual(len(commands), 6)
        for command in commands:
            with self.subTest(command=command):
                command = re.sub(r"\$\{\{ matrix\.\w+ \}\}|\$CI_NODE_INDEX", "1", command)
                command = command.replace("$CI_NODE_TOTAL", "2").replace("$RELEASE", "0.33.0")
                self.assertNotIn("$", command)
                result = self.run_program(*shlex.split(command, comments=True))
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Pages(Folder):
    """A browser runs a page's own script and no other, whatever the page's data hold."""

    def page(self, *arguments):
        result = self.run_program(*arguments, "page.html")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return (self.folder / "page.html").read_text(encoding="utf-8")

    def allows_its_own_script_only(self, page, num_scripts):
        policy = re.search(r'"Content-Security-Policy"\s+content="([^"]*)"', page).group(1)
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        self.assertEqual(rules["default-src"], "'none'")
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        self.assertEqual(len(scripts), num_scripts)
        hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                  for script in scripts]
        self.assertEqual(rules.get("script-src", ""),
                         " ".join(f"'sha256-{digest}'" for digest in hashes))
        markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        self.assertIsNone(re.search(r"<[^>]*\son\w+\s*=|javascript:", markup))

    def test_each_has_the_hash_of_its_script(self):
        scenario = str(ROOT / "scenarios/plain_decode.json")
        self.run_program("run", "-q", scenario, "--record", "runs.db:a")
        for arguments in (("sessions", "export", "runs.db:a", "--html"),
                          ("diff", "runs.db:a", "runs.db:a", "--html"),
                          ("plan", "--traffic", "synthetic", "--limit", "3", "--model", "tiny-gdn",
                           "--num-blocks", "200", "--sweep",
                           "max_num_seqs=2,4", "--html")):
            with self.subTest(command=arguments):
                self.allows_its_own_script_only(self.page(*arguments), 1)

    def test_of_a_matrix_has_none(self):
        page = self.page("matrix", "--engine", "safe", "--only", "mode=none", "--only",
                         "speculation=none", "--scenarios", "1", "--out", "m", "--html")
        self.allows_its_own_script_only(page, 0)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
