"""The plots over time and over load on the HTML page of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from accelflow.page import Figure, Selector
from accelflow.page.plots import lines
from accelflow.report.looks import system_colors
from accelflow.report.own_arrivals import requests_text
from accelflow.report.results import Comparison, ServiceResult, SystemResult, sum_of

__all__ = ["latency_load_figure", "throughput_figure", "use_over_time_figure"]

_ALL: Final = "all services"
_WORST: Final = "the worst service"
#: The label of the line on which a system serves all of its load.
_OFFERED: Final = "the whole load"
_OFFERED_COLOR: Final = "#7d6bd0"


def use_over_time_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of each resource's utilisation over simulated time.

    None if the comparison did not record the utilisation.
    """
    if not comparison.use:
        return None
    labels = {system.id: system.label for system in comparison.systems}
    servers = list(dict.fromkeys(_server(use.services) for use in comparison.use))
    columns: dict[str, list[Any]] = {name: [] for name in ("name", "resource", "server", "x", "y")}
    for use in comparison.use:
        # A step of the line needs both of its ends.
        times = [use.from_us[0] / 1e3, *(until / 1e3 for until in use.until_us)]
        for resource, shares in use.shares.items():
            columns["name"] += [labels[use.system]] * len(times)
            columns["resource"] += [resource] * len(times)
            columns["server"] += [_server(use.services)] * len(times)
            columns["x"] += [round(time, 5) for time in times]
            columns["y"] += [round(share, 4) for share in (*shares, shares[-1])]
    resources = list(dict.fromkeys(columns["resource"]))
    controls = [Selector(parameter="resource", label="Resource", options=resources)]
    parameters = {"resource": resources[0]}
    if len(servers) > 1:
        controls.append(Selector(parameter="server", label="Server of", options=servers))
        parameters["server"] = servers[0]
    return Figure(
        title="How busy a resource is over time",
        text="The utilisation of each resource in intervals of simulated time, by system, from the"
        " first arrival to the last. Bursts appear as peaks. A resource that stays at 100 %"
        " cannot keep up.",
        spec=lines(
            names=[system.label for system in comparison.systems],
            colors=system_colors(comparison),
            x={"title": "simulated time (ms)", "scale": {"nice": False}},
            y={"title": "utilisation", "scale": {"domain": [0, 1]}, "axis": {"format": ".0%"}},
            parameters=parameters,
            steps=True,
        ),
        data=columns,
        controls=controls,
        notes=[_about(comparison)],
    )


def _server(services: tuple[str, ...]) -> str:
    return ", ".join(services)


def _about(comparison: Comparison) -> str:
    """Return a note on the length of the intervals and the seed."""
    lengths = [
        until - start
        for use in comparison.use
        for start, until in zip(use.from_us, use.until_us, strict=True)
    ]
    typical = sorted(lengths)[len(lengths) // 2]
    seed = f" Of seed {comparison.seeds[0]}." if len(comparison.seeds) > 1 else ""
    return f"Intervals of about {typical:,.0f} us; the warm-up is included.{seed}"


def throughput_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of the requests per second answered within the SLO, against the load.

    None if the comparison was not repeated at other loads (:attr:`Comparison.loads` is empty), or
    if all rates are unknown.
    """
    if not comparison.loads:
        return None
    columns: dict[str, list[Any]] = {name: [] for name in ("name", "service", "x", "y")}
    for _, found in comparison.loads:
        for service in [_ALL, *_called_by_clients(found)]:
            by_system = {system.label: _of(system, service) for system in found.systems}
            offered = _krps([result.offered_rps for result in next(iter(by_system.values()))])
            # The first line is drawn below the others.
            _add(columns, _OFFERED, service, offered, offered)
            for label, results in by_system.items():
                served = _krps([result.in_time_rps for result in results])
                _add(columns, label, service, offered, served)
    if not columns["x"]:
        return None
    services = list(dict.fromkeys(columns["service"]))
    colors = {**system_colors(comparison), _OFFERED: _OFFERED_COLOR}
    return Figure(
        title="Throughput against load",
        text="Requests that are answered within the SLO of their service, against the requests "
        "that arrive, by system. A system follows the line of the whole load until its SLO is "
        "missed, and falls behind it from there on.",
        spec=lines(
            names=[*(system.label for system in comparison.systems), _OFFERED],
            colors=colors,
            x={"title": "load (krps)", "scale": {"zero": True}},
            y={"title": "within SLO (krps)", "scale": {"zero": True}},
            parameters={"service": services[0]},
            points=True,
        ),
        data=columns,
        controls=[Selector(parameter="service", label="Service", options=services)],
        notes=[_of_loads(comparison)],
    )


def latency_load_figure(comparison: Comparison) -> Figure | None:
    """Return a plot of P99 divided by the SLO, against the load.

    None if the comparison was not repeated at other loads (:attr:`Comparison.loads` is empty), or
    if no service there has both a P99 and an SLO.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("name", "service", "x", "y", "slo")}
    for _, found in comparison.loads:
        for system in found.systems:
            known = [
                result
                for result in _of(system, _ALL)
                if result.p99_us is not None and result.slo_us
            ]
            if not known:
                continue
            shares = {
                result.service: (result.p99_us or 0.0) / (result.slo_us or 1.0) for result in known
            }
            total = _krps([result.offered_rps for result in _of(system, _ALL)])
            rates = {result.service: _krps([result.offered_rps]) for result in known}
            _add(columns, system.label, _WORST, total, max(shares.values()))
            for service, share in shares.items():
                _add(columns, system.label, service, rates[service], share)
    if not columns["x"]:
        return None
    columns["slo"] = [1.0] * len(columns["x"])
    services = list(dict.fromkeys(columns["service"]))
    return Figure(
        title="P99 against load",
        text="P99 of the response time as a multiple of the SLO, against the arriving requests, by"
        " system, on a logarithmic axis. The dashed line is the SLO: a system reaches its"
        " maximum load where its curve crosses this line. The worst service has the largest"
        " multiple.",
        spec=lines(
            names=[system.label for system in comparison.systems],
            colors=system_colors(comparison),
            x={"title": "load (krps)", "scale": {"zero": True}},
            y={"title": "P99 / SLO", "scale": {"type": "log"}, "axis": {"format": "~r"}},
            parameters={"service": services[0]},
            limit="slo",
            points=True,
        ),
        data=columns,
        controls=[Selector(parameter="service", label="Service", options=services)],
    )


def _of(system: SystemResult, service: str) -> list[ServiceResult]:
    """Return the result of `service`, or those of all services that clients call."""
    return [
        result
        for result in system.services
        if not result.only_called and (service in (_ALL, result.service))
    ]


def _called_by_clients(comparison: Comparison) -> list[str]:
    """Return the services that have arrivals of their own under all systems."""
    alone = {
        result.service
        for system in comparison.systems
        for result in system.services
        if result.only_called
    }
    return [name for name in comparison.service_names if name not in alone]


def _krps(rates_rps: Sequence[float | None]) -> float | None:
    rate = sum_of(rates_rps)
    return None if rate is None else rate / 1e3


def _add(
    columns: dict[str, list[Any]], name: str, service: str, x: float | None, y: float | None
) -> None:
    """Add a point to the columns, unless it has no place since a rate is unknown."""
    if x is None or y is None:
        return
    for column, value in (("name", name), ("service", service), ("x", x), ("y", y)):
        columns[column].append(round(value, 5) if isinstance(value, float) else value)


def _of_loads(comparison: Comparison) -> str:
    factors = [f"{factor:g}" for factor, _ in comparison.loads]
    requests = requests_text(comparison.loads[0][1])
    listed = f"{', '.join(factors[:-1])} and {factors[-1]}" if factors[1:] else factors[0]
    return (
        f"At {listed} times the load of the comparison, with {requests} of each "
        f"service and seed {comparison.seeds[0]}."
    )
