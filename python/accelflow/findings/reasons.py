"""Reasons why our values are off, each with its class: ``experiments/reasons.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from accelflow.errors import LEFT_OUT, refused
from accelflow.findings.targets import DATA, targets

__all__ = ["CLASSES", "Reason", "notes", "read_reason", "reasons"]

#: The classes of reasons why our value differs from the paper's. ``contradiction``: other printed
#: values of the paper rule this one out, as a proof shows. ``definition``: the value depends on a
#: definition that the paper leaves open. ``not_printed``: the value depends on an input that the
#: paper does not give. ``open``: the reason is not known.
CLASSES: Final = ("contradiction", "definition", "not_printed", "open")

#: The keys of each class in addition to :data:`_COMMON`, and whether they are required.
_KEYS: Final[Mapping[str, Mapping[str, bool]]] = {
    "contradiction": {},
    "definition": {"measures": False},
    "not_printed": {"input": True, "holds_at": False, "implied": False, "computed": False},
    "open": {},
}

#: The keys of every class.
_COMMON: Final = ("class", "text", "proofs", "choices")


@dataclass(frozen=True, kw_only=True)
class Reason:
    """The recorded reason why one of our values differs from the paper's.

    `kind` is the class of the reason, one of :data:`CLASSES`. `text` is the reason as a sentence;
    all other fields may be empty. `proofs`
    names proofs from the paper's printed values, and `measures` names our values by other
    definitions of the number.

    `missing` is an input that the paper does not give. `holds` says at which value of this input
    our value would agree with the paper's; `implied` names proofs that derive this value, and
    `computed` the function that computes it. `choices` names settings that the paper leaves open.
    The fields `holds`, `undecided` and `tried` have the recorded runs with their possible values
    (readings, see :mod:`accelflow.readings`). `undecided`
    lists the readings with which the runs are too short for a verdict: the value's interval is too
    wide, or bursty arrivals changed their rate too seldom. `tried` lists the readings with which
    the value is still off.
    """

    kind: str
    text: str
    proofs: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    missing: str = ""
    choices: tuple[str, ...] = ()
    implied: tuple[str, ...] = ()
    computed: str = ""
    holds: str = ""
    undecided: str = ""
    tried: str = ""

    def sentence(self) -> str:
        """Return the reason as text for a page: the class first, then sentences."""
        said = []
        if self.missing:
            said.append(f"The paper does not state {self.missing}.")
        said.append(self.text)
        if self.holds:
            said.append(f"The row would agree, within a quarter, {self.holds}.")
        if self.undecided:
            said.append(f"The row would be undecided with {self.undecided}.")
        if self.tried:
            said.append(f"The row would stay off with {self.tried}.")
        if self.choices and not (self.holds or self.undecided or self.tried):
            said.append("No run with other values is recorded.")
        if self.measures:
            said.append(f"Ours by another definition: {_listed(self.measures)}.")
        if self.proofs:
            said.append(
                f"{'Proof' if len(self.proofs) == 1 else 'Proofs'}: {_listed(self.proofs)}."
            )
        return f"*{self.kind.replace('_', ' ')}*: {' '.join(said)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the reason as an object for JSON."""
        return {
            "class": self.kind,
            "text": self.text,
            "proofs": list(self.proofs),
            "measures": list(self.measures),
            "input": self.missing or None,
            "holds": self.holds or None,
            "undecided": self.undecided or None,
            "tried": self.tried or None,
        }


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


@cache
def reasons() -> Mapping[str, Reason]:
    """Return the recorded reasons why our values differ from papers', by key of the value.

    Raises InputError for a key that no paper reports, and as :func:`read_reason` does.
    """
    text = resources.files(DATA).joinpath("reasons.toml").read_text("utf-8")
    found: dict[str, Reason] = {}
    for key, content in tomllib.loads(text).items():
        if key not in targets():
            raise refused(
                "reasons.toml: key",
                key,
                "must be the key of a figure in paper-targets.toml",
                targets(),
            )
        found[key] = read_reason(content, f"reasons.toml: {key}")
    return found


@cache
def notes() -> Mapping[str, str]:
    """Return the remarks on our values in ``experiments/notes.toml``, by key of the value.

    Raises InputError for a remark whose text is empty, or whose keys are not a list of names.
    """
    text = resources.files(DATA).joinpath("notes.toml").read_text("utf-8")
    found: dict[str, str] = {}
    for number, content in enumerate(tomllib.loads(text).get("note", [])):
        place = f"notes.toml: note {number}"
        for key in _names(content, "rows", place):
            found[key] = _text(content, "text", place)
    return found


def read_reason(content: object, place: str) -> Reason:
    """Make a reason from `content`, a parsed table of ``reasons.toml``.

    `place` names the table in error messages. Raises InputError for an unknown class, an unknown or
    missing key, and a value that is not allowed.
    """
    if not isinstance(content, Mapping):
        allowed = f"must be a table with class ({', '.join(CLASSES)}) and text"
        raise refused(place, content, allowed)
    kind = content.get("class", LEFT_OUT)
    if kind not in CLASSES:
        raise refused(f"{place}: class", kind, known=CLASSES)
    _check_keys(content, kind, place)
    keys = _KEYS[kind]
    return Reason(
        kind=kind,
        text=_text(content, "text", place),
        proofs=_names(content, "proofs", place),
        measures=_names(content, "measures", place) if "measures" in keys else (),
        missing=_text(content, "input", place) if "input" in keys else "",
        choices=_names(content, "choices", place),
        implied=_names(content, "implied", place),
        computed=_text(content, "computed", place) if "computed" in content else "",
        holds=f"at {_text(content, 'holds_at', place)}" if "holds_at" in content else "",
    )


def _check_keys(content: Mapping[str, Any], kind: str, place: str) -> None:
    keys = _KEYS[kind]
    allowed = (*_COMMON, *keys)
    for key in content:
        if key not in allowed:
            rule = f"must be one of {', '.join(allowed)}, since class = '{kind}'"
            raise refused(f"{place}: key", key, rule, allowed)
    needed = ["text", *(key for key, must in keys.items() if must)]
    needed += ["proofs"] if kind == "contradiction" else []
    for key in needed:
        if key not in content:
            since = "" if key == "text" else f", since class = '{kind}'"
            raise refused(f"{place}: {key}", LEFT_OUT, f"must be given{since}")


def _text(content: Mapping[str, Any], key: str, place: str) -> str:
    value = content.get(key, LEFT_OUT)
    if not isinstance(value, str) or not value.strip():
        raise refused(f"{place}: {key}", value, "must be a sentence")
    return value


def _names(content: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = content.get(key, [])
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise refused(f"{place}: {key}", value, "must be a list of names")
    if key in content and not value:
        raise refused(f"{place}: {key}", value, "must have at least one name")
    return tuple(value)
