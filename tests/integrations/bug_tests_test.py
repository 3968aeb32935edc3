#!/usr/bin/env python3
"""The tests of known bugs in integrations/vllm/bug_tests. CI has no vLLM: they are read, not run."""

import ast
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "integrations" / "vllm" / "bug_tests"


class BugTests(unittest.TestCase):
    def test_each_is_python_with_one_test_that_ends_in_an_assertion(self):
        files = sorted(FOLDER.glob("*.py"))
        self.assertGreater(len(files), 0)
        for file in files:
            with self.subTest(file.name):
                tree = ast.parse(file.read_text())
                tests = [node for node in tree.body
                         if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
                self.assertEqual(len(tests), 1)
                self.assertIsInstance(tests[0].body[-1], ast.Assert)

    def test_each_imports_only_what_a_machine_with_vllm_has(self):
        allowed = {"inspect", "numpy", "os", "pytest", "re", "sys", "textwrap", "torch", "types",
                   "vllm"}
        for file in sorted(FOLDER.glob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                names = ([alias.name for alias in node.names] if isinstance(node, ast.Import)
                         else [node.module] if isinstance(node, ast.ImportFrom) else [])
                with self.subTest(file.name, imports=names):
                    self.assertLessEqual({name.split(".")[0] for name in names}, allowed)


if __name__ == "__main__":
    unittest.main()
