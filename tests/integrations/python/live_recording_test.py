"""An engine that is watched while it runs, with stand-ins for engine and device."""

import array
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
from types import SimpleNamespace as Object

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_engine

from hybridscope import Judge, _native
from hybridscope.hybridscope_trace import TraceWriter, plain, record_copies
from hybridscope.vllm import __main__ as commands
from hybridscope.vllm import engine_facts
from hybridscope.vllm.after_import import after_import
from hybridscope.vllm.background import Background
from hybridscope.vllm.gate import Gate
from hybridscope.vllm.link import RowLink, listen_for_rows
from hybridscope.vllm.live_recording import LiveRecording
from hybridscope.vllm.new_file import open_new_file
from hybridscope.vllm.server import TraceServer
from hybridscope.vllm.settings import Settings, parse_settings
from hybridscope.vllm.writers import LiveWriter, RowSender


class HostCopies:
    """DeviceCopies without a device."""

    def __init__(self):
        self.kept = self.launched = 0

    def snapshot(self, value):
        return plain(value)

    def keep(self):
        self.kept += 1

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


class Records(unittest.TestCase):
    """_native.record_text."""

    def text(self, record):
        return json.loads(_native.record_text(record))

    def test_values_of_a_record_are_written_as_json_writes_them(self):
        record = {"a": None, "b": [True, False, -3, 1 << 62], "c": {"d": (1, (2,))}, "e": 0.5,
                  "text": "quote \" and \n and é", "set": {3, 1}, "empty": [], 7: "seven"}
        self.assertEqual(self.text(record), {
            "a": None, "b": [True, False, -3, 1 << 62], "c": {"d": [1, [2]]}, "e": 0.5,
            "text": "quote \" and \n and é", "set": [1, 3], "empty": [], "7": "seven"})

    def test_arrays_are_written_with_their_shape(self):
        matrix = memoryview(array.array("i", [1, -2, 3, 4, 5, 6])).cast("B").cast("i", (2, 3))
        self.assertEqual(self.text({"x": matrix, "y": array.array("q", [9]),
                                    "z": array.array("d", [0.5]), "end": 1}),
                         {"x": [[1, -2, 3], [4, 5, 6]], "y": [9], "z": [0.5], "end": 1})

    def test_the_array_of_an_object_is_asked_for(self):
        self.assertEqual(self.text({"x": Object(host_array=lambda: array.array("i", [4])),
                                    "y": small_engine.Array([1, 2])}), {"x": [4], "y": [1, 2]})

    def test_what_cannot_be_written_is_an_error(self):
        with self.assertRaises(AttributeError):
            _native.record_text({"x": object()})
        with self.assertRaises(OverflowError):
            _native.record_text({"x": 1 << 64})


class Writer(Folder):
    def live(self, run, **options):
        """What `run` writes through a LiveWriter, as lines."""
        with open(self.folder / "live.jsonl", "xb", buffering=0) as file:
            copies = HostCopies()
            with LiveWriter([file.fileno()], copies, self.fail, **options) as writer:
                run(writer)
        return [json.loads(line) for line in (self.folder / "live.jsonl").read_text().splitlines()]

    def traced(self, run):
        file = io.StringIO()
        with TraceWriter(file) as writer:
            run(writer)
        return [json.loads(line) for line in file.getvalue().splitlines()]

    def test_lines_are_those_of_a_trace_writer(self):
        def run(writer):
            small_engine.run(writer, record_copies)
        self.assertEqual(self.live(run), self.traced(run))

    def test_the_device_is_read_before_and_after_the_copies_of_a_step(self):
        copies = HostCopies()
        with LiveWriter([], copies, self.fail) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual((copies.kept, copies.launched), (3, 3))

    def test_each_line_is_judged(self):
        found = []
        self.live(lambda writer: small_engine.run(writer, record_copies, accepted_of_a=1),
                  judge=Judge(), on_finding=found.append)
        self.assertEqual({finding["step"] for finding in found}, {3})

    def test_the_first_error_ends_the_work_of_the_thread(self):
        errors = []
        with LiveWriter([-1], HostCopies(), errors.append) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual(errors, ["cannot write a line: Bad file descriptor"])

    def test_rows_may_come_from_another_process(self):
        path = str(self.folder / "rows")
        receiver = listen_for_rows(path)
        self.addCleanup(receiver.close)
        link = RowLink(path)
        self.addCleanup(link.close)
        sender = RowSender({"async_scheduling": False, "mamba_cache_mode": "align"},
                           small_engine.kv_cache_config().kv_cache_groups, link, self.fail,
                           HostCopies())

        def run(writer):
            writer.inputs, writer.forward = sender.inputs, sender.forward
            small_engine.run_shared_tail(writer)

        lines = self.live(run, rows=receiver.fileno())
        sender.close()
        self.assertEqual(len(lines), 4)
        self.assertEqual(lines, self.traced(small_engine.run_shared_tail))

    def test_an_engine_without_its_runners_process_goes_on(self):
        receiver, errors = listen_for_rows(str(self.folder / "rows")), []
        link = RowLink(str(self.folder / "rows"))
        with LiveWriter([], HostCopies(), errors.append, rows=receiver.fileno()) as writer:
            link.send(b"{}")
            link.close()
            writer.inputs = writer.forward = lambda *_: None
            small_engine.run_shared_tail(writer)
        receiver.close()
        self.assertEqual(errors, ["the runner's process tells no more rows: it has ended"])


    def test_a_runner_does_not_wait_for_a_recording_that_has_ended(self):
        receiver, link = listen_for_rows(str(self.folder / "rows")), RowLink(str(self.folder / "rows"))
        self.addCleanup(receiver.close)
        with LiveWriter([-1], HostCopies(), lambda text: None, rows=receiver.fileno()) as writer:
            link.send(b"{}")
            writer.inputs = writer.forward = lambda *_: None
            small_engine.run_shared_tail(writer)
            writer.drain()
            receiver.close()
            with self.assertRaises(OSError):
                for _ in range(100):
                    link.send(b" " * 100_000)
        link.close()

    def test_the_end_does_not_wait_for_a_runner_that_never_came(self):
        receiver, errors = listen_for_rows(str(self.folder / "rows")), []
        with LiveWriter([], HostCopies(), errors.append, rows=receiver.fileno()) as writer:
            writer.inputs = writer.forward = lambda *_: None
            small_engine.run_shared_tail(writer)
        receiver.close()
        self.assertEqual(errors,
                         ["the runner's process tells no more rows: the recording has ended"])


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

    def write(self, text):
        os.write(self.server.fileno(), text.encode())

    def client(self):
        client = Client(self.path)
        self.addCleanup(client.close)
        return client

    def test_a_client_gets_the_trace_from_its_first_line_and_goes_on(self):
        self.write("one\n")
        self.write("two\n")
        client = self.client()
        self.assertEqual([client.line(), client.line()], ["one\n", "two\n"])
        self.write("three\n")
        self.assertEqual(client.line(), "three\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_control_lines_stand_between_lines(self):
        client = self.client()
        self.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.server.tell("held", reason="why")
        self.assertEqual(json.loads(client.line()), {"control": "held", "reason": "why"})

    def test_who_comes_later_learns_that_the_engine_is_held(self):
        self.write("one\n")
        self.server.tell("held", reason="why")
        client = self.client()
        self.assertEqual(client.line(), "one\n")
        self.assertEqual(json.loads(client.line())["control"], "held")

    def test_lines_of_a_client_are_commands(self):
        self.assertEqual(commands.main(["hold", f"unix:{self.path}"]), 0)
        self.assertEqual(self.words, ["hold"])

    def test_a_client_that_leaves_does_not_matter(self):
        self.client().close()
        self.write("one\n")
        self.assertEqual(self.client().line(), "one\n")

    def test_the_end_comes_after_the_last_line_and_removes_the_socket(self):
        client = self.client()
        self.write("one\n")
        self.assertEqual(client.line(), "one\n")
        self.write("two\n")
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
                             execute_model=lambda scheduled: "launched")

    def schedule(self):
        self.num_steps += 1
        self.kv.hold("a", [1], [2, 3, 4])
        if self.num_steps == 1:
            prompt = [11, 12, 13, 14, 15, 16]
            return small_engine.scheduler_output({"a": 6}, new=[
                small_engine.new_request("a", prompt, ([1], [2, 3, 4]), 10)])
        return small_engine.scheduler_output(
            {"a": 1}, cached={"a": (None, 4 + self.num_steps, self.num_steps - 1)})

    def watch(self, words):
        recording = LiveRecording(parse_settings(words), self.scheduler, {"engine": "vllm 0.0.0"},
                                  self.log.append, HostCopies())
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
        self.assertEqual([json.loads(line)["step"] for line in lines[1:]], [1, 2])
        self.assertEqual(self.log, [f"writes {self.folder}/run.jsonl", "judges each step",
                                    "judged 2 steps: no finding"])
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
        self.assertRegex(lines[3]["reason"], "^step 2: [a-z-]+: step 2 a row 0 ")
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
