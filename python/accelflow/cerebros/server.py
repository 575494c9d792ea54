"""The simulated server: NIC, pipelines, cores with instruction caches, five services."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native
from accelflow.errors import (
    AccelflowError,
    InputError,
    finite_number,
    refused,
    texts,
    whole_number,
)
from accelflow.parameters import Parameter, checked, engine

#: The name and version of the object that :func:`simulate` returns.
SCHEMA: Final = "accelflow.cerebros-server/1"

_NAMES: Final = _native.cerebros_names()

#: The five services of the paper, by its abbreviations.
SERVICES: Final = tuple(_NAMES[0])

#: The largest number that can be passed to the engine; the engine checks the allowed range.
_MOST: Final = 2**64 - 1

#: The designs of the RPC layer: the bars of Fig. 6, and the one that section 6.1 adds.
DESIGNS: Final = tuple(_NAMES[1])


def parameters() -> tuple[Parameter, ...]:
    """Return descriptions of the server's parameters, such as range and default.

    The keys are the names that :func:`simulate` takes.
    """
    found = engine("cerebros").parameters
    return tuple(replace(row, key=row.key.removeprefix("cerebros.")) for row in found)


def services() -> list[dict[str, Any]]:
    """Return Cerebros's five services: functions, sizes of messages and schemata, working sets."""
    rows: list[dict[str, Any]] = json.loads(_native.cerebros_services())
    return rows


@dataclass(frozen=True)
class OwnService:
    """A user-defined service, instead of one of the paper's five.

    `interface` is its ``.thrift`` or ``.proto`` file. Included files are looked up in the folder of
    that file and in `include_dirs`. `recording` is the path of a server's recording
    (docs/recording-format.md) whose services are named like functions of the interface: ``method``,
    or ``Service.method``.

    The interface has the types of messages. The recording has their sizes, their costs on a core,
    the calls per function, the application logic, and the sizes of nested calls.
    """

    interface: str | PathLike[str]
    recording: str | PathLike[str]
    include_dirs: Sequence[str | PathLike[str]] = ()

    @property
    def name(self) -> str:
        """The service's name in results, which is that of the interface's file."""
        return Path(self.interface).stem

    def request(self) -> dict[str, Any]:
        """Return the paths of the service's files, as the native simulator takes them.

        Raises InputError for a value that is not a path.
        """
        (interface,) = texts("interface", [self.interface])
        (recording,) = texts("recording", [self.recording])
        dirs = texts("include_dirs", self.include_dirs)
        return {"interface": interface, "recording": recording, "include_dirs": dirs}


@dataclass(frozen=True)
class Load:
    """The requests of a simulation: their number, their arrivals and their kinds.

    Requests come from `senders` closed-loop senders, or at random: at `rate_rps` per second, or at
    `load_ratio` of the capacity of the design's cores. The default is one sender, without queueing.
    The first `warmup` requests (a tenth by default) are not counted. `unknown_ratio` is the share
    of requests for functions that are not registered, and `malformed_ratio` the share of requests
    that do not match their schemata.
    """

    senders: int | None = None
    rate_rps: float | None = None
    load_ratio: float | None = None
    requests: int = 4_000
    warmup: int | None = None
    seed: int = 1
    unknown_ratio: float = 0.0
    malformed_ratio: float = 0.0

    def request(self) -> dict[str, Any]:
        """Return the load as the native simulator takes it.

        Raises InputError for a value that is not allowed.
        """
        given = {n: getattr(self, n) for n in ("senders", "rate_rps", "load_ratio")}
        arrivals = {name: value for name, value in given.items() if value is not None}
        if len(arrivals) > 1:
            first, second, *_ = arrivals
            raise refused(second, arrivals[second], f"must be left out, since {first} is given")
        shares = {"unknown_ratio": self.unknown_ratio, "malformed_ratio": self.malformed_ratio}
        for name, value in {**arrivals, **shares}.items():
            finite_number(name, value)
        requests = whole_number("requests", self.requests, 0, _MOST)
        counts = {
            "senders": self.senders or 0,
            "warmup": requests // 10 if self.warmup is None else self.warmup,
            "seed": self.seed,
        }
        for name, count in counts.items():
            whole_number(name, count, 0, _MOST)
        return {
            "arrivals": arrivals or {"senders": 1},
            "requests": requests,
            "warmup": counts["warmup"],
            "seed": self.seed,
            **shares,
        }


def simulate(  # noqa: PLR0913 (settings, by name)
    service: str | OwnService = "UID",
    load: Load | None = None,
    *,
    designs: Sequence[str] = DESIGNS,
    affinity: bool = False,
    functions: Sequence[str] | None = None,
    parameters: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Simulate a server under each of `designs`, with the requests `load` to `service`.

    `service` is one of :data:`SERVICES`, or an :class:`OwnService`. The requests are the same under
    each design. With `load_ratio`, their rate is this share of the capacity of each design.

    `affinity` steers requests to cores that have just run the same function; only the design Full
    can. With `functions`, requests call only these functions. `parameters` are those of
    :func:`parameters`, by name.

    Each of ``runs`` has times in cycles and microseconds, and the RPC layer's cycles by the
    analytic model. ``mpki`` are misses of the instruction cache per 1,000 instructions, including
    those of RPC software. ``accelerator_headroom_ratio`` is the highest rate that the shared
    pipelines can sustain divided by the highest rate that the cores can demand; None if the
    pipelines have no tasks. ``saturated`` is None for closed-loop senders, and for random arrivals
    with which the server keeps up. Otherwise, times depend on the run length, and ``saturated`` has
    the name of the growing ``queue`` and the number of requests ``waiting`` when the last one
    arrives. ``registration`` has the functions in the schema map, those for which it has no room,
    and the bytes of schemata. Raises InputError for an unknown name, a value that is not allowed,
    and files that cannot be used.
    """
    own = service.request() if isinstance(service, OwnService) else None
    if not isinstance(service, str | OwnService):
        raise refused("service", service, f"must be one of {', '.join(SERVICES)}, or an OwnService")
    if not isinstance(load, Load | None):
        raise refused("load", load, "must be a Load")
    changes = checked("cerebros", parameters or {})
    designs = texts("designs", designs)
    if not designs:
        raise refused("designs", designs, "must name at least one design")
    request = {
        "service": service if isinstance(service, str) else service.name,
        "own": own,
        "affinity": affinity,
        "functions": None if functions is None else texts("functions", functions),
        **(load or Load()).request(),
        "parameters": changes,
    }
    runs = []
    for design in designs:
        text = json.dumps({**request, "design": design})
        try:
            outcome = json.loads(_native.cerebros_simulate(text))
        except AccelflowError as error:
            raise InputError.of(error) from error
        runs.append({"design": design, **outcome})
    return {"schema": SCHEMA, **request, "runs": runs}
