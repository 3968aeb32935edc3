#!/usr/bin/env python3
import tempfile
import unittest
from pathlib import Path

import unity_sources


class Batches(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def batches(self, limit: int = 9, **files: str) -> list[list[str]]:
        """Of `name="text"`: a header where the name ends in _h."""
        sources = []
        for name, text in files.items():
            file = self.root / (f"{name[:-2]}.h" if name.endswith("_h") else f"{name}.cpp")
            file.write_text(text)
            if file.suffix == ".cpp":
                sources.append(file)
        return [[source.stem for source in batch]
                for batch in unity_sources.batches(sources, self.root, limit)]

    def test_sources_that_share_no_name_are_one_batch(self) -> None:
        self.assertEqual(self.batches(a="namespace { int f() { return 1; } }",
                                      b="namespace { int g() { return 2; } }"), [["a", "b"]])

    def test_a_batch_has_a_limit(self) -> None:
        self.assertEqual(self.batches(2, a="int x();", b="int y();", c="int z();"),
                         [["a", "b"], ["c"]])

    def test_the_same_private_name_keeps_sources_apart(self) -> None:
        for text in ("constexpr int kSize = 3;", "struct Row { int x; };", "enum class E : int { a };",
                     "template <class T> T f(T t) { return t; }", "std::array<int, 2> table{1, 2};"):
            with self.subTest(text):
                unity_sources.names_of.cache_clear()
                unity_sources.collide.cache_clear()
                unity_sources.public_names.cache_clear()
                text = f"namespace n {{\nnamespace {{\n{text}\n}}\n}}"
                self.assertEqual(self.batches(a=text, b=text), [["a"], ["b"]])

    def test_a_source_that_uses_the_name_otherwise_stands_first(self) -> None:
        self.assertEqual(self.batches(a="namespace { int rows() { return 1; } }",
                                      b="int f(int rows) { return rows; }"), [["b", "a"]])

    def test_members_and_names_of_libraries_do_not_count(self) -> None:
        self.assertEqual(self.batches(a="namespace { int size() { return 1; } }",
                                      b="int f() { return v.size() + std::size(v); }"), [["a", "b"]])

    def test_a_name_that_a_header_declares_counts(self) -> None:
        self.assertEqual(self.batches(h_h="namespace n { int f(); }", a='#include "h.h"\n',
                                      b="namespace n { namespace { int f() { return 1; } } }"),
                         [["a"], ["b"]])

    def test_the_same_alias_is_no_collision_and_another_is(self) -> None:
        alias = "using json = nlohmann::json;"
        self.assertEqual(self.batches(a=alias, b=alias, c="using json = int;"), [["a", "b"], ["c"]])

    def test_what_sets_up_a_header_is_compiled_alone(self) -> None:
        self.assertEqual(self.batches(a="#define WIDE\n#include <gl.h>\n", b="int y();"),
                         [["a"], ["b"]])


if __name__ == "__main__":
    unittest.main()
