"""The HTML page of `accelflow accelerometer`: the gain of offloading, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from accelflow.page import Column, Figure, Page, Section, Table, repeated
from accelflow.page.document import Cell
from accelflow.page.plots import stacked
from accelflow.report.answered import listed
from accelflow.reports.common import settings_table, whisker_bars
from accelflow.reports.decisions import decided, decision_section

__all__ = ["accelerometer_page"]

_LOSSES: Final = {
    "not_offloaded_ratio": "offloads that do not pay",
    "accelerator_ratio": "the accelerator's own work",
    "setup_ratio": "preparing offloads",
    "transfer_ratio": "moving data",
    "queue_ratio": "the accelerator's queue",
    "thread_switches_ratio": "thread switches",
}


def accelerometer_page(
    result: Mapping[str, Any],
    settings: Mapping[str, Any],
    command: str | None,
    *,
    sought: str | None = None,
) -> Page:
    """Return the page on a service's gain from offloading, by the Accelerometer model.

    `result` has the schema ``accelflow.accelerometer/1``. `settings` are the inputs by name.
    `command` is the command that repeats the result, or None. If the result has a ``decision``, the
    page shows its alternatives and the SLO, and if it has a ``simulation``, that beside the
    equations. `sought` is a sentence that states the value of an input with which a goal is
    reached, or None.
    """
    decision = result.get("decision")
    kernels = listed([row["name"] for row in result["kernels"]])
    parts = [_table(result), *_intervals(result.get("intervals"))]
    simulation = result.get("simulation")
    return Page(
        title=f"Offloading {kernels}",
        question=f"What would a service gain if {kernels} were offloaded?",
        answer=_answer(result) if decision is None else f"{_answer(result)} {decided(decision)}",
        sections=[
            *decision_section(decision, sought),
            Section(title="The gain", parts=parts),
            Section(title="Losses from the ideal gain", parts=[_losses(result["kernels"])]),
            *_sensitivity(result),
            *([] if simulation is None else [_simulation(simulation)]),
            Section(title="Configuration", parts=[settings_table(settings)], folded=True),
            repeated(_seeds(result, settings), command),
        ],
    )


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):.1f} %"


def _answer(result: Mapping[str, Any]) -> str:
    """Say what offloading does. A latency reduction of 25 % (C / C_L) cuts latency by 20 %."""
    speedup, reduction = result["speedup_ratio"], result["latency_reduction_ratio"]
    faster = f"{100 * abs(speedup - 1):.1f} % {'slower' if speedup < 1 else 'faster'}"
    text = f"Offloading makes the service {faster}"
    if reduction is None:
        text += "; the effect on latency is not known"
    else:
        change = 100 * abs(1 - 1 / reduction)
        text += f" and {'lengthens' if reduction < 1 else 'cuts'} latency by {change:.1f} %"
        text += f" (latency reduction {_percent(reduction)})"
    if result["ideal_speedup_ratio"] is None:
        return f"{text}."
    best = _percent(result["ideal_speedup_ratio"])
    return f"{text}; at best the service could be {best} faster."


def _table(result: Mapping[str, Any]) -> Table:
    rows = [("service", result), *((row["name"], row) for row in result["kernels"])]
    return Table(
        caption="The service, and each kernel alone",
        columns=[
            Column(name="What"),
            Column(name="Speedup", form="share", digits=2),
            Column(name="Latency reduction", form="share", digits=2),
            Column(name="Amdahl's bound", form="share", digits=2),
            Column(name="Offloads", unit="a second", form="number", digits=0),
            Column(name="of all", form="share", digits=1),
            Column(name="Pays above", unit="bytes", form="number"),
            Column(name="Share that pays", form="share", digits=1),
            Column(name="Threading"),
            Column(name="Limited by"),
        ],
        rows=[[name, *_cells(row)] for name, row in rows],
    )


def _seeds(result: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Describe the seeds of draws and of the simulation."""
    said = []
    if result.get("intervals") is not None:
        seed = settings.get("seed")
        said.append("draws are random" if seed is None else f"draws are from seed {seed}")
    if result.get("simulation") is not None:
        said.append(f"the simulation has {_seeds_text(result['simulation']['run']['seeds'])}")
    return " and ".join(said) or "nothing is drawn at random"


def _seeds_text(seeds: int) -> str:
    return "seed 1" if seeds == 1 else f"seeds 1 to {seeds}"


def _intervals(intervals: Mapping[str, Any] | None) -> Iterator[Table]:
    """Yield the table of what ranges of inputs mean for the service, if there are any."""
    if intervals is None:
        return
    gains = {"Speedup": "speedup_ratio", "Latency reduction": "latency_reduction_ratio"}
    rejected = [
        f"{intervals['rejected']:,} draws rejected: {intervals['why_rejected']}",
    ]
    yield Table(
        caption=f"The service with {intervals['draws']:,} random draws of the uncertain inputs",
        columns=[
            Column(name="What"),
            *(Column(name=name, form="share", digits=2) for name in ("5 %", "Median", "95 %")),
        ],
        rows=[
            [name, *(intervals[key][at] - 1 for at in ("p5", "p50", "p95"))]
            for name, key in gains.items()
            if intervals[key]["p50"] is not None
        ],
        notes=rejected if intervals["rejected"] else [],
    )


#: The gains that the simulation has beside the equations.
_SIMULATED: Final = {
    "speedup_ratio": "speedup, saturated",
    "latency_reduction_ratio": "latency reduction, idle host",
}
#: The latencies that only the simulation has.
_LOADED: Final = {"mean_latency_cycles": "mean", "p99_latency_cycles": "P99"}


def _simulation(found: Mapping[str, Any]) -> Section:
    """Return the section on the simulation of offloads, with the equations' gains beside it."""
    run, rows, notes = found["run"], [], []
    load = f"at {100 * run['load_ratio']:g} % load"
    together = found["service"]
    for row in [*found["kernels"], *([] if together is None else [together])]:
        name = "all kernels at once" if row is together else row["name"]
        for key, text in _SIMULATED.items():
            rows.append(_simulated(name, text, row["closed_form"][key], row[key]))
        for key, text in _LOADED.items():
            reduction = row["loaded"][key]["reduction_ratio"]
            rows.append(_simulated(name, f"{text} latency reduction, {load}", None, reduction))
        if row["why_latency_unknown"] is not None:
            notes.append(f"{name}: latency {row['why_latency_unknown']}")
        elif any(row["loaded"]["overloaded"].values()):
            notes.append(
                f"{name}: a host is overloaded {load}, so that its latencies grow with the length"
                " of the run"
            )
    gain: dict[str, Any] = {"form": "share", "digits": 2}
    seeds = f"for each of {run['seeds']} seeds"
    if run["seeds"] == 1:
        seeds = "with seed 1; one seed gives no intervals"
    return Section(
        title="Simulation",
        text=[
            f"Offloads were simulated event by event: {run['threads']:,} threads (1 if all kernels"
            f" are sync), {run['requests']:,} requests {seeds}."
        ],
        parts=[
            Table(
                caption="The equations beside the simulation",
                columns=[
                    Column(name="What"),
                    Column(name="Gain"),
                    Column(name="Equations", **gain),
                    Column(name="Simulated", **gain),
                    Column(name="95 %, +-", **gain),
                ],
                rows=rows,
                notes=notes,
            )
        ],
    )


def _simulated(
    name: str, text: str, closed: float | None, found: Mapping[str, float | None]
) -> list[Cell]:
    gains = (None if ratio is None else ratio - 1 for ratio in (closed, found["mean"]))
    return [name, text, *gains, found["half_width"]]


def _cells(row: Mapping[str, Any]) -> list[Cell]:
    gains = [
        None if row.get(key) is None else row[key] - 1
        for key in ("speedup_ratio", "latency_reduction_ratio", "ideal_speedup_ratio")
    ]
    even = row.get("break_even_speedup") or {}
    limit = row.get("limit")
    return [
        *gains,
        row.get("offloads_per_s"),
        row.get("lucrative_offloads_ratio"),
        even.get("above_bytes"),
        row.get("paying_offloads_ratio"),
        row.get("threading"),
        None if limit is None else limit.replace("_", " "),
    ]


def _losses(kernels: Sequence[Mapping[str, Any]]) -> Figure:
    rows = [
        (row["name"], text, place, 100 * row["losses"].get(key, 0.0))
        for row in kernels
        for place, (key, text) in enumerate(_LOSSES.items())
    ]
    return Figure(
        title="Losses",
        text="For each kernel, the shares of the host's cycles that keep the gain below Amdahl's"
        " bound, by cause.",
        spec=stacked(
            names=[row["name"] for row in kernels],
            parts=list(_LOSSES.values()),
            title="% of the host's cycles",
            parameters={},
        ),
        data={
            "name": [row[0] for row in rows],
            "part": [row[1] for row in rows],
            "place": [row[2] for row in rows],
            "value": [row[3] for row in rows],
        },
    )


def _sensitivity(result: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the section on inputs that vary alone, if there are any."""
    swings: list[Mapping[str, Any]] = []
    impossible: list[Mapping[str, Any]] = []
    for swing in result.get("sensitivity", ()):
        known = None not in (swing["low"]["speedup_ratio"], swing["high"]["speedup_ratio"])
        (swings if known else impossible).append(swing)
    if not swings and not impossible:
        return
    here = 100 * (result["speedup_ratio"] - 1)
    drawn = whisker_bars(
        [_swing_bar(swing, here) for swing in swings],
        title="Speedup with one input at its low and its high value",
        text="The bar is the speedup. Whiskers show the speedup with one input at its low or high"
        " value.",
        unit="speedup (%)",
    )
    names = ", ".join(_input(swing) for swing in impossible)
    yield Section(
        title="Sensitivity",
        text=[f"Not drawn, since their low or high value is impossible: {names}."] if names else [],
        parts=[drawn] if swings else [],
    )


def _input(swing: Mapping[str, Any]) -> str:
    kernel, parameter = swing["kernel"], swing["parameter"]
    return f"{kernel}.{parameter}" if kernel else parameter


def _swing_bar(swing: Mapping[str, Any], here: float) -> tuple[str, float, float, float, str]:
    low, high = sorted(100 * (swing[side]["speedup_ratio"] - 1) for side in ("low", "high"))
    return _input(swing), here, low, high, f"{low:.1f} to {high:.1f}"
