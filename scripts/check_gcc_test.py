#!/usr/bin/env python3
"""Which sources check_gcc.py reads, and how."""

import unittest

from check_gcc import ROOT, is_of_program, without_code


class CheckGcc(unittest.TestCase):
    def test_reads_the_program_and_not_the_tests(self) -> None:
        def of_program(path: str) -> bool:
            return is_of_program(f"{ROOT}/build/syntax/{path}")

        self.assertTrue(of_program("cli/CMakeFiles/hybridscope_cli.dir/Unity/unity_0_cxx.cxx"))
        self.assertTrue(is_of_program(f"{ROOT}/app/main.cpp"))
        self.assertFalse(is_of_program(f"{ROOT}/kernels/cuda/copy.cu"))
        self.assertFalse(of_program("tests/cli/CMakeFiles/test_cli.dir/Unity/unity_0_cxx.cxx"))
        self.assertFalse(of_program("cli/CMakeFiles/hybridscope_precompiled_cli.dir/cmake_pch.hxx.cxx"))
        self.assertFalse(of_program("core/base/x_verify_interface_header_sets/core/base/check.h.cxx"))

    def test_nothing_is_written(self) -> None:
        self.assertEqual(without_code("/usr/bin/c++ -Ia -Wshadow -o b.o -c 'c d.cpp'"),
                         ["/usr/bin/c++", "-Ia", "-Wshadow", "c d.cpp", "-fsyntax-only"])

    def test_headers_that_the_build_writes_are_those_of_the_build_with_sanitizers(self) -> None:
        self.assertEqual(without_code(f"c++ -I{ROOT} -I{ROOT}/build/syntax/a/generated -o b -c c"),
                         ["c++", f"-I{ROOT}", f"-I{ROOT}/build/asan/a/generated", "c",
                          "-fsyntax-only"])


if __name__ == "__main__":
    unittest.main()
