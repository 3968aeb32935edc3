#!/usr/bin/env python3
"""Prints "N passed, N failed, N skipped" of a JUnit file that ctest wrote."""

import sys
import xml.etree.ElementTree as ElementTree


def summary(junit: str) -> str:
    """CTest marks each test case with a status: run, fail, notrun (skipped) or disabled."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            counts["skipped"] += 1
        else:
            counts["passed"] += 1
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/junit_summary.py JUNIT.xml")
    print(summary(sys.argv[1]))
