"""hybridscope.sessions and Session: recorded steps as dicts and frames."""

import sys
import unittest
from unittest import mock

import hybridscope
from package_case import PackageCase, json_of_program, program, scenario

try:
    import pandas
except ImportError:
    pandas = None


class Sessions(PackageCase):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "runs.db"
        self.place = f"{self.file}:one"
        hybridscope.run(scenario("align_boundary_by_decode"), record=self.place, level="full")

    def test_a_files_sessions_are_those_that_the_program_lists(self):
        self.assertEqual(hybridscope.sessions(self.file),
                         json_of_program("sessions", "list", self.file, "--json"))

    def test_a_session_is_its_steps_in_order(self):
        with hybridscope.Session(self.place) as session:
            steps = list(session)
            self.assertEqual([step["step"] for step in steps], session.steps)
            self.assertEqual(len(steps), len(session))
            self.assertEqual(session.step(2), json_of_program(
                "sessions", "show", self.place, "--step", 2, "--json"))
            self.assertEqual(session.explain(2), program(
                "sessions", "show", self.place, "--step", 2, "--explain").stdout)
            self.assertEqual(hybridscope.explain(self.place, 2), session.explain(2))

    def test_queries_are_those_of_the_program(self):
        sql = "SELECT step, num_reqs, runtime_mode, NULL AS none, 0.5 AS half FROM v_steps"
        with hybridscope.Session(self.place) as session:
            self.assertEqual(session.query(sql), json_of_program(
                "sessions", "query", self.file, sql, "--json"))
            with self.assertRaisesRegex(hybridscope.InvalidInput, "no such table: absent"):
                session.query("SELECT * FROM absent")

    def test_what_is_not_there_raises_the_programs_message(self):
        with self.assertRaisesRegex(hybridscope.NotFound, "two"):
            hybridscope.Session(f"{self.file}:two")
        with hybridscope.Session(self.place) as session:
            with self.assertRaisesRegex(hybridscope.NotFound, "no step 99"):
                session.step(99)
        with self.assertRaisesRegex(hybridscope.NotAvailable, "closed"):
            session.step(1)

    def test_a_name_that_is_taken_is_refused(self):
        with self.assertRaisesRegex(hybridscope.InvalidInput, "one"):
            hybridscope.run(scenario("align_boundary_by_decode"), record=self.place)

    def test_without_pandas_frames_say_what_to_install(self):
        with hybridscope.Session(self.place) as session, mock.patch.dict(
                sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(hybridscope.NotAvailable, r"hybridscope\[pandas\]"):
                session.frame("steps")

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_frames_have_a_row_each_and_numbers_as_numbers(self):
        with hybridscope.Session(self.place) as session:
            steps = session.frame("steps")
            self.assertEqual(list(steps["step"]), session.steps)
            self.assertEqual(str(steps["num_scheduled_tokens"].dtype), "int64")
            requests = session.frame("requests")
            self.assertEqual(list(requests["request_name"]),
                             [row["name"] for row in session.query(
                                 "SELECT name FROM requests ORDER BY request")])
            self.assertEqual(requests["num_output_tokens"].sum(), session.query(
                "SELECT sum(num_output_tokens) AS all_tokens FROM v_steps")[0]["all_tokens"])
            for what in ("rows", "copies", "blocks", "findings", "graphs", "lookups", "commits",
                         "preemptions"):
                frame = session.frame(what)
                self.assertIn("step", frame.columns, what)
                self.assertNotIn("session", frame.columns, what)

    @unittest.skipIf(pandas is None, "pandas is not installed")
    def test_missing_whole_numbers_stay_whole(self):
        with hybridscope.Session(self.place) as session:
            frame = session.frame("SELECT 1 AS a, 0.5 AS b, 'x' AS c UNION ALL "
                                  "SELECT NULL, NULL, NULL")
        self.assertEqual([str(frame[name].dtype) for name in "abc"], ["Int64", "Float64", "object"])
        self.assertTrue(frame["a"].isna().tolist() == [False, True])


if __name__ == "__main__":
    unittest.main()
