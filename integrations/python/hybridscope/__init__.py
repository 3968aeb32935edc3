"""Steps and judges the state caching of hybrid language models as vLLM has it."""

from . import _native
from .comparing import DiffResult, diff, explain
from .errors import (
    Bug,
    Corrupt,
    Device,
    Error,
    InputOutput,
    InvalidInput,
    NotAvailable,
    NotFound,
)
from .findings import Cause, Finding
from .judging import Judge, JudgeResult, judge, judge_many
from .matrices import MatrixResult, matrix
from .planning import PlanResult, plan
from .progress import Progress
from .recorded import Session, sessions
from .running import Run, RunJob, RunOptions, RunResult, SweepPoint, run, run_many, sweep

__version__: str = _native.VERSION

__all__ = [
    "Bug",
    "Cause",
    "Corrupt",
    "Device",
    "DiffResult",
    "Error",
    "Finding",
    "InputOutput",
    "InvalidInput",
    "Judge",
    "JudgeResult",
    "MatrixResult",
    "NotAvailable",
    "NotFound",
    "PlanResult",
    "Progress",
    "Run",
    "RunJob",
    "RunOptions",
    "RunResult",
    "Session",
    "SweepPoint",
    "__version__",
    "diff",
    "explain",
    "judge",
    "judge_many",
    "matrix",
    "plan",
    "run",
    "run_many",
    "sessions",
    "sweep",
]
