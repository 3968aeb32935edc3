#!/usr/bin/env python3
"""Plants faults in a small tree and checks what check_tree finds."""

import tempfile
import unittest
from pathlib import Path

import check_tree


class CheckTree(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def plant(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def faults_of(self, path: str, text: str) -> list[str]:
        self.plant(path, text)
        found = check_tree.faults(self.root)
        (self.root / path).unlink()
        return found

    def test_unfinished_marks_are_found(self) -> None:
        for mark in ("TO" + "DO", "to" + "do:", "FIX" + "ME", "a st" + "ub", "St" + "ubs",
                     "not impl" + "emented"):
            with self.subTest(mark=mark):
                found = self.faults_of("docs/debug.md", f"line\n<!-- {mark} later -->\n")
                self.assertEqual(found, ["docs/debug.md:2: unfinished mark"])

    def test_words_that_only_look_like_marks_pass(self) -> None:
        text = "a stubborn mastodon, placeholder tokens\n"
        self.assertEqual(self.faults_of("README.md", text), [])

    def test_paths_of_one_machine_are_found(self) -> None:
        for text in ("/wo" + "rk/x", "see `/ro" + "ot/x`", 'f("/wo' + 'rk/shared")'):
            with self.subTest(text=text):
                found = self.faults_of("scripts/demo", text + "\n")
                self.assertEqual(found, ["scripts/demo:1: path of one machine"])

    def test_relative_paths_and_longer_names_pass(self) -> None:
        self.assertEqual(self.faults_of("scripts/demo", "../work/x my.root/y frame/work/z\n"), [])

    def test_dead_links_are_found(self) -> None:
        self.plant("docs/glossary.md", "text\n\n## `x`: a [link](../README.md)\n")
        text = ("[a](docs/glossary.md#x-a-link) [b](https://example.org/x#y) [c](#here)\n"
                "## Here\n[d](docs/absent.md)\n[e](docs/glossary.md#y)\n"
                "```\n# There\n```\n[f](#there)\n")
        self.assertEqual(self.faults_of("README.md", text),
                         ["README.md:3: link to docs/absent.md, which does not exist",
                          "README.md:4: link to docs/glossary.md#y, which is no heading",
                          "README.md:8: link to #there, which is no heading"])

    def test_names_of_tests_that_nobody_wrote_are_found(self) -> None:
        self.plant("tests/a_test.cpp", "TEST(Rows, AreThere) {}\nTEST_P(Rows,\n       TakeAHole) {}\n")
        self.plant("tests/CMakeLists.txt", "a_test.cpp\n")
        text = "`Rows.AreThere`, `Rows.TakeAHole`, `InputBatch.remove_request`\n`Rows.AreGone`\n"
        self.assertEqual(self.faults_of("docs/runner.md", text),
                         ["docs/runner.md:2: test Rows.AreGone, which does not exist"])

    def plant_rules(self) -> None:
        self.plant("docs/semantics/state.md", "# State\n\n### pre-copy\n\ntext\n")
        self.plant("docs/semantics/runner.md", "### I7\n")
        self.plant("docs/known-bugs.md", "| 48 | id | text |\n\n- 20 left-out: why\n")

    def test_citations_of_what_exists_pass(self) -> None:
        self.plant_rules()
        text = ("// (semantics: " + "pre-copy, I7), (known bug " + "48; semantics: " + "pre-copy)\n"
                "// known bugs " + "20, 48, known bug " + "20 and 48, known bugs of engines, I99\n"
                "// as known\n// bug 48 (semantics:\n// pre-copy,\n// I7; vLLM pre_copy)\n")
        self.assertEqual(self.faults_of("docs/debug.md", text), [])

    def test_citations_of_what_does_not_exist_are_found(self) -> None:
        self.plant_rules()
        for text, fault in (("(semantics: " + "post-copy)", "1: rule post-copy"),
                            ("(known bug 48; semantics: " + "I15)", "1: rule I15"),
                            ("(semantics:" + "\n  # pre-copy,\n  # pre)", "1: rule pre"),
                            ("Known bug " + "47", "1: known bug 47"),
                            ("\nknown bugs " + "48, 7", "2: known bug 7"),
                            ("known\n// bugs " + "20 and 2", "1: known bug 2")):
            with self.subTest(text=text):
                self.assertEqual(self.faults_of("scripts/demo", text + "\n"),
                                 [f"scripts/demo:{fault}, which does not exist"])

    def test_texts_that_a_clone_does_not_have_are_found(self) -> None:
        for text in ("SEMANT" + "ICS C5", "RUN" + "NER 3.4", "KNOWN_" + "BUGS", "FORW" + "ARD.md",
                     "PAG" + "ES.md", "STY" + "LE R22c", "DES" + "IGN.md", "NUMER" + "ICS 2",
                     "RELEA" + "SES", "U" + "X.md", "../sha" + "red/spec"):
            with self.subTest(text=text):
                self.assertEqual(self.faults_of("scripts/demo", f"\n# ({text})\n"),
                                 ["scripts/demo:2: cites a text that a clone does not have"])
        text = ("semantics, MODEL_RUNNER=1, RUNNER, FORWARD_CONTEXT, _SC_PAGES, known bugs, "
                "../shared_prefix.json, releases\n")
        self.assertEqual(self.faults_of("scripts/demo", text), [])

    def test_invariants_behind_the_list_of_rules_are_looked_up(self) -> None:
        self.plant_rules()
        text = "(semantics: " + "pre-copy; see I7, and I99)\n"
        self.assertEqual(self.faults_of("scripts/demo", text),
                         ["scripts/demo:1: rule I99, which does not exist"])

    def plant_sources(self) -> None:
        self.plant("CMakeLists.txt", "core/base/check.h core/base/check.cpp core/base/x.h\n"
                   "set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)\n"
                   "configure_file(version.h.in generated/cli/version.h)\n")
        self.plant("core/base/check.h", "")
        self.plant("core/base/check.cpp", "")
        self.plant("docs/debug.md", "text\n")

    def test_paths_of_files_and_folders_pass(self) -> None:
        self.plant_sources()
        text = ("core/base/check.h, core/base/check, `core/base`, core/base/, docs/debug.\n"
                "../core/gone.h, hardcore/gone, https://a.org/docs/gone, vllm/core/gone.py\n"
                "v1/core/gone.py, model_executor/gone.py, tests/v1/e2e/gone.py\n"
                "core/FOLDER/check.h, storage/schema_vN.cpp, tests/*_test.cpp, docs/<page>.md\n"
                "tests/golden/NAME.png, core/.../x.h, cli/version.h\n")
        self.assertEqual(self.faults_of("docs/page.md", text), [])

    def test_paths_that_do_not_exist_are_found(self) -> None:
        self.plant_sources()
        for text, path in (("see core/base/chec.h", "core/base/chec.h"),
                           ("`core/bases`, as said", "core/bases"),
                           ("(docs/gone.md: x)", "docs/gone.md"),
                           ("tests/golden/README.md", "tests/golden/README.md"),
                           ("scripts/gone CTest", "scripts/gone")):
            with self.subTest(text=text):
                self.assertEqual(self.faults_of("README.md", f"\n{text}\n"),
                                 [f"README.md:2: path {path}, which does not exist"])
                self.assertEqual(self.faults_of("core/base/x.h", f"int x;  // {text}\n"),
                                 [f"core/base/x.h:1: path {path}, which does not exist"])
                self.assertEqual(self.faults_of("core/base/x.h", f'f("{text}");\n'), [])

    def test_names_of_sources_in_comments_are_looked_up(self) -> None:
        self.plant_sources()
        text = "#include <gone.h>\n// check.cpp, version.h, vllm/csrc/gone.h, NAME.h, *_test.cpp\n"
        self.assertEqual(self.faults_of("core/base/x.h", text), [])
        self.assertEqual(self.faults_of("core/base/x.h", "f();  // chec.cpp has it\n"),
                         ["core/base/x.h:1: file chec.cpp, which does not exist"])

    def test_two_rules_of_one_name_are_found(self) -> None:
        self.plant_rules()
        found = self.faults_of("docs/semantics/forward.md", "\n### pre-copy\n")
        self.assertEqual(found, ["docs/semantics/state.md:3: rule pre-copy is at "
                                 "docs/semantics/forward.md:2 as well"])

    def test_links_start_at_their_file(self) -> None:
        self.plant("docs/glossary.md", "text\n")
        self.assertEqual(self.faults_of("docs/debug.md", "[a](glossary.md)\n"), [])
        self.assertEqual(len(self.faults_of("docs/debug.md", "[a](docs/glossary.md)\n")), 1)

    def test_a_cpp_file_that_no_listing_names_is_found(self) -> None:
        self.plant("CMakeLists.txt", "add_subdirectory(core/base)\n")
        self.plant("core/base/CMakeLists.txt", "lib(core_base SOURCES check.cpp part/deep.cpp)\n")
        self.assertEqual(self.faults_of("core/base/check.cpp", ""), [])
        self.assertEqual(self.faults_of("core/base/part/deep.cpp", ""), [])
        for name in ("heck.cpp", "deep.cpp", "math.h"):
            with self.subTest(name=name):
                found = self.faults_of(f"core/base/{name}", "")
                self.assertEqual(found, [f"core/base/{name}: not listed in "
                                         "core/base/CMakeLists.txt: it is not built"])

    def test_a_listing_may_take_every_file_beside_it(self) -> None:
        self.plant("CMakeLists.txt", "add_subdirectory(gui/model)\n")
        self.plant("gui/model/CMakeLists.txt",
                   "file(GLOB sources RELATIVE ${HERE} CONFIGURE_DEPENDS *.cpp)\n")
        self.assertEqual(self.faults_of("gui/model/requests.cpp", ""), [])
        self.assertEqual(len(self.faults_of("gui/model/requests.h", "")), 1)
        self.assertEqual(len(self.faults_of("gui/model/part/deep.cpp", "")), 1)

    def test_a_cmake_file_lists_what_is_beside_it(self) -> None:
        self.plant("CMakeLists.txt", "include(Targets)\n")
        self.plant("cmake/Targets.cmake", "add_library(options OBJECT cmake/options.cpp)\n")
        self.assertEqual(self.faults_of("cmake/options.cpp", ""), [])
        self.assertEqual(len(self.faults_of("cmake/absent.cpp", "")), 1)

    def test_loops_over_steps_are_found_outside_drive_and_tests(self) -> None:
        loop = "  while (!run.has_ended() && !stop) {\n"
        for path in ("cli/run.cpp", "tests/cli/run.cpp", "sessions/run/drive.cpp"):
            self.plant(str(Path(path).parent / "CMakeLists.txt"), Path(path).name)
            with self.subTest(path=path):
                found = self.faults_of(path, loop)
                expected = [f"{path}:1: a loop over steps: drive() is the only one"]
                self.assertEqual(found, expected if path.startswith("cli/") else [])

    def test_comments_that_begin_in_mid_sentence_are_found(self) -> None:
        self.plant("cli/CMakeLists.txt", "run.h")
        fragment = "int a;\n// Of each.\nint b;\n"
        self.assertEqual(self.faults_of("cli/run.h", fragment),
                         ["cli/run.h:2: a comment that begins in mid-sentence"])
        goes_on = "// The sizes\n// of all, in order: those\n// Those of none are 0.\nint b;\n"
        self.assertEqual(self.faults_of("cli/run.h", goes_on), [])

    def test_long_cpp_files_are_named_and_no_fault(self) -> None:
        self.plant("CMakeLists.txt", "core/base/long.cpp core/base/short.cpp\n")
        self.plant("core/base/long.cpp", "\n" * 401)
        self.plant("core/base/short.cpp", "\n" * 400)
        self.plant("docs/long.md", "\n" * 401)
        self.assertEqual(check_tree.long_files(self.root), ["core/base/long.cpp: 401 lines"])
        self.assertEqual(check_tree.faults(self.root), [])


if __name__ == "__main__":
    unittest.main()
