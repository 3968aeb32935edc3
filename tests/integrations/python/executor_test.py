"""Lists of jobs on executors: the same results as one after the other."""

import functools
import json
import tempfile
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import hybridscope
from package_case import PackageCase, program, recording, scenario

try:
    import distributed
except ImportError:
    distributed = None

JOBS = [{"scenario": scenario("align_boundary_by_decode")},
        {"scenario": scenario("align_boundary_by_decode"), "engine": "reference"},
        {"scenario": scenario("several_groups"), "settings": {"max_num_seqs": 2}}]
GRID = {"mamba_cache_mode": ["all", "align"], "max_num_seqs": [2, 4]}
MATRIX = {"engine": "vllm@2026-06-29", "scenarios": 2,
          "only": {"mode": "align", "speculation": ["none", "mtp2"], "layout": "SD", "runner": "v1",
                   "scheduling": "sync", "graphs": "full_and_piecewise", "pressure": "preemption",
                   "retention": "dense", "match_unit": "block", "checkpoints": "none"}}


PLAN = {"traffic": "synthetic", "model": "tiny-gdn", "limit": 25,
        "settings": {"num_gpu_blocks_override": 2000, "max_model_len": 4096},
        "sweep": {"mamba_cache_mode": ["align", "none"], "max_num_seqs": "2,8"}}


def everything(executor, matrix):
    return (hybridscope.run_many(JOBS, executor=executor),
            hybridscope.sweep(scenario("align_boundary_by_decode"), GRID, executor=executor),
            hybridscope.judge_many([recording("gdn_2026-06"), recording("0.33.0_v2")],
                                   executor=executor),
            matrix(),
            hybridscope.plan(**PLAN, executor=executor))


@functools.cache
def matrix_of_one_process():
    return hybridscope.matrix(**MATRIX)


def everything_in_one_process():
    return everything(None, matrix_of_one_process)


def everything_on(executor):
    return everything(executor, lambda: hybridscope.matrix(**MATRIX, executor=executor))


class Executors(PackageCase):
    maxDiff = None

    def test_processes_give_the_results_of_one_process(self):
        with ProcessPoolExecutor(2) as executor:
            self.assertEqual(everything_on(executor), everything_in_one_process())

    def test_threads_give_the_results_of_one_thread(self):
        with ThreadPoolExecutor(2) as executor:
            self.assertEqual(hybridscope.run_many(JOBS, executor=executor),
                             hybridscope.run_many(JOBS))

    @unittest.skipIf(distributed is None, "Dask's distributed is not installed")
    def test_two_dask_workers_give_the_results_of_one_process(self):
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True,
                                      dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                client.upload_file(str(__file__))
                self.assertEqual(everything_on(client.get_executor()),
                                 everything_in_one_process())

    def test_an_error_of_a_worker_is_the_programs(self):
        with ProcessPoolExecutor(1) as executor:
            with self.assertRaisesRegex(hybridscope.Error, "absent.json"):
                hybridscope.run_many([{"scenario": "absent.json"}], executor=executor)

    def test_progress_counts_jobs(self):
        told = []
        hybridscope.run_many(JOBS, progress=told.append)
        self.assertEqual(told[-1], hybridscope.Progress("jobs", 3, 3))

    def test_a_sweep_has_every_combination_the_last_setting_fastest(self):
        points = hybridscope.sweep(scenario("align_boundary_by_decode"), GRID)
        self.assertEqual([tuple(point.settings.values()) for point in points],
                         [("all", 2), ("all", 4), ("align", 2), ("align", 4)])
        self.assertEqual(points[3].result.report["config"]["max_num_seqs"], 4)


class Matrices(PackageCase):
    def test_a_matrix_is_the_one_that_the_program_makes(self):
        out = self.folder / "matrix"
        words = [f"--only={axis}={values if isinstance(values, str) else ','.join(values)}"
                 for axis, values in MATRIX["only"].items()]
        printed = json.loads(program("matrix", "--engine", MATRIX["engine"], "--scenarios", 2,
                                     *words, "--out", out, "--json").stdout)
        result = matrix_of_one_process()
        printed.pop("program")
        report = dict(result.report)
        report.pop("program")  # another build: the module, not the program
        self.assertEqual(report, printed)
        self.assertFalse(result.safe)
        for file, text in result.scenarios.items():
            self.assertEqual((out / file).read_text(encoding="utf-8"), text)

    def test_a_folder_is_gone_on_with(self):
        told = []

        def stop(progress):
            told.append(progress)
            if len(told) == 2:
                raise InterruptedError

        with self.assertRaises(InterruptedError):
            hybridscope.matrix(**MATRIX, out=self.folder / "matrix", progress=stop)
        told.clear()
        result = hybridscope.matrix(**MATRIX, out=self.folder / "matrix", progress=told.append)
        cells = [progress for progress in told if progress.what == "cells"]
        self.assertEqual(cells[0].total, len(result.report["results"]) - 2)
        self.assertEqual(result.report, matrix_of_one_process().report)

    def test_an_unknown_axis_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, "axis"):
            hybridscope.matrix("safe", only={"colour": "red"})
        with self.assertRaisesRegex(hybridscope.InvalidInput, "there is no profile"):
            hybridscope.matrix("sure")


class Plans(PackageCase):
    WORDS = ("plan", "--traffic", "synthetic", "--model", "tiny-gdn", "--limit", 25,
             "--num-blocks", 2000, "--max-model-len", 4096,
             "--sweep", "mamba_cache_mode=align,none", "--sweep", "max_num_seqs=2,8")

    def test_a_plan_is_the_one_that_the_program_makes(self):
        printed = json.loads(program(*self.WORDS, "--json").stdout)
        result = hybridscope.plan(**PLAN)
        report = json.loads(json.dumps(result.report))
        for one in (printed, report):
            one["plan"].pop("program")  # another build: the module, not the program
        self.assertEqual(report, printed)
        self.assertEqual(result.text, program(*self.WORDS).stdout)
        self.assertEqual(result.recommended, printed["recommended"])

    def test_a_file_is_gone_on_with(self):
        told = []

        def stop(progress):
            told.append(progress)
            raise InterruptedError

        file = self.folder / "plan.jsonl"
        with self.assertRaises(InterruptedError):
            hybridscope.plan(**PLAN, out=file, progress=stop)
        told.clear()
        result = hybridscope.plan(**PLAN, out=file, progress=told.append)
        self.assertEqual(told[-1], hybridscope.Progress("runs", 3, 3))
        self.assertEqual(result, hybridscope.plan(**PLAN))

    def test_other_step_times_are_jobs_too(self):
        result = hybridscope.plan(**PLAN, step_time="5ms + 20us*prefill", prefer=["throughput"])
        self.assertEqual([other["when"] for other in result.report["sensitivity"]],
                         ["if steps take half as long", "if steps take twice as long"])

    def test_an_unknown_setting_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, "there is no setting"):
            hybridscope.plan("synthetic", sweep={"colour": ["red"]})


if __name__ == "__main__":
    unittest.main()
