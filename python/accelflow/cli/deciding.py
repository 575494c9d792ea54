"""Texts that `accelflow accelerometer` prints below the equations' results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accelflow.accelerometer.decisions import Found, Goal
from accelflow.accelerometer.files import Slo
from accelflow.accelerometer.fleet import Fleet
from accelflow.reports.decisions import fleet_digits, in_whole_servers, shown_limit


def _gain(ratio: float | None, width: int = 10) -> str:
    return f"{'-':>{width}}" if ratio is None else f"{100 * (ratio - 1):z{width - 2}.2f} %"


def decision_text(decision: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of text that compare alternative ways to offload."""
    rows = decision["alternatives"]
    width = max(len(row["name"]) for row in rows) + 2
    slo = any(row["slo"] for row in rows)
    drawn = any(row["intervals"] for row in rows)
    head = f"{'':{width}}{'speedup':>10}" + (f"{'5 % to 95 %':>22}" if drawn else "")
    yield head + f"{'latency reduction':>20}" + (f"{'latency SLO':>14}" if slo else "")
    for row in rows:
        line = f"{row['name']:{width}}{_gain(row['speedup_ratio'])}"
        if drawn:
            line += f"{_interval(row['intervals']):>22}"
        line += _gain(row["latency_reduction_ratio"], 20)
        if row["slo"]:
            met = row["slo"]["met"]
            line += f"{'unknown' if met is None else 'met' if met else 'missed':>14}"
        yield line
    for row in rows:
        yield from _verdict(row)
    best = decision["best"]
    if len(rows) > 1 or slo:
        yield ""
        yield (
            "No alternative pays" + (" within the SLO." if slo else ".")
            if best is None
            else (f"The most throughput{' within the SLO' if slo else ''}: {best}.")
        )


def _interval(intervals: Mapping[str, Any] | None) -> str:
    if intervals is None:
        return "-"
    of = intervals["speedup_ratio"]
    return f"{100 * (of['p5'] - 1):z.2f} % to {100 * (of['p95'] - 1):z.2f} %"


def _verdict(row: Mapping[str, Any]) -> Iterator[str]:
    slo = row["slo"]
    if slo is None or slo["met"]:
        return
    found = "unknown" if slo["latency_us"] is None else f"{slo['latency_us']:,.1f} us"
    yield f"{row['name']}: a request takes {found}, the SLO is {slo['limit_us']:,.1f} us"
    for kernel, least in slo["met_from_acceleration_ratio"].items():
        if least is None:
            higher = "" if slo["latency_us"] is None else "higher "
            yield f"  no {higher}acceleration of {kernel} alone meets it"
        else:
            times = shown_limit(least, 3, at_least=True)
            yield f"  met if {kernel} is accelerated {times} times or more"


def found_text(found: Found, goal: Goal, slo: Slo | None = None) -> str:
    """Return a sentence on the value of an input that reaches `goal`, or that every or none does.

    `slo` is the SLO whose limit is the goal, or None.
    """
    of = "throughput" if goal.of == "speedup" else "latency"
    gain = f"a gain of {100 * (goal.ratio - 1):g} % in {of}"
    if slo is not None:
        gain = f"a latency of {slo.limit_us:,.1f} us, the SLO"
    if found.always:
        return f"{gain}: reached with every {found.parameter}"
    if found.value is None:
        return f"{gain}: not reached with any {found.parameter}"
    bound = "at least" if found.at_least else "at most"
    limit = shown_limit(found.value, 6, at_least=found.at_least)
    return f"{gain}: {found.parameter} must be {bound} {limit}"


def simulation_text(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of text that compare Accelerometer's equations with the simulation."""
    run = result["run"]
    rows = [*result["kernels"], *([result["service"]] if result["service"] else [])]
    for row in rows:
        closed, loaded = row["closed_form"], row["loaded"]
        at_once = ", all kernels at once" if row is result["service"] else ""
        yield ""
        # A thread that waits with its core leaves nothing to others.
        threads = "1 thread" if row["threading"] == "sync" else f"{run['threads']:,} threads"
        yield f"{row['name']}{at_once}: {row['threading']}, simulated with {threads}"
        yield f"{'':34}{'equations':>12}{'simulated':>12}{'95 %':>12}"
        for name, title in (
            ("speedup_ratio", "speedup, saturated"),
            ("latency_reduction_ratio", "latency reduction, idle host"),
        ):
            yield f"  {title:32}{_gain(closed[name], 12)}{_estimate(row[name])}"
        crowded = _crowded(loaded["overloaded"])
        load = f"at {100 * run['load_ratio']:g} % load"
        for name, title in (("mean_latency_cycles", "mean"), ("p99_latency_cycles", "P99")):
            reduction = loaded[name]["reduction_ratio"]
            mark = "*" if crowded and reduction["mean"] is not None else ""
            cells = f"{'':>12}{_estimate(reduction)}{mark}"
            yield f"  {f'{title} latency reduction, {load}':32}{cells}"
        if row["why_latency_unknown"] is not None:
            yield f"  -: latency {row['why_latency_unknown']}"
        elif crowded:
            yield (
                f"  * {crowded} offloading, the host is overloaded at this load: its latencies grow"
                " with the length of the run"
            )
        used = row["saturated"]["accelerator_utilization_ratio"]
        if used is not None:
            yield _queue_line(loaded["queue_cycles"], load)
            yield f"  saturated, the accelerator is {100 * used:.1f} % in use"


def _crowded(overloaded: Mapping[str, bool]) -> str:
    """Return the word for the hosts that are overloaded; empty if none is."""
    if all(overloaded.values()):
        return "with and without"
    if not any(overloaded.values()):
        return ""
    return "without" if overloaded["without_offloading"] else "with"


def _queue_line(queue: Mapping[str, Any], load: str) -> str:
    closed, half = queue["closed_form"], queue["half_width"]
    equations = f"{'overloaded' if closed is None else format(closed, ',.0f'):>12}"
    interval = "" if half is None else f"{f'+- {half:,.0f}':>12}"
    return f"  {f'queue in cycles, {load}':32}{equations}{queue['mean']:12,.0f}{interval}"


def _estimate(of: Mapping[str, Any]) -> str:
    half = of["half_width"]
    return _gain(of["mean"], 12) + ("" if half is None else f"{f'+- {100 * half:.2f}':>12}")


def fleet_text(fleet: Fleet, result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of text on a fleet's servers, power and money.

    After a header, each line has a number without and with the accelerators, and the saving.
    Servers are whole numbers, rounded up.
    """
    result = in_whole_servers(result)
    rows = [*result["services"], {"name": "fleet", **result["fleet"]}]
    width = max(len(row["name"]) for row in rows) + 2
    yield f"{'':{width}}{'speedup':>10}{'servers':>12}{'after':>12}{'saved':>12}{'5 % to 95 %':>24}"
    for row in rows:
        yield f"{row['name']:{width}}{_gain(row['speedup_ratio'])}{_change(row['servers'])}"
    whole = result["fleet"]
    others = []
    if fleet.server.watts or fleet.device.watts:
        others.append(("kilowatts", "kilowatts"))
    if fleet.server.price or fleet.device.price or fleet.electricity.price_per_kwh:
        others.append(("money a year", "money_per_year"))
    for title, name in others:
        yield f"{title:{width}}{'':10}{_change(whole[name], fleet_digits(whole, name))}"


def _change(of: Mapping[str, Any], digits: int = 0) -> str:
    cells = "".join(f"{of[at]:z12,.{digits}f}" for at in ("before", "after", "saved"))
    if of["saved_p5"] is None:
        return cells
    interval = f"{of['saved_p5']:z,.{digits}f} to {of['saved_p95']:z,.{digits}f}"
    return f"{cells}{interval:>24}"


def measured_text(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of text on the micro-benchmarks of this machine."""
    queue = " to ".join(f"{length:.1f}" for length in result["run_queue"])
    yield (
        f"measured on {result['machine']}, run queue {queue}; medians of {result['rounds']} rounds"
        " (95 % intervals)"
    )
    known = {name: row for name, row in result["kernels"].items() if row is not None}
    apart = any(row["transfer_ns"] is not None for row in known.values())
    costs = ["o0", "L"] if apart else ["o0 + L"]
    rows = [["kernel", "A", *costs, "fixed on the host", "per byte"]]
    for name, row in known.items():
        cells = [_over(row["acceleration_ratio"]), _over(row["setup_ns"], " ns")]
        cells += [_over(row["transfer_ns"], " ns")] if apart else []
        cells += [_over(row["host_fixed_ns"], " ns"), _over(row["host_ns_per_byte"], " ns/B")]
        rows.append([name, *cells])
    yield from _columns(rows)
    for against in dict.fromkeys(row["against"] for row in known.values()):
        names = [name for name, row in known.items() if row["against"] == against]
        yield f"A of {', '.join(names)}: {against}"
    if result["thread_switch_ns"] is not None:
        yield f"thread switch (o1): {_over(result['thread_switch_ns'], ' ns')}"
    if result["io_uring_ns"] is not None:
        yield f"io_uring, one operation: {_over(result['io_uring_ns'], ' ns')}"
    for name, why in result["lacking"].items():
        yield f"{name}: not measured, {why}"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield `rows` as lines: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([f"{row[0]:{widths[0]}}", *cells])


def _over(of: Mapping[str, Any], unit: str = "") -> str:
    """Return a median and the ends of its interval as text, in three digits."""
    if of["low"] is None:
        return f"{_digits(of['median'])}{unit}"
    return f"{_digits(of['median'])} ({_digits(of['low'])} to {_digits(of['high'])}){unit}"


def _digits(value: float) -> str:
    """Return `value` as text in three digits, without an exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3}f}"
