"""T-chains of the live server beside the equations."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from accelerometer_parts.text import (
    BUILDS,
    between,
    build_command,
    gain_over,
    over,
    points_over,
    queue_text,
)
from accelflow.accelerometer import live_chains, measured
from accelflow.findings.page import markdown_table

#: The comparisons: their equation, and their clock.
FORMS = {
    "sync, host's time": ("Sync (1)", "host's processor time"),
    "sync, response": ("Sync (1)", "response of a single call"),
    "sync_os, host's time": ("Sync-OS (3)", "host's processor time, with calls in parallel"),
    "sync_os, response": ("Sync-OS (5)", "response of a single call"),
}


def measured_chains(path: Path) -> dict[str, Any]:
    """Put the chains of the benchmark's output at `path` beside the equations."""
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": measured.machine_name(),
        **live_chains.beside(live_chains.read_chains(path)),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The section on the live server."""
    offload = found["offload"]
    by_steps = {row["steps"]: row for row in offload["chains"]}
    build, run = build_command(found["build"], "accelflow-storage", "live_chains")
    return [
        "## The live server",
        "",
        "Calls over TLS to a [server](../../server.md) whose threads execute the traces themselves,"
        " or leave them to the [ensemble](../../ensemble.md), and spin meanwhile (Sync) or sleep"
        " (Sync-OS). The server is a process on one core, the host; the ensemble's workers are on"
        " the other one, with the client, the service that a handler calls (T9, T10) and the"
        " storage that it reads (T4, T5). Each trace of a call is an offload of its own. The"
        " server's threads wait for their traces, so there is no form in which a host goes on:"
        " [the next section](#the-ensemble-of-the-runtime) has Async for the same chains.",
        "",
        "No input is fitted. The bodies' time of each trace is that of a recording of the server"
        " without an ensemble; the system calls of TCP stay on the host, so that its body counts as"
        " measured alone. o0 and L are those of chains of as many accelerators that do nothing, o1"
        f" is a switch between two threads ({over(offload['thread_switch_ns'])} ns), and A is"
        " the bodies' time on one core over that on the other"
        f" ({over(offload['acceleration_ratio'], 2)}).",
        "",
        f"Measured on {found['machine']} ({found['date']}) by the profile"
        f" {BUILDS[found['build']]}, in {found['rounds']} rounds in which all chains and servers"
        f" alternate, {found['calls']} calls of each; {queue_text(found['run_queue'])}. Values are"
        " medians over the rounds with their 95 % intervals by the sign test; ratios and errors are"
        " paired round by round.",
        "",
        f"    {build}",
        f"    {run} {found['rounds']} {found['calls']} >chains.json",
        "    .venv/bin/python scripts/accelerometer_page.py --server chains.json",
        "",
        *markdown_table(
            ("accelerators", "o0, ns", "L, ns"),
            [
                (str(steps), over(row["setup_ns"]), over(row["transfer_ns"]))
                for steps, row in by_steps.items()
            ],
        ),
        *markdown_table(
            ("call", "bytes", "offloads (accelerators, us of bodies)", "host, us", "alpha"),
            [_call(case) for case in found["cases"]],
        ),
        *_errors(found["cases"]),
        *markdown_table(
            ("call", "bytes", "equation", "compared by", "predicted", "measured", "error, points"),
            [
                (
                    case["chain"],
                    f"{case['bytes']:,}",
                    *FORMS[row["form"]],
                    gain_over(row["closed_form_ratio"]),
                    gain_over(row["measured_ratio"]),
                    points_over(row["error_points"]),
                )
                for case in found["cases"]
                for row in case["rows"]
            ],
        ),
    ]


def _call(case: dict[str, Any]) -> list[str]:
    offloads = ", ".join(
        f"{' and '.join(each['traces'])} ({each['steps']}, {each['kernel_ns'] / 1e3:.1f})"
        for each in case["offloads"]
    )
    host = {key: None if value is None else value / 1e3 for key, value in case["host_ns"].items()}
    return [
        case["chain"],
        f"{case['bytes']:,}",
        offloads,
        over(host, 1),
        over(case["kernel_share_ratio"], 3),
    ]


def _errors(cases: list[dict[str, Any]]) -> list[str]:
    """How far off the equations are, by what is compared."""
    rows = []
    for form, (equation, clock) in FORMS.items():
        errors = [
            abs(row["error_points"]["median"])
            for case in cases
            for row in case["rows"]
            if row["form"] == form
        ]
        rows.append((equation, clock, between(errors, 1)))
    return [
        *markdown_table(("equation", "compared by", "errors, points"), rows),
        f"The equations are too optimistic in {optimistic(cases)}. The workers share their core"
        " with the client, which no equation has; what else makes the difference was not"
        " separated.",
        "",
    ]


def optimistic(cases: list[dict[str, Any]]) -> str:
    """How many rows have a predicted gain above the measured one."""
    errors = [row["error_points"]["median"] for case in cases for row in case["rows"]]
    return f"{sum(error > 0 for error in errors)} of {len(errors)} rows"
