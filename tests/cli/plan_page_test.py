#!/usr/bin/env python3
"""The page of `hybridscope plan --html` in a real browser.

plan_page_test.py PROGRAM [FOLDER]: with FOLDER, the pages stay there.
Exit code 77: there is no Chromium.
"""

import functools
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import chromium  # noqa: E402

RECOMMENDED = "num_speculative_tokens=0 max_num_seqs=4"


def run(*arguments):
    subprocess.run([PROGRAM, "plan", "-q", *arguments], cwd=ROOT, check=True, capture_output=True,
                   timeout=60)


@functools.cache
def results():
    """The lines of a result file: the header, then four combinations that run, two that do not."""
    out = FOLDER / "plan.jsonl"
    out.unlink(missing_ok=True)
    run("--traffic", "synthetic", "--limit", "30", "--model", "tiny-gdn", "--num-blocks", "400",
        "--sweep", "num_speculative_tokens=0,1", "--sweep", "max_num_seqs=1,4,1000",
        "--out", out)
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def page_of(name, lines, *arguments):
    file, page = FOLDER / f"{name}.jsonl", FOLDER / f"{name}.html"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run("--merge", file, "--html", page, *arguments)
    return page


@functools.cache
def plan_page():
    return page_of("small", results(), "--prefer", "waiting,copies")


@functools.cache
def shared_tab():
    return BROWSER.open(plan_page())


class PlanPage(unittest.TestCase):
    def open(self, page=None):
        tab = shared_tab()
        tab.go_to(f"file://{page or plan_page()}")
        self.addCleanup(lambda: self.assertEqual(tab.problems, []))
        return tab

    def column(self, tab, name):
        """The texts of a column of the table of figures."""
        return tab.value("""(() => {
          const all = (selector) => [...document.querySelectorAll("#rows " + selector)];
          const name = (th) => th.textContent.replace(/ [▲▼]$/, "");
          const at = all("thead th").findIndex((th) => name(th) === NAME);
          return all("tbody tr").map((tr) => tr.cells[at].textContent);
        })()""".replace("NAME", json.dumps(name)))

    def press_heading(self, tab, name):
        tab.value(f"""[...document.querySelectorAll("#rows thead button")].find(
          (button) => button.textContent.startsWith({json.dumps(name)})).focus()""")
        tab.press("Enter")

    def point_at(self, tab, selector):
        x, y = tab.value(f"""(() => {{
          const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")
        tab.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        return x, y

    def click(self, tab, selector):
        x, y = self.point_at(tab, selector)
        for kind in ("mousePressed", "mouseReleased"):
            tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def text(self, tab, selector):
        return tab.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def test_the_head_says_what_was_planned_and_what_is_recommended(self):
        page = self.open().page()
        self.assertEqual(page.one("h1").text(), "Plan: tiny-gdn on synthetic")
        facts = page.one(id="facts").text()
        self.assertIn("num_gpu_blocks_override=400", facts)
        self.assertIn("4 of 6 combinations run, 2 not possible", facts)
        self.assertIn("enginesafe", facts)
        self.assertEqual(page.one(id="recommended").text(), "★ " + RECOMMENDED)
        self.assertIn("2 combinations are on the front", page.one(id="trade").text())
        reasons = [item.text() for item in page.one(id="reasons").all("li")]
        self.assertIn("num_speculative_tokens=1 max_num_seqs=4 reaches 6.4", reasons[0])

    def test_the_front_has_its_own_shapes_a_line_and_a_label(self):
        page = self.open().page()
        points = page.one(id="scatter-drawing").all("path", class_="point")
        shapes = {point.attributes["data-result"]: point.attributes["d"] for point in points}
        self.assertEqual(len(points), 4)
        self.assertEqual(len(set(shapes.values())), 3)
        self.assertEqual(shapes["0"], shapes["3"])
        self.assertEqual(len(page.all("polyline", class_="front-line")), 1)
        drawing = page.one(id="scatter-drawing")
        self.assertEqual([label.text() for label in drawing.all("text", class_="point-label")],
                         ["recommended"])

    def test_other_figures_can_be_on_the_axes_without_the_line_of_the_front(self):
        tab = self.open()
        tab.value("""(() => {
          const choice = document.getElementById("x-figure");
          choice.value = [...choice.options].find(({ text }) => text === "hits").value;
          choice.dispatchEvent(new Event("change"));
        })()""")
        page = tab.page()
        self.assertIn("hits (more is better)", page.one(id="scatter-drawing").text())
        self.assertEqual(page.all("polyline", class_="front-line"), [])

    def test_one_goal_stands_over_the_steps(self):
        page = self.open(page_of("one", results(), "--prefer", "hits")).page()
        self.assertIn("steps (less is better)", page.one(id="scatter-drawing").text())
        self.assertIn("hits (more is better)", page.one(id="scatter-drawing").text())

    def test_the_pointer_shows_what_a_point_is(self):
        tab = self.open()
        self.point_at(tab, "#scatter-drawing [data-result='4']")
        self.assertEqual(self.text(tab, "#tip"), "◆ num_speculative_tokens=1 max_num_seqs=4"
                         "waiting6.4copies217,344 byteson the front")
        self.point_at(tab, "h1")
        self.assertTrue(tab.value("document.getElementById('tip').hidden"))

    def test_a_click_on_a_point_changes_the_charts_and_the_row(self):
        tab = self.open()
        drawing = "document.querySelector('#memory-drawing svg').innerHTML"
        before = tab.value(drawing)
        self.assertEqual(self.text(tab, "#selected-name"), "★ " + RECOMMENDED)
        self.assertNotIn("★ recommended", self.text(tab, "#hits-keys"))
        self.click(tab, "#scatter-drawing [data-result='4']")
        self.assertEqual(self.text(tab, "#selected-name"),
                         "◆ num_speculative_tokens=1 max_num_seqs=4")
        self.assertNotEqual(tab.value(drawing), before)
        self.assertIn("drafts 7.3", self.text(tab, "#memory-keys"))
        self.assertIn("hit tokens, ★ recommended", self.text(tab, "#hits-keys"))
        self.assertEqual(tab.value("document.querySelector('[aria-current]').dataset.result"), "4")
        tab.value("document.getElementById('select-recommended').click()")
        self.assertEqual(self.text(tab, "#selected-name"), "★ " + RECOMMENDED)

    def test_a_row_selects_too(self):
        tab = self.open()
        tab.value("document.querySelector('#rows tr[data-result=\"3\"] button').focus()")
        tab.press("Enter")
        self.assertEqual(tab.value("document.body.dataset.selected"), "3")
        self.assertEqual(tab.value("""document.querySelector(
          "#scatter-drawing [aria-pressed=true]").dataset.result"""), "3")

    def test_the_memory_chart_has_areas_by_kind_under_the_pool(self):
        tab = self.open()
        self.click(tab, "#scatter-drawing [data-result='4']")
        drawing = tab.page().one(id="memory-drawing")
        self.assertEqual([area.attributes["class"] for area in drawing.all("path", class_="area")],
                         ["area attention", "area state", "area drafts", "area snapshots",
                          "area cached"])
        self.assertIn("pool: 399 blocks, 49.9 MiB", drawing.text())
        self.assertIn("simulated time in s", drawing.text())
        self.assertLessEqual(tab.value("""(() => {
          const top = (element) => element.getBBox().y;
          const pool = top(document.querySelector("#memory-drawing .pool"));
          return Math.max(...[...document.querySelectorAll("#memory-drawing .area")].map(
            (area) => pool - top(area)));
        })()"""), 0.1)

    def test_areas_stand_on_each_other(self):
        tab = self.open()
        self.click(tab, "#scatter-drawing [data-result='4']")
        tab.value("document.querySelector('#memory-drawing svg').focus()")
        tab.press("End")
        free = float(re.search(r"free, without content([\d.]+) blocks", self.text(tab, "#tip"))[1])
        top, pool, floor = tab.value("""(() => {
          const edge = document.querySelector("#memory-drawing .area-edge.cached");
          const line = document.querySelector("#memory-drawing .pool");
          const below = document.querySelector("#memory-drawing .area.attention").getBBox();
          return [edge.getPointAtLength(edge.getTotalLength()).y, line.getBBox().y,
                  below.y + below.height];
        })()""")
        self.assertAlmostEqual((floor - top) / (floor - pool), 1 - free / 399, delta=0.005)

    def test_the_keyboard_goes_from_point_to_point_and_selects(self):
        tab = self.open()
        tab.value("document.getElementById('y-figure').focus()")
        tab.press("Tab")
        self.assertEqual(tab.value("document.activeElement.dataset.result"), "1")
        tab.press("Home")
        self.assertEqual(tab.value("document.activeElement.dataset.result"), "4")
        self.assertIn("on the front", self.text(tab, "#tip"))
        self.assertIn("217,344", self.text(tab, "#tip"))
        tab.press("Enter")
        self.assertEqual(tab.value("document.body.dataset.selected"), "4")

    def test_the_keyboard_goes_through_the_moments_of_a_run(self):
        tab = self.open()
        tab.value("document.querySelector('#memory-drawing svg').focus()")
        tab.press("End")
        last = self.text(tab, "#tip")
        self.assertIn("running requests", last)
        tab.press("Home")
        self.assertIn("from 0.0 s", self.text(tab, "#tip"))
        self.assertNotEqual(self.text(tab, "#tip"), last)

    def test_sorting_changes_the_order_and_says_so(self):
        tab = self.open()
        self.assertEqual(self.column(tab, "combination"),
                         ["2 ★recommended", "5 ◆on the front", "1", "4"])
        self.press_heading(tab, "steps")
        self.assertEqual(self.column(tab, "steps"), ["949", "1,599", "3,477", "5,882"])
        self.assertEqual(tab.value("document.querySelector('[aria-sort=ascending]').textContent"),
                         "steps ▲")
        tab.press("Enter")
        self.assertEqual(self.column(tab, "steps"), ["5,882", "3,477", "1,599", "949"])
        self.assertEqual(tab.value("document.querySelector('[aria-sort=descending]').textContent"),
                         "steps ▼")
        self.press_heading(tab, "hits")
        self.assertEqual(self.column(tab, "hits")[0], "35.8 %")

    def test_a_filter_leaves_the_rows_with_all_its_words(self):
        tab = self.open()
        tab.value("document.getElementById('filter').focus()")
        tab.type_text("max_num_seqs=4 front")
        self.assertEqual(self.column(tab, "combination"), ["5 ◆on the front"])
        self.assertEqual(self.text(tab, "#shown-rows"), "1 of 4 combinations")

    def test_what_was_not_possible_has_its_reason(self):
        page = self.open().page()
        rows = page.one(id="refused-rows").one("tbody").all("tr")
        self.assertEqual([row.all("td")[0].text() for row in rows],
                         ["num_speculative_tokens=0 max_num_seqs=1000",
                          "num_speculative_tokens=1 max_num_seqs=1000"])
        self.assertIn("not possible: max_num_seqs is 1000", rows[0].text())

    def test_a_plan_in_which_nothing_was_possible_says_so(self):
        header, *lines = results()
        page = self.open(page_of("refused", [header] + [line for line in lines
                                                       if "refused" in line])).page()
        self.assertEqual(page.one(id="recommended").text(), "No combination ran.")
        self.assertFalse(page.one(id="scatter").shown())
        self.assertEqual(len(page.one(id="refused-rows").one("tbody").all("tr")), 2)

    def test_one_combination_has_no_front_to_choose_from(self):
        header, *lines = results()
        page = self.open(page_of("single", [header] + [line for line in lines
                                                      if line["name"] == RECOMMENDED])).page()
        self.assertEqual(page.one(id="trade").text(), "No other combination ran.")
        ticks = page.one(id="scatter-drawing").all("text", class_="tick")
        self.assertEqual([tick.text() for tick in ticks if "%" not in tick.text()], ["3", "4", "5"])

    def test_of_many_combinations_the_first_rows_are_there(self):
        header, *lines = results()
        one = next(line for line in lines if line["name"] == RECOMMENDED)
        header = {**header, "sweeps": ["max_num_seqs=1..620+1"]}
        tab = self.open(page_of("many", [header] + [{**one, "name": f"max_num_seqs={n + 1}"}
                                                    for n in range(620)]))
        self.assertEqual(self.text(tab, "#shown-rows"), "the first 100 of 620 combinations")
        self.assertEqual(len(self.column(tab, "steps")), 100)
        tab.value("document.getElementById('more-rows').click()")
        self.assertEqual(len(self.column(tab, "steps")), 500)
        self.assertEqual(self.text(tab, "#more-rows"), "show 120 more")
        self.click(tab, "#scatter-drawing .point.recommended")
        self.assertEqual(self.text(tab, "#selected-name"), "max_num_seqs=2")

    def test_what_takes_the_focus_has_a_name(self):
        tab = self.open()
        self.assertEqual([node for node in tab.accessible_nodes()
                          if node[2] and not node[1] and node[0] != "RootWebArea"], [])

    def test_no_page_is_wider_than_its_window(self):
        tab = self.open()
        self.addCleanup(lambda: tab.resize(1280, 800))
        for width in (1280, 800, 360):
            with self.subTest(width):
                tab.resize(width, 800)
                tab.value("new Promise(requestAnimationFrame)")
                self.assertLessEqual(tab.value("document.documentElement.scrollWidth"), width)

    def test_a_name_that_wants_to_be_markup_is_text(self):
        header, *lines = results()
        name = "</script><img src=x onerror=alert(1)>"
        page = self.open(page_of("markup", [{**header, "traffic": name}] + lines)).page()
        self.assertEqual(page.all("img"), [])
        self.assertEqual(page.one("h1").text(), "Plan: tiny-gdn on " + name)


if __name__ == "__main__":
    PROGRAM = Path(sys.argv[1]).resolve()
    keep = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as temporary:
        FOLDER = keep or Path(temporary)
        with chromium.Chromium(temporary) as BROWSER:
            result = unittest.main(argv=sys.argv[:1], exit=False).result
    sys.exit(0 if result.wasSuccessful() else 1)
