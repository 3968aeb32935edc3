#!/usr/bin/env python3
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import check_headers


class Headers(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def check(self, **headers: str) -> tuple[int, str, str]:
        entries = []
        for name, text in headers.items():
            (self.root / f"{name}.h").write_text(text)
            source = self.root / "x_verify_interface_header_sets" / f"{name}.h.cxx"
            source.parent.mkdir(exist_ok=True)
            source.write_text(f"#include <{name}.h> // IWYU pragma: associated\n")
            entries.append({"file": str(source), "command": f"c++ -DX=1 -I{self.root} -O1 -c x"})
        (self.root / "compile_commands.json").write_text(json.dumps(entries))
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = check_headers.main(self.root, self.root)
        return status, out.getvalue(), err.getvalue()

    def test_a_header_that_does_not_include_what_it_uses_is_named(self) -> None:
        status, out, err = self.check(good="#include <string>\ninline std::string f() { return {}; }",
                                      bad="#include <string>\nextern std::vector<int> v;")
        self.assertEqual((status, out), (1, "headers: 2 files, 1 faults\n"))
        self.assertIn("bad.h:2", err)

    def test_what_another_header_of_ours_includes_counts(self) -> None:
        self.assertEqual(self.check(a="#include <vector>", b='#include "a.h"\nextern std::vector<int> v;')[0],
                         0)

    def test_no_header_at_all_has_failed(self) -> None:
        self.assertEqual(self.check()[0], 1)


if __name__ == "__main__":
    unittest.main()
