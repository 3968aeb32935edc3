#!/usr/bin/env python3
"""The page of `hybridscope diff --html` in a real browser.

diff_page_test.py PROGRAM [FOLDER]: with FOLDER, the pages stay there.
Exit code 77: there is no Chromium.
"""

import functools
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import chromium  # noqa: E402


def run(*arguments):
    subprocess.run([PROGRAM, *arguments], cwd=ROOT, check=False, capture_output=True, timeout=60)


def compare(name, scenario, *arguments):
    out = FOLDER / f"{name}.html"
    run("diff", "--scenario", scenario, *arguments, "--html", out)
    return out


@functools.cache
def accepted_page():
    """In step 2, where the first divergence is, A accepts its one draft and B does not."""
    text = (ROOT / "scenarios/align_boundary_by_accepted_drafts.json").read_text(encoding="utf-8")
    scenario = json.loads(text)
    places = []
    for name, count in (("one", 2), ("none", 1)):
        scenario["script"][0]["accept"] = {"A": count}
        path = FOLDER / f"{name}.json"
        path.write_text(json.dumps(scenario), encoding="utf-8")
        places.append(f"{FOLDER / 'runs.db'}:{name}")
        run("run", path, "--record", places[-1], "--record-level", "full")
    out = FOLDER / "accepted.html"
    run("diff", *places, "--html", out)
    return out


def rows_of(table):
    return [[cell.text() for cell in row.all("td")] for row in table.one("tbody").all("tr")]


class DiffPage(unittest.TestCase):
    def open(self, name, scenario, *arguments, hash_=""):
        tab = BROWSER.open(compare(name, scenario, *arguments), hash_)
        self.addCleanup(tab.close)
        self.assertEqual(tab.problems, [])
        return tab

    def accepted(self, hash_=""):
        tab = BROWSER.open(accepted_page(), hash_)
        self.addCleanup(tab.close)
        self.assertEqual(tab.problems, [])
        return tab

    def test_opens_at_the_first_difference_with_its_fields_and_decisions(self):
        tab = self.accepted()
        page = tab.page()
        self.assertEqual(page.one("body").attributes["data-step"], "2")
        first = page.one(id="step-2")
        self.assertIn("open", first.one("details").attributes)
        self.assertEqual(first.one("h2").text(), "First divergence: step 2")
        self.assertEqual(rows_of(first.one(class_="fields"))[1],
                         ["", "rows.num_sampled_tokens", "", "2", "1", "rows"])
        copy = next(box for box in first.all(class_="decision") if "post-copy" in box.text())
        self.assertIn("postprocess_mamba_fused_kernel", copy.text())
        self.assertIn("7 + 2 - 1 = 8", copy.all("pre")[0].text())
        self.assertTrue(copy.all("mark"))
        self.assertIn("sessions show", first.text())
        top = tab.value("document.getElementById('step-2').getBoundingClientRect().top")
        bar = tab.value("document.getElementById('bar').getBoundingClientRect().bottom")
        self.assertGreaterEqual(top, bar)
        self.assertLess(top, 400)

    def test_the_request_of_the_first_difference_stands_out(self):
        page = self.accepted().page()
        self.assertEqual([tag.text() for tag in page.one(id="requests").all(class_="request")],
                         ["◆ A"])
        self.assertIn("◆ the request of the first divergence", page.one(id="requests").text())
        self.assertEqual(page.one(id="step-2").one(class_="fields").all(class_="first")[0].text(),
                         "◆ A")

    def test_the_request_of_the_first_divergence_comes_before_those_with_more_differences(self):
        page = self.open("rows", "scenarios/all_mode_rows_with_drafts.json", "--engine", "safe",
                         "--engine", "reference").page()
        self.assertEqual([tag.text() for tag in page.one(id="requests").all(class_="request")],
                         ["◆ A", "B", "C"])

    def test_the_bar_covers_no_step_that_it_opens(self):
        tab = self.open("narrow", "scenarios/all_mode_rows_with_drafts.json", "--engine", "safe",
                        "--engine", "reference")
        tab.resize(420, 800)
        tab.press("ArrowRight")
        top = tab.value("document.getElementById('step-2').getBoundingClientRect().top")
        bar = tab.value("document.getElementById('bar').getBoundingClientRect().bottom")
        self.assertGreaterEqual(top, bar)

    def test_no_page_is_wider_than_a_phone(self):
        for name, scenario, arguments in (
                ("rows", "scenarios/all_mode_rows_with_drafts.json",
                 ("--engine", "safe", "--engine", "reference")),
                ("profiles", "scenarios/prompt_as_long_as_a_verify_window.json",
                 ("--engine", "safe", "--engine", "reference")),
                ("modes", "scenarios/shared_prefix_align.json", ("--b", "mode=none"))):
            with self.subTest(name):
                tab = self.open(name, scenario, *arguments)
                tab.resize(360, 740)
                self.assertLessEqual(tab.value("document.documentElement.scrollWidth"), 360)

    def test_the_longer_run_says_how_long_it_goes_on(self):
        page = self.accepted().page()
        self.assertEqual(page.one(id="notes").all("p")[0].text(),
                         "Run A ends with step 3; run B goes on for 1 more step, to step 4.")
        page = self.open("equal", "scenarios/v2_slots.json").page()
        self.assertEqual(page.one(id="notes").all("p"), [])

    def test_later_steps_are_folded_and_open_by_key_and_by_link(self):
        tab = self.accepted()
        page = tab.page()
        self.assertNotIn("open", page.one(id="step-3").one("details").attributes)
        self.assertEqual(page.one(id="step-3").all("table"), [])
        tab.press("ArrowRight")
        page = tab.page()
        self.assertIn("open", page.one(id="step-3").one("details").attributes)
        self.assertTrue(rows_of(page.one(id="step-3").one(class_="fields")))
        self.assertEqual(page.one(id="where").text(), "step 3: 2 of 3")
        self.assertEqual(tab.value("location.hash"), "#step=3")
        last = self.accepted("#step=4").page()
        self.assertEqual(last.one("body").attributes["data-step"], "4")
        self.assertIn("Run A has ended; run B goes on to step 4.", last.one(id="step-4").text())

    def test_texts_of_a_language_model_are_framed_where_they_part(self):
        places = []
        for name, policy in (("wrong", "column_zero"), ("right", "verify_with_counts")):
            places.append(f"{FOLDER / 'texts.db'}:{name}")
            run("run", "tests/gui/data/speaking.json", "--policies-no-draft-step", policy,
                "--weights", "tests/golden/numeric/model_qwen3_5_text", "--record", places[-1])
        out = FOLDER / "texts.html"
        run("diff", *places, "--html", out)
        tab = BROWSER.open(out)
        self.addCleanup(tab.close)
        self.assertEqual(tab.problems, [])
        texts = tab.page().one(id="texts")
        self.assertIn("A: the texts part at token 5 (step 3 of A, step 3 of B)", texts.text())
        self.assertEqual([mark.text() for mark in texts.all(class_="first")], ["7", "10"])

    def test_settings_and_sides_are_named(self):
        page = self.open("profiles", "scenarios/prompt_as_long_as_a_verify_window.json",
                         "--engine", "safe", "--engine", "reference").page()
        self.assertIn("engine=reference", page.one(id="sides").text())
        self.assertIn("remembered_column_and_boundary_copies", page.one(id="settings").text())
        self.assertEqual(page.one(id="verdict").text(), "≠ The decisions differ.")
        self.assertIn("stale-persistent-array", page.one(id="step-1").text())

    def test_steps_behind_the_limit_are_counted(self):
        page = self.open("limit", "scenarios/v2_slots.json", "--b", "runner=v1", "--limit",
                         "1").page()
        self.assertEqual(len(page.all(class_="step")), 1)
        self.assertEqual(page.one(id="left-out").text(),
                         "and 1 more of the steps that differ (--limit)")

    def test_other_modes_show_totals(self):
        page = self.open("modes", "scenarios/shared_prefix_align.json", "--b", "mode=none").page()
        self.assertFalse(page.one(id="bar").shown())
        self.assertIn("num_hit_tokens", page.one(id="totals").text())
        self.assertIn("the modes differ (align and none)", page.one(id="notes").text())

    def test_equal_runs_have_no_steps(self):
        page = self.open("equal", "scenarios/v2_slots.json").page()
        self.assertEqual(page.one(id="verdict").text(), "✔ No difference.")
        self.assertFalse(page.one(id="bar").shown())

    def test_a_name_that_wants_to_be_markup_is_text(self):
        path = FOLDER / "markup.json"
        text = (ROOT / "scenarios/v2_slots.json").read_text(encoding="utf-8")
        name = "<img src=x onerror=alert(1)></script>"
        path.write_text(text.replace('"B"', json.dumps(name)),
                        encoding="utf-8")
        page = self.open("markup", str(path), "--b", "runner=v1").page()
        self.assertEqual(page.all("img"), [])
        self.assertIn(name, [tag.attributes["data-request"]
                             for tag in page.all(class_="request")])


if __name__ == "__main__":
    PROGRAM = Path(sys.argv[1]).resolve()
    keep = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as temporary:
        FOLDER = keep or Path(temporary)
        with chromium.Chromium(temporary) as BROWSER:
            result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
