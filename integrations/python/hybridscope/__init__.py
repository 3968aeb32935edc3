"""Steps and judges the state caching of hybrid language models as vLLM has it."""

from . import _native
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
from .judging import Judge

__version__: str = _native.VERSION

__all__ = [
    "Bug",
    "Cause",
    "Corrupt",
    "Device",
    "Error",
    "Finding",
    "InputOutput",
    "InvalidInput",
    "Judge",
    "NotAvailable",
    "NotFound",
    "__version__",
]
