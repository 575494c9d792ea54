"""Chips, and the files that describe them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, refused, unreadable
from accelflow.files import read_text

__all__ = ["Chip", "chip_schema", "config_schema", "read_chip", "read_config"]

#: The most characters of a chip's name.
_LONGEST_NAME: Final = 64
#: The keys of a chip's file that are no parameters.
_OF_CHIP: Final = frozenset({"schema", "name", "description"})


@dataclass(frozen=True, kw_only=True)
class Chip:
    """A chip: parameters of the simulated server, such as the number of elements, under a name.

    `name` is its name in results, `description` a text for readers, and `config` has values of
    parameters by key; other parameters have their defaults. `accelflow explain` lists the keys.
    ``accelerator.TCP.pes`` is another spelling of ``pes.TCP``.
    """

    name: str
    description: str = ""
    config: Mapping[str, float | str] = field(default_factory=dict)


def read_chip(path: str | PathLike[str]) -> Chip:
    """Read a chip, a set of parameters of the simulated server, from the TOML file at `path`.

    For example, ``pes = 4`` in the table ``[accelerator]`` gives each accelerator four processing
    elements, and ``pes = 16`` in ``[accelerator.TCP]`` gives TCP alone 16. A choice is set by its
    name, such as ``balancing = "random"`` in ``[core]``. A chip without a ``name`` gets its file's
    name without ``.toml``, up to 64 characters.

    Raises InputError with the path for a file that cannot be read or sets nothing. Raises
    InputError with path, line and column for text that is not TOML, for another schema, an unknown
    key, and a value that is not allowed or is set twice.
    """
    path = Path(path)
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        raise unreadable("chip", path, error) from error
    return parse_chip(text, str(path), path.stem)


def parse_chip(text: str, place: str, name: str) -> Chip:
    """Read a chip from TOML text.

    `place` is the file's name in messages, and `name` the chip's name unless the TOML sets one.
    Raises InputError as :func:`read_chip` does.
    """
    try:
        found: dict[str, Any] = json.loads(_native.chip_read(text))
    except AccelflowError as error:
        raise InputError(f"{place}:{error}") from error
    if not any(found[key] for key in ("name", "description", "config")):
        allowed = "must be a file that sets a parameter, a name or a description"
        raise refused("chip", place, allowed)
    return Chip(
        name=found["name"] or name[:_LONGEST_NAME],
        description=found["description"] or "",
        config=found["config"],
    )


def read_config(path: str | PathLike[str]) -> dict[str, float]:
    """Return the values of parameters that the chip in the file at `path` sets, by key.

    Raises InputError as :func:`read_chip` does.
    """
    return {key: float(value) for key, value in read_chip(path).config.items()}


def chip_schema() -> str:
    """Return the JSON Schema of a chip's file, as text."""
    return _native.chip_schema()


def config_schema(place: str) -> dict[str, Any]:
    """Return the JSON Schema of a table ``config`` in a file: parameters of the simulated server.

    Such a table has parameters in nested tables, as in a chip's file, or under keys with dots.
    `place` is the JSON pointer to this schema in the document that contains it, such as
    ``#/$defs/Config``, for references within it.
    """
    chip = json.loads(_native.chip_schema())["properties"]
    nested = {key: _plain(value) for key, value in chip.items() if key not in _OF_CHIP}
    return {
        "type": "object",
        "description": "The values of server parameters; `accelflow explain` lists them.",
        "properties": nested | dict(_dotted(nested, "", place)),
        "additionalProperties": False,
    }


def _plain(tree: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema `tree` of a chip's table or value without descriptions of parameters."""
    plain = {key: value for key, value in tree.items() if key != "description"}
    if "properties" in plain:
        plain["properties"] = {key: _plain(value) for key, value in plain["properties"].items()}
    return plain


def _dotted(
    properties: Mapping[str, Any], prefix: str, place: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the key with dots of each parameter in nested tables, and a reference to its schema."""
    for key, value in properties.items():
        inner = f"{place}/properties/{key}"
        if "properties" in value:
            yield from _dotted(value["properties"], f"{prefix}{key}.", inner)
        elif prefix:
            yield f"{prefix}{key}", {"$ref": inner}
