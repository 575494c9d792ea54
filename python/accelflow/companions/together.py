"""The four papers on one server: the effect of each, alone and combined."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from accelflow import accelerometer, simulation
from accelflow.arcus import RateLimiter
from accelflow.companions.ensemble import WHOLE
from accelflow.companions.live import PAIRS, beside
from accelflow.errors import InputError, whole_number
from accelflow.files import why, write_whole
from accelflow.findings.page import markdown_table
from accelflow.findings.statistics import estimate

__all__ = ["SCHEMA", "compare", "markdown", "write"]

#: The name and version of the object that :func:`compare` returns.
SCHEMA: Final = "accelflow.together/1"

REPLICATIONS: Final = 3
REQUESTS: Final = 2_000

#: TCP's cost on a core by the reading under which software holds the load
#: (docs/results/readings.md).
_TCP_COST_NS: Final = 7_000.0
#: Requests a second of each service, the paper's mean.
_RATE_RPS: Final = 13_400.0
#: The tenant that sends more than the others, and how many times.
_FLOODING, _FLOOD = "UniqId", 12
#: ARCUS's registers for it: twice its share, counted in traces, of which a request starts two.
_TRACES: Final = 2
_CLOCK_HZ: Final = 250e6
_SHAPER: Final = RateLimiter(
    refill=1,
    bucket=64,
    interval=int(_CLOCK_HZ / (2 * _TRACES * _RATE_RPS)),
    unit="operations",
)

#: The systems: what they are built of, their orchestrator, parameters of the server, and whether
#: the tenant that floods is behind ARCUS's shaper.
_SYSTEMS: Final[Mapping[str, tuple[str, Mapping[str, float], bool]]] = {
    "cores alone": ("non_acc", {}, False),
    "AccelFlow": ("accelflow", {}, False),
    "with Cerebros": ("accelflow", WHOLE, False),
    "with ARCUS": ("accelflow", {}, True),
    "with both": ("accelflow", WHOLE, True),
}
#: The loads: how many times its share the flooding tenant sends.
_LOADS: Final = {"even": 1, "flood": _FLOOD}
#: The results of a run, in the order of the page.
_MEASURES: Final = ("mean_us", "p99_us", "flooding_p99_us", "core_us", "closed_core_us")

_Runs = Mapping[tuple[str, str], list[dict[str, float | None]]]


def compare(
    *,
    seed: int = 1,
    threads: int = 1,
    requests: int = REQUESTS,
    replications: int = REPLICATIONS,
    live: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run the eight services on one server: on cores, with AccelFlow, and with the others' ideas.

    With the load ``even`` each service has the paper's mean rate. With ``flood`` one tenant sends
    twelve times as much. Each of ``rows`` has means over the seeds from `seed` on, with half their
    95 % intervals: mean and P99 of the other seven services' responses, P99 of the flooding
    service, core time of a request, and core time by Accelerometer's closed form. ``effects`` are
    ratios of P99 of the seven: what Cerebros does without ARCUS and with it, and ARCUS without
    Cerebros and with it. If `live` is the result of :func:`accelflow.companions.live.measure`,
    ``live`` compares that server with a simulation of it and with the closed form. Raises
    InputError for counts that are not allowed.
    """
    whole_number("requests", requests, 100, 10_000_000)
    whole_number("replications", replications, 1, 1_000)
    seeds = range(seed, seed + replications)
    runs: dict[tuple[str, str], list[dict[str, float | None]]] = {
        (load, system): [] for load in _LOADS for system in _SYSTEMS
    }
    for number in seeds:
        for load in _LOADS:
            for system in _SYSTEMS:
                run = _run(load, system, number, threads, requests)
                runs[load, system].append({**run, "closed_core_us": _closed(run)})
    measured: dict[str, Any] = {}
    if live is not None:
        counts = {"seed": seed, "replications": replications, "requests": requests}
        measured["live"] = beside(live, threads=threads, **counts)
    return {
        "schema": SCHEMA,
        "seed": seed,
        "replications": replications,
        "requests": requests,
        "flood_ratio": _FLOOD,
        "rows": [_row(load, system, same) for (load, system), same in runs.items()],
        "effects": [_effect(load, *pair, runs) for load in _LOADS for pair in PAIRS],
        **measured,
    }


def _scenario(load: str, system: str, seed: int, requests: int) -> simulation.Scenario:
    orchestrator, config, shaped = _SYSTEMS[system]
    rates = dict.fromkeys(simulation.services(), _RATE_RPS)
    rates[_FLOODING] *= _LOADS[load]
    return simulation.Scenario(
        orchestrators=(orchestrator,),
        profile="paper",
        slo_factor=None,
        requests=requests,
        by_rate=True,
        seed=seed,
        tcp_cost_ns=_TCP_COST_NS,
        rates_rps=rates,
        tenants={_FLOODING: 1},
        shaping={1: _SHAPER} if shaped else {},
        config=dict(config),
    )


def _run(load: str, system: str, seed: int, threads: int, requests: int) -> dict[str, float | None]:
    result = simulation.run(_scenario(load, system, seed, requests), threads=threads)
    services = result["systems"][0]["services"]
    others = [service for service in services if service["service"] != _FLOODING]
    (flooding,) = (service for service in services if service["service"] == _FLOODING)
    throughput = math.fsum(service["throughput_rps"] for service in services)
    busy = services[0]["core_utilization"] * _default("core.count")

    def weighted(key: str) -> float:
        """The mean of a figure over all requests."""
        return math.fsum(s[key] * s["throughput_rps"] for s in services) / throughput

    accelerator = math.fsum(
        service["spent_us"]["accelerator"] * service["throughput_rps"] for service in services
    )
    return {
        "mean_us": _mean([service["mean_us"] for service in others]),
        "p99_us": _mean([service["p99_us"] for service in others]),
        "flooding_p99_us": flooding["p99_us"],
        "core_us": 1e6 * busy / throughput,
        "operations": weighted("operations_per_request"),
        "accelerator_us": accelerator / throughput,
        **_in_software(services),
    }


def _default(key: str) -> float:
    """The default of a parameter of the server, which no system here changes."""
    return next(row.default for row in simulation.parameters() if row.key == key)


def _mean(values: list[float | None]) -> float | None:
    return None if None in values else math.fsum(v or 0.0 for v in values) / len(values)


def _in_software(services: list[Mapping[str, Any]]) -> dict[str, float]:
    """Core time of a request of these on cores alone, and the datacenter tax's share of it."""
    spent = simulation.service_breakdown(_TCP_COST_NS)
    all_ns = logic_ns = 0.0
    for service in services:
        parts = spent[service["service"]]
        all_ns += math.fsum(parts.values()) * service["throughput_rps"]
        logic_ns += parts["AppLogic"] * service["throughput_rps"]
    throughput = math.fsum(service["throughput_rps"] for service in services)
    return {"software_us": 1e-3 * all_ns / throughput, "tax_share": 1 - logic_ns / all_ns}


def _closed(run: Mapping[str, float | None]) -> float | None:
    """Core time of a request by Accelerometer's closed form for asynchronous offloads.

    Its inputs are those of a designer without a simulator: the core time of a request in software,
    the tax's share of it, the operations, and the accelerators' time for them. Each operation is an
    offload, for which a core spends its Enqueue. None without operations.
    """
    core_us, operations, share = run["software_us"], run["operations"], run["tax_share"]
    accelerator_us = run["accelerator_us"]
    if not (core_us and operations and share and accelerator_us):
        return None
    hertz = _default("core.clock_ghz") * 1e9
    found = accelerometer.sweep(
        threading="async_same_thread",
        placement="on_chip",
        host_cycles_per_s=hertz,
        kernel_share_ratio=share,
        offloads_per_s=1e6 * operations / core_us,
        acceleration_ratio=max(core_us * share / accelerator_us, 1.0),
        setup_cycles=_default("core.enqueue_ns") * hertz / 1e9,
    )
    return core_us / float(found.speedup_ratio)


def _row(load: str, system: str, runs: list[dict[str, float | None]]) -> dict[str, Any]:
    row: dict[str, Any] = {"load": load, "system": system}
    for measure in _MEASURES:
        row[measure] = _estimated([run[measure] for run in runs])
    return row


def _estimated(values: list[float | None]) -> dict[str, float | None] | None:
    found = estimate(values)
    return None if found is None else {"mean": found.mean, "half_width": found.half_width}


def _effect(load: str, added: str, without: str, with_it: str, runs: _Runs) -> dict[str, Any]:
    pairs = zip(runs[load, without], runs[load, with_it], strict=True)
    ratios: list[float | None] = []
    for before, after in pairs:
        old, new = before["p99_us"], after["p99_us"]
        ratios.append(old / new if old and new else None)
    return {"load": load, "added": added, "p99_ratio": _estimated(ratios)}


def _said(value: Mapping[str, float | None] | None, digits: int) -> str:
    if value is None:
        return "-"
    half_width = value["half_width"]
    sure = "" if half_width is None else f" ± {half_width:,.{digits}f}"
    return f"{value['mean']:,.{digits}f}{sure}"


def markdown(result: Mapping[str, Any]) -> str:
    """The page of what :func:`compare` returns."""
    last = result["seed"] + result["replications"] - 1
    lines = [
        "# The four papers on one server",
        "",
        "Written by `accelflow companions together`; do not edit. AccelFlow's server runs "
        f"SocialNetwork's eight services at {_RATE_RPS:,.0f} Poisson requests a second each. A "
        f"service with the mean rate serves {result['requests']:,} requests. TCP takes 7 us on a "
        f"core. Results are means over seeds {result['seed']} to {last} with 95 % intervals. Under "
        f"*flood* a tenant sends {result['flood_ratio']} times as many requests of {_FLOODING}; "
        "ARCUS limits it to twice its share. Response times cover the other seven services; the "
        "tenant has a column of its own.",
        "",
    ]
    columns = (
        *("load", "system", "mean, us", "P99, us", "P99 of the tenant, us"),
        *("core time of a request, us", "the same by Accelerometer's closed form, us"),
    )
    rows = [
        [row["load"], row["system"], *(_said(row[measure], 1) for measure in _MEASURES)]
        for row in result["rows"]
    ]
    lines += markdown_table(columns, rows)
    lines += [
        "## What each adds, and what is left of it beside another",
        "",
        "The P99 of the seven services without the addition, divided by the P99 with it. Above 1, "
        "the addition helps.",
        "",
    ]
    effects = [
        [effect["load"], effect["added"], _said(effect["p99_ratio"], 3)]
        for effect in result["effects"]
    ]
    lines += markdown_table(("load", "added", "P99, times less"), effects)
    lines += [
        "A row *A, where B is* has A's gain on a server that already has B. If it is nearer to 1 "
        "than the row *A*, the two additions interfere.",
        "",
        "Accelerometer's closed form has no queues, and assumes that a core offloads each "
        "operation. AccelFlow's dispatchers pass operations on without a core, but its cores "
        "switch threads, which the form does not count. The last two columns differ by both.",
    ]
    if "live" in result:
        lines += ["", *_live_section(result["live"])]
    return "\n".join(lines) + "\n"


def _live_section(live: Mapping[str, Any]) -> list[str]:
    """The section on the live server, beside the simulator and the closed form."""
    own = "a core of its own" if live["own_core"] else "no core of its own"
    low, high = min(live["run_queue"]), max(live["run_queue"])
    lines = [
        "## On a live server",
        "",
        f"Measured on {live['date']} on {live['cores']} cores of {live['machine']}, with a run "
        f"queue from {low:.1f} to {high:.1f}; the server had {own}. It has two functions in Python "
        f"behind TLS, each with {live['rate_rps']:,.0f} Poisson requests a second. Under *flood* a "
        "tenant sends 12 times as many, and ARCUS limits it to twice its share. The figures are "
        f"means over {live['rounds']} alternating rounds of {live['seconds']:g} s with 95 % "
        "intervals.",
        "",
        "- *Live*: each of AccelFlow's accelerators is a thread, Cerebros is its split schema and "
        "reserved memory, and ARCUS is the shaper of tenants.",
        "- *Simulated*: the same server, with the costs in a recording of its requests; first in "
        "software on one core, then with the papers' hardware.",
        "- *Closed*: Accelerometer's form, with the same recording.",
        "",
        "The first row of each load compares the models with the machine. The other rows compare "
        "threads in the place of accelerators with the hardware.",
        "",
    ]
    columns = (
        *("load", "system", "mean, us: live", "simulated", "P99, us: live", "simulated"),
        *("core time of a request, us: live", "simulated", "closed"),
        *("of the tenant, requests/s: live", "simulated"),
    )
    rows = [
        [
            *(row["load"], row["system"]),
            *(_said(row[f"{where}_{key}"], 1) for key in ("mean_us", "p99_us") for where in _WHERE),
            *(_said(row[f"{where}_core_us"], 1) for where in _WHERE),
            f"{row['closed_core_us']:,.1f}",
            *(_said(row[f"{where}_flooding_rps"], 0) for where in _WHERE),
        ]
        for row in live["rows"]
    ]
    lines += markdown_table(columns, rows)
    lines += [*_differences(live), "", "The P99 without the addition, divided by that with it:", ""]
    effects = [
        [row["load"], row["added"], *(_said(row[f"{where}_p99_ratio"], 2) for where in _WHERE)]
        for row in live["effects"]
    ]
    return lines + markdown_table(("load", "added", "live", "simulated"), effects)


def _differences(live: Mapping[str, Any]) -> list[str]:
    """Why live and simulated figures differ, with the figures that show it."""
    rows = {(row["load"], row["system"]): row for row in live["rows"]}

    def core_us(load: str, system: str, where: str) -> float:
        mean_us: float = rows[load, system][f"{where}_core_us"]["mean"]
        return mean_us

    even, flood = (core_us(load, _ALONE, "live") for load in _LOADS)
    recorded = core_us("flood", _ALONE, "simulated")
    said = [
        f"On cores alone, a request takes {even:.0f} us of the live server's core at the even load "
        f"and {flood:.0f} us in the flood. The simulator takes the costs of the recording, which "
        f"was made at the even load: {recorded:.0f} us in the flood.",
    ]
    if flood < recorded:
        said.append(
            "A busy server sleeps and wakes less often. The simulated one does not know this and "
            "saturates earlier; then its response times grow with the length of the run.",
        )
    threads = core_us("even", "AccelFlow", "live")
    if threads > even:
        said.append(
            f"Live, threads in the place of accelerators raise the core time of a request from "
            f"{even:.0f} to {threads:.0f} us: passing so small messages between threads costs more "
            "than the work on them. Hardware accelerators do not have this cost.",
        )
    return [" ".join(said)]


_WHERE: Final = ("live", "simulated")
_ALONE: Final = "cores alone"


def write(result: Mapping[str, Any], directory: Path) -> list[Path]:
    """Write `together.md` and `together.json` to `directory`; returns their paths.

    Raises InputError for a place that cannot be written.
    """
    page, data = directory / "together.md", directory / "together.json"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        texts = {page: markdown(result), data: json.dumps(result, indent=1) + "\n"}
        for place, text in texts.items():
            write_whole(place, partial(Path.write_text, data=text, encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--out {directory}: {why(error)}") from error
    return [page, data]
