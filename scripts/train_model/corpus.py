"""The texts that the model learns from: where they come from, how they are cleaned and split.

All three are in the public domain and come from Debian packages; fetch_corpus makes the files.
"""

import gzip
import hashlib
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PIECE_BYTES = 8192
HELD_OUT_EVERY = 20  # one piece in twenty is never trained on

_LAST_KEPT_BYTE = 126
_UNIX_COMPRESS_MAGIC = b"\x1f\x9d\x90"


class CorpusError(Exception):
    """A file is missing or is not the one that the model was trained with."""


@dataclass(frozen=True)
class Source:
    """One text: a file of a Debian package, and the hash of what `clean` makes of it."""

    name: str
    package: str
    version: str
    path: str
    title: str
    first_line: bytes  # what precedes it is the dictionary's header
    read: Callable[[bytes], bytes]
    sha256: str
    share: float  # of the text windows of a batch


def read_squeezed(data: bytes) -> bytes:
    """The text of bible.data: blocks of Unix compress that share one header."""
    count = struct.unpack_from(">I", data, 0x58)[0]
    starts = struct.unpack_from(f">{count}I", data, 0x5C)
    blocks = (data[start:end] for start, end in zip(starts, (*starts[1:], len(data)), strict=True))
    return b"".join(_uncompress(_UNIX_COMPRESS_MAGIC + block) for block in blocks)


def _uncompress(block: bytes) -> bytes:
    done = subprocess.run(["gzip", "-dc"], input=block, capture_output=True, check=False)
    if done.returncode != 0:
        raise CorpusError(f"gzip cannot read a block: {done.stderr.decode(errors='replace')}")
    return done.stdout


SOURCES = (
    Source("jargon", "dict-jargon", "4.4.7-3.1", "usr/share/dictd/jargon.dict.dz",
           "The Jargon File 4.4.7", b"(TM)\n", gzip.decompress,
           "93f7a3526b88702bea1f0e079b6faa4a5ed93f6c16a5b0bfeea92d71a692ce1e", 0.60),
    Source("devil", "dict-devil", "1.0-13.1", "usr/share/dictd/devil.dict.dz",
           "The Devil's Dictionary, Ambrose Bierce, 1911", b"PREFACE\n", gzip.decompress,
           "e9d9dfe2cbccf8bc5bf9d2fb688f2c7a6f0173851650f9410b7ddb447ebb27ea", 0.15),
    Source("kjv", "bible-kjv-text", "4.38", "usr/lib/bible.data",
           "The Bible, King James Version, 1611", b"Ge1:1 ", read_squeezed,
           "1c8e6a36bae638db0e0a3c42aeb7b6e22557967ed3ef31976fd646640cdf1253", 0.25),
)


def cut_header(text: bytes, first_line: bytes) -> bytes:
    """The text from `first_line`, at the start of a line, on."""
    found = re.search(rb"(?m)^[ \t]*" + re.escape(first_line), text)
    if found is None:
        raise CorpusError(f"no line starts with {first_line!r}")
    return text[found.start():].lstrip(b" \t")


def clean(text: bytes) -> bytes:
    """Without bytes above 126; runs of blanks become one, runs of empty lines one empty line."""
    text = bytes(byte for byte in text if byte <= _LAST_KEPT_BYTE)
    text = re.sub(rb"[ \t\r\f\v]+", b" ", text)
    text = re.sub(rb" ?\n ?", b"\n", text)
    return re.sub(rb"\n{3,}", b"\n\n", text)


def extract(source: Source, root: Path) -> bytes:
    """The clean text of a package that was unpacked in `root`."""
    file = root / source.path
    if not file.exists():
        raise CorpusError(f"{source.package} has no file {source.path}")
    return clean(cut_header(source.read(file.read_bytes()), source.first_line))


def check_hash(source: Source, text: bytes) -> None:
    found = hashlib.sha256(text).hexdigest()
    if found != source.sha256:
        raise CorpusError(
            f"{source.name}: SHA-256 is {found}, not {source.sha256}; the model was trained with "
            f"{source.package} {source.version}")


def split(text: bytes) -> tuple[list[bytes], list[bytes]]:
    """(training, held out): runs of neighbouring pieces. Piece 10 of each 20 is held out."""
    training: list[bytes] = []
    held_out: list[bytes] = []
    run: list[bytes] = []
    for start in range(0, len(text), PIECE_BYTES):
        piece = text[start:start + PIECE_BYTES]
        if start // PIECE_BYTES % HELD_OUT_EVERY != HELD_OUT_EVERY // 2:
            run.append(piece)
            continue
        held_out.append(piece)
        training.append(b"".join(run))
        run = []
    training.append(b"".join(run))
    return [part for part in training if part], held_out


def load(folder: Path) -> dict[str, bytes]:
    """The texts by name, from the files that fetch_corpus wrote."""
    texts = {}
    for source in SOURCES:
        file = folder / f"{source.name}.txt"
        if not file.exists():
            raise CorpusError(f"{file} is missing: run fetch_corpus {folder}")
        texts[source.name] = file.read_bytes()
        check_hash(source, texts[source.name])
    return texts
