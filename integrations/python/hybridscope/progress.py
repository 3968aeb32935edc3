"""What long calls tell while they work."""

from __future__ import annotations

import dataclasses
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Progress:
    """How far a call is. The callback that gets it may raise to stop the call.

    what      what is counted: "steps", "lines", "cells", "faults" or "jobs"
    done      how many are done
    total     of how many; None: that is not known
    findings  steps and lines: findings of severity error so far; cells: those with findings
    """

    what: str
    done: int
    total: Optional[int] = None
    findings: int = 0


OnProgress = Callable[[Progress], None]
Teller = Callable[[str, int, Optional[int], int], None]


def teller(progress: OnProgress | None) -> Teller | None:
    """The callback with the arguments that the module passes."""
    if progress is None:
        return None
    call = progress

    def tell(what: str, done: int, total: int | None, findings: int) -> None:
        call(Progress(what, done, total, findings))

    return tell
