#!/usr/bin/env python3
"""Runs the shell scripts with fakes of apt-get, hybridscope and others on the PATH."""

import json
import os
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHELL_SCRIPTS = [ROOT / ".ci/run"] + [
    path for path in sorted((ROOT / "scripts").iterdir())
    if path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env bash")
]


class ShellTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()

    def program(self, name: str, body: str) -> str:
        file = self.bin / name
        file.write_text("#!/bin/bash\n" + body + "\n", encoding="utf-8")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return str(file)

    def run_script(self, script: str, *arguments: str,
                   **environment: str) -> subprocess.CompletedProcess:
        env = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", **environment}
        return subprocess.run([str(ROOT / script), *arguments], env=env, text=True, timeout=60,
                              capture_output=True, check=False)


class EveryScript(unittest.TestCase):
    def test_parses_stops_at_errors_and_can_be_run(self) -> None:
        self.assertGreaterEqual(len(SHELL_SCRIPTS), 7)
        for script in SHELL_SCRIPTS:
            with self.subTest(script=script.name):
                subprocess.run(["bash", "-n", str(script)], check=True)
                self.assertIn("\nset -euo pipefail\n", script.read_text(encoding="utf-8"))
                self.assertTrue(os.access(script, os.X_OK))


class Setup(ShellTest):
    def fake_debian(self, missing: str = "") -> Path:
        """A machine on which every package but `missing` is installed; returns apt-get's log."""
        log = self.folder / "apt.log"
        self.program("dpkg-query", f"""
for package in "${{@:4}}"; do
  if [[ " {missing} " == *" $package "* ]]; then rc=1; else echo "$package installed"; fi
done
exit ${{rc:-0}}""")
        self.program("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>{log}')
        self.program("sudo", 'exec "$@"')
        return log

    def test_does_nothing_when_all_is_there(self) -> None:
        log = self.fake_debian()
        result = self.run_script("scripts/setup")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\Asetup: all \d+ packages are there\n\Z")
        self.assertFalse(log.exists())

    def test_installs_only_what_is_missing_after_an_update(self) -> None:
        log = self.fake_debian(missing="libfmt-dev ninja-build")
        result = self.run_script("scripts/setup")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "setup: installed ninja-build libfmt-dev\n")
        update, install = log.read_text(encoding="utf-8").splitlines()
        self.assertRegex(update, r"^noninteractive .* update$")
        self.assertRegex(install, r"^noninteractive .* install -y --no-install-recommends "
                                  r"ninja-build libfmt-dev$")

    def test_says_which_packages_could_not_be_installed(self) -> None:
        self.fake_debian(missing="libfmt-dev")
        self.program("apt-get", "exit 100")
        result = self.run_script("scripts/setup")
        self.assertEqual(result.returncode, 4)
        self.assertIn("could not install: libfmt-dev", result.stderr)

    def test_never_installs_cuda(self) -> None:
        self.assertNotRegex((ROOT / "scripts/setup").read_text(encoding="utf-8"), r"nvidia|cuda-")


class Arguments(ShellTest):
    def test_unknown_presets_are_refused(self) -> None:
        for script in ("scripts/test", "scripts/build"):
            with self.subTest(script=script):
                result = self.run_script(script, "fast")
                self.assertEqual(result.returncode, 2)
                self.assertIn("dev", result.stderr)

    def test_wheel_refuses_what_it_does_not_know(self) -> None:
        result = self.run_script("scripts/wheel", "--fast")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--portable", result.stderr)

    def test_wheel_needs_an_interpreter_with_pip(self) -> None:
        self.program("python-without-pip", "exit 1")
        result = self.run_script("scripts/wheel", "--python", "python-without-pip")
        self.assertEqual(result.returncode, 4)
        self.assertIn("python-without-pip has no pip", result.stderr)

    def test_demo_refuses_a_scenario_that_is_not_there(self) -> None:
        result = self.run_script("scripts/demo", "scenarios/absent.json")
        self.assertEqual(result.returncode, 3)
        self.assertIn("scenarios/absent.json", result.stderr)


class RunScenarios(ShellTest):
    def setUp(self) -> None:
        super().setUp()
        self.scenarios = self.folder / "scenarios"
        self.scenarios.mkdir()

    def run_on(self, *binaries: str) -> subprocess.CompletedProcess:
        return self.run_script("scripts/run_scenarios", *binaries,
                               HYBRIDSCOPE_SCENARIOS=str(self.scenarios))

    def scenario(self, name: str) -> None:
        (self.scenarios / f"{name}.json").write_text(json.dumps({"name": name}), encoding="utf-8")

    def test_no_scenario_is_a_failure(self) -> None:
        result = self.run_on(self.program("a", "echo same"))
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.endswith("0 passed, 1 failed\n"))

    def test_equal_outputs_pass(self) -> None:
        self.scenario("one")
        self.scenario("two")
        a, b = self.program("a", 'echo "$*"'), self.program("b", 'echo "$*"')
        result = self.run_on(a, b)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertTrue(result.stdout.endswith("\n2 passed, 0 failed\n"), result.stdout)

    def test_runs_strict_without_timings_as_json(self) -> None:
        self.scenario("one")
        log = self.folder / "arguments"
        self.run_on(self.program("a", f'echo "$*" | tee {log}'))
        self.assertEqual(log.read_text(encoding="utf-8"),
                         f"run {self.scenarios}/one.json --strict --json --no-timings\n")

    def test_a_difference_between_binaries_fails(self) -> None:
        self.scenario("one")
        result = self.run_on(self.program("a", "echo 1"), self.program("b", "echo 2"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("output differs", result.stdout)
        self.assertTrue(result.stdout.endswith("\n0 passed, 1 failed\n"), result.stdout)

    def test_a_finding_in_one_scenario_fails_and_the_others_still_run(self) -> None:
        self.scenario("clean")
        self.scenario("dirty")
        self.scenario("late")
        result = self.run_on(self.program("a", 'echo x; [[ $2 != */dirty.json ]]'))
        self.assertEqual(result.returncode, 1)
        self.assertIn("FAILED  dirty\nexit code 1:", result.stdout)
        self.assertTrue(result.stdout.endswith("\n2 passed, 1 failed\n"), result.stdout)

    def test_silence_and_a_missing_binary_fail(self) -> None:
        self.scenario("one")
        self.assertEqual(self.run_on(self.program("quiet", "true")).returncode, 1)
        self.assertEqual(self.run_on(str(self.bin / "absent")).returncode, 1)


class CiRun(ShellTest):
    """A copy of .ci/run in a tree whose scripts are fakes."""

    STAGES = {
        "test": 'echo "output"; echo "asan: 7 passed, 0 failed, 2 skipped (junit.xml)"',
        "build": "true",
        "run_scenarios": 'echo "3 passed, 0 failed"',
    }

    def run_ci(self, **changed: str) -> subprocess.CompletedProcess:
        tree = self.folder / "tree"
        (tree / ".ci").mkdir(parents=True)
        (tree / "scripts").mkdir()
        for name in (".ci/run", "scripts/stages.sh"):
            (tree / name).write_bytes((ROOT / name).read_bytes())
        for name, body in {**self.STAGES, **changed}.items():
            file = tree / "scripts" / name
            file.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
            file.chmod(0o755)
        return subprocess.run(["bash", str(tree / ".ci/run")], text=True, timeout=60,
                              capture_output=True, check=False)

    def test_sums_tests_and_scenarios_and_counts_other_stages_once(self) -> None:
        result = self.run_ci()
        self.assertEqual(result.returncode, 0, result.stdout)
        # Seven tests, three scenarios and the CUDA kernels.
        self.assertTrue(result.stdout.endswith("\n11 passed, 0 failed\n"), result.stdout)

    def test_a_failed_stage_fails_the_run_and_the_others_still_run(self) -> None:
        result = self.run_ci(build="exit 77")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.endswith("\n10 passed, 1 failed\n"), result.stdout)

    def test_failed_tests_are_counted(self) -> None:
        result = self.run_ci(test='echo "asan: 5 passed, 2 failed, 0 skipped (junit.xml)"; exit 8')
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.endswith("\n9 passed, 2 failed\n"), result.stdout)

    def test_a_crash_after_a_clean_count_still_fails(self) -> None:
        result = self.run_ci(run_scenarios='echo "3 passed, 0 failed"; exit 139')
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stdout.endswith("\n11 passed, 1 failed\n"), result.stdout)


class FuzzRun(ShellTest):
    """A copy of scripts/fuzz in a tree with two readers whose programs are fakes."""

    EXECUTIONS = 'echo "stat::number_of_executed_units: 1234"'

    def run_fuzz(self, *arguments: str, broken: str = "") -> subprocess.CompletedProcess:
        tree = self.folder / "tree"
        for folder in ("scripts", "scenarios", "tests/fuzz", "build/fuzz/tests/fuzz"):
            (tree / folder).mkdir(parents=True)
        (tree / "scenarios/one.json").write_text('{"name": "one"}', encoding="utf-8")
        programs = {"scripts/setup": "true", "scripts/build": 'echo "build $*"'}
        for name in ("scenario", "traffic"):
            (tree / f"tests/fuzz/fuzz_{name}.cpp").touch()
            programs[f"build/fuzz/tests/fuzz/fuzz_{name}"] = (
                'echo "broken: a promise"; exit 77' if name == broken
                else f'echo "$*" >arguments_{name}; {self.EXECUTIONS}')
        for name, body in programs.items():
            (tree / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
            (tree / name).chmod(0o755)
        script = tree / "scripts/fuzz"
        script.write_bytes((ROOT / "scripts/fuzz").read_bytes())
        return subprocess.run(["bash", str(script), *arguments], text=True, timeout=60,
                              capture_output=True, check=False)

    def test_every_reader_runs_for_the_time_told_from_the_files_of_the_repository(self) -> None:
        result = self.run_fuzz("7")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("build fuzz fuzz_scenario fuzz_traffic\n", result.stdout)
        self.assertIn("traffic: 1234 executions, 0 % past the reader, nothing found\n", result.stdout)
        self.assertTrue(result.stdout.endswith("\n2 passed, 0 failed\n"), result.stdout)
        tree = self.folder / "tree"
        self.assertIn("-max_total_time=7 ", (tree / "arguments_scenario").read_text("utf-8"))
        self.assertTrue((tree / "build/fuzzing/seeds/scenario/one.json").exists())
        self.assertEqual((tree / "build/fuzzing/seeds/scenario.dict").read_text("utf-8"),
                         '"\\"name\\""\n"\\"one\\""\n')

    def test_a_find_fails_the_run_and_is_told(self) -> None:
        result = self.run_fuzz("7", broken="scenario")
        self.assertEqual(result.returncode, 1)
        self.assertIn("scenario: FAILED", result.stdout)
        self.assertIn("broken: a promise", result.stdout)
        self.assertTrue(result.stdout.endswith("\n1 passed, 1 failed\n"), result.stdout)

    def test_only_the_readers_named_run(self) -> None:
        result = self.run_fuzz("7", "traffic", broken="scenario")
        self.assertTrue(result.stdout.endswith("\n1 passed, 0 failed\n"), result.stdout)

    def test_bad_arguments_are_refused(self) -> None:
        for arguments in (("soon",), ("0",), ("5", "absent")):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.run_script("scripts/fuzz", *arguments).returncode, 2)


class GpuTest(ShellTest):
    def test_a_folder_of_somebody_else_is_left_alone(self) -> None:
        mine = self.folder / "mine"
        mine.mkdir()
        (mine / "notes").write_text("keep", encoding="utf-8")
        result = self.run_script("scripts/gpu-test", str(mine))
        self.assertEqual(result.returncode, 2)
        self.assertIn("is no folder of gpu-test", result.stderr)
        self.assertEqual((mine / "notes").read_text(encoding="utf-8"), "keep")

    def test_bad_arguments_are_refused(self) -> None:
        for arguments in (("--help",), ("a", "b")):
            self.assertEqual(self.run_script("scripts/gpu-test", *arguments).returncode, 2)

    def run_packed(self, *parts: str) -> subprocess.CompletedProcess:
        """`run` beside a test that passes, one that fails and three benches."""
        for name, body in (("test_a", "echo fine"), ("test_b", "echo 3 of 4; exit 1"),
                           ("hybridscope_gpu_bench", "echo 25.2 us"),
                           ("hybridscope_numeric_bench", "echo 525.1 us"),
                           ("hybridscope_language_bench", "echo 542 us")):
            self.program(name, body)
        packed = self.bin / "run"
        packed.write_bytes((ROOT / "scripts/gpu-test-run").read_bytes())
        packed.chmod(0o755)
        return subprocess.run([str(packed), *parts], env={"PATH": "/usr/bin:/bin"}, text=True,
                              timeout=60, capture_output=True, check=False)

    def test_the_last_line_names_what_failed(self) -> None:
        result = self.run_packed("tests")
        self.assertEqual(result.returncode, 1)
        self.assertIn("3 of 4", result.stdout)
        self.assertIn("gpu-test: failed: test_b ", result.stdout.splitlines()[-1])

    def test_without_the_sanitizer_the_rest_runs(self) -> None:
        result = self.run_packed("sanitizer", "bench")
        self.assertEqual(result.returncode, 0)
        self.assertIn("compute-sanitizer: not found, skipped", result.stdout)
        self.assertIn("25.2 us", result.stdout)
        self.assertEqual(result.stdout.splitlines()[-2], "gpu-test: skipped: sanitizer")
        self.assertIn("the rest of sanitizer bench passed", result.stdout.splitlines()[-1])

    def test_tests_that_all_skip_have_failed(self) -> None:
        self.program("test_c", "echo '[  PASSED  ] 0 tests.'")
        self.assertIn("test_c", self.run_packed("tests").stdout.splitlines()[-1])


class JunitSummary(ShellTest):
    def test_counts_each_status(self) -> None:
        junit = self.folder / "junit.xml"
        junit.write_text("""<testsuite name="x" tests="5">
<testcase name="a" status="run"/><testcase name="b" status="run"/>
<testcase name="c" status="fail"><failure message=""/><system-out>found 2,
expected 3</system-out></testcase>
<testcase name="d" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
<testcase name="e" status="disabled"/></testsuite>""", encoding="utf-8")
        result = self.run_script("scripts/junit_summary.py", str(junit))
        self.assertEqual(result.stdout, "2 passed, 1 failed, 2 skipped\n")
        self.assertEqual(result.stderr, "--- c\nfound 2,\nexpected 3\n")

    def test_counts_the_tests_inside_a_program(self) -> None:
        junit = self.folder / "junit.xml"
        junit.write_text("""<testsuite><testcase name="engine" status="run"/>
<testcase name="format.check" status="run"/>
<testcase name="cli" status="fail"><failure message=""/></testcase>
<testcase name="gui" status="fail"><failure message=""/></testcase></testsuite>""", encoding="utf-8")
        for name, cases in {
                "engine": '<testcase status="run"/><testcase status="run"><skipped/></testcase>',
                "cli": '<testcase status="run"/><testcase status="run"><failure/></testcase>',
                "gui": '<testcase status="run"/>'}.items():  # which crashed at its end
            inside = f"<testsuites><testsuite>{cases}</testsuite></testsuites>"
            (self.folder / f"{name}.xml").write_text(inside, encoding="utf-8")
        result = self.run_script("scripts/junit_summary.py", str(junit), str(self.folder))
        self.assertEqual(result.stdout, "4 passed, 2 failed, 1 skipped\n")


if __name__ == "__main__":
    unittest.main()
