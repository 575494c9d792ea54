"""Single requests of a simulation: timelines, waterfalls, and causes of slow requests."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import _native, simulation
from accelflow.errors import (
    AccelflowError,
    InputError,
    file_path,
    finite_number,
    instance_of,
    refusals,
    refused,
    texts,
    whole_number,
    writing,
)
from accelflow.files import write_whole
from accelflow.scenario import Scenario, document, loaded

__all__ = [
    "KINDS_OF_SPANS",
    "MEDIAN",
    "Shown",
    "verdict",
    "watch",
    "why",
    "write_spans_timeline",
    "write_timeline",
]

#: The formats of distributed-tracing spans that timelines can show.
KINDS_OF_SPANS: Final = ("otlp", "jaeger")
#: The percentile that is the median.
MEDIAN: Final = 50.0

#: Requests of a service arrive in a burst if their number exceeds the average by more than this
#: many standard deviations of independent arrivals, and is at least this many times the average.
_BURST_DEVIATIONS: Final = 3.0
_BURST_RATIO: Final = 1.5

_MOST_US: Final = 1e15

#: A function that is called with the number of requests that have ended, and the total.
Progress = Callable[[int, int], object]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The part of a run that a timeline shows: a window of time, and requests that arrive in it.

    The window begins at `from_us` of simulated time (for imported spans: of the time since the
    first span), and lasts `for_us` (None: to the end). Three restrictions choose among the requests
    in it: the services in `services`, the indices in `requests` (from 0, in a service's order of
    arrival), and the `slowest` slowest requests of each service. A restriction that is empty or
    None has no effect.
    """

    from_us: float = 0.0
    for_us: float | None = None
    services: tuple[str, ...] = ()
    requests: tuple[int, ...] = ()
    slowest: int | None = None

    def check(self) -> None:
        """Raise InputError for the first value that is not allowed."""
        if not 0.0 <= finite_number("from_us", self.from_us) <= _MOST_US:
            raise refused("from_us", self.from_us, f"must be from 0 to {_MOST_US:g} us")
        if self.for_us is not None and not 0.0 < finite_number("for_us", self.for_us) <= _MOST_US:
            raise refused("for_us", self.for_us, f"must be more than 0 and at most {_MOST_US:g} us")
        texts("services", self.services)
        for number in self.requests:
            whole_number("requests", number, 0, (1 << 63) - 1)
        if self.slowest is not None:
            whole_number("slowest", self.slowest, 1, (1 << 31) - 1)

    @staticmethod
    def of(shown: "Shown | None") -> "Shown":
        """Return `shown`; for None, return the default, which shows the whole run.

        Raises InputError for a value of another type, and as :meth:`check` does.
        """
        if shown is None:
            return Shown()
        instance_of("shown", shown, (Shown,), "a Shown or None")
        shown.check()
        return shown


def write_timeline(
    scenario: Scenario,
    path: str | PathLike[str],
    shown: Shown | None = None,
    *,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Simulate `scenario` and write a timeline of the simulation to `path`, in Perfetto's format.

    Each system has its own groups of rows, on one axis of simulated time (docs/timeline.md).
    Returns the number of systems (with several chips, each system counts once for each chip), and
    the number of requests shown over all systems. `progress` is called with the number of requests
    that have ended and the total, for two simulations of each system. The file appears when it is
    complete.

    Raises InputError for a value that is not allowed, if `shown` chooses no request or more than
    10,000, and for a file that cannot be written, and AccelflowError if the simulation fails.
    """
    path = file_path("path", path)
    shown = Shown.of(shown)
    scenario = _ready(scenario)
    asked = (
        float(shown.from_us),
        None if shown.for_us is None else float(shown.for_us),
        list(shown.services),
        list(shown.requests),
        shown.slowest,
    )

    def simulate(file: Path) -> tuple[int, int]:
        return _native.scenario_timeline(
            document(scenario), scenario.recording, file, asked, progress
        )

    with writing("path", path), refusals():
        return write_whole(path, simulate)


def write_spans_timeline(
    kind: str, files: Iterable[Path], path: str | PathLike[str], shown: Shown | None = None
) -> tuple[int, int]:
    """Draw the spans of distributed tracing in `files` into a timeline at `path`.

    `kind` is the files' format, ``otlp`` or ``jaeger``. The timeline is in Perfetto's format. In
    it, the first request that is shown begins at 0. Returns the numbers of requests and spans. The
    file appears when it is complete.

    Raises InputError for a value that is not allowed, for files that cannot be read or are of
    another kind, for more than a million spans and for none, and for a timeline that cannot be
    written.
    """
    path = file_path("path", path)
    shown = Shown.of(shown)
    if kind not in KINDS_OF_SPANS:
        raise refused("kind", kind, known=KINDS_OF_SPANS)
    if shown.requests:
        raise refused(
            "requests", shown.requests[0], "must be left out: requests in spans have no index"
        )
    for_us = None if shown.for_us is None else float(shown.for_us)
    asked = (float(shown.from_us), for_us, list(shown.services), shown.slowest)
    names = [str(file) for file in files]
    try:
        with writing("path", path), refusals():
            return write_whole(path, lambda file: _native.spans_timeline(kind, names, file, asked))
    except InputError as error:
        # Without any service, the engine has none to name.
        none = str(error).rstrip().endswith(": must be")
        if error.place != "timeline" and not none:
            raise
        allowed = "must have at least one request to the chosen services in the time window"
        if none or shown == Shown():
            allowed = f"must have at least one request: no {kind} span begins a request"
        raise refused("FILE", ", ".join(names), allowed) from error
    except AccelflowError as error:
        # Begins with a file that is read, not with the timeline that is written.
        if str(error).startswith(("FILE = ", *names)):
            raise InputError.of(error) from error
        raise


def watch(
    scenario: Scenario,
    service: str,
    *,
    request: int | None = None,
    percentile: float = MEDIAN,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Simulate `scenario`, of one system, and return how one request of `service` spends its time.

    The request is the one with the index `request` (from 0) in `service`. If that is None, it is
    the one at `percentile` of the counted response times (100: the slowest). The result is an
    object of schema ``accelflow.waterfall/1``. Its ``segments`` are the request's operations and
    waits, with times in ns from the arrival. Those that are ``critical`` follow each other without
    a gap until the response, or until the request ends without one: ``timed_out`` is then true,
    ``response_us`` is None, and ``ended_us`` is the time from the arrival to the end.

    Raises InputError for a value that is not allowed, and AccelflowError if the simulation fails.
    """
    instance_of("service", service, (str,), "the name of a service")
    finite_number("percentile", percentile)
    if request is not None:
        whole_number("request", request, 0, (1 << 63) - 1)
    scenario = _ready(scenario)
    try:
        with refusals():
            found = _native.scenario_watch(
                document(scenario),
                scenario.recording,
                service,
                request,
                float(percentile),
                progress,
            )
    except InputError as error:
        last = None if error.place != "request" else _last_request(scenario, service)
        if request is None or last is None or request <= last:
            raise
        allowed = f"must be the number of a simulated request of {service}, from 0 to {last}"
        raise refused("request", request, allowed) from error
    return dict(json.loads(found))


def _last_request(scenario: Scenario, service: str) -> int | None:
    """Return the largest number of a request of `service`; None if no request was simulated."""
    (system,) = simulation.run(scenario)["systems"]
    (row,) = (row for row in system["services"] if row["service"] == service)
    ended = int(row["responded"] + row["timed_out"])
    return ended - 1 if ended else None


def why(
    scenario: Scenario,
    service: str,
    *,
    percentile: float = 99.0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Simulate `scenario`, of one system, and explain the slow requests of `service`.

    Returns an object of schema ``accelflow.why/1`` (docs/why.md). It compares requests around
    `percentile` with requests around the median: the time along their critical paths, the services
    that occupied the resources for which these requests waited, and the arrivals just before these
    requests. ``verdict`` has the causes in short, as the function :func:`verdict` returns them.

    Raises InputError for a value that is not allowed and for too few requests, and AccelflowError
    if the simulation fails.
    """
    instance_of("service", service, (str,), "the name of a service")
    finite_number("percentile", percentile)
    scenario = _ready(scenario)
    try:
        found = _native.scenario_why(
            document(scenario), scenario.recording, service, float(percentile), progress
        )
    except AccelflowError as error:
        if error.place is not None:
            raise InputError.of(error) from error
        raise
    result = dict(json.loads(found))
    return {**result, "verdict": verdict(result)}


def verdict(found: dict[str, Any]) -> dict[str, Any]:
    """Summarise why slow requests are slow; `found` is a result of :func:`why`.

    ``slow_us`` and ``median_us`` are the mean response times of slow and median requests, and
    ``gap_us`` is the difference. ``at`` is the resource, such as an accelerator or the cores, where
    slow requests spend the most additional time, and ``part`` the kind of this time, such as
    queueing; ``waits`` is true if they wait there. ``share`` is this additional time divided by the
    gap, or None if the gap is not above 0. If ``waits`` is true, ``occupant`` is the service that
    occupied the resource for the largest share of these waits. ``occupied`` is this share of the
    waiting time, and ``occupied_overall`` the service's share of the time for which the resource
    was occupied in the whole run. The three are None if no occupant is known. ``bursts`` are the
    services whose requests arrived in a burst before the slow requests, the strongest first, each
    with the ``ratio`` of these arrivals to the average.
    """
    slow, median = (found["bands"][band]["response_us"] for band in ("slow", "median"))
    gap = slow - median
    first = found["times"][0]
    more = first["slow_us"] - first["median_us"]
    occupants = [row for row in found["occupied_by"] if row["at"] == first["at"]]
    blamed = [row for row in occupants if first["waits"] and row["slow_share"] is not None]
    most = max(blamed, key=lambda row: row["slow_share"], default=None)
    return {
        "slow_us": slow,
        "median_us": median,
        "gap_us": gap,
        "at": first["at"],
        "part": first["part"],
        "waits": first["waits"],
        "share": more / gap if gap > 0.0 else None,
        "occupant": most and most["service"],
        "occupied": most and most["slow_share"],
        "occupied_overall": most and most["overall_share"],
        "bursts": _bursts(found),
    }


def _bursts(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The services whose rate before the slow requests is far above their mean."""
    windows_s = found["bands"]["slow"]["followed"] * found["window_us"] * 1e-6
    bursts = []
    for row in found["arrivals"]:
        expected = row["mean_rps"] * windows_s
        beyond = row["slow_arrivals"] - expected
        if expected > 0.0 and beyond > _BURST_DEVIATIONS * math.sqrt(expected):
            ratio = row["slow_arrivals"] / expected
            if ratio >= _BURST_RATIO:
                bursts.append({"service": row["service"], "ratio": ratio})
    return sorted(bursts, key=lambda burst: -burst["ratio"])


def _ready(scenario: Scenario) -> Scenario:
    scenario = loaded(scenario)
    simulation.check(scenario)
    if scenario.recording is None and scenario.costs == "measured":
        scenario = replace(simulation.costed(scenario), profile="measured")
    return scenario
