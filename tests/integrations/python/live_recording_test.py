"""An engine that is watched while it runs, with stand-ins for engine and device."""

import itertools
import json
import os
import re
import sys
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace as Object
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_engine
from live_support import Client, Folder, HostCopies

from hybridscope.hybridscope_trace import SchedulerHooks
from hybridscope.vllm import __main__ as commands
from hybridscope.vllm.live_recording import LiveRecording
from hybridscope.vllm.scheduler_only import SchedulerOnlyWriter
from hybridscope.vllm.settings import parse_settings


class Watched(Folder):
    """LiveRecording of a scheduler with one request: 6 tokens of a prompt, then one a step."""

    def setUp(self):
        super().setUp()
        self.log, self.kv = [], small_engine.KVCacheManager()
        self.num_steps, self.accepted = 0, 1  # 1 is right
        self.has_more = True  # are there requests that have not finished?
        self.scheduler = Object(
            kv_cache_config=small_engine.kv_cache_config(), kv_cache_manager=self.kv,
            requests=self.kv.requests, vllm_config=small_engine.vllm_config(),
            schedule=self.schedule, update_from_output=lambda scheduled, output: "outputs",
            has_unfinished_requests=lambda: self.has_more)
        self.runner = Object(vllm_config=small_engine.vllm_config(),
                             _prepare_inputs=lambda scheduled: "inputs",
                             _model_forward=lambda: "queued", mamba_state_idx={},
                             execute_model=self.execute)
        self.metadata = None  # of the forward pass
        context = Object(get_forward_context=lambda: Object(
            **{**vars(small_engine.FORWARD_CONTEXT), "attn_metadata": self.metadata}))
        self.enterContext(mock.patch.dict(sys.modules, {
            "vllm": Object(forward_context=context), "vllm.forward_context": context}))

    def execute(self, scheduled):
        return self.runner._model_forward()

    def schedule(self):
        self.num_steps += 1
        self.kv.hold("a", [1], [2, 3, 4])
        if self.num_steps == 1:
            prompt = [11, 12, 13, 14, 15, 16]
            return small_engine.scheduler_output({"a": 6}, new=[
                small_engine.new_request("a", prompt, ([1], [2, 3, 4]), 10)])
        return small_engine.scheduler_output(
            {"a": 1}, cached={"a": (None, 4 + self.num_steps, self.num_steps - 1)})

    def watch(self, words, states=None):
        recording = LiveRecording(parse_settings(words), self.scheduler, {"engine": "vllm 0.0.0"},
                                  self.log.append, HostCopies(), states=states)
        recording.watch_runner(self.runner)
        self.addCleanup(recording.close)
        return recording

    def run_step(self):
        scheduled = self.scheduler.schedule()
        computed = 0 if self.num_steps == 1 else 4 + self.num_steps
        accepted = 1 if self.num_steps == 1 else self.accepted
        self.runner.input_batch = small_engine.input_batch(["a"], [accepted], [computed])
        self.runner._prepare_inputs(scheduled)
        self.runner.execute_model(scheduled)
        self.kv.requests["a"].num_tokens = 6 + self.num_steps
        self.scheduler.update_from_output(
            scheduled, Object(req_ids=["a"], sampled_token_ids=[[20]]))

    def step_in_thread(self):
        step = threading.Thread(target=self.run_step)
        step.start()
        return step

    def test_a_trace_and_a_log_without_findings(self):
        recording = self.watch(f"trace:{self.folder}/run.jsonl,judge")
        self.run_step()
        self.run_step()
        recording.close()
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        self.assertEqual(json.loads(lines[0])["engine"], "vllm 0.0.0")
        self.assertEqual([json.loads(line)["step"] for line in lines[1:]], [1, 2, 2])
        self.assertEqual(json.loads(lines[3])["control"], "end")
        self.assertEqual(self.log[:2], [f"writes {self.folder}/run.jsonl", "judges each step"])
        # This runner has no metadata to tell.
        self.assertRegex(self.log[2], "^judged 2 steps: no verdict: step 1: ")
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_a_line_waits_for_the_next_forward_pass_unless_none_is_to_come(self):
        recording = self.watch(f"trace:{self.folder}/run.jsonl")
        self.run_step()
        recording.writer._thread.drain()
        self.assertEqual((self.folder / "run.jsonl").read_text().count("\n"), 1)
        self.has_more = False
        self.run_step()
        recording.writer._thread.drain()
        self.assertEqual((self.folder / "run.jsonl").read_text().count("\n"), 3)

    def test_steps_tell_their_time_without_the_recorders_own(self):
        recording = self.watch(f"trace:{self.folder}/run.jsonl")
        clock = itertools.count(0, 1_000_000)  # each look at it takes 1 ms
        with mock.patch("hybridscope.hybridscope_trace.time.perf_counter_ns",
                        lambda: next(clock)):
            self.run_step()
            self.run_step()
        recording.close()
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        # schedule() takes 1 ms, 1 ms is the recorder's, 1 ms passes until the output comes, 1 ms is
        # the recorder's, and the update takes 1 ms.
        self.assertEqual([json.loads(line)["step_time_us"] for line in lines[1:3]], [3000, 3000])

    def test_a_scheduler_without_a_runner_has_no_times(self):
        with SchedulerOnlyWriter(self.folder / "run.jsonl") as writer:
            writer.header(self.scheduler.kv_cache_config, self.scheduler.vllm_config,
                          kv_cache_manager=self.kv)
            hooks = SchedulerHooks(writer, self.scheduler, self.fail)
            self.run_step()
            self.run_step()
            hooks.close()
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        self.assertEqual(len(lines), 4)
        self.assertFalse(any("step_time_us" in line for line in lines))

    def test_what_the_states_are_is_told_before_and_after_the_forward_pass(self):
        told = []

        class States:
            def before_forward(self, attn_metadata):
                told.append(attn_metadata)

            def after_forward(self):
                return {"1": {"block_ids": [len(told)]}} if told else None

        self.runner._model_forward = lambda: told.append("the forward pass")
        recording = self.watch(f"trace:{self.folder}/run.jsonl", States())
        self.metadata = {"layers.0": Object(state_indices_tensor_p=[2])}
        self.run_step()
        recording.close()
        self.assertEqual(told, [self.metadata, "the forward pass"])
        line = json.loads((self.folder / "run.jsonl").read_text().splitlines()[1])
        self.assertEqual(line["states"], {"1": {"block_ids": [2]}})
        self.assertEqual(line["attn_metadata"], {"1": {"state_indices_tensor_p": [2]}})

    def test_an_engine_that_is_not_modelled_leaves_no_file(self):
        class SlidingWindowSpec(Object):
            pass
        self.scheduler.kv_cache_config.kv_cache_groups[0].kv_cache_spec = SlidingWindowSpec(
            block_size=8)
        with self.assertRaisesRegex(ValueError, "SlidingWindowSpec is not modelled"):
            self.watch(f"trace:{self.folder}/run.jsonl,serve:unix:{self.folder}/s.sock")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_findings_are_logged(self):
        recording = self.watch("judge")
        self.accepted = 3
        self.run_step()
        self.run_step()
        recording.close()
        self.assertRegex(self.log[1], "^[a-z-]+: step 2 a row 0 ")
        self.assertRegex(self.log[-1], r"^judged 2 steps: 2 findings \([a-z-]+ 2\)$")

    def test_break_holds_the_engine_at_the_first_finding_until_it_is_told_to_go_on(self):
        path = str(self.folder / "s.sock")
        self.watch(f"break:unix:{path}")
        self.accepted = 3
        self.run_step()
        self.run_step()
        self.accepted = 1
        held = self.step_in_thread()
        client = Client(path)
        self.addCleanup(client.close)
        lines = [json.loads(client.line()) for _ in range(4)]
        self.assertEqual((lines[3]["control"], lines[3]["step"]), ("held", 2))
        self.assertRegex(lines[3]["reason"], "^[a-z-]+: step 2 a row 0 ")
        held.join(0.2)
        self.assertTrue(held.is_alive())
        client.socket.sendall(b"continue\n")
        held.join(10)
        self.assertFalse(held.is_alive())
        self.assertEqual(json.loads(client.line()), {"control": "running"})

    def test_a_served_engine_is_held_when_a_client_asks(self):
        path = str(self.folder / "s.sock")
        recording = self.watch(f"serve:unix:{path}")
        self.run_step()
        recording.gate.hold("asked to")
        held = self.step_in_thread()
        held.join(0.2)
        self.assertTrue(held.is_alive())
        self.assertEqual(commands.main(["continue", f"unix:{path}"]), 0)
        held.join(10)
        self.assertFalse(held.is_alive())

    def served(self, words):
        """What a client gets of 6 steps whose spool takes 2 KiB: trace lines, and the reason of
        the control line after them."""
        path = str(self.folder / "s.sock")
        recording = self.watch(f"serve:unix:{path},spool:2KiB{words}")
        client = Client(path)
        self.addCleanup(client.close)
        for _ in range(6):
            self.run_step()
        lines = []
        while not (line := client.line()).startswith('{"control":"full"'):
            lines.append(line)
        recording.close()
        self.assertEqual(client.line(), "")  # no end mark: the trace is not complete
        return lines, json.loads(line)["reason"]

    FULL = "the engine serves no more steps: its trace has come to the limit of 2KiB (spool:SIZE)"

    def test_a_served_trace_ends_at_its_limit_and_the_judge_goes_on(self):
        lines, reason = self.served(f",judge,trace:{self.folder}/run.jsonl")
        self.assertEqual(reason, self.FULL)
        written = (self.folder / "run.jsonl").read_text().splitlines(keepends=True)
        self.assertEqual(lines, written[:len(lines)])
        self.assertLessEqual(sum(map(len, lines)), 2048)
        self.assertGreater(sum(map(len, written[:len(lines) + 1])), 2048)
        self.assertEqual(self.log.count(self.FULL), 1)
        self.assertRegex(self.log[-1], "^judged 6 steps: ")

    def test_where_the_trace_is_only_served_its_limit_ends_the_recording(self):
        _, reason = self.served("")
        self.assertEqual(reason, self.FULL)
        self.assertEqual(self.log[-1], "recording ended, the engine goes on: " + self.FULL)
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_a_path_that_is_taken_does_not_keep_the_engine_from_starting(self):
        path = self.folder / "results.txt"
        path.write_text("a week of work")
        with mock.patch.dict(os.environ, XDG_RUNTIME_DIR=str(self.folder)):
            self.watch(f"serve:unix:{path}")
        self.assertEqual(self.log[0], f"unix:{path}: cannot serve there: what is there is not a "
                                      "socket, and stays")
        place = re.fullmatch(r"serves unix:(\S+); hybridscope gui --attach .*", self.log[1])[1]
        self.assertRegex(place, f"^{self.folder}/hybridscope-[^/]+/engine.sock$")
        self.run_step()
        client = Client(place)
        self.addCleanup(client.close)
        self.assertEqual(json.loads(client.line())["engine"], "vllm 0.0.0")
        self.assertEqual(path.read_text(), "a week of work")

    def test_an_engine_that_cannot_be_served_runs_and_is_not_held(self):
        with mock.patch("tempfile.mkdtemp", side_effect=PermissionError(13, "Permission denied")):
            recording = self.watch(f"break:unix:{self.folder}/no/s.sock")
        self.accepted = 3  # wrong from the second step on
        for _ in range(3):
            self.run_step()
        recording.close()
        self.assertEqual(self.log[1:4], ["[Errno 13] Permission denied",
                                         "is not served, and not held at findings",
                                         "judges each step"])
        self.assertRegex(self.log[-1], "^judged 3 steps: [1-9]")

    def test_an_error_ends_the_recording_and_not_the_engine(self):
        recording = self.watch("judge")
        self.num_steps = 1  # the scheduler says that a request runs which the judge does not know
        self.run_step()
        recording.writer.drain()
        self.run_step()
        self.assertRegex(self.log[-1], "^recording ended, the engine goes on: vllm:2: ")
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_an_error_of_a_hook_ends_the_recording_and_not_the_engine(self):
        recording = self.watch("judge")
        recording.writer.inputs = None
        self.run_step()
        self.assertRegex(self.log[1], "^recording ended, the engine goes on: _inputs_of_v1: TypeE")
        self.run_step()

    def test_the_end_of_a_recording_lets_a_held_engine_go(self):
        recording = self.watch(f"serve:unix:{self.folder}/s.sock")
        recording.gate.hold("asked to")
        held = self.step_in_thread()
        recording.close()
        held.join(10)
        self.assertFalse(held.is_alive())


if __name__ == "__main__":
    unittest.main()
