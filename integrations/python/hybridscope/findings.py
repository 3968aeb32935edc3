"""Findings: broken invariants, as values."""

import dataclasses
from typing import Any, Dict, Mapping, Optional


@dataclasses.dataclass(frozen=True)
class Cause:
    """The write that left what was seen: its kind, step, number within the step, request and the
    number of tokens folded into what was written."""

    kind: str
    step: int
    ordinal: int
    request: Optional[str] = None
    num_tokens: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class Finding:
    """One broken invariant. Members that do not apply are None.

    rule      stable name, such as "running-state-wrong"
    severity  "error" or "warning"
    step      step of the engine, from 1
    request   name of the request
    row       row of the batch
    group     KV cache group
    content   "temporal", "conv" or "attention"
    column    of the request's block list
    block     block id
    expected, seen  the two numbers that the text compares: counts, block ids, or numbers of
              requests where the text names another request
    detail    tells variants of a rule apart
    cause     the write that left what was seen
    text      the explanation, one or two sentences
    line      number of the trace's line, from 1
    layer, state, element  of findings about bytes
    """

    rule: str
    severity: str
    step: int
    request: Optional[str] = None
    row: Optional[int] = None
    group: Optional[int] = None
    content: Optional[str] = None
    column: Optional[int] = None
    block: Optional[int] = None
    expected: Optional[int] = None
    seen: Optional[int] = None
    detail: Optional[str] = None
    cause: Optional[Cause] = None
    text: str = ""
    line: Optional[int] = None
    layer: Optional[int] = None
    state: Optional[int] = None
    element: Optional[int] = None

    @property
    def kind(self) -> str:
        """The rule."""
        return self.rule

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "Finding":
        """From an element of "findings" of the program's JSON."""
        known = {field.name for field in dataclasses.fields(cls)}
        members = {name: value for name, value in record.items() if name in known}
        if members.get("cause") is not None:
            members["cause"] = Cause(**members["cause"])
        return cls(**members)

    def to_dict(self) -> Dict[str, Any]:
        """With the keys of from_dict()."""
        return dataclasses.asdict(self)

    def __str__(self) -> str:
        return self.text
