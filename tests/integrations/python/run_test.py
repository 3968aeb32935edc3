"""hybridscope.run, Run, explain, diff: the same as the program's commands."""

import json
import os
import signal
import subprocess
import sys
import threading
import unittest
from pathlib import Path

import hybridscope
from package_case import PROGRAM, PackageCase, json_of_program, program, scenario


class Runs(PackageCase):
    def test_a_run_reports_what_the_program_prints(self):
        result = hybridscope.run(scenario("align_boundary_by_decode"))
        self.assertEqual(result.report, json_of_program(
            "run", scenario("align_boundary_by_decode"), "--json", "--no-timings"))
        self.assertTrue(result.ok)
        self.assertEqual(result.findings, [])

    def test_settings_engine_and_policies_are_those_of_the_options(self):
        result = hybridscope.run(scenario("align_boundary_by_decode"), engine="reference",
                                 settings={"max_num_seqs": 3, "enable_prefix_caching": True},
                                 policies={"row_order": "query_len"})
        self.assertEqual(result.report, json_of_program(
            "run", scenario("align_boundary_by_decode"), "--engine", "reference",
            "--max-num-seqs", 3, "--enable-prefix-caching", "--policies-row-order", "query_len",
            "--json", "--no-timings"))

    def test_a_scenario_may_be_a_dict(self):
        path = scenario("align_boundary_by_decode")
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(hybridscope.run(content).summary, hybridscope.run(path).summary)

    def test_traffic_runs_too(self):
        result = hybridscope.run(traffic="synthetic", model="nemotron-h-8b", limit=5)
        self.assertEqual(result.summary["requests_finished"], 5)

    def test_traffic_runs_in_a_closed_loop(self):
        options = ("--users", 2, "--think-time", 0.25)
        result = hybridscope.run(traffic="synthetic", model="nemotron-h-8b", limit=5, users=2,
                                 think_time=0.25)
        said = program("run", "--traffic", "synthetic", "--model", "nemotron-h-8b", "--limit", 5,
                       *options, "--json", "--no-timings").stdout
        self.assertEqual(result.report, json.loads(said))
        with self.assertRaisesRegex(hybridscope.InvalidInput,
                                    "request_rate is -1.000000, not a number from 0.000001"):
            hybridscope.run(traffic="synthetic", request_rate=-1)
        with self.assertRaisesRegex(hybridscope.InvalidInput, "exclude each other"):
            hybridscope.run(traffic="synthetic", users=2, request_rate=1)
        with self.assertRaisesRegex(hybridscope.InvalidInput, 'no traffic format "csv"'):
            hybridscope.run(traffic=str(scenario("plain_decode")), traffic_format="csv")

    def test_state_in_bytes_is_reported(self):
        result = hybridscope.run(scenario("several_groups"), state="bytes",
                                 settings={"state_layers": 2})
        self.assertEqual(result.report["state"]["fidelity"], "bytes")
        self.assertEqual(result.report["state"]["backend"], "cpu")

    def test_a_stopped_run_says_so(self):
        result = hybridscope.run(scenario("align_boundary_by_decode"), steps=2)
        self.assertEqual((result.outcome, result.summary["steps"]), ("stopped", 2))

    def test_what_cannot_run_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, 'there is no setting "maximum"'):
            hybridscope.run(scenario("align_boundary_by_decode"), settings={"maximum": 3})
        with self.assertRaisesRegex(hybridscope.InvalidInput, "scenario: .*"):
            hybridscope.run({"name": "x"})
        with self.assertRaisesRegex(hybridscope.Error, "absent.json"):
            hybridscope.run("absent.json")
        with self.assertRaisesRegex(hybridscope.InvalidInput, "give a scenario or traffic"):
            hybridscope.run()
        with self.assertRaisesRegex(TypeError, "no option maximum"):
            hybridscope.run(scenario("align_boundary_by_decode"), maximum=3)

    def test_steps_are_those_of_jsonl(self):
        path = scenario("align_boundary_by_decode")
        *steps, _ = program("run", path, "--jsonl", "--no-timings").stdout.splitlines()
        run = hybridscope.Run(path)
        self.assertEqual(list(run), [json.loads(step) for step in steps])
        self.assertEqual(run.result().report, hybridscope.run(path).report)

    def test_each_step_can_be_explained(self):
        path = scenario("align_boundary_by_decode")
        run = hybridscope.Run(path)
        for step in run:
            explained = program("run", path, "--explain", step["step"]).stdout
            self.assertEqual(run.explain(), explained)
        self.assertEqual(hybridscope.explain(path, 2), program("run", path, "--explain", 2).stdout)
        with self.assertRaisesRegex(hybridscope.NotFound, "there is no step 99"):
            hybridscope.explain(path, 99)
        self.assertEqual(run.explain(), program("run", path, "--explain", step["step"]).stdout)
        with self.assertRaisesRegex(hybridscope.NotFound, "at no step"):
            hybridscope.Run(path).explain()


class LongCalls(PackageCase):
    TRAFFIC = {"traffic": "synthetic", "model": "nemotron-h-8b", "limit": 400}

    def test_another_thread_goes_on_while_a_run_goes(self):
        done, counted = threading.Event(), [0]

        def count():
            while not done.is_set():
                counted[0] += 1

        thread = threading.Thread(target=count)
        thread.start()
        before = counted[0]
        try:
            hybridscope.run(**self.TRAFFIC)
            during = counted[0] - before
        finally:
            done.set()
            thread.join()
        # With the GIL held the thread would wait for the whole call.
        self.assertGreater(during, 10_000)

    def test_progress_counts_steps_up_to_the_last(self):
        told = []
        result = hybridscope.run(scenario("align_boundary_by_decode"), progress=told.append)
        self.assertEqual(told[-1], hybridscope.Progress("steps", result.summary["steps"]))

    def test_a_signal_ends_a_run(self):
        def stop(*_):
            raise InterruptedError

        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, stop))
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaises(InterruptedError):
            while True:
                hybridscope.run(**self.TRAFFIC)

    def test_a_callback_that_raises_stops_the_run_and_ends_its_session(self):
        def stop(progress):
            raise KeyError(progress.what)

        place = f"{self.folder / 'runs.db'}:stopped"
        with self.assertRaisesRegex(KeyError, "steps"):
            hybridscope.run(**self.TRAFFIC, progress=stop, record=place)
        info = hybridscope.sessions(self.folder / "runs.db")[0]
        self.assertEqual((info["name"], info["status"]), ("stopped", "interrupted"))


class Program(PackageCase):
    def test_the_package_is_the_program(self):
        path = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
        result = subprocess.run(
            [sys.executable, "-m", "hybridscope", "run", scenario("align_boundary_by_decode"),
             "--json", "--no-timings"], env={**os.environ, "PATH": path}, capture_output=True,
            text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout),
                         hybridscope.run(scenario("align_boundary_by_decode")).report)
        self.assertEqual(program("--version").stdout.split()[-1], hybridscope.__version__)


class Diffs(PackageCase):
    def test_two_sets_of_settings_differ_as_the_program_says(self):
        path = scenario("align_boundary_by_decode")
        told = []
        result = hybridscope.diff({"runner": "v1"}, {"runner": "v2"}, scenario=path,
                                  progress=told.append)
        self.assertEqual(told[-1].what, "steps")
        self.assertGreater(told[-1].done, 8)
        self.assertEqual(result.report, json_of_program(
            "diff", "--scenario", path, "--a", "runner=v1", "--b", "runner=v2", "--json"))

    def test_a_session_does_not_differ_from_itself(self):
        place = f"{self.folder / 'runs.db'}:one"
        hybridscope.run(scenario("align_boundary_by_decode"), record=place)
        result = hybridscope.diff(place, place)
        self.assertFalse(result.differs)
        self.assertEqual(result.text, program("diff", place, place).stdout)

    def test_no_file_that_is_read_is_written(self):
        path = self.folder / "a.json"
        path.write_text(Path(scenario("plain_decode")).read_text())
        db = f"{self.folder}/b.db"
        os.link(path, db)
        os.symlink("a.json", self.folder / "c.jsonl")
        for name, work in (
                ("record", lambda: hybridscope.run(path, record=f"{db}:one")),
                ("record", lambda: hybridscope.run(traffic=str(path), record=db)),
                ("record", lambda: hybridscope.judge(path, record=db)),
                ("out", lambda: hybridscope.plan(path, out=self.folder / "c.jsonl"))):
            with self.assertRaisesRegex(hybridscope.InvalidInput,
                                        f"^{name} .*: this is the .* {path}, expected another file$"):
                work()
        self.assertEqual(path.read_text(), Path(scenario("plain_decode")).read_text())

    def test_an_unknown_setting_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, 'there is no setting "maximum"'):
            hybridscope.diff({"maximum": 1}, {}, scenario=scenario("align_boundary_by_decode"))


if __name__ == "__main__":
    unittest.main()
