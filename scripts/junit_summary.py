#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" of a JUnit file that ctest wrote, and on stderr what each
failed test said last."""

import sys
import xml.etree.ElementTree as ElementTree


LAST_LINES = 25


def is_failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def words_of_failed(junit: str) -> str:
    """The ends of the failed tests' output, each under the test's name."""
    words = ""
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if is_failed(case):
            said = (case.findtext("system-out") or "").rstrip().splitlines()
            words += "\n".join([f"--- {case.get('name')}", *said[-LAST_LINES:], ""])
    return words


def summary(junit: str) -> str:
    """CTest marks each test case with a status: run, fail, notrun (skipped) or disabled."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if is_failed(case):
            counts["failed"] += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/junit_summary.py JUNIT.xml")
    sys.stderr.write(words_of_failed(sys.argv[1]))
    print(summary(sys.argv[1]))
