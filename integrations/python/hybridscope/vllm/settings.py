"""The variable HYBRIDSCOPE: what a running engine is asked for."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

SYNTAX = ("HYBRIDSCOPE is a list of: trace:FILE, judge, serve[:unix:PATH], "
          "break[:unix:PATH], spool:SIZE, states[:N], separated by commas")


SPOOL_BYTES = 16 << 30  # of a served trace
MORE_BLOCKS = 16  # of the pool, that option states looks at in each step


@dataclass(frozen=True)
class Settings:
    """What the words of HYBRIDSCOPE say."""

    trace: str = ""  # file to write; empty: none
    judge: bool = False  # findings go to the log
    holds: bool = False  # the engine waits at the first finding
    serves: bool = False  # a socket serves the trace and takes commands
    socket: str = ""  # its path; empty: one in a folder of its own
    spool: int = SPOOL_BYTES  # most bytes of the served trace
    states: int | None = None  # hash states, of so many more blocks each step; None: of none

    def of_rank(self, rank):
        """The same for one of several engines that share the variable."""
        return replace(self, trace=_of_rank(self.trace, rank), socket=_of_rank(self.socket, rank))


def _of_rank(path, rank):
    return str(Path(path).with_stem(f"{Path(path).stem}-dp{rank}")) if path else ""


def _socket(word, address):
    kind, _, path = address.partition(":")
    if kind != "unix" or not path:
        raise ValueError(f"{word}: expected {word.partition(':')[0]}:unix:PATH. {SYNTAX}")
    return path


def _bytes(word, size):
    found = re.fullmatch(r"([1-9][0-9]*)(|KiB|MiB|GiB|TiB)", size, re.ASCII)
    if not found:
        raise ValueError(f"{word}: expected spool:SIZE, as in spool:64GiB. {SYNTAX}")
    number, unit = found.groups()
    return int(number) << 10 * ("", "KiB", "MiB", "GiB", "TiB").index(unit)


def _more_blocks(word, number):
    if not number.isdecimal():
        raise ValueError(f"{word}: expected states or states:N, N blocks more each step. {SYNTAX}")
    return int(number)


def parse_settings(text):
    """Settings of a value of HYBRIDSCOPE. Raises ValueError: which word, and what is expected."""
    found = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, _, rest = word.partition(":")
        if name == "trace" and rest:
            found["trace"] = rest
        elif word == "judge":
            found["judge"] = True
        elif name in ("serve", "break"):
            found["serves"] = True
            if name == "break":
                found["judge"] = found["holds"] = True
            if ":" in word:
                found["socket"] = _socket(word, rest)
        elif name == "spool":
            found["spool"] = _bytes(word, rest)
        elif name == "states":
            found["states"] = _more_blocks(word, rest) if ":" in word else MORE_BLOCKS
        else:
            raise ValueError(f"HYBRIDSCOPE: unknown word \"{word}\". {SYNTAX}")
    if not found:
        raise ValueError(f"HYBRIDSCOPE: nothing in \"{text}\". {SYNTAX}")
    if "spool" in found and "serves" not in found:
        raise ValueError("HYBRIDSCOPE: spool needs serve or break beside it")
    if found.keys() == {"states"}:
        raise ValueError("HYBRIDSCOPE: states needs trace, judge, serve or break beside it")
    return Settings(**found)
