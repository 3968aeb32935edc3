#!/usr/bin/env python3
"""What integrations/vllm/hybridscope_trace.py writes, and what `hybridscope judge` says of it.

trace_writer_test.py PROGRAM [unittest arguments]
"""

import io
import json
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace as Object
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integrations" / "vllm"))

import small_engine
from hybridscope_trace import (CacheWatch, Recording, SchedulerHooks, TraceWriter, _FrameTimes,
                               _metadata, plain, record_copies)
from hybridscope_trace import Values as AtOnce
from small_engine import Array

PROGRAM = ""


def trace_of(**faults):
    file = io.StringIO()
    with TraceWriter(file) as writer:
        small_engine.run(writer, record_copies, **faults)
    return file.getvalue()


def async_trace_of(**faults):
    file = io.StringIO()
    with TraceWriter(file) as writer:
        small_engine.run_async(writer, record_copies, **faults)
    return file.getvalue()


def shared_tail(**faults):
    file = io.StringIO()
    with TraceWriter(file) as writer:
        small_engine.run_shared_tail(writer, **faults)
    return file.getvalue()


def lines_of(text):
    """Without the end mark."""
    return [line for line in map(json.loads, text.splitlines()) if "control" not in line]


class Judged(unittest.TestCase):
    def judge(self, trace):
        return subprocess.run([PROGRAM, "judge", "-"], input=trace, capture_output=True, text=True,
                              timeout=60, check=False)

    def has_no_findings(self, trace):
        """These engines have no metadata to tell, so there is no verdict."""
        result = self.judge(trace)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)
        self.assertIn("not judged: step 1: attn_metadata/1 is not told\nno verdict", result.stdout)

    def test_a_healthy_run_has_no_findings(self):
        self.has_no_findings(trace_of())

    def test_a_hit_inside_a_block_has_no_findings(self):
        self.has_no_findings(shared_tail())

    def test_a_copy_of_another_block_is_found(self):
        result = self.judge(shared_tail(copies_of_b=((4, 7), (5, 8))))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("running-state-wrong: step 3 b", result.stdout)

    def test_a_wrong_accepted_count_reads_another_state(self):
        result = self.judge(trace_of(accepted_of_a=1))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("running-state-wrong", result.stdout)

    def test_metadata_that_names_another_state_is_found(self):
        result = self.judge(trace_of(states_of_a=(4, 3, 6)))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("running-state-wrong", result.stdout)

    def test_a_healthy_asynchronous_run_has_no_findings(self):
        self.has_no_findings(async_trace_of())

    def test_a_device_that_counts_rejected_drafts_is_found(self):
        result = self.judge(async_trace_of(device_computed=(0, 6, 9, 10)))
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("rejected-draft-counted: step 3 a", result.stdout)


class Followed(unittest.TestCase):
    """hybridscope judge --follow unix:PATH: this side is the engine."""

    def test_a_finding_is_printed_while_the_engine_runs(self):
        lines = trace_of(accepted_of_a=1).splitlines(keepends=True)
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
            server.bind(folder + "/engine")
            server.listen()
            server.settimeout(60)
            judge = subprocess.Popen([PROGRAM, "judge", "--follow", f"unix:{folder}/engine"],
                                     stdout=subprocess.PIPE, text=True)
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(lines).encode())
                self.assertIn("running-state-wrong: step 3 a", judge.stdout.readline())
                self.assertIsNone(judge.poll())
            summary, _ = judge.communicate(timeout=60)
        self.assertEqual(judge.returncode, 1)
        self.assertIn("1 trace, 3 steps", summary)
        self.assertNotIn("running-state-wrong: step 3 a", summary)


class AsyncLines(unittest.TestCase):
    def setUp(self):
        self.header, *self.steps = lines_of(async_trace_of())

    def test_the_header_says_so(self):
        self.assertTrue(self.header["config"]["async_scheduling"])

    def test_an_output_stands_in_the_line_of_the_step_that_made_it(self):
        self.assertEqual([step["step"] for step in self.steps], [1, 2, 3, 4])
        self.assertEqual([step["model_runner_output"]["sampled_token_ids"] for step in self.steps],
                         [[[20]], [[21]], [[22, 23, 24]], [[25]]])

    def test_rows_have_the_hosts_and_the_devices_counts(self):
        batch = self.steps[2]["input_batch"]
        self.assertEqual(batch["num_computed_tokens_cpu"], [9])
        self.assertEqual(batch["num_computed_tokens"], [7])

    def test_outside_mode_align_the_host_has_no_accepted_counts(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(True),
                      mamba_cache_mode="none")
        kv.hold("a", [1], [2, 3, 4])
        writer.step(small_engine.scheduler_output({"a": 2}, new=[
            small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)]), kv)
        writer.inputs(small_engine.input_batch(["a"], [1], [0]))
        writer.close()
        self.assertEqual(lines_of(file.getvalue())[1]["input_batch"],
                         {"req_ids": ["a"], "num_computed_tokens_cpu": [0]})

    def test_two_steps_may_lack_their_output_not_three(self):
        kv, writer = small_engine.KVCacheManager(), TraceWriter(io.StringIO())
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(True))
        for _ in range(2):
            writer.step(small_engine.scheduler_output({"a": 1}), kv)
        with self.assertRaisesRegex(ValueError, "step 1 has no finish"):
            writer.step(small_engine.scheduler_output({"a": 1}), kv)

    def test_the_output_of_a_step_without_tokens_may_be_missing(self):
        kv, file = small_engine.KVCacheManager(), io.StringIO()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(True))
        for tokens in ({"a": 1}, {}, {"b": 1}):
            if len(writer._lines) == 2:
                writer.finish(Object(req_ids=["a"], sampled_token_ids=[[5]]))
            writer.step(small_engine.scheduler_output(tokens), kv)
            writer.inputs(small_engine.input_batch(list(tokens), [1], [0]))
        writer.finish(Object(req_ids=["b"], sampled_token_ids=[[6]]))
        writer.finish(Object(req_ids=[], sampled_token_ids=[]))  # late: of step 2
        lines = lines_of(file.getvalue())[1:]
        self.assertEqual([line.get("model_runner_output", {}).get("sampled_token_ids")
                          for line in lines], [[[5]], None, [[6]]])

    def test_slots_of_runner_v2_are_taken_from_its_batch(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(), runner="v2")
        kv.hold("a", [1], [2, 3, 4])
        writer.step(small_engine.scheduler_output({"a": 2}, new=[
            small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)]), kv)
        writer.inputs(Object(req_ids=["a"], idx_mapping_np=Array([3])))
        writer.close()
        header, step = lines_of(file.getvalue())
        self.assertEqual(header["config"]["runner"], "v2")
        self.assertEqual(step["input_batch"], {"req_ids": ["a"], "idx_mapping": [3]})


class RecordedRunner(unittest.TestCase):
    """Recording, with a scheduler and a runner that do nothing by themselves."""

    def setUp(self):
        self.file, self.kv = io.StringIO(), small_engine.KVCacheManager()
        self.scheduler = Object(
            kv_cache_config=small_engine.kv_cache_config(), kv_cache_manager=self.kv,
            requests=self.kv.requests,
            schedule=self.schedule, update_from_output=lambda scheduled, output: "outputs",
            has_unfinished_requests=lambda: True)

    def schedule(self):
        self.kv.hold("a", [1], [2, 3, 4])
        return small_engine.scheduler_output({"a": 2}, new=[
            small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)])

    def lines(self):
        return lines_of(self.file.getvalue())

    def test_runner_v1(self):
        batch = small_engine.input_batch(["a"], [1], [0])
        runner = Object(vllm_config=small_engine.vllm_config(), input_batch=batch,
                        _prepare_inputs=lambda scheduled: "inputs",
                        execute_model=lambda scheduled: "launched")
        recording = Recording(TraceWriter(self.file), self.scheduler, runner, name="v1")
        scheduled = self.scheduler.schedule()
        self.assertEqual(runner._prepare_inputs(scheduled), "inputs")
        self.assertEqual(self.scheduler.update_from_output(
            scheduled, Object(req_ids=["a"], sampled_token_ids=[[20]])), "outputs")
        recording.close()
        header, line = self.lines()
        self.assertEqual((header["name"], header["config"]["runner"]), ("v1", "v1"))
        self.assertEqual(line["input_batch"]["num_accepted_tokens_cpu"], [1])
        self.assertEqual(line["model_runner_output"]["sampled_token_ids"], [[20]])
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_an_error_of_the_recorder_does_not_reach_the_engine(self):
        runner = Object(vllm_config=small_engine.vllm_config(), input_batch=None,
                        _prepare_inputs=lambda scheduled: "inputs")
        Recording(TraceWriter(self.file), self.scheduler, runner)
        scheduled = self.scheduler.schedule()
        with self.assertWarnsRegex(UserWarning, "hybridscope stops recording: _inputs_of_v1: "):
            self.assertEqual(runner._prepare_inputs(scheduled), "inputs")
        self.assertEqual(runner._prepare_inputs(scheduled), "inputs")
        self.assertEqual(self.scheduler.schedule, self.schedule)
        self.assertNotIn("new_step_starts", vars(self.kv))

    def test_runner_v2(self):
        class Counts(dict):
            """A tensor by slot."""
            def __getitem__(self, slots):
                return Array([super(Counts, self).__getitem__(slot) for slot in slots])

        class State:
            num_accepted_tokens_gpu, _mamba_state_idx_gpu = Counts({3: 1}), Counts({3: 0})
            def preprocess_state(self, *_):
                return None
            def prepare_attn(self, *_):
                return {"layers.0": Object(num_prefills=1)}

        tokens = Object(num_computed_tokens=Object(gpu=Counts({3: 0})))
        runner = Object(vllm_config=small_engine.vllm_config(), model_state=State(),
                        req_states=tokens, prepare_attn=lambda batch: (),
                        execute_model=lambda scheduled: "launched")
        batch = Object(req_ids=["a"], idx_mapping=[3], idx_mapping_np=Array([3]),
                       num_tokens_after_padding=2, num_reqs_after_padding=1)
        writer, given = TraceWriter(self.file), []
        writer.before_forward = given.append
        recording = Recording(writer, self.scheduler, runner)
        self.scheduler.schedule()
        runner.prepare_attn(batch)
        runner.model_state.preprocess_state(batch, (), None, Counts({3: 0}))
        metadata = runner.model_state.prepare_attn(batch, "NONE")
        self.assertEqual(runner.execute_model("scheduled"), "launched")
        runner.model_state.prepare_attn(Object(), "NONE")  # a dummy run is not recorded
        runner.execute_model("dummy")
        recording.close()
        header, line = self.lines()
        self.assertEqual(header["config"]["runner"], "v2")
        self.assertEqual(line["input_batch"],
                         {"req_ids": ["a"], "idx_mapping": [3], "num_computed_tokens": [0],
                          "num_accepted_tokens": [1], "mamba_state_idx": [0]})
        self.assertEqual(line["cudagraph"], {"cudagraph_runtime_mode": "NONE", "num_tokens": 2,
                                             "num_reqs": 1})
        self.assertEqual(line["attn_metadata"]["1"], {"num_prefills": 1})
        self.assertEqual(list(metadata), ["layers.0"])
        self.assertEqual(given, [metadata])


class StepTimes(unittest.TestCase):
    """Calls of a scheduler at known times, in microseconds; the recorder's own work takes 1000 in
    each of its calls."""

    def record(self, is_async, calls):
        """`calls`: ("schedule", called, returns) or ("update", frame, called, returns). The lines
        of the frames 1, 2, ..., of one request each."""
        file, kv, now, frames = io.StringIO(), small_engine.KVCacheManager(), [0], []
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(is_async),
                      kv_cache_manager=kv, mamba_cache_mode="none")
        for name in ("step", "finish", "returned"):
            setattr(writer, name, self.slow(now, getattr(writer, name)))

        def schedule(returns, name):
            now[0] = returns
            kv.hold(name, [1], [2, 3, 4])
            frames.append(small_engine.scheduler_output({name: 2}, new=[
                small_engine.new_request(name, [11, 12], ([1], [2, 3, 4]), 10)]))
            return frames[-1]

        def update_from_output(output, result, returns):
            now[0] = returns
            return "outputs"

        scheduler = Object(kv_cache_manager=kv, schedule=schedule,
                           update_from_output=update_from_output,
                           has_unfinished_requests=lambda: True)
        hooks = SchedulerHooks(writer, scheduler, lambda error, what: self.fail(error))
        with mock.patch("hybridscope_trace.time.perf_counter_ns", lambda: now[0] * 1000):
            for kind, *times in calls:
                now[0] = times[-2]
                if kind == "schedule":
                    scheduler.schedule(times[-1], f"r{len(frames)}")
                    writer._lines[-1]["input_batch"] = {"req_ids": [f"r{len(frames) - 1}"]}
                else:
                    scheduler.update_from_output(
                        frames[times[0] - 1],
                        Object(req_ids=[f"r{times[0] - 1}"], sampled_token_ids=[[20]]), times[-1])
        hooks.close()
        writer.close()
        return [line.get("step_time_us") for line in lines_of(file.getvalue())[1:]]

    @staticmethod
    def slow(now, call):
        def slow_call(*args, **kwargs):
            now[0] += 1000
            return call(*args, **kwargs)
        return slow_call

    def test_a_step_lasts_from_its_scheduling_to_the_end_of_its_update(self):
        # Scheduled in 300, recorded in 1000, computed in 5000, recorded in 1000, updated in 700.
        self.assertEqual(self.record(False, [("schedule", 10_000, 10_300),
                                             ("update", 1, 16_300, 18_000),
                                             ("schedule", 50_000, 50_300),
                                             ("update", 2, 52_300, 53_301)]), [6000, 1301])

    def test_frames_in_flight_last_from_one_output_to_the_next(self):
        self.assertEqual(self.record(True, [("schedule", 10_000, 10_300),
                                            ("schedule", 12_000, 12_300),
                                            ("update", 1, 18_000, 18_100),
                                            ("schedule", 20_000, 20_300),
                                            ("update", 2, 26_500, 26_600)])[:2], [8000, 8500])

    def test_a_frame_after_a_pause_lasts_from_its_scheduling(self):
        self.assertEqual(self.record(True, [("schedule", 10_000, 10_300),
                                            ("update", 1, 18_000, 18_100),
                                            ("schedule", 90_000, 90_300),
                                            ("update", 2, 97_000, 97_100)]), [8000, 7000])

    def test_an_engine_that_was_held_has_no_time_of_the_frames_in_flight(self):
        times, first, second = _FrameTimes(), object(), object()
        times.begin(first, 1000, 0)
        times.forget()
        times.begin(second, 9000, 0)
        self.assertIsNone(times.end(first, 10_000, True))
        self.assertEqual(times.end(second, 12_500, True), 2500)

    def test_frames_without_an_output_are_forgotten(self):
        times, first, second = _FrameTimes(), object(), object()
        times.begin(first, 1000, 0)
        times.begin(second, 9000, 400)
        self.assertEqual(times.end(second, 12_500, False), 3100)
        self.assertIsNone(times.end(first, 13_000, False))


class EngineDied(unittest.TestCase):
    """Two frames of one request are in flight: 3 tokens with 2 drafts each, from 6 tokens on."""

    def lines(self, computed):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(True))
        kv.hold("a", [1, 5], [2, 3, 4, 6])
        for number, count in enumerate(computed):
            new = [small_engine.new_request("a", list(range(6)), ([1, 5], [2, 3, 4, 6]), 10)]
            writer.step(small_engine.scheduler_output(
                {"a": 3}, new=new if number == 0 else (), drafts={"a": [-1, -1]},
                cached={"a": (None, 9, 3)} if number > 0 else None), kv)
            counts = {} if count is None else {"num_computed_tokens": Array([count])}
            writer.inputs(small_engine.input_batch(["a"], [1], [6 + 3 * number]), **counts)
        writer.close()
        return lines_of(file.getvalue())[1:]

    def test_what_the_older_frame_sampled_follows_from_the_devices_counts(self):
        older, newer = self.lines([6, 8])
        self.assertEqual(older["model_runner_output"],
                         {"req_ids": ["a"], "sampled_token_ids": [[-1, -1]]})
        self.assertNotIn("model_runner_output", newer)

    def test_without_them_the_newer_frame_is_left_out(self):
        self.assertEqual([line["step"] for line in self.lines([6, None])], [1])


class Cache(unittest.TestCase):
    """Hashes, copies of blocks and states inside a prefill."""

    def setUp(self):
        self.header, self.first, self.second, self.third = lines_of(shared_tail())

    def test_the_coordinator_says_where_hits_can_end(self):
        config = self.header["config"]
        self.assertTrue(config["hits_inside_blocks"])
        self.assertEqual((config["hash_block_size"], config["scheduler_block_size"]), (2, 8))

    def test_copies_are_those_of_the_scheduler_output(self):
        self.assertNotIn("kv_cache_block_copies", self.first["scheduler_output"])
        self.assertEqual(self.second["scheduler_output"]["kv_cache_block_copies"],
                         [{"src_block_id": 5, "dst_block_id": 6}])

    def test_hashes_are_what_changed_since_the_step_before(self):
        self.assertEqual(self.first["block_hashes"]["registered"][-1],
                         {"req_id": "a", "group": 1, "column": 2, "block_id": 5, "num_tokens": 20})
        self.assertEqual(self.second["block_hashes"], {
            "lost": [{"block_id": 5}],
            "registered": [{"req_id": "a", "group": 1, "column": None, "block_id": 6,
                            "num_tokens": 20}]})
        self.assertEqual(self.third["block_hashes"], {})

    def test_hashes_that_come_with_the_output_stand_apart(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(),
                      kv_cache_manager=kv)
        kv.hold("a", [1], [2, 3, 4])
        writer.step(small_engine.scheduler_output({"a": 8}, new=[
            small_engine.new_request("a", list(range(8)), ([1], [2, 3, 4]), 10)]), kv)
        writer.inputs(small_engine.input_batch(["a"], [1], [0]))
        writer.finish(Object(req_ids=["a"], sampled_token_ids=[[20]]))
        kv.hold("a", [1], [2, 3, 4], cached=(1, 0))
        writer.returned(kv)
        line = lines_of(file.getvalue())[1]
        self.assertEqual(line["block_hashes"], {})
        self.assertEqual(line["block_hashes_after_output"], {
            "registered": [{"req_id": "a", "group": 0, "column": 0, "block_id": 1,
                            "num_tokens": 8}]})

    def test_a_request_that_is_preempted_in_its_step_keeps_its_hashes(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        with TraceWriter(file) as writer:
            writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(),
                          kv_cache_manager=kv)
            kv.hold("a", [1], [2, 3, 4], cached=(1, 0))
            kv.blocks.pop("a")
            output = small_engine.scheduler_output({})
            output.preempted_req_ids = {"a"}
            writer.step(output, kv)
            writer.finish(Object(req_ids=[], sampled_token_ids=[]))
        self.assertEqual(lines_of(file.getvalue())[1]["block_hashes"], {
            "registered": [{"req_id": "a", "group": 0, "column": 0, "block_id": 1,
                            "num_tokens": 8}]})

    def test_the_hash_of_a_state_inside_a_prefill_has_the_column_of_its_block(self):
        kv = small_engine.KVCacheManager()
        watch = CacheWatch(kv, lambda: None)
        kv.hold("a", [1, 2, 3], [0, 5, 6])
        # Its last token is in column 2, whose block holds the running state.
        kv.block_pool.cache_partial_block(kv.requests["a"], kv.block_pool.blocks[5], 20, 1, 8)
        self.assertEqual(watch.changes(), {"registered": [
            {"req_id": "a", "group": 1, "column": 1, "block_id": 5, "num_tokens": 20}]})

    def test_a_hash_that_is_lost_and_got_again_is_told_twice(self):
        kv = small_engine.KVCacheManager()
        watch = CacheWatch(kv, lambda: None)
        kv.hold("a", [1], [2], cached=(1, 0))
        registered = watch.changes()["registered"]
        self.assertEqual(watch.changes(), {})
        kv.block_pool._remove_cached_block_hashes(kv.block_pool.blocks[1])
        kv.hold("a", [1], [2], cached=(1, 0))
        self.assertEqual(watch.changes(), {"lost": [{"block_id": 1}], "registered": registered})

    def test_a_reset_of_the_pool_is_told_by_the_next_step(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        with TraceWriter(file) as writer:
            writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(),
                          kv_cache_manager=kv)
            kv.block_pool.reset_prefix_cache()
            writer.step(small_engine.scheduler_output({}), kv)
            writer.finish(Object(req_ids=[], sampled_token_ids=[]))
        self.assertTrue(lines_of(file.getvalue())[1]["reset_prefix_cache"])

    def test_the_manager_is_left_as_it_was(self):
        kv, other = small_engine.KVCacheManager(), small_engine.KVCacheManager()
        names, method = vars(kv).keys(), small_engine.KVCacheManager.allocate_slots
        watch, its = CacheWatch(kv, lambda: None), CacheWatch(other, lambda: None)
        self.assertIsNot(small_engine.KVCacheManager.allocate_slots, method)
        self.assertEqual(vars(kv).keys(), names)  # its attributes stay as fast as they were
        watch.close()
        other.allocate_slots(small_engine.Request("b"), 1)
        self.assertEqual((list(watch.requests), list(its.requests)), ([], ["b"]))
        its.close()
        kv.allocate_slots(small_engine.Request("a"), 1)
        other.allocate_slots(small_engine.Request("c"), 1)
        self.assertEqual((list(watch.requests), list(its.requests)), ([], ["b"]))

    def test_tokens_that_the_scheduler_has_are_told_when_the_frame_returned(self):
        self.assertEqual(self.first["num_tokens_after_output"], {"a": 21})
        self.assertEqual(self.third["num_tokens_after_output"], {"a": 23, "b": 22})

    def test_a_state_inside_a_prefill_is_the_managers(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        groups = small_engine.kv_cache_config()
        groups.kv_cache_groups[1].kv_cache_spec.num_prefill_checkpoint_blocks = 1
        groups.kv_cache_groups[1].kv_cache_spec.prefill_checkpoint_alignment = 64
        kv.coordinator.single_type_managers[1]._checkpoints = {"a": (24, 2)}
        writer = TraceWriter(file)
        writer.header(groups, small_engine.vllm_config())
        kv.hold("a", [1, 2, 3, 4], [0, 0, 5, 6])
        writer.step(small_engine.scheduler_output({"a": 30}, new=[
            small_engine.new_request("a", list(range(30)), ([1, 2, 3, 4], [0, 0, 5, 6]), 10)]), kv)
        batch = small_engine.input_batch(["a"], [1], [0])
        writer.inputs(batch)
        states = Object(checkpoint_offsets=Array([24]), state_indices=Array([5]))
        context = Object(**vars(small_engine.FORWARD_CONTEXT))
        context.attn_metadata = {"layers.0": Object(checkpoint=states)}
        writer.forward(context, batch)
        writer.close()
        header, line = lines_of(file.getvalue())
        group = header["config"]["kv_cache_groups"][1]
        self.assertEqual((group["num_prefill_checkpoint_blocks"],
                          group["prefill_checkpoint_alignment"]), (1, 64))
        self.assertEqual(line["prefill_checkpoints"],
                         [{"req_id": "a", "group": 1, "column": 2, "block_id": 5,
                           "num_tokens": 24}])
        self.assertEqual(line["attn_metadata"]["1"]["checkpoint"],
                         {"checkpoint_offsets": [24], "state_indices": [5]})


class EndMark(unittest.TestCase):
    """The last line of a trace that ended when its engine did."""

    def last_line(self, is_complete):
        file = io.StringIO()
        with TraceWriter(file) as writer:
            small_engine.run_shared_tail(writer)
            writer.is_complete = is_complete
        return json.loads(file.getvalue().splitlines()[-1])

    def test_it_has_the_number_of_the_last_step(self):
        self.assertEqual(self.last_line(True), {"control": "end", "step": 3})

    def test_a_recording_that_broke_off_has_none(self):
        self.assertEqual(self.last_line(False)["step"], 3)
        self.assertNotIn("control", self.last_line(False))

    def test_a_stream_without_it_has_ended_early(self):
        whole = trace_of()
        for stream, said in ((whole, "no verdict"),
                             (whole.rsplit("\n", 2)[0] + "\n",
                              "ended early after step 3, without an end mark"),
                             (whole[:-60], "ended early after step 2, in the middle of a line")):
            with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
                server.bind(folder + "/engine")
                server.listen()
                server.settimeout(60)
                judge = subprocess.Popen([PROGRAM, "judge", "--follow", f"unix:{folder}/engine"],
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         text=True)
                connection, _ = server.accept()
                with connection:
                    connection.sendall(stream.encode())
                summary, _ = judge.communicate(timeout=60)
            self.assertIn(said, summary)
            self.assertEqual("ended early" in summary, stream is not whole, summary)
            self.assertEqual(judge.returncode, 3, said)


class Lines(unittest.TestCase):
    def setUp(self):
        self.header, self.first, self.second, self.third = lines_of(trace_of())

    def test_the_header_has_the_settings_by_their_names(self):
        config = self.header["config"]
        self.assertEqual(config["mamba_cache_mode"], "align")
        self.assertEqual(config["num_speculative_tokens"], 2)
        self.assertEqual(config["kv_cache_groups"][1],
                         {"type": "mamba", "block_size": 8, "mamba_type": "gdn_attention",
                          "num_speculative_blocks": 2, "is_eagle_group": False})

    def test_the_header_has_what_decides_admission_and_retention(self):
        file, config = io.StringIO(), small_engine.vllm_config()
        config.scheduler_config.watermark = 0.25
        config.scheduler_config.scheduler_reserve_full_isl = False
        config.cache_config.prefix_cache_retention_interval = 0
        with TraceWriter(file) as writer:
            writer.header(small_engine.kv_cache_config(), config)
        told = lines_of(file.getvalue())[0]["config"]
        self.assertEqual([told[name] for name in ("watermark", "scheduler_reserve_full_isl",
                                                  "prefix_cache_retention_interval")],
                         [0.25, False, 0])

    def test_a_new_request_has_its_priority_and_its_salt(self):
        file, kv = io.StringIO(), small_engine.KVCacheManager()
        with TraceWriter(file) as writer:
            writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(),
                          kv_cache_manager=kv)
            kv.hold("a", [1], [2, 3, 4])
            writer.step(small_engine.scheduler_output({"a": 2}, new=[
                small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)]), kv)
            writer.inputs(small_engine.input_batch(["a"], [1], [0]))
        new = lines_of(file.getvalue())[1]["scheduler_output"]["scheduled_new_reqs"][0]
        self.assertEqual((new["priority"], new["cache_salt"]), (3, "salt"))

    def test_members_can_be_added_to_the_header_or_replaced(self):
        file = io.StringIO()
        with TraceWriter(file) as writer:
            writer.header(small_engine.kv_cache_config(), small_engine.vllm_config(),
                          conv_kernel=3, block_size=16)
        config = lines_of(file.getvalue())[0]["config"]
        self.assertEqual((config["conv_kernel"], config["block_size"]), (3, 16))

    def test_a_group_of_another_kind_is_refused(self):
        config = small_engine.kv_cache_config()
        config.kv_cache_groups[0].kv_cache_spec = Object(block_size=8)
        with self.assertRaisesRegex(ValueError, "SimpleNamespace is not modelled"):
            TraceWriter(io.StringIO()).header(config, small_engine.vllm_config())

    def test_only_lists_that_changed_are_told(self):
        self.assertEqual(self.first["scheduler_block_ids"], {"a": [[1], [2, 3, 4]]})
        self.assertEqual(self.second["scheduler_block_ids"],
                         {"a": [[1, 5], [2, 3, 4, 6]], "b": [[7], [8, 9, 10]]})
        self.assertEqual(self.third["scheduler_block_ids"], {})

    def test_arrays_are_cut_to_the_rows(self):
        batch = self.second["input_batch"]
        self.assertEqual(batch["num_accepted_tokens_cpu"], [1, 1])
        self.assertEqual(batch["num_computed_tokens_cpu"], [6, 0])
        self.assertEqual(batch["mamba_state_idx"], [1, 0])

    def test_copies_are_those_that_move_something(self):
        self.assertEqual(self.second["preprocess_copies"],
                         [{"req_id": "a", "src_block_idx": 0, "dest_block_idx": 1,
                           "accept_token_bias": 0}])
        self.assertNotIn("postprocess_copies", self.second)

    def test_metadata_stands_under_the_number_of_its_group(self):
        self.assertNotIn("attn_metadata", self.second)
        metadata = self.third["attn_metadata"]["1"]
        self.assertEqual(metadata["spec_state_indices_tensor"], [[3, 4, 6], [8, 9, 10]])
        self.assertEqual(metadata["non_spec_token_indx"], [])
        self.assertIsNone(metadata["has_initial_state"])

    def test_every_line_is_flushed(self):
        file = Object(write=lambda text: None, flush=lambda: flushed.append(1))
        flushed = []
        with TraceWriter(file) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual(len(flushed), 5)  # header, three steps, end mark


class Steps(unittest.TestCase):
    """One step at a time, after the first of the small run."""

    def setUp(self):
        self.file, self.kv = io.StringIO(), small_engine.KVCacheManager()
        self.writer = TraceWriter(self.file)
        self.writer.header(small_engine.kv_cache_config(), small_engine.vllm_config())
        self.kv.hold("a", [1], [2, 3, 4])
        self.writer.step(small_engine.scheduler_output({"a": 2}, new=[
            small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)]), self.kv)
        self.writer.inputs(small_engine.input_batch(["a"], [1], [0]))

    def finish(self):
        self.writer.finish(Object(req_ids=["a"], sampled_token_ids=[Array([20])]))

    def told(self):
        self.writer.close()
        return lines_of(self.file.getvalue())[-1]

    def test_a_step_is_finished_before_the_next(self):
        with self.assertRaisesRegex(ValueError, "step 1 has no finish"):
            self.writer.step(small_engine.scheduler_output({}), self.kv)

    def test_the_last_step_may_lack_its_output(self):
        self.assertEqual(self.told()["step"], 1)
        self.assertNotIn("model_runner_output", self.told())

    def test_a_request_that_lost_its_blocks_was_preempted(self):
        self.finish()
        self.kv.hold("a", [], [])
        self.writer.step(small_engine.scheduler_output({}), self.kv)
        self.writer.finish(Object(req_ids=[], sampled_token_ids=[]))
        self.assertEqual(self.told()["scheduler_output"]["preempted_req_ids"], ["a"])
        self.assertEqual(self.told()["input_batch"]["req_ids"], [])

    def test_of_a_large_step_some_requests_have_their_tokens_told_in_turn(self):
        self.finish()
        names, told = [f"r{i}" for i in range(100)], []
        for name in names:
            self.kv.hold(name, [1], [2])
        for step in range(8):
            output = small_engine.scheduler_output(dict.fromkeys(names, 1))
            if step == 7:
                output.scheduled_cached_reqs.resumed_req_ids = {"r98"}
            self.writer.step(output, self.kv)
            self.writer.inputs(small_engine.input_batch(names, [1] * 100, [1] * 100))
            self.writer.finish(Object(req_ids=names, sampled_token_ids=[[5]] * 100))
            self.writer.returned()
            told.append(set(lines_of(self.file.getvalue())[-1]["num_tokens_after_output"]))
        self.assertEqual([len(one) for one in told], [15, 14, 14, 14, 14, 14, 15, 16])
        self.assertEqual(set().union(*told[:7]), set(names))
        self.assertIn("r98", told[7])  # it came back

    def test_a_finished_request_was_not_preempted(self):
        self.finish()
        self.kv.hold("a", [], [])
        self.writer.step(small_engine.scheduler_output({}, finished=["a"]), self.kv)
        self.writer.finish(Object(req_ids=[], sampled_token_ids=[]))
        self.assertEqual(self.told()["scheduler_output"]["finished_req_ids"], ["a"])
        self.assertEqual(self.told()["scheduler_output"]["preempted_req_ids"], [])

    def test_a_reset_is_told_by_the_next_step(self):
        self.finish()
        self.writer.reset_prefix_cache()
        self.writer.step(small_engine.scheduler_output({}), self.kv)
        self.writer.finish(Object(req_ids=[], sampled_token_ids=[]))
        self.assertTrue(self.told()["reset_prefix_cache"])

    def test_a_path_is_opened_and_closed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.jsonl"
            with TraceWriter(path) as writer:
                small_engine.run(writer, record_copies)
            self.assertEqual(path.read_text(encoding="utf-8"), trace_of())


class Values(unittest.TestCase):
    def test_whatever_has_tolist_is_a_list(self):
        self.assertEqual(plain(([1], Array([2, 3]), None)), [[1], [2, 3], None])

    def test_sets_are_in_order_and_keys_are_text(self):
        self.assertEqual(plain({8: {"b", "a"}}), {"8": ["a", "b"]})

    def test_an_empty_array_keeps_its_shape(self):
        file, context = io.StringIO(), Object(**vars(small_engine.FORWARD_CONTEXT))
        context.attn_metadata = {"layers.0": Object(states=Array([], shape=(0, 3)), spec=None)}
        kv = small_engine.KVCacheManager()
        writer = TraceWriter(file)
        writer.header(small_engine.kv_cache_config(), small_engine.vllm_config())
        writer.step(small_engine.scheduler_output({}), kv)
        batch = small_engine.input_batch([], [], [])
        writer.inputs(batch)
        writer.forward(context, batch)
        writer.close()
        self.assertEqual(lines_of(file.getvalue())[-1]["attn_metadata"],
                         {"1": {"states": {"shape": [0, 3], "data": []}, "spec": None}})

    def test_programs_of_a_conv_kernel_are_cut_to_those_that_exist(self):
        metadata = _metadata(Object(
            nums_dict={8: {"nums": Array([1, 1]), "tot": 2, "batch_ptr": Array([0, 1, -1, -1])}},
            batch_ptr=[0, 1, -1, -1], token_chunk_offset_ptr=[0, 0, -1, -1]), AtOnce())
        self.assertEqual(metadata, {"nums_dict": {"8": {"nums": [1, 1], "tot": 2}},
                                    "batch_ptr": [0, 1], "token_chunk_offset_ptr": [0, 0]})

    def test_copies_of_a_fused_kernel_are_not_known(self):
        module = Object(collect_mamba_copy_meta=small_engine.collect_mamba_copy_meta,
                        _resolve_fused_precopy=lambda context: context)
        with record_copies(module) as copies:
            module._resolve_fused_precopy("kernel")
            self.assertFalse(copies.known)
            module._resolve_fused_precopy(None)
            self.assertTrue(copies.known)

    def test_the_recorded_function_is_put_back(self):
        module = Object(collect_mamba_copy_meta=small_engine.collect_mamba_copy_meta)
        with record_copies(module):
            self.assertIsNot(module.collect_mamba_copy_meta, small_engine.collect_mamba_copy_meta)
        self.assertIs(module.collect_mamba_copy_meta, small_engine.collect_mamba_copy_meta)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
