"""The chips that come with accelflow."""

from functools import cache
from pathlib import Path
from typing import Final

from accelflow.chips.chip import Chip, parse_chip, read_chip
from accelflow.errors import refused
from accelflow.files import read_text

__all__ = ["find_chip", "packaged"]

_FOLDER: Final = Path(__file__).parent


@cache
def packaged() -> tuple[Chip, ...]:
    """The chips that come with accelflow, the paper's first."""
    chips = [
        parse_chip(read_text(path), path.name, path.stem) for path in sorted(_FOLDER.glob("*.toml"))
    ]
    return tuple(sorted(chips, key=lambda chip: (chip.name != "paper", chip.name)))


def find_chip(place: str) -> Chip:
    """The chip in the file at `place`, or the packaged chip of that name.

    Raises InputError for what is neither, and as :func:`accelflow.chips.read_chip`.
    """
    known = [chip.name for chip in packaged()]
    if place in known and not Path(place).exists():
        return packaged()[known.index(place)]
    if Path(place).suffix or Path(place).exists() or "/" in place:
        return read_chip(place)
    raise refused("chip", place, f"must be a file, or one of {', '.join(known)}", known)
