"""Why rows are off and why statements do not hold, each by its class."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from accelflow.errors import InputError
from accelflow.reproduce.implications import IMPLIED, proof
from accelflow.reproduce.measures import check_measure
from accelflow.reproduce.targets import targets

__all__ = ["CLASSES", "Reason", "read_reason", "reasons"]

#: What a difference comes from. ``contradiction``: printed figures rule this one out, as a proof
#: says. ``definition``: the figure depends on what is meant by it, and ours stands beside by other
#: definitions. ``not_printed``: it depends on an input that the paper does not give. ``open``: it
#: is not known.
CLASSES: Final = ("contradiction", "definition", "not_printed", "open")

#: The keys of each class beside ``class``, ``text`` and ``proofs``, and whether they must be there.
_KEYS: Final[Mapping[str, Mapping[str, bool]]] = {
    "contradiction": {},
    "definition": {"measures": True},
    "not_printed": {"input": True, "holds_at": False},
    "open": {},
}


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a figure of ours is not the paper's.

    `proofs` are names of what follows from printed figures (accelflow.reproduce.implications),
    `measures` what shows ours by other definitions, `missing` the input that the paper does not
    give, and `holds_at` the value of it at which the figure would hold, if that is known.
    """

    kind: str
    text: str
    proofs: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    missing: str = ""
    holds_at: str = ""

    def sentence(self) -> str:
        """The reason on a page, with its class first."""
        details = [f"proof `{name}`" for name in self.proofs]
        details += [f"`{name}` beside" for name in self.measures]
        if self.missing:
            details.append(self.missing)
        if self.holds_at:
            details.append(f"would hold at {self.holds_at}")
        listed = f" ({'; '.join(details)})" if details else ""
        return f"*{self.kind.replace('_', ' ')}*{listed}: {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """The reason for JSON."""
        return {
            "class": self.kind,
            "text": self.text,
            "proofs": list(self.proofs),
            "measures": list(self.measures),
            "input": self.missing or None,
            "holds_at": self.holds_at or None,
        }


@cache
def reasons() -> Mapping[str, Reason]:
    """By row, why our figure is off by more than a quarter.

    Raises InputError that names the row, what is wrong there and what is allowed.
    """
    text = resources.files("accelflow.experiments").joinpath("reasons.toml").read_text("utf-8")
    found: dict[str, Reason] = {}
    for row, content in tomllib.loads(text).items():
        if row not in targets():
            raise InputError(f"reasons.toml: there is no row '{row}'")
        found[row] = read_reason(content, f"reasons.toml: {row}", row.removeprefix("accelflow."))
    return found


def read_reason(content: object, place: str, row: str = "") -> Reason:
    """Read a reason at `place`, if it is one for a row, of `row`.

    Raises InputError that names the place, the value and what is allowed.
    """
    if not isinstance(content, Mapping):
        raise InputError(
            f"{place} is {content!r}; it must be a table with class ({', '.join(CLASSES)}) and text"
        )
    kind = content.get("class")
    if kind not in CLASSES:
        raise InputError(f"{place}: class is {kind!r}; must be one of {', '.join(CLASSES)}")
    keys = _KEYS[kind]
    _check_keys(content, kind, place)
    reason = Reason(
        kind=kind,
        text=_text(content, "text", place),
        proofs=_names(content, "proofs", place),
        measures=_names(content, "measures", place) if "measures" in keys else (),
        missing=_text(content, "input", place) if "input" in keys else "",
        holds_at=_text(content, "holds_at", place) if "holds_at" in content else "",
    )
    for measure in reason.measures:
        check_measure(measure, f"{place}: measures")
    _check_proofs(reason, place, row)
    return reason


def _check_keys(content: Mapping[str, Any], kind: str, place: str) -> None:
    keys = _KEYS[kind]
    allowed = ("class", "text", "proofs", *keys)
    for key in content:
        if key not in allowed:
            raise InputError(
                f"{place}: unknown key '{key}'; a reason of class {kind} has {', '.join(allowed)}"
            )
    needed = ["text", *(key for key, must in keys.items() if must)]
    needed += ["proofs"] if kind == "contradiction" else []
    for key in needed:
        if key not in content:
            raise InputError(f"{place}: {key} is missing, which class {kind} needs")


def _check_proofs(reason: Reason, place: str, row: str) -> None:
    """Named proofs are there; those of a contradiction rule something out, one of them the row."""
    try:
        named = [proof(name) for name in reason.proofs]
    except InputError as error:
        raise InputError(f"{place}: proofs: {error}") from error
    if reason.kind != "contradiction":
        return
    for one in named:
        if one.kind == IMPLIED or not one.found().rules_out:
            raise InputError(f"{place}: the proof '{one.name}' rules nothing out")
    if row and not any(row in one.rows for one in named):
        raise InputError(f"{place}: none of the proofs {', '.join(reason.proofs)} is about the row")


def _text(content: Mapping[str, Any], key: str, place: str) -> str:
    value = content[key]
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{place}: {key} is {value!r}; it must be a sentence")
    return value


def _names(content: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = content.get(key, [])
    given = key in content
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise InputError(f"{place}: {key} is {value!r}; it must be a list of names")
    if given and not value:
        raise InputError(f"{place}: {key} is empty; it must name at least one")
    return tuple(value)
