"""The parts of a watched engine, one by one."""

import array
import io
import json
import sys
import time
import unittest
from pathlib import Path
from types import SimpleNamespace as Object

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import small_engine
from live_support import Folder, HostCopies

from hybridscope import Judge, _native
from hybridscope.hybridscope_trace import TraceWriter, record_copies
from hybridscope.vllm import engine_facts
from hybridscope.vllm.after_import import after_import
from hybridscope.vllm.background import Background
from hybridscope.vllm.gate import Gate
from hybridscope.vllm.link import RowLink, listen_for_rows
from hybridscope.vllm.new_file import open_new_file
from hybridscope.vllm.settings import Settings, parse_settings
from hybridscope.vllm.writers import LiveWriter, RowSender


def must_not_fail(error):
    raise error


class Words(unittest.TestCase):
    """HYBRIDSCOPE."""

    def test_words_are_separated_by_commas(self):
        self.assertEqual(parse_settings("trace:run.jsonl, judge,serve:unix:/tmp/x.sock"),
                         Settings(trace="run.jsonl", judge=True, serves=True, socket="/tmp/x.sock"))

    def test_break_judges_and_holds(self):
        self.assertEqual(parse_settings("break"), Settings(judge=True, holds=True, serves=True))
        self.assertEqual(parse_settings("break:unix:a").socket, "a")

    def test_an_engine_may_be_served_without_a_path(self):
        self.assertEqual(parse_settings("serve"), Settings(serves=True, socket=""))

    def test_a_served_trace_has_at_most_16_gib_or_what_is_said(self):
        self.assertEqual(parse_settings("serve").spool, 17179869184)
        self.assertEqual(parse_settings("break,spool:3KiB").spool, 3072)
        self.assertEqual(parse_settings("spool:64GiB,serve").spool, 68719476736)
        self.assertEqual(parse_settings("serve,spool:500").spool, 500)
        for word in ("spool:", "spool", "spool:0", "spool:-1GiB", "spool:1GB", "spool:1.5GiB"):
            with self.assertRaisesRegex(ValueError, f"^{word}: expected spool:SIZE, as in spool:64"):
                parse_settings(f"serve,{word}")
        with self.assertRaisesRegex(ValueError, "spool needs serve or break beside it"):
            parse_settings("judge,spool:1GiB")

    def test_states_come_with_a_number_and_beside_what_uses_them(self):
        self.assertEqual(parse_settings("judge,states").states, 16)
        self.assertEqual(parse_settings("trace:a,states:0").of_rank(1),
                         Settings(trace="a-dp1", states=0))
        self.assertIsNone(parse_settings("judge").states)
        with self.assertRaisesRegex(ValueError, "states needs trace, judge, serve or break"):
            parse_settings("states:4")
        for word in ("states:", "states:-1", "states:all"):
            with self.assertRaisesRegex(ValueError, f"{word}: expected states or states:N, N blocks"):
                parse_settings(f"judge,{word}")

    def test_an_unknown_word_is_named_with_the_words_that_there_are(self):
        with self.assertRaisesRegex(ValueError, 'unknown word "jugde". HYBRIDSCOPE is a list of: '):
            parse_settings("jugde")
        for word in ("serve:8080", "serve:", "serve:unix:"):
            with self.assertRaisesRegex(ValueError, f"{word}: expected serve:unix:PATH"):
                parse_settings(word)

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


class Parts(unittest.TestCase):
    """_native.StepValues without tensors."""

    def setUp(self):
        self.parts = _native.StepValues(None, {}, None)

    def text(self, *parts):
        return json.loads(_native.record_text({str(i): part for i, part in enumerate(parts)}))

    def test_a_part_is_as_it_was_when_it_was_taken(self):
        names, counts = ["a", "b"], {"a": [1, 2]}
        part = self.parts.part("step", {"names": names, "counts": counts})
        names.append("c")
        counts["a"].clear()
        self.assertEqual(self.text(part), {"0": {"names": ["a", "b"], "counts": {"a": [1, 2]}}})
        self.assertEqual(part.tolist(), {"names": ["a", "b"], "counts": {"a": [1, 2]}})

    def test_large_lists_and_dicts_that_come_again_have_the_texts_of_their_items(self):
        names = [f"request {i}" for i in range(100)]
        counts = dict.fromkeys(names, 1)
        for step in range(40):
            if step % 7 == 3:
                names[step] = f"step {step}"
            if step % 5 == 2:
                counts[names[0]] += 300
            if step == 20:
                names.pop()
            value = {"names": names, "counts": counts, "both": {"names": names[::-1]},
                     "numbers": [step + i for i in range(64)], "nested": [[i] for i in range(40)],
                     "none": [None] * (32 + step % 2)}
            self.assertEqual(self.parts.part("step", value).tolist(), value, step)
            self.assertEqual(self.parts.part("other", {"names": names[1:]}).tolist(),
                             {"names": names[1:]}, step)

    def test_equal_items_that_are_other_objects_are_written_anew(self):
        for make in (lambda i: 1000 + i, lambda i: f"x{i}", float, lambda i: i % 2 == 0):
            for _ in range(3):
                value = {"items": [make(i) for i in range(50)]}
                self.assertEqual(self.parts.part("step", value).tolist(), value)

    def test_items_that_change_in_place_are_seen(self):
        rows = [[i] for i in range(50)]
        for count in range(5):
            rows[7].append(count)
            self.assertEqual(self.parts.part("step", {"rows": rows}).tolist(), {"rows": rows})

    def test_fields_are_those_that_are_json_or_arrays(self):
        matrix = memoryview(array.array("i", [1, 2])).cast("B").cast("i", (2, 1))
        fields = {"no_json": object(), "count": 3, "flag": True, "none": None, "programs": object(),
                  "array": array.array("i", [4, 5]), "matrix": matrix, "name": "x",
                  "list": [1, object()], "asked": small_engine.Array([6])}
        made = {"programs": self.parts.snapshot(array.array("i", [7]))}
        self.assertEqual(self.text(self.parts.fields(fields, made), self.parts.part("end", 1)), {
            "0": {"count": 3, "flag": True, "none": None, "programs": [7], "array": [4, 5],
                  "matrix": [[1], [2]], "name": "x", "list": [1, None], "asked": [6]}, "1": 1})

    def test_arrays_are_as_they_were_when_they_were_taken(self):
        numbers = array.array("i", [4, 5, 6])
        whole = self.parts.snapshot(numbers)
        in_a_list = self.parts.snapshot([[1], numbers, 2])
        rows = self.parts.rows(numbers, array.array("q", [2, 0]))
        numbers[0] = numbers[2] = 0
        self.assertEqual(self.text(whole, in_a_list, rows),
                         {"0": [4, 5, 6], "1": [[1], [4, 5, 6], 2], "2": [6, 4]})
        self.assertEqual(rows.tolist(), [6, 4])

    def test_a_row_that_an_array_has_not_is_an_error(self):
        rows = self.parts.rows(array.array("i", [4]), array.array("q", [1]))
        with self.assertRaisesRegex(RuntimeError, "an array of 1 rows has no row 1"):
            rows.tolist()
        with self.assertRaisesRegex(ValueError, "rows of an array: no array, or no rows"):
            self.parts.rows(3, array.array("q", [1]))


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

    def test_lines_of_an_asynchronous_engine_are_those_of_a_trace_writer(self):
        def run(writer):
            small_engine.run_async(writer, record_copies)
        self.assertEqual(self.live(run), self.traced(run))

    def test_the_device_is_read_once_a_step(self):
        copies = HostCopies()
        with LiveWriter([], copies, self.fail) as writer:
            small_engine.run(writer, record_copies)
            self.assertEqual(copies.launched, 3)

    def test_a_line_after_a_pause_is_taken(self):
        path = self.folder / "pause.jsonl"
        with open(path, "xb", buffering=0) as file:
            lines = _native.LiveLines([file.fileno()], -1, None, lambda record: None, self.fail,
                                      (-1, 0), self.fail)
            lines.put({"line": 1})
            time.sleep(0.5)  # longer than the thread looks by itself
            lines.put({"line": 2})
            deadline = time.monotonic() + 10
            while path.read_text().count("\n") < 2 and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertEqual(path.read_text(), '{"line":1}\n{"line":2}\n')
            lines.close()

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
                           HostCopies(), Object(after_forward=lambda: hashes))
        hashes = {"1": {"block_ids": [5]}}

        def run(writer):
            writer.inputs, writer.forward = sender.inputs, sender.forward
            small_engine.run_shared_tail(writer)

        lines = self.live(run, rows=receiver.fileno())
        sender.close()
        self.assertEqual(len(lines), 5)  # the last is the end mark
        self.assertEqual([line.pop("states") for line in lines[1:4]], [hashes] * 3)
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


class Files(Folder):
    def test_no_trace_is_overwritten(self):
        names = []
        for _ in range(3):
            with open_new_file(self.folder / "run.jsonl") as file:
                names.append(Path(file.name).name)
        self.assertEqual(names, ["run.jsonl", "run-2.jsonl", "run-3.jsonl"])


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
