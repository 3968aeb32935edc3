"""Citations that must name something: a rule of docs/semantics, as in
"(semantics: preprocess-mamba, I13)", a number of docs/known-bugs.md, as in "known bugs 12, 15", or
in a document or a comment of C++ a file or folder of the tree, as in "core/engine/scheduler".
"""

import re
from collections.abc import Iterator
from pathlib import Path

from source_tree import CPP_SUFFIXES, files

_PAGES = "docs/semantics"
_BUG_PAGE = "docs/known-bugs.md"
_RULE = re.compile(r"^### (\S+)", re.MULTILINE)
# A row of the table of bugs, or an item in the list of bugs without an entry.
_BUG = re.compile(r"^(?:\| |- )(\d+) ", re.MULTILINE)

_GAP = r"[\s/#]+"  # a comment may continue on the next line between any two words
_RULE_LIST = rf"(?:\(|;{_GAP})semantics:{_GAP}([\w-]+(?:,{_GAP}[\w-]+)*)"
_CITED_RULES = re.compile(_RULE_LIST)
# Invariants that stand behind the list of rules, as behind "; see also".
_CITED_INVARIANTS = re.compile(_RULE_LIST.replace("([", "(?:[", 1) + r"([^()\w,-][^()]*)\)")
_CITED_BUGS = re.compile(rf"\b[Kk]nown{_GAP}bugs?{_GAP}(\d+(?:(?:,|{_GAP}and){_GAP}\d+)*)")
# Character classes of one letter keep these lines from matching themselves.
_RETIRED = re.compile(r"\b(?:SEMANTIC[S]\b|KNOWN_BUG[S]\b|RUNNE[R] \d|FORWAR[D]\.md|PAGE[S]\.md"
                      r"|STYL[E] R\d|DESIG[N]\.md|NUMERIC[S]\b|RELEASE[S]\b|U[X]\.md)"
                      r"|(?<![\w.])\.\./share[d](?!\w)")

_FOLDERS = "core|cli|gui|sessions|storage|kernels|tests|scripts|docs|bench|scenarios|integrations"
_PATH = re.compile(rf"(?<![\w./*<>{{}}$-])(?:{_FOLDERS})/[\w./*<>{{}}$-]+")
_ENDINGS = ("", ".md", ".h", ".cpp", ".cu", ".cuh", ".json")
_FILE_NAME = re.compile(r"(?<![\w./*<>-])[a-z]\w*\.(?:h|cpp)\b(?![\w./*-])")
_OF_VLLM = ("tests/v1/",)  # folders of ours that vLLM has as well
# NAME, FOLDER_ID, vN, a pattern, a shell variable: the writer means many files.
_PLACEHOLDER = re.compile(r"(?<![A-Za-z0-9])(?:[A-Z][A-Z_]*|vN)(?![A-Za-z0-9])|[*<>{}$]|\.\.\.")
_COMMENT = re.compile(r"(?:^|\s)//(.*)")
_LINK_TARGET = re.compile(r"\]\([^)\s]*\)")
_GENERATED = re.compile(r"\bgenerated\S*/(\w+\.h)\b")  # in a listing of CMake


class Citations:
    """What can be cited under `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        bugs = root / _BUG_PAGE
        self._bugs = set(_BUG.findall(bugs.read_text(encoding="utf-8")) if bugs.exists() else ())
        self._generated = _generated_headers(root)
        self._file_names = self._generated | {Path(path).name for path in files(root, CPP_SUFFIXES)}
        self._rules: dict[str, list[str]] = {}  # name -> "page:line" of each heading
        for page in sorted((root / _PAGES).glob("*.md")):
            text = page.read_text(encoding="utf-8")
            for heading in _RULE.finditer(text):
                place = f"{_PAGES}/{page.name}:{_line(text, heading.start())}"
                self._rules.setdefault(heading[1], []).append(place)

    def faults_of_pages(self) -> Iterator[str]:
        """Rules with the same name."""
        for name, places in self._rules.items():
            for place in places[1:]:
                yield f"{place}: rule {name} is at {places[0]} as well"

    def faults_of_text(self, path: str, text: str) -> Iterator[str]:
        """The file's citations that name nothing."""
        for pattern, word, known, kind in ((_CITED_RULES, r"[\w-]+", self._rules, "rule"),
                                           (_CITED_INVARIANTS, r"\bI\d+\b", self._rules, "rule"),
                                           (_CITED_BUGS, r"\d+", self._bugs, "known bug")):
            for cited in pattern.finditer(text):
                for name in re.findall(word, cited[1]):
                    if name not in known:
                        yield f"{path}:{_line(text, cited.start())}: {kind} {name}, " \
                              "which does not exist"
        for retired in _RETIRED.finditer(text):
            yield f"{path}:{_line(text, retired.start())}: cites a text that a clone does not have"
        yield from self._faults_of_paths(path, text)

    def _faults_of_paths(self, path: str, text: str) -> Iterator[str]:
        """Files that a document or a comment of C++ names and that are not in the tree."""
        is_cpp = path.endswith(CPP_SUFFIXES)
        if not is_cpp and not path.endswith(".md"):
            return
        for number, line in enumerate(text.splitlines(), start=1):
            if is_cpp:
                comment = _COMMENT.search(line)
                if comment is None:
                    continue
                line = comment[1]
                for name in _FILE_NAME.findall(line):
                    if name not in self._file_names:
                        yield f"{path}:{number}: file {name}, which does not exist"
            line = _LINK_TARGET.sub("]", line)  # check_tree looks links up
            for name in _PATH.findall(line):
                name = name.rstrip(".-/")
                if not self._is_in_tree(path, name):
                    yield f"{path}:{number}: path {name}, which does not exist"

    def _is_in_tree(self, path: str, name: str) -> bool:
        if name.startswith(_OF_VLLM) or _PLACEHOLDER.search(name.replace("README.md", "")):
            return True
        if name.endswith(".h") and Path(name).name in self._generated:
            return True
        folders = (self._root, (self._root / path).parent)
        return any((folder / (name + ending)).exists() for folder in folders for ending in _ENDINGS)


def _generated_headers(root: Path) -> set[str]:
    """Names of the headers that the build writes."""
    return {Path(header).name for listing in files(root, ("CMakeLists.txt", ".cmake"))
            for header in _GENERATED.findall((root / listing).read_text(encoding="utf-8"))}


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1
