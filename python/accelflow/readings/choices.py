"""The choices that the paper leaves open, read from the file ``choices.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Final

from accelflow import simulation
from accelflow.errors import LEFT_OUT, InputError, one_of, refused
from accelflow.files import parse_toml
from accelflow.reproduce import Scenario

__all__ = ["BASES", "Choice", "Reading", "choices", "parse_choices", "select"]

#: The kinds of support for a reading, the best first, each with its words on ``readings.md``.
BASES: Final[Mapping[str, str]] = {
    "text": "the paper's text",
    "data": "published data",
    "assumed": "assumed",
}

#: The keys that a choice in ``choices.toml`` may have.
_KEYS: Final = (
    "name",
    "title",
    "quote",
    "place",
    "contrary",
    "contrary_place",
    "on_request",
    "combined",
    "reading",
)


@dataclass(frozen=True)
class Reading:
    """One way to understand something that the paper leaves open.

    `settings` are the fields and server parameters of a scenario that the reading sets. `basis` is
    its kind of support (a key of :data:`BASES`), and `why` explains it. The rule in
    :mod:`accelflow.readings.rule` prefers some readings as the default. `set_aside` is the reason
    why a preferred reading is nevertheless not the default; empty for any other reading.
    """

    settings: Mapping[str, float | str]
    basis: str
    why: str
    set_aside: str = ""

    @property
    def label(self) -> str:
        """The values that the reading sets, as text.

        The form is ``VALUE, KEY = VALUE``: the first setting has no key, since the choice's name
        stands before it.
        """
        return _label(self.settings)

    @property
    def with_keys(self) -> str:
        """The settings of the reading as text, each with its key: ``KEY = VALUE, KEY = VALUE``."""
        return ", ".join(f"{key} = {_text(key, value)}" for key, value in self.settings.items())

    def of(self, scenario: Scenario) -> Scenario:
        """Return `scenario` with the settings of this reading."""
        config = simulation.configured({k: value for k, value in self.settings.items() if "." in k})
        rest: dict[str, Any] = {
            key: value for key, value in self.settings.items() if "." not in key
        }
        return replace(scenario, **rest, config={**scenario.config, **config})


@dataclass(frozen=True)
class Choice:
    """Something that the paper leaves open: a sentence that can be understood in several ways.

    `name` identifies the choice and `title` is its heading. `quote` is the sentence, and `place`
    its section in the paper. `readings` are the ways to understand the sentence, at least two.
    `contrary` is a sentence of the paper that speaks against `quote`, and `contrary_place` its
    section; both are empty if there is none. With `on_request`, the choice runs only when it is
    named. A `combined` choice changes several other choices together, and needs no default among
    its readings.
    """

    name: str
    title: str
    quote: str
    place: str
    readings: tuple[Reading, ...]
    contrary: str = ""
    contrary_place: str = ""
    on_request: bool = False
    combined: bool = False

    def default(self, scenario: Scenario) -> Reading | None:
        """Return the reading that `scenario` uses, or None if it uses none of them.

        If the scenario fits several readings, the one with the most settings is returned.
        """
        others = self.alternatives(scenario)
        found = [reading for reading in self.readings if reading not in others]
        return max(found, key=lambda reading: len(reading.settings), default=None)

    def default_text(self, scenario: Scenario) -> str:
        """Return the values that `scenario` has for the settings of this choice, as text."""
        found = self.default(scenario)
        if found is not None:
            return found.label
        return _label(_values(scenario, self._keys))

    def alternatives(self, scenario: Scenario) -> list[Reading]:
        """Return the readings that `scenario` does not use."""
        has = _values(scenario, self._keys)
        return [
            reading for reading in self.readings if _values(reading.of(scenario), self._keys) != has
        ]

    @property
    def _keys(self) -> list[str]:
        return list(dict.fromkeys(key for reading in self.readings for key in reading.settings))


def _values(scenario: Scenario, keys: Sequence[str]) -> dict[str, float | str]:
    """Return the values of `scenario` by key, for `keys`; unset parameters have their defaults."""
    defaults = _defaults()
    fields = {**scenario.choices(), "config": scenario.config}
    return {
        key: scenario.config.get(key, defaults[key]) if "." in key else fields[key] for key in keys
    }


@cache
def _defaults() -> Mapping[str, float]:
    return {parameter.key: parameter.default for parameter in simulation.parameters()}


def _label(settings: Mapping[str, float | str]) -> str:
    first, *others = settings.items()
    return ", ".join([_text(*first), *(f"{key} = {_text(key, value)}" for key, value in others)])


def _text(key: str, value: float | str) -> str:
    """Return the value of `key` as text: choices by name, times in microseconds."""
    if isinstance(value, str):
        return value
    if key.endswith("_ns"):
        return f"{value / 1e3:g} us"
    known = next((parameter for parameter in simulation.parameters() if parameter.key == key), None)
    names = [choice.name for choice in known.choices if choice.value == value] if known else []
    unit = f" {known.unit}" if known and known.unit else ""
    return names[0] if names and names[0] else f"{value:g}{unit}"


@cache
def _every() -> tuple[Choice, ...]:
    file = resources.files("accelflow.readings").joinpath("choices.toml")
    return parse_choices(file.read_text(encoding="utf-8"))


@cache
def choices() -> tuple[Choice, ...]:
    """Return the choices that run by default, in the order of ``choices.toml``."""
    return tuple(choice for choice in _every() if not choice.on_request)


def select(names: Sequence[str]) -> tuple[Choice, ...]:
    """Return the choices called `names`, in the order of ``choices.toml``.

    Without names, the choices are those of :func:`choices`. Raises InputError for an unknown name.
    """
    if not names:
        return choices()
    known = [choice.name for choice in _every()]
    for name in names:
        if name not in known:
            raise refused("choice", name, known=known)
    return tuple(choice for choice in _every() if choice.name in names)


def parse_choices(text: str) -> tuple[Choice, ...]:
    """Return the choices in `text`, which has the form of ``choices.toml``.

    Raises InputError for a text that is not TOML, for a missing or unknown key, for a value that is
    not allowed, for a choice with fewer than two readings, and for a repeated name.
    """
    try:
        tree = parse_toml(text)
    except ValueError as error:
        raise InputError(f"choices.toml: {error}") from error
    found = tuple(_choice(table) for table in _tables(tree, "choices.toml", "choice"))
    names = [choice.name for choice in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise refused("choices.toml: name", twice, "must not be repeated")
    return found


def _tables(tree: Mapping[str, Any], place: str, key: str) -> list[dict[str, Any]]:
    found = tree.get(key, LEFT_OUT)
    if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
        raise refused(f"{place}: {key}", found, f"must be one or more TOML tables [[{key}]]")
    return found


def _choice(tree: Mapping[str, Any]) -> Choice:
    name = _string(tree, "name", "choices.toml")
    place = f"choices.toml: {name}"
    _only(tree, _KEYS, place)
    readings = tuple(_reading(table, place) for table in _tables(tree, place, "reading"))
    if len(readings) < 2:
        raise refused(f"{place}: number of readings", len(readings), "must be 2 or more")
    return Choice(
        name,
        _string(tree, "title", place),
        _string(tree, "quote", place),
        _string(tree, "place", place),
        readings,
        _optional(tree, "contrary", place),
        _optional(tree, "contrary_place", place),
        _flag(tree, "on_request", place),
        _flag(tree, "combined", place),
    )


def _reading(tree: Mapping[str, Any], place: str) -> Reading:
    _only(tree, ("settings", "basis", "why", "set_aside"), place)
    settings = tree.get("settings", LEFT_OUT)
    if not isinstance(settings, dict) or not settings:
        raise refused(f"{place}: settings", settings, "must be a table with at least one setting")
    basis = one_of(f"{place}: basis", _string(tree, "basis", place), BASES)
    known = list(Scenario().choices())
    for key in settings:
        if "." not in key and key not in known:
            allowed = f"must be {', '.join(known)}, or a key of the server, such as accelerator.pes"
            raise refused(f"{place}: settings: key", key, allowed, known)
    set_aside = _optional(tree, "set_aside", place)
    reading = Reading(settings, basis, _string(tree, "why", place), set_aside)
    try:
        reading.of(Scenario()).check()
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    return reading


def _string(tree: Mapping[str, Any], key: str, place: str) -> str:
    value = tree.get(key, LEFT_OUT)
    if not isinstance(value, str) or not value.strip():
        raise refused(f"{place}: {key}", value, "must be a string that is not blank")
    return value


def _optional(tree: Mapping[str, Any], key: str, place: str) -> str:
    return _string(tree, key, place) if key in tree else ""


def _flag(tree: Mapping[str, Any], key: str, place: str) -> bool:
    value = tree.get(key, False)
    if not isinstance(value, bool):
        raise refused(f"{place}: {key}", value, "must be true or false")
    return value


def _only(tree: Mapping[str, Any], allowed: Sequence[str], place: str) -> None:
    for key in tree:
        one_of(f"{place}: key", key, allowed)
