#!/usr/bin/env python3
"""junit_summary.py JUNIT [GTEST]: prints "N passed, N failed, N skipped" of a JUnit file that ctest
wrote, and on stderr the end of each failed test's output. A test that has a file GTEST/NAME.xml is
a GoogleTest program, whose tests are counted one by one."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


LAST_LINES = 25


def is_failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def words_of_failed(junit: str) -> str:
    """The end of each failed test's output, under the test's name."""
    words = ""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if is_failed(case):
            said = (case.findtext("system-out") or "").rstrip().splitlines()
            words += "\n".join([f"--- {case.get('name')}", *said[-LAST_LINES:], ""])
    return words


def tests_of(case: ElementTree.Element, gtest: Path) -> list[ElementTree.Element]:
    """A CTest test, or the tests inside it; counts a failure that names no test, too."""
    inside = gtest / f"{case.get('name')}.xml"
    if not inside.is_file():
        return [case]
    tests = list(ElementTree.parse(inside).getroot().iter("testcase"))
    if is_failed(case) and not any(is_failed(test) for test in tests):
        tests.append(case)
    return tests


def summary(junit: str, gtest: Path) -> str:
    """A test case has a status: run, fail, notrun (skipped) or disabled."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for outer in ElementTree.parse(junit).getroot().iter("testcase"):
        for case in tests_of(outer, gtest):
            if is_failed(case):
                counts["failed"] += 1
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                counts["skipped"] += 1
            else:
                counts["passed"] += 1
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/junit_summary.py JUNIT.xml [GTEST_FOLDER]")
    sys.stderr.write(words_of_failed(sys.argv[1]))
    print(summary(sys.argv[1], Path(sys.argv[2] if len(sys.argv) == 3 else "no-gtest")))
