"""The plots of a comparison on an HTML page."""

from __future__ import annotations

import math
from typing import Any, Final

from accelflow.page import Figure, Selector, Slider
from accelflow.page.document import Readout
from accelflow.page.plots import bars, dots, lines, stacked
from accelflow.report.binding import PARTS, parts_of, utilizations
from accelflow.report.curves import curves, level_text
from accelflow.report.looks import PART_COLORS, system_colors
from accelflow.report.results import Comparison, ServiceResult

__all__ = [
    "breakdown_figure",
    "fallbacks_figure",
    "latency_figure",
    "services_figure",
    "tail_figure",
    "use_figure",
]

_MEAN: Final = "mean of all services"
_TIME: Final = "response time (us)"
#: The positions on the axis of percentiles that have a label: P50, P90 and so on.
_NAMED: Final = (round(math.log10(2), 4), 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)


def tail_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of the percentiles of response times by system; None without samples.

    On the page, a list selects one service or all of them, and a cursor reads off a percentile.
    """
    found = curves(comparison)
    if found is None:
        return None
    levels = sorted(set(found["y"]))
    services = list(dict.fromkeys(found["service"]))
    start = min(range(len(levels)), key=lambda place: abs(levels[place] - 2.0))
    ticks = [level for level in _NAMED if level <= levels[-1]]
    names = " : ".join(f"datum.value < {tick + 0.2} ? '{level_text(tick)}'" for tick in ticks)
    spec = lines(
        names=[system.label for system in comparison.systems],
        colors=system_colors(comparison),
        x={
            "title": _TIME,
            "scale": {"type": "log", "nice": False, "padding": 8},
            "axis": {"format": ",~r"},
        },
        y={
            "title": "percentile",
            "axis": {"values": ticks, "labelExpr": f"{names} : ''"},
            "scale": {"domain": [0, levels[-1]], "nice": False},
        },
        parameters={"service": services[0], "y": levels[start]},
        cursor="y",
    )
    kept = len(comparison.samples) if comparison.samples is not None else 0
    return Figure(
        title="How many requests take how long",
        text="Response time at each percentile, by system. The axis stretches the tail: P90, P99"
        " and P99.9 are equally spaced. A curve further left is faster. A curve that leans to"
        " the right has a long tail.",
        spec=spec,
        data=found,
        controls=[
            Selector(parameter="service", label="Service", options=services),
            Slider(
                parameter="y",
                label="Percentile",
                values=levels,
                texts=[level_text(level) for level in levels],
                at=start,
            ),
        ],
        readout=Readout(where=["service", "y"], by="name", field="x", unit="us"),
        notes=[
            f"From {kept:,} requests, by nearest rank. A curve ends where fewer than 10 requests"
            " take longer. This plot combines the requests of all services, while tables have"
            " means over the services."
        ],
    )


def latency_figure(comparison: Comparison) -> Figure:
    """Return a plot of P99 by system, with its 95 % interval, the mean latency and the SLO.

    On the page, a list selects a service or the mean over services. There is no interval for a
    single seed.
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("name", "service", "us", "mean", "low", "high", "end", "slo", "label")
    }
    for service in [_MEAN, *comparison.service_names]:
        for system in comparison.systems:
            found = system if service == _MEAN else system.service(service)
            shown = found.latencies if isinstance(found, ServiceResult) else found
            if found is None or shown is None or shown.p99_us is None:
                continue
            interval = found.intervals.get("p99_us")
            row = {
                "name": system.label,
                "service": service,
                "us": shown.p99_us,
                "mean": shown.mean_us,
                "low": interval and interval.low,
                "high": interval and interval.high,
                "end": max(shown.p99_us, interval.high if interval else 0.0),
                "slo": found.slo_us if isinstance(found, ServiceResult) else None,
                "label": f"{shown.p99_us:,.0f}{'*' if found.saturated else ''}",
            }
            for name, value in row.items():
                columns[name].append(value)
    several = len(comparison.seeds) > 1
    spec = bars(
        names=[system.label for system in comparison.systems],
        colors=system_colors(comparison),
        value="us",
        title="P99 (us)",
        parameters={"service": _MEAN},
        intervals=several,
        limit="slo",
        mark="mean",
    )
    spread = (
        f" Whiskers are 95 % confidence intervals over {len(comparison.seeds)} seeds."
        if several
        else ""
    )
    return Figure(
        title="P99 by system",
        text="The 99th percentile of the response time of each system. A tick is the mean; of one "
        f"service, a dashed line is its SLO; a star marks a system that cannot keep up.{spread}",
        spec=spec,
        data=columns,
        controls=[
            Selector(
                parameter="service", label="Service", options=[_MEAN, *comparison.service_names]
            )
        ],
        readout=Readout(where=["service"], by="name", field="us", unit="us", shown=False),
    )


def services_figure(comparison: Comparison) -> Figure:
    """Return a plot of P99 by service and system, on a logarithmic axis."""
    columns: dict[str, list[Any]] = {name: [] for name in ("row", "name", "value", "slo")}
    for service in comparison.service_names:
        for system in comparison.systems:
            result = system.service(service)
            if result is None or result.latencies.p99_us is None:
                continue
            for name, value in (
                ("row", service),
                ("name", system.label),
                ("value", result.latencies.p99_us),
                ("slo", result.slo_us),
            ):
                columns[name].append(value)
    return Figure(
        title="P99 by service",
        text="The 99th percentile of each service's response time under each system, on a "
        "logarithmic axis. A tick is the service's SLO.",
        spec=dots(
            names=[system.label for system in comparison.systems],
            colors=system_colors(comparison),
            rows=comparison.service_names,
            title="P99 (us)",
            log=True,
            limit="slo",
        ),
        data=columns,
    )


def breakdown_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of the parts of each system's mean latency; None if the parts are not known."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("name", "service", "scale", "part", "place", "value")
    }
    for service in [_MEAN, *comparison.service_names]:
        for system in comparison.systems:
            found = system if service == _MEAN else system.service(service)
            parts = {} if found is None else parts_of(found)
            total = math.fsum(parts.values())
            for place, part in enumerate(parts):
                for scale, whole in (("time", 1.0), ("share of the time", total / 100)):
                    columns["name"].append(system.label)
                    columns["service"].append(service)
                    columns["scale"].append(scale)
                    columns["part"].append(part)
                    columns["place"].append(place)
                    columns["value"].append(round(parts[part] / whole, 3) if whole else 0.0)
    if not columns["name"]:
        return None
    return Figure(
        title="Mean response time by its parts",
        text="For each system, the time of application logic, accelerators, orchestration"
        " (dispatchers, manager, cores), queueing, communication and waits for other servers,"
        " along the path that ended last. The parts add up to the mean.",
        spec=stacked(
            names=[system.label for system in comparison.systems],
            parts=list(PARTS),
            colors=PART_COLORS,
            title="us, or % of the time",
            parameters={"service": _MEAN, "scale": "time"},
        ),
        data=columns,
        controls=[
            Selector(
                parameter="service", label="Service", options=[_MEAN, *comparison.service_names]
            ),
            Selector(parameter="scale", label="Show", options=["time", "share of the time"]),
        ],
    )


def use_figure(comparison: Comparison) -> Figure:
    """Return a plot of the utilisation of each resource by system."""
    columns: dict[str, list[Any]] = {name: [] for name in ("row", "name", "value")}
    for system in comparison.systems:
        for resource, share in utilizations(system).items():
            columns["row"].append(resource)
            columns["name"].append(system.label)
            columns["value"].append(share)
    return Figure(
        title="How busy each resource is",
        text="The utilisation of cores, accelerators, the manager, the A-DMA engines and the"
        " busiest link, by system. Of several servers, each is that of the server that uses it"
        " most.",
        spec=dots(
            names=[system.label for system in comparison.systems],
            colors=system_colors(comparison),
            rows=list(dict.fromkeys(columns["row"])),
            title="utilisation",
            share=True,
        ),
        data=columns,
    )


def fallbacks_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of how often traces left the accelerators early, by reason; None if never."""
    columns: dict[str, list[Any]] = {name: [] for name in ("name", "part", "place", "value")}
    for system in comparison.systems:
        reasons = dict.fromkeys(name for result in system.services for name in result.fallbacks)
        for place, reason in enumerate(reasons):
            columns["name"].append(system.label)
            columns["part"].append(reason.replace("_", " "))
            columns["place"].append(place)
            columns["value"].append(
                sum(result.fallbacks.get(reason, 0) for result in system.services)
            )
    if not any(columns["value"]):
        return None
    return Figure(
        title="Traces that fell back to a core, by reason",
        text="How often traces left the accelerators before their end over the whole run, and why."
        " A core then executed the rest, except after a time-out or for want of memory (nack).",
        spec=stacked(
            names=[system.label for system in comparison.systems],
            parts=list(dict.fromkeys(columns["part"])),
            title="traces",
            parameters={},
        ),
        data=columns,
    )
