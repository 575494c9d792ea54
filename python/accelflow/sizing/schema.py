"""The JSON Schema of a sizing plan's file, made from the rules by which the file is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Final

from accelflow.scenario import fields_schema
from accelflow.simulation import WORKLOADS
from accelflow.simulation import systems as known_systems
from accelflow.sizing.plan import (
    LEAST_RPS,
    LONGEST_CURRENCY,
    MOST_RPS,
    P99_US,
    RELATIVE_ERROR,
    SCENARIO,
    SCHEMA,
    Plan,
)
from accelflow.sizing.tables import RANGES, TABLES, WHOLE

__all__ = ["sizing_schema"]

_FILE: Final = "\\.([tT][oO][mM][lL]|[jJ][sS][oO][nN])$"

#: What the keys of a plan, and of its tables, mean.
_MEANINGS: Final[Mapping[str, str]] = {
    "workload": "A suite of services, or a workload's file, relative to the plan.",
    "systems": "The systems to compare; non_acc is the one without a chip.",
    "rates_rps": "Today's rate of each service that clients call, over the whole fleet, in requests"
    " per second. By default the rates of the workload's file, which a table replaces.",
    "p99_us": "The limit of a service's P99, in us.",
    "slo_factor": "The limit of the other services' P99, if the workload's file states no SLO: a"
    " multiple of the mean response time on an idle server with AccelFlow.",
    "growth": "The growth of all rates.",
    "growth.per_year_ratio": "The growth in a year over the rates before it: 0.2 is 20 % more.",
    "growth.years": "The rates at the end of these years are planned for.",
    "limits": "The limits of a server's load.",
    "limits.utilization_ratio": "The largest share of time that cores, elements of an accelerator,"
    " or a manager may be busy.",
    "limits.spare_servers": "Servers in reserve.",
    "server": "The price and power of a server without a chip.",
    "server.price": "The price, paid once in a lifetime.",
    "server.lifetime_years": "The years over which the price is spread.",
    "server.overhead_per_year": "Space, network and maintenance.",
    "server.rest_w": "The power at rest, in watts. By default that of the power model.",
    "server.peak_w": "The power with all cores busy, in watts.",
    "chip": "The accelerators of a server.",
    "chip.file": "A chip's file, relative to the plan, or a name of `accelflow chip list`.",
    "chip.price": "The additional price of the accelerators.",
    "chip.rest_w": "The additional power at rest, in watts.",
    "chip.peak_w": "The additional power with all elements busy, in watts.",
    "electricity": "The price of electricity.",
    "electricity.price_per_kwh": "The price of a kilowatt-hour.",
    "electricity.pue_ratio": "The power of the datacentre over that of its servers.",
    "currency": "The currency's name, for the table.",
    "relative_error": "The relative standard error of the mean cost of an accelerator's operations,"
    " of all custom accelerators (own), or of application logic (app). By default those of the"
    " workload's file.",
    "scenario": "Other fields of a scenario.",
    "requests": "The requests of a service with the mean rate in each simulation.",
    "seeds": "The simulations behind an interval.",
}


def sizing_schema() -> str:
    """Return the JSON Schema of a plan's file for `accelflow size`, as text."""
    scenario, defined = fields_schema(SCENARIO)
    found = {name: _described(name, value) for name, value in _properties(scenario).items()}
    tree = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "A plan of a fleet, for `accelflow size`: rates, limits and prices.",
        "type": "object",
        "properties": {"schema": {"const": SCHEMA}, **found},
        "required": ["schema"],
        "additionalProperties": False,
        # A workload's file may have the rates.
        "if": {"properties": {"workload": {"pattern": _FILE}}, "required": ["workload"]},
        "else": {"required": ["rates_rps"]},
        "$defs": defined,
    }
    return json.dumps(tree, indent=2, sort_keys=True) + "\n"


def _properties(scenario: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the schema of each key of a plan."""
    special: dict[str, dict[str, Any]] = {
        "workload": {"type": "string", "anyOf": [{"enum": [*WORKLOADS]}, {"pattern": _FILE}]},
        "systems": {
            "type": "array",
            "items": {"enum": [name for name, _ in known_systems()]},
            "minItems": 1,
            "uniqueItems": True,
        },
        "rates_rps": {**_numbers(LEAST_RPS, MOST_RPS), "minProperties": 1},
        "p99_us": _numbers(*P99_US),
        "relative_error": _numbers(*RELATIVE_ERROR),
        "currency": {
            "type": "string",
            "maxLength": LONGEST_CURRENCY,
            "pattern": r"^[^\x00-\x1f\x7f-\x9f]*$",
        },
        "scenario": dict(scenario),
    }
    found = {}
    for each in fields(Plan):
        if each.name in TABLES:
            found[each.name] = _table(each.name, fields(TABLES[each.name]))
        else:
            found[each.name] = special.get(each.name) or _number(each.name)
            found[each.name] |= _default(each)
    # A price or a power of the server's own needs both ends.
    found["server"]["dependentRequired"] = {"rest_w": ["peak_w"], "peak_w": ["rest_w"]}
    return found


def _table(name: str, members: Iterable[Field[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in members:
        key = "file" if each.name == "config" else each.name
        value = {"type": "string"} if key == "file" else _number(f"{name}.{key}") | _default(each)
        found[key] = _described(f"{name}.{key}", value)
    return {"type": "object", "properties": found, "additionalProperties": False}


def _number(place: str) -> dict[str, Any]:
    least, most = RANGES[place]
    kind = "integer" if place in WHOLE else "number"
    return {"type": kind, "minimum": least, "maximum": most}


def _numbers(least: float, most: float) -> dict[str, Any]:
    number = {"type": "number", "minimum": least, "maximum": most}
    return {"type": "object", "additionalProperties": number}


def _default(of: Field[Any]) -> dict[str, Any]:
    plain = of.default is not MISSING and of.default is not None
    return {"default": of.default} if plain else {}


def _described(place: str, tree: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": _MEANINGS[place], **tree}
