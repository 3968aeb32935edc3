#!/usr/bin/env python3
"""unity_sources.py ROOT LIST OUT LIMIT: batches of sources, each compiled as one. LIST has a line
"TARGET;SOURCE;..." for each target; OUT gets files that include up to LIMIT of a target's sources
each, and sources.cmake, which adds them to the targets.

Two sources stay apart where what the first declares for itself, such as a function in an unnamed
namespace, has a name that the second uses as well, for whatever it may be: no source is written
with batches in mind."""

import re
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|\s+|R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\])*"
        |(?<![0-9a-fA-F])'(?:\\.|[^'\\])+')
      |(?P<directive>^\#(?:\\\n|[^\n])*)
      |(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)|(?P<mark>::|->|\[\[|\]\]|.)""",
    re.MULTILINE | re.DOTALL | re.VERBOSE)
FOREIGN = ("std", "fmt", "nlohmann", "testing", "CLI", "rc", "SQLite")
TYPES = ("struct", "class", "enum", "union")
BEFORE_A_NAME = (*TYPES, "alignas", "final")


@dataclass
class Names:
    private: dict[str, str] = field(default_factory=dict)  # declared in a source: name -> its alias
    public: set[str] = field(default_factory=set)  # declared in a named namespace
    used: set[str] = field(default_factory=set)
    includes: list[str] = field(default_factory=list)
    alone: bool = False  # defines what headers look at


def tokens_of(text: str, names: Names) -> list[str]:
    tokens: list[str] = []
    for match in TOKEN.finditer(text):
        directive = match["directive"]
        if directive:
            names.alone |= "include" in directive and any(
                alias == "#define" for alias in names.private.values())
            if include := re.match(r'#\s*include "([^"]+)"', directive):
                names.includes.append(include[1])
            elif define := re.match(r"#\s*define (\w+)", directive):
                names.private[define[1]] = "#define"
        elif not match["skip"]:
            tokens.append(match[0])
    for at, token in enumerate(tokens):
        qualifier = tokens[at - 2] if at > 1 and tokens[at - 1] == "::" else ""
        if (token[0].isalpha() or token[0] == "_") and qualifier not in FOREIGN and (
                at == 0 or tokens[at - 1] not in (".", "->")):
            names.used.add(token)
    return tokens


def without_template(head: list[str]) -> list[str]:
    """Without `template <...>` and [[attributes]]."""
    while head and head[0] in ("template", "[["):
        opening, closing = ("<", ">") if head[0] == "template" else ("[[", "]]")
        depth = end = 0
        for end, token in enumerate(head):
            depth += (token == opening) - (token == closing)
            if depth == 0 and token == closing:
                break
        head = head[end + 1:]
    return head


def declared(head: list[str]) -> tuple[str, str]:
    """The name that a declaration at namespace scope adds, and the whole of it for an alias."""
    head = without_template(head)
    text = " ".join(head)
    if not head or head[0] in ("static_assert", "friend"):
        return "", ""
    if head[0] == "using":
        return (head[1] if "=" in head else head[-1]), text
    if head[0] == "namespace":
        return (head[1], text) if "=" in head else ("", "")
    if head[0].startswith("TEST") and len(head) > 4:
        return f"{head[2]}_{head[4]}_Test", ""
    if any(kind in head[:3] for kind in TYPES) and "(" not in head:
        rest = [token for token in head[head.index(next(t for t in head if t in TYPES)):]
                if token not in BEFORE_A_NAME]
        qualified = len(rest) > 1 and rest[1] == "::"
        return ("" if qualified or not rest else rest[0]), ""
    depth = 0
    for at, token in enumerate(head):
        depth += (token == "<") - (token == ">")
        if token == "operator":
            return "", ""
        if depth <= 0 and token in ("(", "=", "[", "{", ";") and at > 0:
            return ("" if at > 1 and head[at - 2] == "::" else head[at - 1]), ""
    return head[-1], ""


def read_declarations(tokens: list[str], names: Names, is_source: bool) -> None:
    scopes: list[bool] = []  # whether each open namespace is unnamed
    head: list[str] = []
    depth = 0  # of braces that are no namespace's
    for token in tokens:
        if depth > 0:
            depth += (token == "{") - (token == "}")
            if depth == 0 and not (set(head) & {*TYPES, "="} and "(" not in head):
                head = []  # a function's body ends what it stands in; `};` follows all others
            continue
        if token == "{" and (head[:1] == ["namespace"] or head[:2] == ["inline", "namespace"]):
            scopes.append(head[-1] == "namespace")
            head = []
        elif token == "}" and scopes:
            scopes.pop()
            head = []
        elif token in ("{", ";"):
            name, alias = declared([*head, token] if token == "{" and head else head)
            if name and is_source and (any(scopes) or "static" in head or alias
                                       or set(head) & {*TYPES, "constexpr"}
                                       or name.endswith("_Test")):
                names.private[name] = alias
            elif name and re.match(r"\w+$", name):
                names.public.add(name)
            depth = int(token == "{")
            if token == ";":
                head = []
        else:
            head.append(token)


@lru_cache(maxsize=None)
def names_of(path: Path) -> Names:
    names = Names()
    tokens = tokens_of(path.read_text(), names)
    read_declarations(tokens, names, path.suffix not in (".h", ".cuh"))
    return names


@lru_cache(maxsize=None)
def included(path: Path, root: Path) -> frozenset[Path]:
    """Our headers that `path` includes itself."""
    places = [(root / name, path.parent / name) for name in names_of(path).includes]
    return frozenset(place for pair in places for place in pair if place.is_file())


@lru_cache(maxsize=None)
def public_names(path: Path, root: Path) -> frozenset[str]:
    """What `path` and the headers that it includes in the end declare for others."""
    seen: set[Path] = {path}
    ahead = [path]
    while ahead:
        new = included(ahead.pop(), root) - seen
        seen |= new
        ahead.extend(new)
    return frozenset().union(*(names_of(file).public for file in seen))


@lru_cache(maxsize=None)
def collide(first: Path, second: Path, root: Path) -> bool:
    """Whether `second` cannot be compiled after `first`."""
    before, after = names_of(first), names_of(second)
    if before.alone or after.alone or any(
            name in public_names(first, root) for name in after.private):
        return True
    return any((name in after.used or name in after.private or name in public_names(second, root))
               and not (alias and after.private.get(name) == alias)
               for name, alias in before.private.items())


def place_in(batch: list[Path], source: Path, root: Path) -> int | None:
    """Where in the batch the source can stand."""
    for at in range(len(batch), -1, -1):
        if not any(collide(other, source, root) for other in batch[:at]) and not any(
                collide(source, other, root) for other in batch[at:]):
            return at
    return None


def batches(sources: list[Path], root: Path, limit: int) -> list[list[Path]]:
    found: list[list[Path]] = []
    for source in sources:
        for batch in found:
            if len(batch) < limit and (at := place_in(batch, source, root)) is not None:
                batch.insert(at, source)
                break
        else:
            found.append([source])
    return found


def write_if_new(path: Path, text: str) -> None:
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def compiled(target: str, files: list[str], root: Path, out: Path, limit: int) -> list[str]:
    """What to compile for the sources `files` of `target`."""
    places: list[str] = []
    for batch in batches([Path(file).resolve() for file in files], root, limit):
        place = batch[0]
        if len(batch) > 1:
            place = out / f"{target}_{len(places)}.cpp"
            write_if_new(place, "".join(f'#include "{source}"\n' for source in batch))
        places.append(str(place))
    return places


def main(root: Path, targets: Path, out: Path, limit: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    for line in targets.read_text().splitlines():
        target, *files = line.split(";")
        places = compiled(target, files, root, out, limit)
        quoted = " ".join(f'"{place}"' for place in places)
        lines.append(f"target_sources({target} PRIVATE {quoted})\n")
    write_if_new(out / "sources.cmake", "".join(lines))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: unity_sources.py ROOT LIST OUT LIMIT")
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
