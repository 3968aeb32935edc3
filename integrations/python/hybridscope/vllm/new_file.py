"""Files that are never overwritten."""

from pathlib import Path


def open_new_file(path):
    """A new file at `path`, or beside it if there is one already; for bytes, unbuffered."""
    path, number = Path(path), 1
    while True:
        place = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            return open(place, "xb", buffering=0)
        except FileExistsError:
            number += 1
