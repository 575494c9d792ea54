"""The tables of a plan: growth, limits, prices and power, and the numbers that are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from accelflow.errors import LEFT_OUT, refused

__all__ = [
    "RANGES",
    "TABLES",
    "WHOLE",
    "Chip",
    "Electricity",
    "Growth",
    "Limits",
    "Server",
    "check_power",
    "checked_number",
    "read_table",
    "span",
]

_MOST_YEARS: Final = 50.0


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The growth of all request rates for `years` years: by `per_year_ratio` (0.2: 20 %) a year."""

    per_year_ratio: float = 0.0
    years: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        check_table("growth", self)

    @property
    def factor(self) -> float:
        """The ratio of the rates after all years to today's rates."""
        return float((1.0 + self.per_year_ratio) ** self.years)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A plan's limit on the utilisation of a server, and the number of spare servers.

    `utilization_ratio` (0 to 1) is the largest utilisation of the cores, of each accelerator's
    elements, and of a manager. `spare_servers` is added to the number of servers that the load
    needs.
    """

    utilization_ratio: float = 0.7
    spare_servers: int = 0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        check_table("limits", self)


@dataclass(frozen=True, kw_only=True)
class Server:
    """The price, lifetime and power of a server without its chip of accelerators.

    `price` is paid once per `lifetime_years`. `overhead_per_year` covers space, network and
    maintenance. `rest_w` and `peak_w` are the power at rest and at peak, in watts; if they are
    None, power follows the power model (docs/area-power.md).
    """

    price: float = 0.0
    lifetime_years: float = 4.0
    overhead_per_year: float = 0.0
    rest_w: float | None = None
    peak_w: float | None = None

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        check_table("server", self)


@dataclass(frozen=True, kw_only=True)
class Chip:
    """The accelerators of a server: their parameters, price and power.

    `price`, `rest_w` and `peak_w` (power at rest and at peak, in watts) are in addition to the
    server's. `config` has the parameters of the simulated server that the chip sets
    (`docs/chips.md`). A plan's file has the key ``file`` in the place of `config`: the path of a
    chip's file, or the name of a packaged chip.
    """

    config: Mapping[str, float | str] = field(default_factory=dict)
    price: float = 0.0
    rest_w: float = 0.0
    peak_w: float = 0.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        config: Any = self.config
        if not isinstance(config, Mapping):
            allowed = "must be a table of parameters, such as {'core.count': 16}"
            raise refused("chip.config", config, allowed)
        check_table("chip", self)


@dataclass(frozen=True, kw_only=True)
class Electricity:
    """The price per kWh, and the PUE: the power of a datacentre divided by its servers'."""

    price_per_kwh: float = 0.0
    pue_ratio: float = 1.0

    def __post_init__(self) -> None:
        """Raise InputError for a value that is not allowed."""
        check_table("electricity", self)


#: The tables of a plan's file with the dataclasses that they fill.
TABLES: Final = {
    "growth": Growth,
    "limits": Limits,
    "server": Server,
    "chip": Chip,
    "electricity": Electricity,
}
#: The smallest and the largest allowed number, by ``key`` or ``table.key``.
RANGES: Final[Mapping[str, tuple[float, float]]] = {
    "growth.per_year_ratio": (-0.99, 100.0),
    "growth.years": (0.0, _MOST_YEARS),
    "limits.utilization_ratio": (0.01, 1.0),
    "limits.spare_servers": (0, 1_000_000),
    "server.price": (0.0, 1e9),
    "server.lifetime_years": (0.01, _MOST_YEARS),
    "server.overhead_per_year": (0.0, 1e9),
    "server.rest_w": (0.0, 1e5),
    "server.peak_w": (0.0, 1e5),
    "chip.price": (0.0, 1e9),
    "chip.rest_w": (0.0, 1e5),
    "chip.peak_w": (0.0, 1e5),
    "electricity.price_per_kwh": (0.0, 1e6),
    "electricity.pue_ratio": (1.0, 10.0),
    "slo_factor": (1e-6, 1e6),
    "requests": (100, 10_000_000),
    "seeds": (2, 100),
}
#: The numbers that must be whole.
WHOLE: Final = frozenset({"limits.spare_servers", "requests", "seeds"})


def check_table(name: str, table: Any) -> None:
    """Raise InputError if a number in `table`, the table `name` of a plan, is not allowed."""
    for attribute in fields(table):
        value, place = getattr(table, attribute.name), f"{name}.{attribute.name}"
        if place in RANGES and not (value is None and attribute.default is None):
            checked_number(place, value)


def read_table(name: str, value: object) -> Any:
    """Return the table `name` of a plan's file, a key of :data:`TABLES`, as its dataclass.

    `value` maps the table's keys to values; the dataclass has defaults for the others. In the table
    ``chip``, the caller has replaced the key ``file`` by ``config``, the parameters in that file.

    Raises InputError if `value` is no mapping or has another key, also ``file``, if a value of
    :data:`RANGES` is no number or outside its range, and if ``config`` is no mapping. The
    parameters in ``config``, and the powers of server and chip together (:func:`check_power`), are
    not checked.
    """
    if not isinstance(value, Mapping):
        raise refused(name, value, "must be a table")
    of = TABLES[name]
    known = [attribute.name for attribute in fields(of)]
    in_file = ["file" if key == "config" else key for key in known]
    for key in value:
        if key not in known:
            raise refused(f"{name} key", key, known=in_file)
    return of(**value)


def checked_number(place: str, value: Any) -> float:
    """Return `value` if it is a number that a plan allows at `place`, a key of :data:`RANGES`.

    Raises InputError for a value that is no number or outside its range.
    """
    least, most = RANGES[place]
    whole = place in WHOLE
    kind = "a whole number" if whole else "a number"
    fits = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not fits or not least <= value <= most:
        raise refused(place, value, f"must be {kind} {span(least, most)}")
    found: float = value
    return found


def span(least: float, most: float) -> str:
    """Return the range from `least` to `most` in words, for error messages."""
    low = f"{least:g}".replace("e-0", "e-")  # as the native code writes it
    return f"from {low} to {most:,.15g}"


def check_power(server: Server, chip: Chip) -> None:
    """Raise InputError if the plan states some powers, but not both powers of the server.

    Also raises InputError if a power at peak is below the power at rest.
    """
    watts = {
        "server.rest_w": server.rest_w,
        "server.peak_w": server.peak_w,
        "chip.rest_w": chip.rest_w or None,  # the default is 0
        "chip.peak_w": chip.peak_w or None,
    }
    given = [place for place, value in watts.items() if value is not None]
    for place in ("server.rest_w", "server.peak_w"):
        if given and place not in given:
            raise refused(place, LEFT_OUT, f"must be given, since {given[0]} is given")
    for table, of in (("server", server), ("chip", chip)):
        if (of.peak_w or 0.0) < (of.rest_w or 0.0):
            allowed = f"must be at least {table}.rest_w, which is {of.rest_w:g}"
            raise refused(f"{table}.peak_w", of.peak_w, allowed)
