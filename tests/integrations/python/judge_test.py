"""hybridscope.Judge and judge(): the same as `hybridscope judge`, line by line."""

import json
import subprocess
import sys
import unittest
from types import SimpleNamespace as Object

import hybridscope
from hybridscope.hybridscope_trace import TraceWriter, record_copies
from package_case import ROOT, PackageCase, json_of_program, program, recording

sys.path.insert(0, str(ROOT / "tests/integrations"))
import small_engine


def lines_of(name):
    text = subprocess.run(["zstdcat", recording(name)], capture_output=True, check=True).stdout
    return [json.loads(line) for line in text.decode().splitlines()]


class JudgeByLine(PackageCase):
    def test_a_recording_fed_as_dicts_is_judged_as_the_program_judges_the_file(self):
        judge = hybridscope.Judge()
        found = [finding for line in lines_of("gdn_2026-06") for finding in judge.feed(line)]
        judged = json_of_program("judge", recording("gdn_2026-06"), "--json", "--no-timings")
        self.assertEqual(judge.report(), judged["traces"][0])
        self.assertEqual(len(found), 6)
        self.assertEqual((judge.num_steps, judge.num_request_steps, judge.step), (21, 28, 21))

    def test_a_finding_says_where_and_why(self):
        judge = hybridscope.Judge()
        found = [finding for line in lines_of("gdn_2026-06") for finding in judge.feed(line)]
        first = found[0]
        self.assertEqual((first.rule, first.severity, first.step, first.request, first.block),
                         ("running-state-wrong", "error", 9, "q4", 7))
        self.assertEqual((first.expected, first.seen, first.line), (13, 12, 10))
        self.assertEqual((first.cause.kind, first.cause.step), ("decode", 8))
        self.assertIn("block 7 holds the state of 12 tokens of q4, expected 13", first.text)
        self.assertEqual(hybridscope.Finding.from_dict(first.to_dict()), first)
        self.assertEqual(judge.findings, found)

    def test_text_bytes_and_dicts_are_the_same_line(self):
        header = lines_of("gdn_2026-06")[0]
        for line in (header, json.dumps(header), json.dumps(header).encode()):
            judge = hybridscope.Judge()
            self.assertEqual(judge.feed(line), [])
            self.assertEqual(judge.line, 1)

    def test_it_is_a_file_whose_lines_may_come_in_pieces(self):
        told = []
        judge = hybridscope.Judge()
        judge.on_finding = told.append
        text = "".join(json.dumps(line) + "\n" for line in lines_of("gdn_2026-06"))
        for begin in range(0, len(text), 1000):
            judge.write(text[begin:begin + 1000])
        judge.flush()
        self.assertEqual([finding.step for finding in told],
                         [finding.step for finding in judge.findings])
        self.assertEqual(len(told), 6)

    def test_the_last_step_is_explained_as_the_program_explains_it(self):
        judge = hybridscope.Judge()
        for line in lines_of("gdn_2026-06")[:10]:
            judge.feed(line)
        explained = program("judge", recording("gdn_2026-06"), "--explain", 9).stdout
        self.assertTrue(explained.startswith(judge.explain()))
        self.assertEqual(hybridscope.explain(recording("gdn_2026-06"), 9), judge.explain())

    def test_without_a_step_there_is_nothing_to_explain(self):
        with self.assertRaisesRegex(hybridscope.NotFound, "the last line was no step"):
            hybridscope.Judge().explain()

    def test_bad_lines_raise_the_programs_message(self):
        judge = hybridscope.Judge("trace")
        with self.assertRaisesRegex(hybridscope.Corrupt, r"^trace:1:6: "):
            judge.feed('{"a":')
        with self.assertRaisesRegex(hybridscope.InvalidInput, r'^trace:2: '):
            judge.feed({"step": 1})
        self.assertEqual(judge.feed(lines_of("gdn_2026-06")[0]), [])  # a header goes on

    def test_an_unknown_check_is_refused(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, 'check "some"'):
            hybridscope.Judge(check="some")


class JudgeEngine(PackageCase):
    """Stand-ins for vLLM's objects, as the tests of the recorder have them."""

    def test_a_trace_writer_writes_into_it(self):
        judge = hybridscope.Judge()
        with TraceWriter(judge) as writer:
            small_engine.run(writer, record_copies)
        self.assertEqual((judge.findings, judge.num_steps), ([], 3))
        wrong = hybridscope.Judge()
        with TraceWriter(wrong) as writer:
            small_engine.run(writer, record_copies, accepted_of_a=1)
        self.assertGreater(len(wrong.findings), 0)

    def test_it_follows_a_scheduler_and_a_runner(self):
        kv = small_engine.KVCacheManager()

        def schedule():
            kv.hold("a", [1], [2, 3, 4])
            return small_engine.scheduler_output({"a": 2}, new=[
                small_engine.new_request("a", [11, 12], ([1], [2, 3, 4]), 10)])

        scheduler = Object(kv_cache_config=small_engine.kv_cache_config(), kv_cache_manager=kv,
                           requests=kv.requests, schedule=schedule,
                           update_from_output=lambda scheduled, output: None,
                           has_unfinished_requests=lambda: True)
        runner = Object(vllm_config=small_engine.vllm_config(),
                        input_batch=small_engine.input_batch(["a"], [1], [0]),
                        _prepare_inputs=lambda scheduled: None)
        with hybridscope.Judge.of(scheduler, runner, name="engine") as judge:
            scheduled = scheduler.schedule()
            runner._prepare_inputs(scheduled)
            scheduler.update_from_output(
                scheduled, Object(req_ids=["a"], sampled_token_ids=[[20]]))
        self.assertEqual((judge.report()["name"], judge.num_steps, judge.findings),
                         ("engine", 1, []))
        self.assertIs(scheduler.schedule, schedule)


class JudgeFile(PackageCase):
    def test_a_file_is_judged_as_the_program_judges_it(self):
        told = []
        file = recording("older_0.33.0_states_inside")
        result = hybridscope.judge(file, engine="vllm-0.33.0", progress=told.append)
        self.assertEqual((told[-1].what, told[-1].findings), ("lines", 12))
        self.assertEqual(result.report, json_of_program(
            "judge", file, "--engine", "vllm-0.33.0", "--json", "--no-timings"))

    def test_it_records_what_it_judges(self):
        place = f"{self.folder / 'runs.db'}:judged"
        hybridscope.judge(recording("gdn_2026-06"), record=place)
        with hybridscope.Session(place) as session:
            self.assertEqual(session.info["kind"], "judge")
            self.assertEqual(len(session), 21)

    def test_a_missing_file_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.Error, "absent.jsonl"):
            hybridscope.judge("absent.jsonl")

    def test_several_files_are_judged_in_their_order(self):
        names = ["gdn_2026-06", "0.33.0_v2"]
        results = hybridscope.judge_many([recording(name) for name in names])
        self.assertEqual([len(result.findings) for result in results][0], 6)
        self.assertEqual(results[1].report, hybridscope.judge(recording("0.33.0_v2")).report)


if __name__ == "__main__":
    unittest.main()
