"""Settings of an engine as the module takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .errors import InvalidInput

Settings = Mapping[str, Any]


def _pairs(settings: Settings, prefix: str) -> Iterator[tuple[str, str]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _pairs(value, f"{prefix}{key}/")
        elif isinstance(value, bool):
            yield prefix + key, "true" if value else "false"
        elif isinstance(value, (int, float, str)):
            yield prefix + key, str(value)
        else:
            raise InvalidInput(f"setting {prefix}{key} is {value!r}: expected a number, a text, "
                               "True, False or a dict of settings")


def setting_words(settings: Settings | None = None, engine: str | None = None,
                  policies: Settings | None = None) -> list[tuple[str, str]]:
    """Pairs of a setting's name and its value as text; nested dicts become "outer/inner"."""
    words = [("engine", engine)] if engine is not None else []
    words += _pairs(settings or {}, "")
    words += _pairs(policies or {}, "policies/")
    return words
