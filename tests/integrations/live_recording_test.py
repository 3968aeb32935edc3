"""An engine that is watched while it runs, with stand-ins for engine, device and judge."""

import contextlib
import io
import json
import os
import socket
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from types import ModuleType
from types import SimpleNamespace as Object

import small_engine
import source_package

source_package.use_sources()

from hybridscope.hybridscope_trace import SchedulerHooks, TraceWriter, plain, record_copies
from hybridscope.vllm import __main__ as commands
from hybridscope.vllm import engine_facts
from hybridscope.vllm.after_import import after_import
from hybridscope.vllm.background import Background
from hybridscope.vllm.gate import Gate
from hybridscope.vllm.link import RowLink, RowReceiver
from hybridscope.vllm.live_recording import LiveRecording
from hybridscope.vllm.server import TraceServer
from hybridscope.vllm.settings import Settings, parse_settings
from hybridscope.vllm.sinks import open_new_file
from hybridscope.vllm.writers import LiveWriter, RowSender


class HostCopies:
    """DeviceCopies without a device."""

    def __init__(self):
        self.launched = 0

    def snapshot(self, value):
        return plain(value)

    def launch(self):
        self.launched += 1


def must_not_fail(error):
    raise error


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))


class Words(unittest.TestCase):
    """HYBRIDSCOPE."""

    def test_words_are_separated_by_commas(self):
        self.assertEqual(parse_settings("trace:run.jsonl, judge,serve:unix:/tmp/x.sock"),
                         Settings(trace="run.jsonl", judge=True, socket="/tmp/x.sock"))

    def test_break_judges_and_holds(self):
        self.assertEqual(parse_settings("break"), Settings(judge=True, holds=True))
        self.assertEqual(parse_settings("break:unix:a").socket, "a")

    def test_an_unknown_word_is_named_with_the_words_that_there_are(self):
        with self.assertRaisesRegex(ValueError, 'unknown word "jugde". HYBRIDSCOPE is a list of: '):
            parse_settings("jugde")
        with self.assertRaisesRegex(ValueError, "serve:8080: expected serve:unix:PATH"):
            parse_settings("serve:8080")

    def test_engines_of_a_data_parallel_group_have_places_of_their_own(self):
        of_rank = parse_settings("trace:d/run.jsonl,serve:unix:d/s.sock").of_rank(1)
        self.assertEqual((of_rank.trace, of_rank.socket), ("d/run-dp1.jsonl", "d/s-dp1.sock"))

    def test_only_known_releases_are_watched(self):
        for version in ("0.24.0", "0.28.0", "0.30.0", "0.33.0+cu130"):
            engine_facts.check_release(version)
        with self.assertRaisesRegex(ValueError, "knows vLLM 0.24 to 0.33, not 0.34.1: unset"):
            engine_facts.check_release("0.34.1")

    def test_pipelines_and_other_executors_are_refused(self):
        parallel = Object(pipeline_parallel_size=2, distributed_executor_backend=None, world_size=2)
        with self.assertRaisesRegex(ValueError, "pipeline_parallel_size 1, found 2"):
            engine_facts.check_parallelism(parallel)
        parallel = Object(pipeline_parallel_size=1, distributed_executor_backend="ray")
        with self.assertRaisesRegex(ValueError, "uni or mp, found ray"):
            engine_facts.check_parallelism(parallel)


class Imports(Folder):
    def test_a_function_runs_when_its_module_was_imported(self):
        (self.folder / "hybridscope_sample.py").write_text("value = 3\n")
        sys.path.insert(0, str(self.folder))
        self.addCleanup(sys.path.remove, str(self.folder))
        seen = []
        after_import("hybridscope_sample", lambda module: seen.append(module.value))
        self.assertEqual(seen, [])
        import hybridscope_sample
        self.assertEqual(seen, [3])
        after_import("hybridscope_sample", lambda module: seen.append(module.value + 1))
        self.assertEqual(seen, [3, 4])
        self.assertIs(hybridscope_sample, sys.modules["hybridscope_sample"])


class InTheBackground(unittest.TestCase):
    def test_items_are_taken_in_order_and_drain_waits_for_them(self):
        taken = []
        background = Background(lambda item: (time.sleep(0.01), taken.append(item)), must_not_fail)
        for item in (1, 2, 3):
            background.put(item)
        background.drain()
        self.assertEqual(taken, [1, 2, 3])
        background.close()

    def test_an_error_is_told_once_and_the_rest_is_dropped(self):
        errors = []
        background = Background(lambda item: 1 / item, errors.append)
        for item in (0, 0, 1):
            background.put(item)
        background.drain()
        self.assertEqual([type(error) for error in errors], [ZeroDivisionError])
        background.close()


class Writer(unittest.TestCase):
    def test_lines_are_those_of_a_trace_writer(self):
        expected, file = io.StringIO(), io.StringIO()
        with TraceWriter(expected) as writer:
            small_engine.run(writer, record_copies)
        with LiveWriter(file, must_not_fail, HostCopies()) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual(file.getvalue(), expected.getvalue())

    def test_the_device_is_copied_after_inputs_and_after_forward(self):
        copies = HostCopies()
        with LiveWriter(io.StringIO(), must_not_fail, copies) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual(copies.launched, 6)

    def test_rows_may_come_from_another_process(self):
        expected, file = io.StringIO(), io.StringIO()
        with TraceWriter(expected) as writer:
            small_engine.run_shared_tail(writer)
        with tempfile.TemporaryDirectory() as folder:
            receiver = RowReceiver(f"{folder}/rows")
            sender = RowSender({"async_scheduling": False, "mamba_cache_mode": "align"},
                               small_engine.kv_cache_config().kv_cache_groups,
                               RowLink(f"{folder}/rows").send, must_not_fail, HostCopies())

            class Split(LiveWriter):
                """Its rows go the way of another process."""
                inputs, forward = sender.inputs, sender.forward

            with Split(file, must_not_fail, HostCopies(), receiver) as writer:
                small_engine.run_shared_tail(writer)
            sender.close()
            receiver.close()
        lines, others = ([json.loads(line) for line in text.getvalue().splitlines()]
                         for text in (expected, file))
        self.assertEqual(len(lines), 4)
        self.assertEqual(others, lines)


class Client:
    """Whoever connects to a server."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self._lines = self.socket.makefile("r")

    def line(self):
        return self._lines.readline()

    def close(self):
        self._lines.close()
        self.socket.close()


class Server(Folder):
    def setUp(self):
        super().setUp()
        self.path, self.words = str(self.folder / "s.sock"), []
        self.server = TraceServer(self.path, self.words.append)
        self.addCleanup(self.server.close)

    def client(self):
        client = Client(self.path)
        self.addCleanup(client.close)
        return client

    def test_a_client_gets_the_trace_from_its_first_line_and_goes_on(self):
        self.server.write("one\n")
        self.server.write("two\n")
        client = self.client()
        self.assertEqual([client.line(), client.line()], ["one\n", "two\n"])
        self.server.write("three\n")
        self.assertEqual(client.line(), "three\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_control_lines_stand_between_lines(self):
        client = self.client()
        self.server.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.server.tell("held", reason="why")
        self.assertEqual(json.loads(client.line()), {"control": "held", "reason": "why"})

    def test_who_comes_later_learns_that_the_engine_is_held(self):
        self.server.write("one\n")
        self.server.tell("held", reason="why")
        client = self.client()
        self.assertEqual(client.line(), "one\n")
        self.assertEqual(json.loads(client.line())["control"], "held")

    def test_lines_of_a_client_are_commands(self):
        self.assertEqual(commands.main(["hold", f"unix:{self.path}"]), 0)
        self.assertEqual(self.words, ["hold"])

    def test_a_client_that_leaves_does_not_matter(self):
        self.client().close()
        self.server.write("one\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_the_end_comes_after_the_last_line_and_removes_the_socket(self):
        client = self.client()
        self.server.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.server.write("two\n")
        self.server.close()
        self.assertEqual([client.line(), client.line()], ["two\n", ""])
        self.assertFalse(os.path.exists(self.path))

    def test_a_socket_that_somebody_serves_is_refused_and_a_dead_one_taken_over(self):
        with self.assertRaisesRegex(OSError, "another engine serves there"):
            TraceServer(self.path, self.words.append)
        dead = str(self.folder / "dead.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
            bound.bind(dead)
        TraceServer(dead, self.words.append).close()

    def test_a_command_without_an_engine_says_so(self):
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            self.assertEqual(commands.main(["continue", f"unix:{self.folder}/none"]), 4)
            self.assertEqual(commands.main(["continue"]), 2)
        self.assertIn("none: no engine serves there", errors.getvalue())


class Files(Folder):
    def test_no_trace_is_overwritten(self):
        names = []
        for _ in range(3):
            with open_new_file(self.folder / "run.jsonl") as file:
                names.append(Path(file.name).name)
        self.assertEqual(names, ["run.jsonl", "run-2.jsonl", "run-3.jsonl"])


class FakeJudge:
    """Finds something in the line with this number."""

    wrong_line = 2

    def __init__(self, name):
        self.step, self.num_steps, self._line = 0, 0, 0

    def feed(self, line):
        self._line += 1
        self.step = json.loads(line).get("step", 0)
        self.num_steps += self.step > 0
        return [Object(step=self.step, text="wrong read")] if self._line == self.wrong_line else []


class Watched(Folder):
    """LiveRecording of a scheduler that makes one step of one request again and again."""

    def setUp(self):
        super().setUp()
        self.log, self.kv = [], small_engine.KVCacheManager()
        self.scheduler = Object(
            kv_cache_config=small_engine.kv_cache_config(), kv_cache_manager=self.kv,
            requests=self.kv.requests,
            vllm_config=small_engine.vllm_config(), schedule=self.schedule,
            update_from_output=lambda scheduled, output: "outputs")
        self.runner = Object(vllm_config=small_engine.vllm_config(),
                             input_batch=small_engine.input_batch(["a"], [1], [0]),
                             _prepare_inputs=lambda scheduled: "inputs")
        sys.modules["hybridscope"].Judge = FakeJudge

    def schedule(self):
        self.kv.hold("a", [1], [2, 3, 4])
        return small_engine.scheduler_output({"a": 2}, new=[
            small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)])

    def watch(self, words):
        recording = LiveRecording(parse_settings(words), self.scheduler, {"engine": "vllm 0.0.0"},
                                  self.log.append, HostCopies())
        recording.watch_runner(self.runner)
        self.addCleanup(recording.close)
        return recording

    def run_step(self):
        scheduled = self.scheduler.schedule()
        self.runner._prepare_inputs(scheduled)
        self.scheduler.update_from_output(
            scheduled, Object(req_ids=["a"], sampled_token_ids=[[20]]))

    def test_a_trace_and_a_log_of_findings(self):
        recording = self.watch(f"trace:{self.folder}/run.jsonl,judge")
        self.run_step()
        self.run_step()
        recording.close()
        lines = (self.folder / "run.jsonl").read_text().splitlines()
        self.assertEqual(json.loads(lines[0])["engine"], "vllm 0.0.0")
        self.assertEqual([json.loads(line)["step"] for line in lines[1:]], [1, 2])
        self.assertEqual(self.log[1:], ["wrong read", "judged 2 steps: 1 findings"])
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_break_holds_the_engine_at_the_first_finding_until_it_is_told_to_go_on(self):
        path = str(self.folder / "s.sock")
        self.watch(f"break:unix:{path}")
        self.run_step()
        held = threading.Thread(target=self.run_step)
        held.start()
        client = Client(path)
        self.addCleanup(client.close)
        lines = [json.loads(client.line()) for _ in range(3)]
        self.assertEqual(lines[2], {"control": "held", "step": 1,
                                    "reason": "step 1: wrong read"})
        held.join(0.2)
        self.assertTrue(held.is_alive())
        client.socket.sendall(b"continue\n")
        held.join(10)
        self.assertFalse(held.is_alive())
        others = [json.loads(client.line()) for _ in range(2)]
        self.assertIn({"control": "running"}, others)  # and step 2, before or after it

    def test_a_served_engine_is_held_when_a_client_asks(self):
        path = str(self.folder / "s.sock")
        recording = self.watch(f"serve:unix:{path}")
        self.run_step()
        recording.gate.hold("asked to")
        held = threading.Thread(target=self.run_step)
        held.start()
        held.join(0.2)
        self.assertTrue(held.is_alive())
        self.assertEqual(commands.main(["continue", f"unix:{path}"]), 0)
        held.join(10)
        self.assertFalse(held.is_alive())

    def test_an_error_ends_the_recording_and_not_the_engine(self):
        recording = self.watch(f"trace:{self.folder}/run.jsonl")
        recording._sinks.write = lambda text: 1 / 0
        self.run_step()
        recording.writer.drain()
        self.run_step()
        self.assertIn("recording ended, the engine goes on: ZeroDivisionError", self.log[-1])
        self.assertEqual(self.scheduler.schedule, self.schedule)

    def test_the_end_of_a_recording_lets_a_held_engine_go(self):
        recording = self.watch(f"serve:unix:{self.folder}/s.sock")
        recording.gate.hold("asked to")
        held = threading.Thread(target=self.run_step)
        held.start()
        recording.close()
        held.join(10)
        self.assertFalse(held.is_alive())


class Gates(unittest.TestCase):
    def test_a_gate_tells_when_it_closes_and_opens(self):
        told = []
        gate = Gate(told.append)
        gate.wait()
        gate.hold("first")
        gate.hold("second")
        gate.go_on()
        gate.go_on()
        gate.wait()
        self.assertEqual(told, ["first", ""])


if __name__ == "__main__":
    unittest.main()
