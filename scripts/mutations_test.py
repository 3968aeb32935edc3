#!/usr/bin/env python3
"""Checks that every mutation still fits the tree, without building anything."""

import re
import unittest
from collections import Counter
from dataclasses import replace
from pathlib import Path

import mutation_doc
from mutation import AREAS, Mutation, mutated, place
from mutation_doc import MISSED
from mutation_table import HEADER_USERS, MUTATIONS

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = Mutation("sample", AREAS[0], "a.cpp", "x = 1;", "x = 2;")


class Table(unittest.TestCase):
    def test_is_long_enough_and_names_each_once(self) -> None:
        self.assertGreaterEqual(len(MUTATIONS), 40)
        names = Counter(one.name for one in MUTATIONS)
        self.assertEqual([name for name, times in names.items() if times > 1], [])
        self.assertEqual({one.area for one in MUTATIONS}, set(AREAS))
        self.assertLessEqual(set(MISSED), set(names))

    def test_every_mutation_changes_one_line_of_its_file(self) -> None:
        for one in MUTATIONS:
            with self.subTest(mutation=one.name):
                text = (ROOT / one.file).read_text(encoding="utf-8")
                changed = mutated(one, text)
                self.assertNotEqual(changed, text)
                self.assertNotIn("\n", one.before + one.after)

    def test_judge_and_tests_are_left_alone(self) -> None:
        for one in MUTATIONS:
            with self.subTest(mutation=one.name):
                self.assertTrue(one.file.startswith("core/"))
                self.assertFalse(one.file.startswith("core/check/"))

    def test_headers_say_who_calls_them(self) -> None:
        """A mutated function of a header is one of the names that identify the header's users."""
        for one in MUTATIONS:
            if not one.file.endswith(".h"):
                continue
            with self.subTest(mutation=one.name):
                text = (ROOT / one.file).read_text(encoding="utf-8")
                functions = re.findall(r"^(?:HS_HOST_DEVICE )?constexpr [\w:]+ (\w+)\(",
                                       text[:place(one, text)], re.MULTILINE)
                self.assertRegex(functions[-1], HEADER_USERS[one.file])


class Place(unittest.TestCase):
    def test_text_that_occurs_once_is_replaced(self) -> None:
        self.assertEqual(mutated(SAMPLE, "a;\nx = 1;\nb;\n"), "a;\nx = 2;\nb;\n")

    def test_text_that_is_gone_or_there_twice_is_an_error(self) -> None:
        for text in ("", "x = 1; x = 1;"):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, "^sample: a.cpp has"):
                mutated(SAMPLE, text)

    def test_the_first_behind_a_landmark_is_meant(self) -> None:
        one = replace(SAMPLE, behind="f()")
        self.assertEqual(mutated(one, "x = 1; f() x = 1; x = 1;"), "x = 1; f() x = 2; x = 1;")
        for text in ("x = 1;", "f() f() x = 1;", "x = 1; f()"):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, "^sample: a.cpp has"):
                mutated(one, text)


class Document(unittest.TestCase):
    def test_a_row_says_who_found_it_and_a_bar_does_not_end_it(self) -> None:
        one = replace(SAMPLE, after="x = a || b;")
        result = {"matrix": {"found": "findings", "cells": 7, "cells_run": 1344, "rule": "r"},
                  "scenarios_a_cell": 12, "vectors": "v.jsonl", "scenarios": 0,
                  "date": "2026-01-01"}
        page = mutation_doc.markdown([one], {"sample": result})
        self.assertIn("| `x = 1;` | `x = a \\|\\| b;` | matrix, vectors | 7 | `r` |", page)
        self.assertIn("| the matrix | 1 (100.0%) |", page)


if __name__ == "__main__":
    unittest.main()
