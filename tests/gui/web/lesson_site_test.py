#!/usr/bin/env python3
"""The site of `lessons export` in a real browser: every lesson, step and question, two widths, both
colour schemes, keyboard only, what a screen reader is told, hostile names.

lesson_site_test.py HYBRIDSCOPE LESSONS [FOLDER]: LESSONS is scenarios/lessons; with FOLDER, the
site and pictures of it stay there. Exit code 77: there is no Chromium.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "support"))
import chromium  # noqa: E402

CHECKS = (HERE / "page_checks.js").read_text()
WIDTHS = (360, 1400)
NAMED = frozenset("button link radio textbox image img heading table DisclosureTriangle".split())


def export(folder, *lessons):
    return subprocess.run([PROGRAM, "lessons", "export", "--html", folder, *lessons],
                          capture_output=True, text=True)


def data_of(page):
    text = (SITE / page).read_text()
    begin = text.index('id="lesson-data">') + len('id="lesson-data">')
    return json.loads(text[begin:text.index("</script>", begin)])


def authored(name):
    """The lesson's file: the author's answers, which `lessons check` has compared."""
    return json.loads((LESSONS / f"{name}.json").read_text())


def words(answer):
    return {True: "yes", False: "no"}[answer] if isinstance(answer, bool) else str(answer)


def first_mistake(question):
    """A wrong answer that is foreseen, and what is said to it, up to the first engine's number."""
    answer, said = next(iter(question["mistakes"].items()))
    return answer, said.split("{")[0]


class SiteTest(unittest.TestCase):
    shared = None  # a tab costs more to open than a page

    def open(self, page="index.html", folder=None):
        """The page in the tab that tests share, without memory of another page."""
        if SiteTest.shared is None:
            SiteTest.shared = BROWSER.open("/")
        tab = SiteTest.shared
        tab.value("localStorage.clear()")
        tab.resize(1400, 900)
        tab.prefer("light")
        tab.problems.clear()
        tab.go_to(f"file://{folder or SITE}/{page}")
        return tab

    def open_alone(self, page="index.html"):
        """The page in a tab of its own, which ends with the test."""
        tab = BROWSER.open(SITE / page, width=1400)
        self.addCleanup(tab.close)
        return tab

    def expect_sound(self, tab):
        self.assertEqual(tab.problems, [])

    def check(self, tab, call):
        return tab.value(f"(() => {{ {CHECKS}; return {call}; }})()")

    def text(self, tab, selector):
        return tab.value(f"document.querySelector({json.dumps(selector)}).innerText")

    def click(self, tab, selector):
        tab.value(f"document.querySelector({json.dumps(selector)}).click()")

    def answers(self, tab, given):
        """Answers as a reader does, [(question, answer)]; returns the replies."""
        return tab.value(f"""{json.dumps(given)}.map(([question, answer]) => {{
          const form = document.querySelector(`form[data-question="${{question}}"]`);
          const radio = [...form.querySelectorAll("[type=radio]")];
          if (radio.length) radio.find((one) => one.value === answer).checked = true;
          else form.querySelector("[type=text]").value = answer;
          form.querySelector("button").click();
          return form.querySelector(".reply").innerText;
        }})""")

    def answer(self, tab, question, answer):
        return self.answers(tab, [(question, answer)])[0]

    def test_the_index_lists_every_lesson_with_what_it_teaches_and_its_page(self):
        listed = json.loads(subprocess.run([PROGRAM, "lessons", "list", "--json"],
                                           capture_output=True, check=True).stdout)
        page = self.open().page()
        items = page.all("li", data_lesson=None) or page.one(class_="lessons").all("li")
        self.assertEqual([item.one("a").text() for item in items],
                         [lesson["title"] for lesson in listed])
        for item, lesson in zip(items, listed):
            self.assertIn(lesson["teaches"], item.text())
            self.assertTrue((SITE / item.one("a").attributes["href"]).is_file())
        self.assertEqual(sorted(path.name for path in SITE.iterdir() if path.suffix != ".png"),
                         sorted(["index.html", "lesson.css", "lesson.js",
                                 *(f"{lesson['name']}.html" for lesson in listed)]))

    def test_the_index_says_in_one_picture_what_hybrid_caching_is(self):
        tab = self.open_alone()
        images = [name for role, name, _ in tab.accessible_nodes() if role in ("image", "img")]
        self.assertEqual(images, ["What hybrid caching is"])
        described = tab.value("document.querySelector('.picture desc').textContent")
        self.assertIn("starts from the state in block 3", described)
        for width in WIDTHS:
            for scheme in ("light", "dark"):
                tab.resize(width, 900)
                tab.prefer(scheme)
                self.assertEqual(self.check(tab, "allFaults()"), [], (width, scheme))
                tab.picture(SITE / f"index-{width}-{scheme}.png")
        self.expect_sound(tab)

    def test_every_step_of_every_part_fits_its_width_and_can_be_read(self):
        for page in LESSON_PAGES:
            data = data_of(page)
            num_steps = sum(len(run["steps"]) for run in data["runs"])
            tab = self.open(page)
            for width, scheme in zip(WIDTHS, ("dark", "light")):
                tab.resize(width, 900)
                tab.prefer(scheme)
                self.click(tab, "#forget")
                walked = self.check(tab, "walkLesson()")
                self.assertEqual(walked["faults"], [], f"{page} {width} {scheme}")
                self.assertEqual(walked["steps"], num_steps, page)
            self.expect_sound(tab)

    def test_a_screen_reader_is_told_a_name_for_everything_that_has_one(self):
        tab = self.open_alone()
        for number, page in enumerate(LESSON_PAGES):
            tab.go_to(f"file://{SITE}/{page}")
            if number < 3:  # the others with the panels that their first part is about
                self.check(tab, "(openAllPanels(), drawn())")
            nameless = [role for role, name, focusable in tab.accessible_nodes()
                        if not name.strip() and (focusable or role in NAMED)]
            self.assertEqual(nameless, [], page)

    def test_every_question_is_checked_and_wrong_answers_get_the_engines_explanation(self):
        for page in LESSON_PAGES:
            tab = self.open(page)
            parts = authored(Path(page).stem)["parts"]
            asked = 0
            for part in parts:
                questions = part.get("questions", [])
                asked += len(questions)
                right = [words(question["answer"]) for question in questions]
                mistakes = [first_mistake(question) for question in questions]
                wrong = [answer for answer, _ in mistakes]
                replies = self.answers(tab, list(enumerate(wrong)))
                for (w, said), r, reply in zip(mistakes, right, replies):
                    self.assertTrue(reply.startswith(f"✗ Not {w} but {r}.\n{said}"), (page, reply))
                    self.assertIn("vLLM", reply)
                replies = self.answers(tab, list(enumerate(right)))
                for r, reply in zip(right, replies):
                    self.assertTrue(reply.startswith(f"✓ Right: {r}. "), (page, reply))
                self.click(tab, "#part-next")
            self.assertEqual(self.text(tab, "#score"), f"{asked} of {asked} answers right")
            self.assertIn("That was the last part", self.text(tab, "#part-end"))
            self.expect_sound(tab)

    def test_a_foreseen_mistake_is_explained_and_announced(self):
        tab = self.open("align_boundary.html")
        reply = self.answer(tab, 0, "1")
        self.assertTrue(reply.startswith(
            "✗ Not 1 but 3.\nBlock 1 is in group 0, with keys and values. Each group has its own "
            "block table.\nA gets 1 + K = 2 blocks"), reply)
        # A screen reader reads out what changes in an element of this role.
        self.assertEqual(self.text(tab, "form[data-question='0'] [role=status]"), reply)

    def test_an_answer_that_was_not_foreseen_gets_the_general_explanation(self):
        tab = self.open("align_boundary.html")
        self.assertTrue(self.answer(tab, 0, " 0099 ").startswith(
            "✗ Not 99. The engine's answer is 3. A gets 1 + K = 2 blocks"))
        self.assertEqual(self.answer(tab, 0, "two"), "Expected a whole number.")
        self.assertEqual(self.answer(tab, 0, "").strip(), "Expected a whole number.")
        self.assertEqual(self.text(tab, "#score"), "0 of 9 answers right")
        self.assertTrue(self.answer(tab, 0, "03").startswith("✓ Right: 3. "))

    def test_a_step_to_predict_is_hidden_until_its_questions_are_answered(self):
        tab = self.open("graph_padding.html")
        self.click(tab, "#part-next")
        self.assertEqual(self.text(tab, "#step-title"), "Step 1 of 6")
        self.assertIn("Step 2 is shown when", self.text(tab, "#step-note"))
        self.assertTrue(tab.value("document.querySelector('#forward').disabled"))
        for number, answer in enumerate(["4", "4", "0"]):
            self.answer(tab, number, answer)
            self.assertEqual(self.text(tab, "#step-title"), "Step 1 of 6")
        self.answer(tab, 3, "7")  # a wrong answer is one too
        self.assertEqual(self.text(tab, "#step-title"), "Step 2 of 6")
        self.assertFalse(tab.value("document.querySelector('#forward').disabled"))
        self.click(tab, "#forget")
        self.click(tab, "#part-next")
        self.click(tab, "#reveal")
        self.assertEqual(self.text(tab, "#step-title"), "Step 2 of 6")

    def test_what_a_step_shows_is_what_the_engine_did(self):
        tab = self.open("align_boundary.html")
        self.click(tab, "#part-next")
        self.click(tab, "#reveal")
        page = tab.page()
        tables = [[cell.attributes["data-block"] + " " + cell.attributes["data-role"]
                   for cell in table.all("td", class_="cell")]
                  for table in page.all("table", class_="blocks")]
        self.assertEqual(tables, [["1 running", "4 held"], ["2 running", "3 speculative"]])
        drawings = [svg.attributes["aria-label"] for svg in page.all("svg", class_="drawing")]
        self.assertEqual(drawings, [
            "The temporal state S(8) goes from column 1 (block 3) to column 0 (block 2). The conv "
            "window goes from column 0 (block 2) to column 0 (block 2), shifted by 1 positions. ",
            "Conv window: position 1 (token 6) to position 0; position 2 (token 7) to position 1; "
            "position 3 (accepted draft 8) to position 2"])
        self.assertIn("running = c + q - d = 6 + 2 - 1 = 7", self.text(tab, "#panels"))

    def test_rows_and_padding_are_drawn_with_words(self):
        tab = self.open("graph_padding.html")
        self.click(tab, "#part-next")
        self.click(tab, "#reveal")
        self.check(tab, "(openAllPanels(), drawn())")
        padding = self.text(tab, "[data-panel=graph_padding]")
        self.assertIn("P 0\npadding", padding)
        self.assertIn("FULL: uniform decodes", padding)
        rows = tab.page().one(data_panel="batch_rows")
        self.assertEqual([item.text() for item in rows.all("ol", class_="axis")[0].all("li")],
                         ["A 0A: tokens 0", "B 1B: tokens 1", "C 2C: tokens 2",
                          "P 3padding: tokens 3"])

    def test_the_keyboard_does_everything(self):
        tab = self.open("align_boundary.html")
        seen = []
        for key in ["End", "ArrowLeft", "Home", "ArrowRight", "n", "p"]:
            tab.press(key)
            seen.append(self.text(tab, "#step-title") + ", " + self.text(tab, "#part-title"))
        self.assertEqual(seen, ["Step 3 of 3, Part 1 of 3", "Step 2 of 3, Part 1 of 3",
                                "Step 1 of 3, Part 1 of 3", "Step 2 of 3, Part 1 of 3",
                                "Step 1 of 3, Part 2 of 3", "Step 1 of 3, Part 1 of 3"])
        for _ in range(30):  # from the part's title to the first field
            tab.press("Tab")
            if tab.value("document.activeElement.type") == "text":
                break
        outline = tab.value("getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        tab.type_text("3")
        tab.press("ArrowRight")  # moves in the field, not the step
        tab.press("Enter")
        self.assertEqual(self.text(tab, "#step-title"), "Step 1 of 3")
        self.assertTrue(self.text(tab, "form .reply").startswith("✓ Right: 3."))

    def test_progress_is_kept_here_and_only_for_the_same_questions(self):
        tab = self.open("align_boundary.html")
        self.answer(tab, 0, "3")
        self.click(tab, "#part-next")
        self.answer(tab, 0, "9")
        tab.reload()
        self.assertEqual(self.text(tab, "#part-title"), "Part 2 of 3")
        self.assertEqual(self.text(tab, "#score"), "1 of 9 answers right")
        index = self.open_alone()
        self.assertEqual(self.text(index, "[data-lesson=align_boundary] .progress"),
                         "; begun, 1 of 9 answers right")
        tab.value("""(() => { const key = "hybridscope.lesson.align_boundary";
            localStorage.setItem(key, localStorage.getItem(key).replace(/"digest":"./, '"digest":"x'));
            })()""")
        tab.reload()
        self.assertEqual(self.text(tab, "#score"), "0 of 9 answers right")
        for foreign in ("null", "7", "{", '{"answers": null}'):  # another page's, or broken
            tab.value(f"localStorage.setItem('hybridscope.lesson.align_boundary', '{foreign}')")
            tab.reload()
            self.assertEqual(self.text(tab, "#part-title"), "Part 1 of 3", foreign)
        self.expect_sound(tab)

    def test_a_browser_that_keeps_nothing_still_teaches(self):
        tab = self.open_alone("align_boundary.html")
        tab.call("Page.addScriptToEvaluateOnNewDocument", source="""
            Object.defineProperty(window, "localStorage",
              { get() { throw new DOMException("refused", "SecurityError"); } });""")
        tab.reload()
        self.assertTrue(self.answer(tab, 0, "3").startswith("✓ Right: 3."))
        self.click(tab, "#theme")
        self.assertEqual(self.text(tab, "#score"), "1 of 9 answers right")
        self.expect_sound(tab)

    def test_colours_follow_the_system_until_they_are_chosen(self):
        tab = self.open("align_boundary.html")
        background = "getComputedStyle(document.documentElement).backgroundColor"
        tab.prefer("light")
        light = tab.value(background)
        tab.prefer("dark")
        dark = tab.value(background)
        self.assertEqual((light, dark), ("rgb(236, 238, 241)", "rgb(22, 25, 29)"))
        self.click(tab, "#theme")
        self.assertEqual(self.text(tab, "#theme"), "Colours: light")
        self.assertEqual(tab.value(background), light)
        tab.reload()
        self.assertEqual(tab.value(background), light)
        self.click(tab, "#theme")
        tab.prefer("light")
        self.assertEqual(tab.value(background), dark)

    def test_names_stay_text_and_no_foreign_script_runs(self):
        evil = "</script><img src=x onerror=\"document.body.dataset.evil=1\"><!-- @data@ '&"
        lesson = authored("block_tables")
        lesson["title"] = evil
        lesson["scenario"]["requests"][0]["id"] = name = "</script><img src=x onerror=alert(1)>"
        for part in lesson["parts"]:
            part["text"] = [evil]
            part["questions"] = []
            part["show"] = {"panel": "block_tables"}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "evil's lesson.json"
            file.write_text(json.dumps(lesson))
            site = Path(folder) / "site"
            done = export(site, str(file))
            self.assertEqual(done.returncode, 0, done.stderr)
            index = self.open(folder=site)
            self.assertEqual(self.text(index, ".lessons a"), evil)
            index.go_to("file://" + str(site) + "/" + index.value(
                "document.querySelector('.lessons a').getAttribute('href')"))
            self.assertEqual(self.text(index, "h1"), evil)
            self.assertEqual(self.text(index, "#text p"), evil)
            self.assertEqual(self.text(index, ".blocks tbody th"), name)
            self.assertEqual(index.value("document.images.length"), 0)
            self.expect_sound(index)
            index.value("""document.body.append(Object.assign(document.createElement("script"),
                { textContent: "document.body.dataset.evil = 2" }))""")
            self.assertIsNone(index.value("document.body.dataset.evil ?? null"))
            self.assertIn("Content Security Policy", " ".join(index.problems))


if __name__ == "__main__":
    PROGRAM, LESSONS = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    keep = Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    chromium.program()
    with tempfile.TemporaryDirectory() as temporary:
        SITE = keep or Path(temporary) / "site"
        made = export(SITE)
        assert made.returncode == 0, made.stderr
        LESSON_PAGES = sorted(path.name for path in SITE.glob("*.html") if path.stem != "index")
        with chromium.Chromium(temporary) as BROWSER:
            result = unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result
    sys.exit(0 if result.wasSuccessful() else 1)
