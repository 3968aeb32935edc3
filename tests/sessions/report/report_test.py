#!/usr/bin/env python3
"""Reports in a real browser: what the page shows at a step, names that want to be markup, keys.

report_test.py SAMPLE_REPORT SCENARIOS [FOLDER]: with FOLDER, reports and screenshots stay there.
Exit code 77: there is no Chromium.
"""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
import chromium  # noqa: E402


def page_of(file, hash_=""):
    """The page after its script has run, without a complaint of the browser."""
    tab = BROWSER.open(file, hash_)
    page = tab.page()
    assert not tab.problems, tab.problems
    tab.close()
    return page


class ReportTest(unittest.TestCase):
    def report(self, name, scenario, *arguments):
        out = FOLDER / f"{name}.html"
        subprocess.run([SAMPLE, scenario if isinstance(scenario, Path) else SCENARIOS / scenario,
                        out, *arguments], check=True, capture_output=True)
        return out

    def test_a_link_opens_at_its_step_with_the_copy_and_why(self):
        file = self.report("copy", "align_boundary_by_accepted_drafts.json", "level=full",
                           "name=boundary", "model_name=tiny-mamba2")
        page = page_of(file, "#step=2")
        self.assertEqual(page.one("body").attributes["data-step"], "2")
        self.assertTrue(page.one(id="step-title").text().startswith("Step 2 at "))
        self.assertEqual(page.one("h1").text(), "boundary")
        rows = page.one(id="rows").one("tbody").all("tr")
        self.assertEqual([[cell.text() for cell in row.all("td") if cell.shown()] for row in rows],
                         [["0", "A", "verify", "6", "2", "1", "1", "own, of step 1", "2",
                           "1 of 1 drafts", "", "running"]])
        copies = page.one(id="copies").text()
        self.assertIn("temporal of block 3 and conv positions 1.. of block 2 to block 2", copies)
        self.assertIn("running = c + q - d = 6 + 2 - 1 = 7; new = running + a - 1 = 7 + 2 - 1 = 8;",
                      copies)
        self.assertIn("postprocess_mamba_fused_kernel", copies)
        self.assertIn("the running column stays, nothing to copy", copies)
        cell = page.one("td", data_request="0", data_group="1", data_column="0")
        self.assertEqual(cell.attributes["data-block"], "2")
        self.assertIn("running", cell.attributes["class"].split())
        spec = page.one("td", data_request="0", data_group="1", data_column="1")
        self.assertEqual(spec.attributes["data-block"], "3")
        self.assertIn("speculative", spec.attributes["class"].split())
        self.assertIn("captured size 2: nothing to pad", page.one(id="words").text())
        self.assertFalse(page.one(id="step-findings").shown())
        self.assertEqual(page.one(id="verdict").text(), "✔ no findings")

    def test_of_many_requests_the_strip_says_which_it_draws_and_draws_the_others(self):
        many = FOLDER / "many.json"
        many.write_text(json.dumps({
            "version": 1, "name": "many", "model": "tiny-mamba2",
            "settings": {"mamba_cache_mode": "none", "num_gpu_blocks_override": 400,
                         "max_model_len": 64, "max_num_seqs": 64},
            "requests": [{"id": f"r{i}", "prompt": 4, "max_tokens": 2} for i in range(130)]}))
        tab = BROWSER.open(self.report("many_requests", many))
        self.addCleanup(tab.close)
        drawn = "document.getElementById('timeline-drawn').textContent"
        words = "requests {} to {} of 130 are drawn, in the order in which they first run"
        self.assertEqual(tab.value(drawn), words.format(1, 60))
        for first, last in ((61, 120), (121, 130)):
            tab.value("document.getElementById('more-lines').click()")
            self.assertEqual(tab.value(drawn), words.format(first, last))
        self.assertTrue(tab.value("document.getElementById('more-lines').disabled"))
        few = page_of(self.report("few_requests", "plain_decode.json"))
        self.assertFalse(few.one(id="timeline-pages").shown())

    def test_a_prefill_of_mode_all_writes_the_blocks_that_it_passes(self):
        """30 tokens in blocks of 8: S(8), S(16) and S(24) are stored and registered on the way."""
        path = FOLDER / "boundaries.json"
        path.write_text(json.dumps({
            "version": 1, "name": "boundaries", "teaches": "t", "model": "tiny-mamba2",
            "settings": {"mamba_cache_mode": "all", "block_size": 8, "num_gpu_blocks_override": 64,
                         "max_model_len": 128, "async_scheduling": False},
            "requests": [{"id": "A", "prompt": 30, "max_tokens": 3}]}))

        def cells(level):
            page = page_of(self.report(f"boundaries-{level}", path, f"level={level}"), "#step=1")
            found = [page.one("td", data_request="0", data_group="1", data_column=str(column))
                     for column in range(4)]
            return page, [(c.attributes["data-block"], c.attributes["class"].split()[1],
                           c.one(class_="flags").text()) for c in found]

        page, shown = cells("full")
        self.assertEqual(shown, [("5", "cached", "▾c"), ("6", "cached", "▾c"), ("7", "cached", "▾c"),
                                 ("8", "running", "R▾")])
        self.assertNotIn("is not kept at level", page.one(id="tables").text())
        page, shown = cells("blocks")
        self.assertEqual(shown, [("5", "cached", "c"), ("6", "cached", "c"), ("7", "cached", "c"),
                                 ("8", "held", "")])
        self.assertIn("What the forward pass read and wrote is not kept at level blocks",
                      page.one(id="tables").text())

    def test_the_page_is_no_wider_than_a_phone(self):
        file = self.report("narrow", "multi_turn_with_drafts.json", "level=full")
        tab = BROWSER.open(file)
        self.addCleanup(tab.close)
        tab.resize(360, 740)
        self.assertLessEqual(tab.value("document.documentElement.scrollWidth"), 360)

    def test_a_block_cached_for_a_part_of_its_tokens_says_how_many(self):
        """A's state after 20 tokens lies in column 2, whose block has tokens 16 to 23."""
        scenario = SCENARIOS.parent / "tests/gui/data/hits_inside_blocks.json"
        page = page_of(self.report("partial", scenario), "#step=2")
        cell = page.one("td", data_request="0", data_group="1", data_column="2")
        self.assertIn("c4/8", cell.one(class_="flags").text())
        self.assertIn("cached: stands for the first 20 tokens of A, which end inside the block: 4/8",
                      cell.attributes["title"])
        whole = page.one("td", data_request="0", data_group="0", data_column="0")
        self.assertEqual(whole.one(class_="flags").text(), "c")

    def test_findings_stand_at_their_step_their_cell_and_in_the_list(self):
        file = self.report("findings", "skipped_for_a_step.json", "engine=reference", "level=blocks")
        page = page_of(file, "#step=5")
        self.assertEqual(len(page.one(id="step-findings").all(class_="finding")), 2)
        self.assertIn("block 14 holds the state of 3 tokens of C, expected 5",
                      page.one(id="step-findings").text())
        self.assertEqual([row.one("td", class_="count").text()
                          for row in page.one(id="rows").all("tr", class_="wrong")],
                         ["1, own 3 of step 3"])
        found = page.one(id="tables").all("td", class_="found")
        self.assertEqual([(c.attributes["data-group"], c.attributes["data-column"],
                           c.attributes["data-block"]) for c in found], [("1", "0", "14")])
        rows = page.one(id="all-findings").one("tbody").all("tr")
        self.assertEqual(len(rows), 6)
        self.assertEqual(rows[-1].all("a")[0].attributes["href"], "#step=8")
        self.assertEqual(page.one(id="verdict").text(), "✖ 6 errors, 0 warnings")
        self.assertTrue(rows[0].text().endswith("5 findings follow from it, to step 8"))
        self.assertTrue(rows[1].text().endswith("follows from step 5"))
        marks = page.one(id="marks").one(class_="lane", data_count="4", title="findings")
        self.assertEqual([tick.attributes["href"] for tick in marks.all("a")],
                         ["#step=5", "#step=6", "#step=7", "#step=8"])
        # The worker still has block 2 where the scheduler has put the null block.
        cell = page.one("td", data_request="0", data_group="1", data_column="0")
        self.assertEqual(cell.attributes["data-block"], "0")
        self.assertEqual(cell.one(class_="worker").text(), "w 2")

    def test_names_stay_text_whatever_they_hold(self):
        evil = "</script><img src=x onerror=\"document.body.dataset.evil=1\"><!-- ' & \u2028 \\u0041"
        scenario = json.loads((SCENARIOS / "plain_decode.json").read_text())
        scenario["requests"][0]["id"] = identifier = "</script><img src=x onerror=alert(1)><!--'\u2028"
        scenario.pop("expect", None)
        scenario.pop("script", None)
        path = FOLDER / "evil.json"
        path.write_text(json.dumps(scenario))
        file = self.report("names", path, f"name={evil}", "note=<b>bold</b>",
                           b"source=\xff\xfe</title>")
        page = page_of(file)
        self.assertNotIn("data-evil", page.one("body").attributes)
        self.assertEqual(page.all("img"), [])
        self.assertEqual(page.one("h1").text(), evil)
        self.assertEqual(page.one(id="rows").one("tbody").one(class_="request").text(), identifier)
        self.assertIn("\ufffd", page.one(id="facts").text())

    def test_keys_buttons_and_the_slider_change_the_step(self):
        file = self.report("keys", "preemption_and_resume.json")
        driver = """<script>
          const seen = [];
          const note = () => seen.push(document.body.dataset.step + location.hash);
          const key = (key) => { document.body.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true })); note(); };
          ["ArrowRight", "ArrowRight", "ArrowLeft", "End", "ArrowRight", "Home", "ArrowLeft", "n"].forEach(key);
          document.getElementById("next").click(); note();
          document.getElementById("last").click(); note();
          const slider = document.getElementById("slider");
          slider.value = 3; slider.dispatchEvent(new Event("input")); note();
          const cells = () => [...document.querySelectorAll("#tables td.cell")].map((c) => c.title).join();
          const there = cells();
          key("End"); key("Home");
          slider.value = 3; slider.dispatchEvent(new Event("input")); note();
          document.body.dataset.same = cells() === there;
          document.body.dataset.seen = seen.join(" ");
        </script></body>"""
        driven = FOLDER / "driven.html"
        # The page allows no script but its own.
        page = re.sub(r"script-src '[^']*'", "script-src 'unsafe-inline'", file.read_text())
        driven.write_text(page.replace("</body>", driver))
        body = page_of(driven).one("body")
        last = max(step.get("n", 0) for step in data_of(file)["steps"])
        seen = body.attributes["data-seen"].split()
        self.assertEqual(seen[:7], ["2#step=2", "3#step=3", "2#step=2", f"{last}#step={last}",
                                    f"{last}#step={last}", "1#step=1", "1#step=1"])
        self.assertEqual(seen[9:11], [f"{last}#step={last}", "4#step=4"])
        self.assertEqual(seen[-1], "4#step=4")
        self.assertEqual(body.attributes["data-same"], "true")

    def test_a_part_of_a_run_shows_the_tables_that_the_whole_shows(self):
        whole = page_of(self.report("whole", "preemption_and_resume.json"), "#step=12")
        file = self.report("part", "preemption_and_resume.json", "steps=11-13")
        part = page_of(file, "#step=12")
        cells = [(c.attributes["title"], c.text()) for c in whole.one(id="tables").all("td")]
        self.assertTrue(cells)
        self.assertEqual(
            [(c.attributes["title"], c.text()) for c in part.one(id="tables").all("td")], cells)
        self.assertIn("steps 11 to 13 are shown", part.one(id="left-out").text())

    def test_level_counts_says_what_it_lacks(self):
        page = page_of(self.report("counts", "plain_decode.json", "level=counts"), "#step=2")
        self.assertIn("rows were not kept", page.one(id="rows").text())
        self.assertFalse(page.one(id="tables").shown())


def data_of(file):
    text = file.read_text()
    begin = text.index('id="report-data">') + len('id="report-data">')
    return json.loads(text[begin:text.index("</script>", begin)])


if __name__ == "__main__":
    SAMPLE, SCENARIOS = sys.argv[1], Path(sys.argv[2])
    keep = Path(sys.argv[3]) if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as temporary:
        FOLDER = keep or Path(temporary)
        with chromium.Chromium(temporary) as BROWSER:
            result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
