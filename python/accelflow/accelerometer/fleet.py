"""A fleet: services with their servers, and what accelerating them saves.

A service whose speedup is s needs 1 / s of its servers for the same requests. Each remaining server
carries the device, which adds its price and power.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from accelflow.accelerometer.files import read
from accelflow.accelerometer.service import Service, evaluate
from accelflow.errors import LEFT_OUT, InputError, refused, unreadable
from accelflow.files import parse_toml, read_text

#: The name and version of the object that :func:`plan` returns.
SCHEMA: Final = "accelflow.accelerometer-fleet/1"

_HOURS_A_YEAR: Final = 8_766.0
_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """The price, the lifetime in years and the power in watts of a server, or of a device in it."""

    price: float = 0.0
    lifetime_years: float = 4.0
    watts: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Electricity:
    """The price of a kilowatt-hour, and the PUE: datacentre power divided by servers' power."""

    price_per_kwh: float = 0.0
    pue_ratio: float = 1.0


@dataclass(frozen=True)
class Member:
    """A service of a fleet, with `servers`, the number of its servers without acceleration."""

    name: str
    servers: float
    service: Service


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Services with their servers, and the costs of a server, a device in it, and electricity."""

    members: Sequence[Member]
    server: Costs = Costs()
    device: Costs = Costs()
    electricity: Electricity = Electricity()


def is_fleet(path: Path) -> bool:
    """Return whether the file at `path` is TOML with `[[services]]`."""
    try:
        return "services" in parse_toml(read_text(path))
    except (OSError, ValueError):
        return False


def read_fleet(path: Path) -> Fleet:
    """Read the fleet in the file at `path`, with the services' files relative to it.

    Raises InputError for a file that cannot be read, and for keys and values that are not allowed.
    """
    try:
        tree = parse_toml(read_text(path))
    except (OSError, ValueError) as error:
        raise unreadable("fleet", path, error) from error
    _check(tree, ("services", "server", "device", "electricity"), str(path))
    rows = tree.get("services", LEFT_OUT)
    if not isinstance(rows, list) or not rows or not all(isinstance(r, Mapping) for r in rows):
        raise refused(f"{path}: services", rows, "must be one table or more, [[services]]")
    members: list[Member] = []
    for index, row in enumerate(rows):
        place = f"{path}: services[{index}]"
        _check(row, ("name", "file", "servers"), place)
        file = row.get("file", LEFT_OUT)
        if not isinstance(file, str):
            raise refused(f"{place}.file", file, "must be the name of a service's file")
        servers = _number(row.get("servers", LEFT_OUT), f"{place}.servers", least=1)
        name = row.get("name", Path(file).stem)
        if not isinstance(name, str) or any(name == member.name for member in members):
            raise refused(f"{place}.name", name, "must be a string and name no other service")
        members.append(Member(name, servers, read(path.parent / file)))
    return Fleet(
        members=members,
        server=_table(Costs, tree, "server", path),
        device=_table(Costs, tree, "device", path),
        electricity=_table(Electricity, tree, "electricity", path),
    )


def _table(kind: Any, tree: Mapping[str, Any], name: str, path: Path) -> Any:
    given = tree.get(name, {})
    if not isinstance(given, Mapping):
        raise refused(f"{path}: {name}", given, "must be a table")
    _check(given, [f.name for f in fields(kind)], f"{path}: {name}")
    least = {"lifetime_years": 1e-3, "pue_ratio": 1.0}
    return kind(
        **{
            key: _number(value, f"{path}: {name}.{key}", least=least.get(key, 0.0))
            for key, value in given.items()
        }
    )


def _check(row: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for key in row:
        if key not in known:
            raise refused(f"{place}: key", key, known=known)


def _number(value: Any, place: str, *, least: float) -> float:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value < math.inf:
        raise refused(place, value, f"must be a number from {least:g} upwards, and finite")
    return float(value)


def plan(fleet: Fleet) -> dict[str, Any]:
    """Return a fleet's number of servers, power and yearly cost, with and without accelerators.

    The result is an object of schema ``accelflow.accelerometer-fleet/1``. For each service and for
    the fleet, it has servers, kilowatts and money per year without accelerators (``before``) and
    with them (``after``), and what is saved. In ``whole``, the servers of each service are rounded
    up, as they are bought. Ranges are at their central values. Where inputs are ranges, savings
    also have 5 % and 95 % quantiles; the inputs of different services are drawn independently. A
    service that the accelerator does not speed up, by the central values, keeps its servers without
    accelerators. Raises InputError as :func:`evaluate` does, and for results that are not finite.
    """
    rows, before, after = [], [], []
    for number, member in enumerate(fleet.members):
        try:
            outcome = evaluate(member.service, each_draw=True)
        except InputError as error:
            raise InputError(f"{member.name}: {error}") from error
        drawn = np.asarray(outcome.get("draws_speedup_ratio", []), dtype=np.float64)
        # The draws come in order; shuffled, those of different services are independent.
        np.random.default_rng(number).shuffle(drawn)
        speedups = np.concatenate([[outcome["speedup_ratio"]], drawn])
        old = _needs(fleet, member.servers, np.ones(1), device=False)
        helps = outcome["speedup_ratio"] > 1
        new = _needs(fleet, member.servers, speedups, device=True) if helps else old
        old["whole"], new["whole"] = _up(old["servers"]), _up(new["servers"])
        before.append(old)
        after.append(new)
        rows.append(
            {"name": member.name, "speedup_ratio": outcome["speedup_ratio"], **_saved(old, new)}
        )
    whole_before = {name: sum(each[name][0] for each in before) for name in _NAMES}
    draws = min((len(each["servers"]) for each in after if len(each["servers"]) > 1), default=1)
    whole_after = {name: _total([each[name] for each in after], draws) for name in _NAMES}
    total = {name: np.asarray([value]) for name, value in whole_before.items()}
    servers = float(whole_before["servers"])
    for name, value in whole_before.items():
        if not math.isfinite(value) or not np.isfinite(whole_after[name]).all():
            raise refused(f"fleet: {name}", math.inf, "must be finite")
    return {
        "schema": SCHEMA,
        "services": rows,
        "fleet": {
            "speedup_ratio": servers / float(whole_after["servers"][0]),
            **_saved(total, whole_after),
        },
    }


_NAMES: Final = ("servers", "kilowatts", "money_per_year", "whole")


def _needs(fleet: Fleet, servers: float, speedups: _Floats, *, device: bool) -> dict[str, _Floats]:
    """Compute the needs for each of `speedups`; the first is the central one."""
    count = servers / speedups
    watts = fleet.server.watts + (fleet.device.watts if device else 0.0)
    kilowatts = count * watts / 1_000 * fleet.electricity.pue_ratio
    yearly = fleet.server.price / fleet.server.lifetime_years
    if device:
        yearly += fleet.device.price / fleet.device.lifetime_years
    money = count * yearly + kilowatts * _HOURS_A_YEAR * fleet.electricity.price_per_kwh
    return {"servers": count, "kilowatts": kilowatts, "money_per_year": money}


def _total(each: Sequence[_Floats], draws: int) -> _Floats:
    """Add up the services in each draw; a service without draws is constant."""
    whole: _Floats = np.zeros(draws)
    for values in each:
        whole = whole + (values[:draws] if len(values) > 1 else values[0])
    return whole


def _up(servers: _Floats) -> _Floats:
    """Round numbers of servers up."""
    nearest = np.round(servers)
    # A whole number that the last digits of a division miss is not one server more.
    close = np.abs(servers - nearest) <= 1e-9 * nearest
    return np.where(close, nearest, np.ceil(servers))


def _saved(before: Mapping[str, _Floats], after: Mapping[str, _Floats]) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for name in _NAMES:
        saved = before[name][0] - after[name]
        found[name] = {
            "before": float(before[name][0]),
            "after": float(after[name][0]),
            "saved": float(saved[0]),
            "saved_p5": float(np.quantile(saved[1:], 0.05)) if len(saved) > 1 else None,
            "saved_p95": float(np.quantile(saved[1:], 0.95)) if len(saved) > 1 else None,
        }
    found["servers"]["whole"] = found.pop("whole")
    return found
