"""A mistake of one line, and how it is planted."""

from dataclasses import dataclass

COPY = "copy decision"
PADDING = "padding"
SPLIT = "split"
ROWS = "row moves"
BLOCKS = "block freeing"
AREAS = (COPY, PADDING, SPLIT, ROWS, BLOCKS)


@dataclass(frozen=True)
class Mutation:
    name: str
    area: str
    file: str
    before: str  # text of the file, without a line break
    after: str   # replaces `before`; may be empty
    # If `before` occurs more than once: text that occurs once; the first `before` after it is
    # meant.
    behind: str = ""


def place(mutation: Mutation, text: str) -> int:
    """Offset of the mutation's line in the file's text; ValueError if it is ambiguous."""
    start = 0
    if mutation.behind:
        if (times := text.count(mutation.behind)) != 1:
            raise ValueError(f"{mutation.name}: {mutation.file} has {mutation.behind!r} {times} "
                             "times (expected once)")
        start = text.index(mutation.behind)
        found = text.find(mutation.before, start)
        if found < 0:
            raise ValueError(f"{mutation.name}: {mutation.file} has no {mutation.before!r} behind "
                             f"{mutation.behind!r}")
        return found
    if (times := text.count(mutation.before)) != 1:
        raise ValueError(f"{mutation.name}: {mutation.file} has {mutation.before!r} {times} times "
                         "(expected once)")
    return text.index(mutation.before)


def mutated(mutation: Mutation, text: str) -> str:
    begin = place(mutation, text)
    return text[:begin] + mutation.after + text[begin + len(mutation.before):]
