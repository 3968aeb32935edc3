#!/usr/bin/env python3
"""Tests release_watch without network and without vllm: wheels of a few lines, and a program that
knows how two policies answer."""

import json
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest.mock import patch
from zipfile import ZipFile

sys.dont_write_bytecode = True

import release_watch_files as files  # noqa: E402
import release_watch_policies as policies  # noqa: E402

SCRIPT = Path(__file__).resolve().with_name("release_watch")
ROOT = SCRIPT.parent.parent

# Each call names the policy value with which it agrees; values on which no call is are free.
FAKE_PROGRAM = f"#!{sys.executable} -SE" + """
import json, sys
if "--help" in sys.argv:
    print("--policy NAME=VALUE")
    sys.exit()
chosen = [value for option, value in zip(sys.argv, sys.argv[1:]) if option == "--policy"]
if "draft_slots=free" in chosen:
    sys.exit(134)
answers = []
for file in [word for word in sys.argv[2:] if word.endswith(".jsonl")]:
    failures, errors = [], []
    for line, text in enumerate(open(file), start=1):
        for n, call in enumerate(json.loads(text)["calls"]):
            if call["needs"] not in ("", *chosen):
                if call["op"] == "invalid":
                    errors.append({"line": line, "message": f"{file}:{line}: /calls/{n}: no r1"})
                else:
                    failures.append({"id": "", "line": line, "pointer": f"/results/{n}/rows",
                                     "expected": "1", "got": "2", "asked": {"call": call}})
                break
    answers.append({"file": file, "failures": failures, "errors": errors})
print(json.dumps({"files": answers}))
sys.exit(1)
"""

TRIED = [policies.Value("DraftSlots", "free"),
         policies.Value("EagleProof", "look_ahead_hashes"),
         policies.Value("UnusedDrafts", "skipped"),
         policies.Value("StoppedTokens", "taken_back")]

REGISTRY = """
_MODELS = {"OldForCausalLM": ("old", "OldForCausalLM")%s}
"""


def call(op: str, needs: str = "") -> dict[str, str]:
    return {"op": op, "needs": needs}


class Comparison(unittest.TestCase):
    def change(self, before: str, after: str) -> files.FileChange:
        change = files.compare("vllm/v1/core/block_pool.py", before, after)
        assert change
        return change

    def test_a_comment_a_docstring_and_a_line_break_are_no_difference(self) -> None:
        self.assertIsNone(files.compare(
            "vllm/v1/request.py", 'def f(a, b):\n    """Adds."""\n    return a + b\n',
            "def f(\n    a,\n    b,\n):\n    return a + b  # the sum\n"))

    def test_functions_are_new_gone_or_changed(self) -> None:
        change = self.change("class A:\n  def f(self): return 1\n  def g(self): pass\n",
                             "class A:\n  def f(self): return 2\n  def h(self): pass\n")
        self.assertEqual(change.names("function"), (["A.h"], ["A.g"], ["A.f"]))
        self.assertEqual(files.diff(*change.changed["A.f"])[1:],
                         [" def f(self):", "-    return 1", "+    return 2"])

    def test_a_field_of_a_configuration_is_a_setting_and_one_of_another_class_is_not(self) -> None:
        change = files.compare("vllm/config/cache.py",
                               "class CacheConfig:\n  mode: str = 'none'\nclass Handler: pass\n",
                               "class CacheConfig:\n  mode: str = 'align'\n  size: int = 0\n"
                               "class Handler:\n  name: str\n")
        assert change
        self.assertEqual(files.settings([change]),
                         [("CacheConfig.size", "", "size: int = 0"),
                          ("CacheConfig.mode", "mode: str = 'none'", "mode: str = 'align'")])

    def test_a_spec_is_named_by_its_base(self) -> None:
        change = self.change("x = 1\n", "class RingSpec(AttentionSpec): pass\nclass Other: pass\n")
        self.assertEqual(files.classes([change]),
                         [("new", "RingSpec(AttentionSpec)", "vllm/v1/core/block_pool.py")])

    def test_fields_of_a_spec_are_told_beside_settings(self) -> None:
        change = self.change("class RingSpec:\n  a: int\n",
                             "class RingSpec:\n  a: int\n  b: int = 1\n")
        self.assertEqual(files.fields_of_decisions([change]), [("RingSpec.b", "", "b: int = 1")])
        self.assertEqual(files.settings([change]), [])

    def test_a_function_that_went_to_another_file_is_moved(self) -> None:
        old = self.change("def f(): return 1\ndef g(): return 1\n", "")
        new = self.change("", "def f(): return 1\ndef g(): return 2\ndef h(): pass\n")
        new.path = "vllm/v1/core/new.py"
        files.note_moves([old, new])
        self.assertEqual(old.moved, {"f": "to vllm/v1/core/new.py", "g": "to vllm/v1/core/new.py"})
        self.assertEqual((list(new.added), list(new.changed)), (["h"], ["g"]))
        self.assertEqual(old.removed, {})

    def test_every_part_that_the_table_names_is_in_the_tree(self) -> None:
        for rooms in files.MIRRORED.values():
            for room in rooms.split(", "):
                self.assertTrue((ROOT / room).exists(), room)


class Tables(unittest.TestCase):
    def test_the_values_of_a_release(self) -> None:
        of_release = policies.profile(ROOT, "0.32.0")
        self.assertEqual(of_release["EagleProof"], {"block_drop"})
        self.assertEqual(policies.profile(ROOT, "0.33.0")["EagleProof"], {"look_ahead_hashes"})
        self.assertEqual(policies.profile(ROOT, "0.24.0")["ReturningDrafts"],
                         {"scattered", "placeholders"})  # runners V2 and V1

    def test_candidates_are_other_values_of_what_the_vectors_call(self) -> None:
        found = policies.candidates(ROOT, "0.32.0", "scheduler")
        self.assertIn(policies.Value("EagleProof", "look_ahead_hashes"), found)
        self.assertNotIn(policies.Value("EagleProof", "block_drop"), found)
        self.assertNotIn("RowOrder", {value.policy for value in found})

    def test_names_of_a_value(self) -> None:
        value = policies.Value("EagleProof", "look_ahead_hashes")
        self.assertEqual(value.option(), "eagle_proof=look_ahead_hashes")
        self.assertEqual(value.row("0.34.0"),
                         "    {Release::v0_34_0, EagleProof::look_ahead_hashes},")


class WithFakes(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.program = self.folder / "program"
        self.program.write_text(FAKE_PROGRAM, encoding="utf-8")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def search(self, vectors: list[dict]) -> tuple[list[str], dict[int, policies.Difference]]:
        search = policies.Search(policies.Program(self.program, self.folder, "0.32.0"), ROOT)
        with patch.object(policies, "candidates", return_value=TRIED):
            _, left = search.explain("scheduler", vectors)
        return [step.value.option() for step in search.steps], left

    def test_the_value_that_explains_most_vectors_comes_first(self) -> None:
        skipped, proof = "unused_drafts=skipped", "eagle_proof=look_ahead_hashes"
        found, left = self.search([{"calls": [call("schedule", proof)]},
                                   {"calls": [call("schedule", skipped)]},
                                   {"calls": [call("add"), call("schedule", skipped)]},
                                   {"calls": [call("add")]}])
        self.assertEqual((found, left), ([skipped, proof], {}))

    def test_a_difference_behind_another_is_found_too(self) -> None:
        found, left = self.search([{"calls": [call("schedule", "unused_drafts=skipped"),
                                              call("update", "stopped_tokens=taken_back")]}])
        self.assertEqual(found, ["unused_drafts=skipped", "stopped_tokens=taken_back"])
        self.assertEqual(left, {})

    def test_what_no_value_explains_is_left(self) -> None:
        found, left = self.search([{"calls": [call("add"), call("schedule", "something new")]}])
        self.assertEqual(found, [])
        self.assertEqual(left, {0: policies.Difference(1, "schedule rows", "1", "2")})

    def test_a_call_that_makes_no_sense_began_to_differ_in_an_earlier_one(self) -> None:
        program = policies.Program(self.program, self.folder, "0.32.0")
        vectors = [{"calls": [call("add"), call("invalid", "x")]}]
        self.assertEqual(program.differences("scheduler", vectors, [])[0].kind,
                         "a call that makes no sense")

    def test_a_value_with_which_the_program_ends_explains_nothing(self) -> None:
        found, _ = self.search([{"calls": [call("schedule", "draft_slots=free")]}])
        self.assertEqual(found, [])

    # -- the whole script --

    def wheel(self, version: str, pool: str, more_models: str = "") -> None:
        models = "vllm/model_executor/models/"
        with ZipFile(self.folder / f"vllm-{version}-cp38-abi3-any.whl", "w") as wheel:
            wheel.writestr("vllm/v1/core/block_pool.py", pool)
            wheel.writestr(models + "registry.py", REGISTRY % more_models)
            wheel.writestr(models + "old.py", "class OldForCausalLM(Module): pass\n")
            wheel.writestr(models + "new.py", "class NewForCausalLM(Old, IsHybrid): pass\n")

    def run_script(self, *arguments: str | Path) -> subprocess.CompletedProcess:
        self.wheel("0.32.0", "def touch(): return 1\n")
        self.wheel("0.33.0", "def touch(): return 2\n",
                   ', "NewForCausalLM": ("new", "NewForCausalLM")')
        return subprocess.run([sys.executable, SCRIPT, "0.33.0", "--work", self.folder,
                               "--program", self.program, *arguments], text=True,
                              capture_output=True, timeout=100, check=False)

    def test_the_page_of_two_wheels(self) -> None:
        done = self.run_script()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("# What is new for hybrid caching in vLLM 0.33.0", done.stdout)
        self.assertIn("| new | `NewForCausalLM` | yes |", done.stdout)
        self.assertIn("| vllm/v1/core/block_pool.py | core/caching/block_pool.cpp | `touch` |",
                      done.stdout)
        self.assertIn("-    return 1", done.stdout)
        self.assertNotIn("Draft profile", done.stdout)

    def test_the_draft_profile_is_laid_beside_the_table_of_a_release_that_is_known(self) -> None:
        vectors = [{"calls": [call("schedule", "unused_drafts=skipped")]}]
        (self.folder / "scheduler_0.33.0.jsonl").write_text(json.dumps(vectors[0]) + "\n")
        page = self.folder / "page.md"
        done = self.run_script("--vectors", self.folder, "--out", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text(encoding="utf-8")
        self.assertIn("    {Release::v0_33_0, UnusedDrafts::skipped},", text)
        self.assertIn("| `unused_drafts=skipped` |  | found |", text)
        self.assertIn("| `eagle_proof=look_ahead_hashes` |  | not found; no vector differs", text)

    def test_a_program_without_policies_still_tells_the_differences(self) -> None:
        self.program.write_text(FAKE_PROGRAM.replace('"--policy NAME=VALUE"', '"old"'))
        (self.folder / "scheduler_0.33.0.jsonl").write_text(
            json.dumps({"calls": [call("schedule", "unused_drafts=skipped")]}) + "\n")
        done = self.run_script("--vectors", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not take --policy", done.stdout)
        self.assertIn("| schedule rows | 1 | `1` | `2` |", done.stdout)

    def test_a_package_that_cannot_be_reached_is_skipped(self) -> None:
        done = subprocess.run([sys.executable, SCRIPT, "0.33.0", "--work", self.folder / "none"],
                              env={"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0",
                                   "PATH": "/usr/bin:/bin"},
                              text=True, capture_output=True, timeout=100, check=False)
        self.assertEqual((done.returncode, done.stderr.strip()),
                         (77, "release_watch: pip download: no network"))


if __name__ == "__main__":
    unittest.main()
