"""Citations that must name something: a rule of docs/semantics, as in
"(semantics: preprocess-mamba, I13)", or a number of docs/known-bugs.md, as in "known bugs 12, 15".
"""

import re
from collections.abc import Iterator
from pathlib import Path

_PAGES = "docs/semantics"
_BUG_PAGE = "docs/known-bugs.md"
_RULE = re.compile(r"^### (\S+)", re.MULTILINE)
_INDEX_ROW = re.compile(r"^\| \[`([^`]+)`\]", re.MULTILINE)
# A row of the table of bugs, or an item in the list of bugs without an entry.
_BUG = re.compile(r"^(?:\| |- )(\d+) ", re.MULTILINE)

_GAP = r"[\s/#]+"  # a comment may continue on the next line between any two words
_CITED_RULES = re.compile(rf"(?:\(|;{_GAP})semantics:{_GAP}([\w-]+(?:,{_GAP}[\w-]+)*)")
_CITED_BUGS = re.compile(rf"\b[Kk]nown{_GAP}bugs?{_GAP}(\d+(?:(?:,|{_GAP}and){_GAP}\d+)*)")
# Character classes of one letter keep these lines from matching themselves.
_RETIRED = re.compile(r"\b(?:SEMANTIC[S]\b|KNOWN_BUG[S]\b|RUNNE[R] \d|FORWAR[D]\.md|PAGE[S]\.md"
                      r"|STYL[E] R\d|DESIG[N]\.md)")


class Citations:
    """What can be cited under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        bugs = root / _BUG_PAGE
        self._bugs = set(_BUG.findall(bugs.read_text(encoding="utf-8")) if bugs.exists() else ())
        self._rules: dict[str, list[str]] = {}  # name -> "page:line" of each heading
        for page in sorted((root / _PAGES).glob("*.md")):
            text = page.read_text(encoding="utf-8")
            for heading in _RULE.finditer(text):
                place = f"{_PAGES}/{page.name}:{_line(text, heading.start())}"
                self._rules.setdefault(heading[1], []).append(place)

    def faults_of_pages(self) -> Iterator[str]:
        """Rules with the same name, and rules that only the index or only the pages have."""
        for name, places in self._rules.items():
            for place in places[1:]:
                yield f"{place}: rule {name} is at {places[0]} as well"
        index = self._root / _PAGES / "README.md"
        rows = set(_INDEX_ROW.findall(index.read_text(encoding="utf-8")) if index.exists() else ())
        for name in sorted(rows ^ self._rules.keys()):
            what = "has a row but no page" if name in rows else "has no row"
            yield f"{_PAGES}/README.md: rule {name} {what}"

    def faults_of_text(self, path: str, text: str) -> Iterator[str]:
        """The file's citations that name nothing."""
        for pattern, word, known, kind in ((_CITED_RULES, r"[\w-]+", self._rules, "rule"),
                                           (_CITED_BUGS, r"\d+", self._bugs, "known bug")):
            for cited in pattern.finditer(text):
                for name in re.findall(word, cited[1]):
                    if name not in known:
                        yield f"{path}:{_line(text, cited.start())}: {kind} {name}, " \
                              "which does not exist"
        for retired in _RETIRED.finditer(text):
            yield f"{path}:{_line(text, retired.start())}: cites a text that a clone does not have"


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
