"""Plan files of :mod:`accelflow.arcus`: a platform, and flows with promises on it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from accelflow import _native
from accelflow.errors import InputError, refused

__all__ = ["STORAGE", "PlanError", "checked", "plan_schema", "profile_entries"]

#: The accelerator name of flows that go directly to the storage.
STORAGE: Final = "storage"
_NAMES: Final[dict[str, list[str]]] = json.loads(_native.arcus_plan_names())
_ARRIVALS: Final = ("backlog", "poisson", "paced", "bursts", "closed")
_MOST_BYTES: Final = 1 << 26
_MOST_US: Final = 1_000_000
#: Messages of a period at the promised rate: by default, so that one is 1 %, and at least.
_PERIOD_MESSAGES: Final = 100
_LEAST_PERIOD_MESSAGES: Final = 10
_LEAST_PERIOD_US: Final = 100


@dataclass(frozen=True, kw_only=True)
class _Field:
    """A field of a plan: `kind` is a name of :data:`_KINDS`; a `default` of ... means required.

    Numbers are from `low` to `high`; names are among `known`.
    """

    kind: str
    meaning: str
    default: Any = None
    low: float = 0
    high: float = 2**63 - 1
    known: Sequence[str] = ()


_POSITIVE: Final = 1e-6

_FLOW: Final[dict[str, _Field]] = {
    "name": _Field(kind="text", default=..., meaning="The unique name."),
    "vm": _Field(kind="whole", default=0, meaning="The tenant."),
    "accelerator": _Field(
        kind="text", default=..., meaning="The accelerator by name, or storage for the SSDs alone."
    ),
    "instead": _Field(kind="texts", default=(), meaning="Alternative accelerators."),
    "then": _Field(
        kind="texts",
        default=(),
        meaning="Accelerators that messages pass after that one, in order.",
    ),
    "path": _Field(kind="text", default=..., known=_NAMES["paths"], meaning="The path."),
    "other_paths": _Field(
        kind="texts", default=(), known=_NAMES["paths"], meaning="Alternative paths."
    ),
    "message_bytes": _Field(
        kind="whole", low=1, high=_MOST_BYTES, meaning="The size of all messages."
    ),
    "sizes": _Field(
        kind="pairs",
        low=1,
        high=_MOST_BYTES,
        meaning="Sizes in bytes with their weights, instead of message_bytes.",
    ),
    "slo_gbit_per_s": _Field(kind="number", high=math.inf, meaning="The promised rate in bits."),
    "slo_operations_per_s": _Field(
        kind="number",
        high=math.inf,
        meaning="The promised rate in messages. With both rates, both are limits and the smaller is"
        " promised.",
    ),
    "slo_percent": _Field(
        kind="number",
        low=50,
        high=99.999,
        meaning="The percentage of periods in which the rate is promised, instead of over the whole"
        " run.",
    ),
    "slo_period_us": _Field(
        kind="number",
        low=_POSITIVE,
        high=_MOST_US,
        meaning="The period; default: 100 messages at the promised rate, at least 100 us.",
    ),
    "slo_latency_us": _Field(
        kind="number", low=_POSITIVE, high=1e9, meaning="The promised percentile of latencies."
    ),
    "slo_latency_percentile": _Field(
        kind="number",
        default=99.0,
        low=50,
        high=99.999,
        meaning="The percentile of slo_latency_us.",
    ),
    "slo_burst_messages": _Field(
        kind="whole",
        default=1,
        low=1,
        high=65_536,
        meaning="Messages that may pass at once after a pause: the bucket has room for them.",
    ),
    "policy": _Field(
        kind="text",
        default="on-demand",
        known=_NAMES["policies"],
        meaning="The policy of the promise.",
    ),
    "burst_factor": _Field(
        kind="number", high=math.inf, meaning="Managed bursts: the factor; default 10."
    ),
    "burst_us": _Field(kind="whole", meaning="Managed bursts: the burst's time in each window."),
    "window_us": _Field(kind="whole", meaning="Managed bursts: the window; default 1,000,000."),
    "priority": _Field(
        kind="whole",
        default=0,
        high=255,
        meaning="If promises exceed the capacity, 0 keeps its rate longest.",
    ),
    "from_us": _Field(
        kind="whole", default=0, meaning="The time at which the flow asks for admission."
    ),
    "until_us": _Field(
        kind="whole", meaning="The time at which the flow leaves; by default it stays."
    ),
    "arrivals": _Field(
        kind="text", default="backlog", known=_ARRIVALS, meaning="How its messages arrive."
    ),
    "offered_gbit_per_s": _Field(
        kind="number", low=_POSITIVE, high=1e6, meaning="The offered rate in bits."
    ),
    "offered_operations_per_s": _Field(
        kind="number", low=_POSITIVE, high=1e12, meaning="The offered rate in messages."
    ),
    "burst_messages": _Field(
        kind="whole", low=1, high=65_536, meaning="Bursts: messages that arrive together."
    ),
    "clients": _Field(
        kind="whole", low=1, high=65_536, meaning="Closed: clients that wait for their answers."
    ),
    "think_us": _Field(
        kind="number",
        high=1e9,
        meaning="Closed: think time from an answer to the next message; default 0.",
    ),
}
_ACCELERATOR: Final[dict[str, _Field]] = {
    "name": _Field(kind="text", default=..., meaning="The name by which flows refer to it."),
    "instances": _Field(kind="whole", default=1, low=1, high=64, meaning="Number of instances."),
    "peak_gbit_per_s": _Field(kind="number", low=_POSITIVE, high=1e6, meaning="Peak rate."),
    "setup_ns": _Field(kind="number", high=1e9, meaning="Additional time per message."),
    "block_bytes": _Field(
        kind="whole",
        low=1,
        high=_MOST_BYTES,
        meaning="Block size; messages are rounded up to whole blocks. Excludes a setup.",
    ),
    "points": _Field(
        kind="pairs",
        low=1,
        high=_MOST_BYTES,
        meaning="Sizes in bytes with the ns of such a message, instead of a peak.",
    ),
    "egress_ratio": _Field(
        kind="number", high=1_000, meaning="R: output bytes per input byte; default 1."
    ),
    "egress_bytes": _Field(
        kind="whole", high=_MOST_BYTES, meaning="Output bytes of every message, instead of R."
    ),
    "call_egress_bytes": _Field(
        kind="whole", high=_MOST_BYTES, meaning="Bytes returned to the calling host."
    ),
    "latency_ns": _Field(kind="number", high=1e9, meaning="Latency of the pipeline; default 0."),
    "compute_times": _Field(
        kind="text",
        default="constant",
        known=_NAMES["laws"],
        meaning="How the times of equal messages vary.",
    ),
    "input_bytes": _Field(
        kind="whole", low=1, high=_MOST_BYTES, meaning="Input buffer; default 4,096."
    ),
}
_PLATFORM: Final[dict[str, _Field]] = {
    "pcie_generation": _Field(
        kind="whole", low=1, high=5, meaning="Generation of the link; default 3."
    ),
    "pcie_lanes": _Field(
        kind="whole", low=1, high=16, meaning="1, 2, 4, 8 or 16 lanes; default 8."
    ),
    "max_payload_bytes": _Field(
        kind="whole", low=64, high=4096, meaning="Maximum payload of a packet; default 256."
    ),
    "max_read_request_bytes": _Field(
        kind="whole", low=64, high=4096, meaning="Maximum size of a read request; default 512."
    ),
    "read_latency_ns": _Field(
        kind="number",
        high=1e6,
        meaning="Latency of root complex and memory for a read; default 400.",
    ),
    "dma_engines": _Field(kind="whole", low=1, high=64, meaning="DMA engines; default 1."),
    "ports_gbit_per_s": _Field(
        kind="numbers",
        low=_POSITIVE,
        high=1e6,
        meaning="Rates of the Ethernet ports; default: two ports of 50.",
    ),
}
_PLAN: Final[dict[str, _Field]] = {
    "accelerators": _Field(
        kind="texts",
        known=_NAMES["accelerators"],
        meaning="Built-in accelerators; repeat a name for two. Default: those of the flows.",
    ),
    "storage_devices": _Field(kind="whole", default=0, high=64, meaning="SSDs of the array."),
    "duration_us": _Field(
        kind="whole", default=2_000, low=1, high=_MOST_US, meaning="The measured time of a run."
    ),
    "seed": _Field(kind="whole", default=1, meaning="The seed of the runs."),
    "oversubscription": _Field(
        kind="number",
        default=1.0,
        low=1,
        high=100,
        meaning="Overcommitment: promised rates may add up to this multiple of the capacity.",
    ),
    "predict_us": _Field(
        kind="whole",
        default=0,
        high=_MOST_US,
        meaning="How far ahead the runtime predicts violations from falling rates; 0 for never.",
    ),
    "platform": _Field(kind="table", default={}, meaning="The link, engines and ports."),
    "accelerator": _Field(kind="tables", default=(), meaning="Accelerators of your own."),
    "flow": _Field(kind="tables", default=..., meaning="The flows."),
}


class PlanError(InputError):
    """An invalid plan, with the path of keys to the value."""

    def __init__(self, message: str, *keys: str | int) -> None:
        """Take the message, and the names of fields and indices of lists that lead to the value."""
        super().__init__(message)
        self.keys = keys


@contextmanager
def _within(*keys: str | int) -> Iterator[None]:
    """Put `keys` before the path of errors raised in here."""
    try:
        yield
    except InputError as error:
        inner = error.keys if isinstance(error, PlanError) else ()
        raise PlanError(str(error), *keys, *inner) from error


def _refused(place: str, field: str, value: object, allowed: str) -> PlanError:
    """Return the error for the value of a field."""
    return PlanError(str(refused(f"{place}: {field}", value, allowed)), field)


def checked(request: Mapping[str, Any]) -> dict[str, Any]:
    """Check a plan and return it as the engine expects it.

    Raises PlanError, an InputError whose message names the table, the field, the value and what is
    allowed.
    """
    given = _table("plan", request, _PLAN)
    with _within("platform"):
        platform = _table("platform", given["platform"], _PLATFORM)
        lanes = platform["pcie_lanes"]
        if lanes not in (None, 1, 2, 4, 8, 16):
            raise _refused("platform", "pcie_lanes", lanes, "must be 1, 2, 4, 8 or 16")
    own = []
    for number, accelerator in enumerate(given["accelerator"]):
        with _within("accelerator", number):
            place = _place("accelerator", number, accelerator)
            own.append(_accelerator(_table(place, accelerator, _ACCELERATOR)))
    known = [*_NAMES["accelerators"], *(accelerator["name"] for accelerator in own)]
    if len(set(known)) < len(known):
        twice = next(name for name in known if known.count(name) > 1)
        last = max(number for number, one in enumerate(own) if one["name"] == twice)
        with _within("accelerator", last):
            raise _refused("accelerator", "name", twice, "must be of one accelerator only")
    if given["storage_devices"]:
        known.append(STORAGE)
    flows = []
    for number, flow in enumerate(given["flow"]):
        with _within("flow", number):
            flows.append(_flow(_place("flow", number, flow), flow, known, given))
    names = given["accelerators"]
    if names is None:
        asked = [
            name
            for flow in flows
            for name in (flow["accelerator"], *flow["instead"], *flow["then"])
        ]
        names = [name for name in dict.fromkeys(asked) if name in _NAMES["accelerators"]]
    platform |= {
        "accelerators": names,
        "accelerator": own,
        "storage_devices": given["storage_devices"],
    }
    plain = ("duration_us", "seed", "oversubscription", "predict_us")
    return {"platform": platform, "flows": flows} | {key: given[key] for key in plain}


def _place(kind: str, number: int, given: object) -> str:
    name = given.get("name") if isinstance(given, Mapping) else None
    return f"{kind} '{name}'" if isinstance(name, str) else f"{kind} {number}"


def _table(place: str, given: object, known: Mapping[str, _Field]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise refused(place, given, "must be an object")
    for key in given:
        if key not in known:
            with _within(str(key)):
                raise refused(f"{place}: field", key, known=known)
    values = {}
    for key, field in known.items():
        if key in given:
            with _within(key):
                values[key] = _value(f"{place}: {key}", given[key], field)
        elif field.default is ...:
            raise InputError(f"{place}: {key} is missing")
        else:
            values[key] = field.default
    return values


#: Types and names of the kinds of fields, in refusals.
_KINDS: Final[dict[str, tuple[Any, str]]] = {
    "text": (str, "text"),
    "whole": (int, "a whole number"),
    "number": (int | float, "a number"),
    "texts": (list | tuple, "a list of texts"),
    "numbers": (list | tuple, "a list of numbers"),
    "pairs": (list | tuple, "a list of pairs, each of bytes and a number above 0"),
    "table": (Mapping, "a table"),
    "tables": (list | tuple, "a list"),
}


def _value(place: str, value: Any, field: _Field) -> Any:
    kind, name = _KINDS[field.kind]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise refused(place, value, f"must be {name}")
    if field.kind in ("whole", "number"):
        return _number(place, value, field)
    if field.kind == "texts" and not all(isinstance(text, str) for text in value):
        raise refused(place, value, f"must be {name}")
    if field.kind == "numbers":
        return [_number(place, number, field) for number in value]
    if field.kind == "pairs":
        return _pairs(place, value, field)
    if field.known:
        for text in [value] if field.kind == "text" else value:
            if text not in field.known:
                raise refused(place, text, known=field.known)
    return value


def _number(place: str, value: Any, field: _Field) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise refused(place, value, "must be a finite number")
    if not field.low <= value <= field.high:
        above = "above 0" if field.low == _POSITIVE else f"at least {field.low:,}"
        both = f"from {field.low:,} to {field.high:,}"
        raise refused(place, value, f"must be {above if field.high >= 2**62 else both}")
    return value


def _pairs(place: str, value: Sequence[Any], field: _Field) -> list[tuple[int, float]]:
    found = []
    for pair in value:
        good = isinstance(pair, list | tuple) and len(pair) == 2
        if not good or isinstance(pair[0], bool) or not isinstance(pair[0], int):
            raise refused(place, pair, "must be a pair [bytes, weight], both above 0")
        size = _number(place, pair[0], _Field(kind="whole", meaning="", low=1, high=field.high))
        low = _Field(kind="number", meaning="", low=_POSITIVE, high=1e12)
        found.append((size, _number(place, pair[1], low)))
    if not found:
        raise refused(place, value, "must have at least one pair")
    return found


def _accelerator(given: dict[str, Any]) -> dict[str, Any]:
    place = f"accelerator '{given['name']}'"
    if given["name"] == STORAGE:
        raise _refused(
            place, "name", STORAGE, f"must not be '{STORAGE}', which stands for the SSDs"
        )
    peak, points = given["peak_gbit_per_s"], given["points"]
    if (peak is None) == (points is None):
        raise InputError(f"{place}: needs either peak_gbit_per_s or points")
    _without(place, given, ("setup_ns", "block_bytes"), points is None, "points are left out")
    _without(place, given, ("setup_ns",), given["block_bytes"] is None, "block_bytes is left out")
    whole = given["egress_bytes"] is None
    _without(place, given, ("egress_ratio",), whole, "egress_bytes is left out")
    return given


def _without(
    place: str, given: Mapping[str, Any], fields: Sequence[str], allowed: bool, where: str
) -> None:
    """Refuse fields that require `allowed`; `where` is the condition in words."""
    for field in fields:
        if given[field] is not None and not allowed:
            raise _refused(place, field, given[field], f"must be left out unless {where}")


def _flow(
    place: str, given: object, known: Sequence[str], plan: Mapping[str, Any]
) -> dict[str, Any]:
    flow = _table(place, given, _FLOW)
    for field in ("accelerator", "instead", "then"):
        for name in [flow[field]] if field == "accelerator" else flow[field]:
            if name not in known:
                with _within(field):
                    raise refused(f"{place}: {field}", name, known=known)
    size, sizes = flow.pop("message_bytes"), flow["sizes"]
    if (size is None) == (sizes is None):
        raise InputError(f"{place}: needs either message_bytes or sizes")
    flow["sizes"] = sizes if size is None else [(size, 1.0)]
    _check_times(place, flow, plan["duration_us"])
    _check_promise(place, flow)
    flow["arrivals"] = _arrivals(place, flow)
    return flow


def _check_times(place: str, flow: Mapping[str, Any], duration_us: int) -> None:
    if flow["from_us"] >= duration_us:
        allowed = f"must be at most {duration_us - 1}, or the run is over"
        raise _refused(place, "from_us", flow["from_us"], allowed)
    if flow["until_us"] is not None and flow["until_us"] <= flow["from_us"]:
        allowed = f"must be above from_us = {flow['from_us']}"
        raise _refused(place, "until_us", flow["until_us"], allowed)


def _check_promise(place: str, flow: dict[str, Any]) -> None:
    managed = flow["policy"] == "managed-burst"
    for field in ("burst_factor", "burst_us", "window_us"):
        if flow[field] is not None and not managed:
            allowed = f"must be left out unless policy is 'managed-burst'; it is '{flow['policy']}'"
            raise _refused(place, field, flow[field], allowed)
    mean = _mean_bytes(flow)
    rates = {
        "slo_gbit_per_s": flow["slo_gbit_per_s"],
        "slo_operations_per_s": flow["slo_operations_per_s"],
    }
    for field, rate in rates.items():
        if rate is not None and not rate > 0:
            raise _refused(place, field, rate, "must be above 0")
    asked = [
        rate if field == "slo_gbit_per_s" else rate * mean * 8e-9
        for field, rate in rates.items()
        if rate is not None
    ]
    if flow["policy"] != "opportunistic" and not asked:
        raise InputError(f"{place}: needs slo_gbit_per_s, slo_operations_per_s, or both")
    where = "slo_percent says in how many"
    _without(place, flow, ("slo_period_us",), flow["slo_percent"] is not None, where)
    if flow["slo_percent"] is None:
        return
    if flow["policy"] == "opportunistic":
        allowed = "must be left out of an opportunistic flow, which has no promise"
        raise _refused(place, "slo_percent", flow["slo_percent"], allowed)
    message_us = mean * 8e-3 / min(asked)
    period, least = flow["slo_period_us"], _LEAST_PERIOD_MESSAGES * message_us
    if period is None:
        flow["slo_period_us"] = max(math.ceil(_PERIOD_MESSAGES * message_us), _LEAST_PERIOD_US)
    elif period < least:
        allowed = f"must be at least {least:,.1f}, the time of {_LEAST_PERIOD_MESSAGES} messages"
        raise _refused(place, "slo_period_us", period, allowed)


def _mean_bytes(flow: Mapping[str, Any]) -> float:
    sizes = flow["sizes"]
    return float(sum(size * weight for size, weight in sizes) / sum(weight for _, weight in sizes))


#: Which arrivals a field is for.
_OF_ARRIVALS: Final[dict[str, tuple[str, ...]]] = {
    "offered_gbit_per_s": ("poisson", "paced", "bursts"),
    "offered_operations_per_s": ("poisson", "paced", "bursts"),
    "burst_messages": ("bursts",),
    "clients": ("closed",),
    "think_us": ("closed",),
    "slo_latency_us": ("poisson", "paced", "bursts", "closed"),
}


def _arrivals(place: str, flow: dict[str, Any]) -> Any:
    """Return the arrivals for the engine, with times in ns; remove their fields from the flow."""
    kind = flow["arrivals"]
    for field, kinds in _OF_ARRIVALS.items():
        where = f"arrivals are {' or '.join(kinds)}, and they are {kind}"
        _without(place, flow, (field,), kind in kinds, where)
    gbit, operations = flow.pop("offered_gbit_per_s"), flow.pop("offered_operations_per_s")
    burst, clients, think = flow.pop("burst_messages"), flow.pop("clients"), flow.pop("think_us")
    if kind == "backlog":
        return kind
    if kind == "closed":
        if clients is None:
            raise InputError(f"{place}: needs clients, since its arrivals are closed")
        return {kind: (clients, (think or 0.0) * 1e3)}
    if (gbit is None) == (operations is None):
        raise InputError(
            f"{place}: needs either offered_gbit_per_s or offered_operations_per_s, since its"
            f" arrivals are {kind}"
        )
    every_ns = _mean_bytes(flow) * 8 / gbit if gbit else 1e9 / operations
    if kind != "bursts":
        return {kind: every_ns}
    if burst is None:
        raise InputError(f"{place}: needs burst_messages, since its arrivals are bursts")
    return {kind: (burst, every_ns * burst)}


_ENTRY: Final[dict[str, _Field]] = {
    "flows": _Field(kind="tables", default=..., meaning="The flows that share the platform."),
    "gbit_per_s": _Field(
        kind="number", default=..., low=_POSITIVE, high=1e9, meaning="What it delivers."
    ),
}
_ENTRY_FLOW: Final[dict[str, _Field]] = {
    "path": _Field(kind="text", default=..., known=_NAMES["paths"], meaning="The path."),
    "accelerators": _Field(
        kind="numbers", default=..., high=65_536, meaning="Numbers of accelerators, in order."
    ),
    "engine": _Field(kind="whole", default=..., high=63, meaning="The DMA engine."),
    "message_bytes": _Field(
        kind="whole", default=..., low=1, high=_MOST_BYTES, meaning="The size of the pieces."
    ),
    "permille": _Field(
        kind="whole", default=..., low=1, high=1_000, meaning="Its part of the traffic."
    ),
}


def profile_entries(given: object) -> list[dict[str, Any]]:
    """Return the entries of a table of profiles. Raises InputError if it is not such a table."""
    if not isinstance(given, list):
        raise refused("profiles: entries", given, "must be a list")
    entries = []
    for number, table in enumerate(given):
        place = f"profiles: entries[{number}]"
        entry = _table(place, table, _ENTRY)
        flows = [_table(f"{place}: flows", flow, _ENTRY_FLOW) for flow in entry["flows"]]
        if not flows:
            raise refused(f"{place}: flows", [], "must have at least one")
        entries.append(entry | {"flows": flows})
    return entries


def plan_schema() -> str:
    """Return the JSON Schema of plan files, as text that ends with a newline."""
    tables = {"platform": _PLATFORM, "accelerator": _ACCELERATOR, "flow": _FLOW}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of flows on a platform, for `accelflow arcus plan`",
        **_object(_PLAN, tables),
    }
    return json.dumps(schema, indent=2) + "\n"


def _object(
    fields: Mapping[str, _Field], tables: Mapping[str, Mapping[str, _Field]]
) -> dict[str, Any]:
    properties = {
        name: {"description": field.meaning, **_schema_of(name, field, tables)}
        for name, field in fields.items()
    }
    required = [name for name, field in fields.items() if field.default is ...]
    found: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    return found | ({"required": required} if required else {})


def _schema_of(
    name: str, field: _Field, tables: Mapping[str, Mapping[str, _Field]]
) -> dict[str, Any]:
    range_: dict[str, Any] = {"minimum": field.low}
    if field.high < 2**62:
        range_["maximum"] = field.high
    name_of = {"type": "string"} | ({"enum": list(field.known)} if field.known else {})
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}]}
    found: dict[str, Any] = {
        "text": name_of,
        "whole": {"type": "integer", **range_},
        "number": {"type": "number", **range_},
        "texts": {"type": "array", "items": name_of},
        "numbers": {"type": "array", "items": {"type": "number", **range_}},
        "pairs": {"type": "array", "items": pair | {"minItems": 2, "maxItems": 2}},
    }.get(field.kind, {})
    if field.kind == "table":
        found = _object(tables[name], tables)
    elif field.kind == "tables":
        found = {"type": "array", "items": _object(tables[name], tables)}
    plain = field.default is not ... and field.default not in (None, (), {})
    return found | ({"default": field.default} if plain else {})
