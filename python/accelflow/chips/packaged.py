"""The chips that come with accelflow."""

from collections.abc import Iterable, Mapping
from functools import cache
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from accelflow.chips.chip import Chip, parse_chip, read_chip
from accelflow.errors import refused
from accelflow.files import exists, read_text

__all__ = ["find_chip", "named_chips", "packaged"]

_FOLDER: Final = Path(__file__).parent


@cache
def packaged() -> tuple[Chip, ...]:
    """Return the chips (sets of server parameters) that come with accelflow, the paper's first."""
    chips = [
        parse_chip(read_text(path), path.name, path.stem) for path in sorted(_FOLDER.glob("*.toml"))
    ]
    return tuple(sorted(chips, key=lambda chip: (chip.name != "paper", chip.name)))


def find_chip(place: str) -> Chip:
    """Return the chip in the file at the path `place`, or the packaged chip called `place`.

    Packaged chips are those of :func:`packaged`. Raises InputError if `place` is neither, and as
    :func:`accelflow.chips.read_chip` does.
    """
    known = [chip.name for chip in packaged()]
    # A folder with the name of a packaged chip, such as one with results, is no chip.
    if place in known and not Path(place).is_file():
        return packaged()[known.index(place)]
    # An empty path is the working directory.
    if place and (Path(place).suffix or exists(place) or "/" in place):
        return read_chip(place)
    raise refused("chip", place, f"must be a file, or one of {', '.join(known)}", known)


def named_chips(chips: object) -> list[tuple[str, Mapping[str, float | str]]]:
    """Return the chips in `chips` as pairs (name, parameters), in order.

    `chips` is a mapping from names to parameters, or a sequence. The members of a sequence are
    :class:`Chip`, paths of files, names of packaged chips (:func:`find_chip`), and pairs of name
    and parameters. Raises InputError as :func:`find_chip` does, and TypeError for anything else.
    """
    if isinstance(chips, Mapping):
        return list(chips.items())
    if isinstance(chips, str | bytes) or not isinstance(chips, Iterable):
        raise TypeError(type(chips))
    found: list[tuple[str, Mapping[str, float | str]]] = []
    for given in chips:
        chip = find_chip(fspath(given)) if isinstance(given, str | PathLike) else given
        if isinstance(chip, Chip):
            found.append((chip.name, chip.config))
        elif isinstance(chip, tuple | list) and len(chip) == 2:
            found.append((chip[0], chip[1]))
        else:
            raise TypeError(type(chip))
    return found
