"""The values that the papers report, by key, from ``experiments/paper-targets.toml``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any, Final

from accelflow.errors import refused

__all__ = [
    "BOUNDS",
    "DATA",
    "KINDS",
    "USES",
    "Reported",
    "Target",
    "printed_figures",
    "targets",
    "uncovered",
]

#: The name of the Python package with data files about the papers.
DATA: Final = "accelflow.experiments"

#: The kinds of values: ``exact`` ones are arithmetic on stated inputs, ``dynamic`` ones the
#: outcome of a simulation.
KINDS: Final = ("exact", "dynamic")

#: The allowed uses of a value: as an input of the models (``input``), to choose their parameters
#: (``fit``), or only to check them (``check``).
USES: Final = ("input", "fit", "check")

#: The bounds that a paper may print: ``above`` excludes the bound itself.
BOUNDS: Final = ("above", "at_least", "at_most")

#: The relative size of rounding errors of binary fractions.
_ROUNDING: Final = 1e-9

#: The keys of a section of the file that are attributes, not names of values.
_ABOUT: Final = (
    "kind",
    "use",
    "uses",
    "changes",
    "unit",
    "units",
    "ours_per_printed",
    "cut_off",
    "fits",
    "places",
)


@dataclass(frozen=True)
class Reported:
    """A value as a paper prints it: a number, a range, or a bound such as "at most 5".

    The value is the interval from `low` to `high`. For a number both ends are equal, and for a
    bound one end is infinite. A `strict` bound ("above") excludes its finite end. `cut_off` is true
    if the paper may have truncated the number instead of rounding it.
    """

    low: Decimal
    high: Decimal
    cut_off: bool = False
    strict: bool = False

    @classmethod
    def number(cls, value: Decimal | float | str) -> Reported:
        """Make a value that is a single number, with its printed digits."""
        exact = Decimal(str(value))
        return cls(exact, exact)

    @classmethod
    def bound(cls, kind: str, value: Decimal | float | str) -> Reported:
        """Make a value that is a bound with its printed digits; `kind` is one of :data:`BOUNDS`."""
        exact, infinite = Decimal(str(value)), Decimal(math.inf)
        if kind == "at_most":
            return cls(-infinite, exact)
        return cls(exact, infinite, strict=kind == "above")

    @property
    def single(self) -> bool:
        """Whether the printed value is a number rather than a range or a bound."""
        return self.low == self.high

    @property
    def bound_kind(self) -> str | None:
        """The kind of the bound, one of :data:`BOUNDS`; None for a number or a range."""
        if self.low.is_infinite():
            return "at_most"
        if self.high.is_infinite():
            return "above" if self.strict else "at_least"
        return None

    @property
    def finite_ends(self) -> tuple[float, ...]:
        """The numbers that the paper prints: one for a number or a bound, two for a range."""
        ends = dict.fromkeys(end for end in (self.low, self.high) if not end.is_infinite())
        return tuple(float(end) for end in ends)

    @property
    def text(self) -> str:
        """The printed value as text, with the digits that the paper prints."""
        kind = self.bound_kind
        if kind is not None:
            end = self.high if kind == "at_most" else self.low
            return f"{kind.replace('_', ' ')} {end:,f}"
        return f"{self.low:,f}" if self.single else f"{self.low:,f} to {self.high:,f}"

    def nearest(self, value: float) -> float:
        """Return the number within the printed value's interval that is nearest to `value`.

        This is `value` itself if the interval contains it. The finite end of a strict bound counts
        as contained.
        """
        return min(max(value, float(self.low)), float(self.high))

    def allows(self, value: float, tolerance: float) -> bool:
        """Return whether `value` agrees with the printed value, being inside it or near enough.

        Near a number or a range, a value may be outside by `tolerance` times the nearer end: 0.1
        allows 10 %. A bound has no tolerance.
        """
        low, high = self._limits(tolerance)
        return low < value if self.strict else low <= value <= high

    def splits(self, low: float, high: float, tolerance: float) -> bool:
        """Return whether some numbers from `low` to `high` agree with the printed value, some not.

        As in :meth:`allows`, numbers outside a printed number or range agree if they are at most
        `tolerance` times its nearer end away. A bound has no tolerance.
        """
        least, most = self._limits(tolerance)
        if self.allows(low, tolerance) and self.allows(high, tolerance):
            return False
        return high > least and low < most if self.strict else high >= least and low <= most

    def _limits(self, tolerance: float) -> tuple[float, float]:
        """Return the lowest and the highest value that agree with the printed value."""
        low, high = float(self.low), float(self.high)
        if self.strict:
            return low, high
        slack = _ROUNDING if self.bound_kind else tolerance
        return low - slack * abs(low), high + slack * abs(high)

    def printed_digits_match(self, value: float) -> bool:
        """Return whether `value` has the digits of the printed value: 0.684 matches 0.68.

        The value is rounded or, if `cut_off`, may be truncated. For a whole number it is always
        rounded. A range or a bound must contain `value`; the finite end of a strict bound counts as
        contained.
        """
        if not self.single:
            return self.nearest(value) == value
        difference = value - float(self.low)
        exponent = int(self.low.as_tuple().exponent)
        if exponent >= 0:
            return abs(difference) < 0.5
        unit = 10.0**exponent
        # A billionth is added for the rounding errors of binary fractions.
        return -unit / 2 - 1e-9 <= difference < (unit if self.cut_off else unit / 2 + 1e-9)

    def to_json(self) -> float | dict[str, float]:
        """Return the printed value for JSON: a number, or an object for a range or a bound.

        The object of a range has ``low`` and ``high``. That of a bound has one member, named by its
        kind (:data:`BOUNDS`).
        """
        if self.single:
            return float(self.low)
        if self.bound_kind is not None:
            return {self.bound_kind: self.finite_ends[0]}
        return {"low": float(self.low), "high": float(self.high)}


@dataclass(frozen=True)
class Target:
    """One value that a paper reports, with the data to compare it with ours.

    `key` is paper, section and name, such as ``accelflow.p99_reduction.RELIEF``, and `figure` is
    the printed value. `kind` is one of :data:`KINDS`. `use` tells whether the printed value is an
    input, was fitted, or is a check: one of :data:`USES`, or None for most values of the kind
    ``exact``.
    `unit` is empty for a ratio. Our value is divided by `ours_per_printed` before digits are
    compared; this divisor is not 1 where the paper prints another unit. A `change` is a ratio that
    is compared by its difference from 1, so that 1.005 is far from 1.14. `fits` names the
    parameters whose values were chosen to match this value, which is then no check of the models.
    `places` names the figures, tables and sections of the paper in which the value appears.
    """

    key: str
    figure: Reported
    kind: str
    use: str | None = None
    unit: str = ""
    ours_per_printed: float = 1.0
    change: bool = False
    fits: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @property
    def scale(self) -> float:
        """The absolute number to which relative differences from the printed number refer.

        This is the printed number's absolute value or, for a `change`, the absolute value of its
        difference from 1. Raises ValueError for a range or a bound.
        """
        return abs(self.value - 1.0 if self.change else self.value)

    @property
    def value(self) -> float:
        """The printed number. Raises ValueError for a range or a bound."""
        if not self.figure.single:
            raise ValueError(f"{self.key} is {self.figure.text}, not a number")
        return float(self.figure.low)


@cache
def targets() -> Mapping[str, Target]:
    """Return the values that the papers report, by key, in the order of the file.

    If the file has a list, each of its elements has a key of its own, such as ``NAME[0]``.
    """
    found = {}
    for key, name, figure, about in _figures():
        fits = _own(about.get("fits", {}), name, ())
        fitted = "fit" if fits else about.get("use")
        found[key] = Target(
            key,
            figure,
            about["kind"],
            _own(about.get("uses", {}), name, fitted),
            _own(about.get("units", {}), name, about.get("unit", "")),
            float(about.get("ours_per_printed", 1.0)),
            name in about.get("changes", ()),
            tuple(fits),
            tuple(about.get("places", ())),
        )
    return found


def _own(by_name: Mapping[str, Any], name: str, default: Any) -> Any:
    """Return a section's entry for the value called `name`, or for its name before a dot or index.

    TOML reads a dotted name as a table; its parts are looked up one after the other.
    """
    first, _, rest = name.partition(".")
    entry = by_name.get(name, by_name.get(first.partition("[")[0]))
    if isinstance(entry, Mapping):
        entry = entry.get(rest)
    return default if entry is None else entry


@cache
def printed_figures() -> Mapping[str, Decimal]:
    """Return the papers' values that are single numbers, with their printed digits, by key."""
    return {key: figure.low for key, _, figure, _ in _figures() if figure.single}


def _figures() -> Iterator[tuple[str, str, Reported, Mapping[str, Any]]]:
    """Yield key, name, value and the section's attributes for each value of the papers."""
    text = resources.files(DATA).joinpath("paper-targets.toml").read_text(encoding="utf-8")
    for paper, sections in tomllib.loads(text, parse_float=Decimal).items():
        for section, content in sections.items():
            about = {key: content.pop(key) for key in _ABOUT if key in content}
            for name, figure in _flat(content):
                printed = replace(figure, cut_off=about.get("cut_off", False))
                yield f"{paper}.{section}.{name}", name, printed, about


def _flat(content: Mapping[str, Any]) -> Iterator[tuple[str, Reported]]:
    """Yield the values of a section with their names, one for each element of a list.

    TOML reads a name such as ``speedup_x0.25`` as a table; its parts are joined again.
    """
    for name, value in content.items():
        if isinstance(value, list):
            for place, number in enumerate(value):
                yield f"{name}[{place}]", Reported.number(number)
        elif not isinstance(value, Mapping):
            yield name, Reported.number(value)
        elif value.keys() == {"low", "high"}:
            yield name, Reported(Decimal(value["low"]), Decimal(value["high"]))
        elif len(value) == 1 and (kind := next(iter(value))) in BOUNDS:
            yield name, Reported.bound(kind, value[kind])
        else:
            yield from ((f"{name}.{rest}", figure) for rest, figure in _flat(value))


@cache
def uncovered() -> Mapping[str, str]:
    """Return the papers' values that are not reproduced: the reason for each, by key or section.

    Raises InputError for a key that no paper reports, and for a reason that is empty or not a text.
    """
    text = resources.files(DATA).joinpath("uncovered.toml").read_text(encoding="utf-8")
    found: dict[str, str] = tomllib.loads(text)
    for key, reason in found.items():
        if not any(row == key or row.startswith((f"{key}.", f"{key}[")) for row in targets()):
            allowed = (
                "must be the key of a figure, or the beginning of such keys, in paper-targets.toml"
            )
            raise refused("uncovered.toml: key", key, allowed, targets())
        if not isinstance(reason, str) or not reason.strip():
            raise refused(f"uncovered.toml: {key}", reason, "must be a sentence")
    return found
