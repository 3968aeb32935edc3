"""Columns of a query as pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple

from .errors import NotAvailable

if TYPE_CHECKING:
    import pandas

# Name; "int" and int64 values as bytes, or "float" and float64 values, with a byte for each that is
# missing (None: none is); or "values" and a list.
Column = Tuple[str, str, Any, Optional[bytes]]


def frame_of(columns: list[Column]) -> pandas.DataFrame:
    """A frame with one column each; numbers are not copied one by one."""
    try:
        import numpy
        import pandas
    except ImportError as error:
        raise NotAvailable("frames need pandas: pip install hybridscope[pandas]") from error
    frame: dict[str, Any] = {}
    for name, kind, values, missing in columns:
        if kind == "values":
            frame[name] = pandas.Series(values, dtype=object)
            continue
        numbers: Any = numpy.frombuffer(values, dtype="int64" if kind == "int" else "float64")
        if missing is None:
            frame[name] = pandas.Series(numbers)
        else:
            mask = numpy.frombuffer(missing, dtype="bool").copy()
            masked = pandas.arrays.IntegerArray if kind == "int" else pandas.arrays.FloatingArray
            frame[name] = pandas.Series(masked(numbers.copy(), mask))
    return pandas.DataFrame(frame)
