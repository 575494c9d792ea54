"""Offloads of the runtime's ensemble beside the equations."""

import os
import statistics
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
from accelflow.accelerometer import measured, offloaded
from accelflow.findings.page import markdown_table

TITLE = "The ensemble of the runtime"

#: What a form of the ensemble's offloads is, and the equation that it is compared with.
FORMS = {
    "sync": "Sync: the thread spins (1)",
    "sync_os": "Sync-OS: it sleeps, others run (3)",
    "sync_os_alone": "Sync-OS, latency on an idle host (5)",
    "async_same_thread": "Async, same thread (6)",
    "async_distinct_thread": "Async, distinct thread",
    "async_no_response": "Async, no response",
}

#: The largest error of the paper's estimates in production, in points (Accelerometer, section 4).
LARGEST = 3.7

Rows = list[dict[str, Any]]


def measured_offloads(path: Path) -> dict[str, Any]:
    """Put the offloads of the benchmark's output at `path` beside the equations."""
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": measured.machine_name(),
        "cores": os.cpu_count(),
        **offloaded.beside(offloaded.read_offloads(path)),
    }


def lines(found: dict[str, Any]) -> list[str]:
    """The section on the runtime's own ensemble."""
    columns = (
        *("kernel", "own work", "form", "equation", "by the host's processor time"),
        *("by the clock", "error, points"),
    )
    build, run = build_command(found["build"], "accelflow-runtime", "ensemble_offload")
    return [
        f"## {TITLE}",
        "",
        "Offloads that run, in every form: the host is one core, whose threads spin for their own"
        " work and have a kernel done by the software bodies of the"
        " [ensemble](../../ensemble.md), whose workers share another core. Kernels are"
        " compressions, and traces: T1, which receives a message, T2, which sends one, T9 and T10,"
        " which call a service, and T4 and T5, which read a cache; the service and the cache answer"
        f" on the workers' core. Measured on {found['machine']}, a virtual machine with"
        f" {found['cores']} cores ({found['date']}), by the profile {BUILDS[found['build']]}, with"
        f" a real-time priority over other work; {queue_text(found['run_queue'])}:",
        "",
        f"    {build}",
        f"    chrt --fifo 1 {run} {found['rounds']} >offload.json",
        "    .venv/bin/python scripts/accelerometer_page.py --ensemble offload.json",
        "",
        "The inputs are micro-benchmarks of the same program. o0 is what the host runs to begin an"
        " offload and to take its result; L is the rest of the time that a chain of bodies that do"
        " nothing takes, for which the host spins: threads that are woken. The equations are"
        " evaluated with the inputs of each round; values are medians over the rounds with their"
        " 95 % intervals by the sign test, and errors are paired round by round.",
        "",
        *_inputs(found),
        *_errors(found["rows"]),
        *_shown(found),
        *markdown_table(
            columns,
            [
                (
                    row["kernel"],
                    f"{row['own_us']} us",
                    FORMS[row["form"]],
                    gain_over(row["closed_form_ratio"]),
                    gain_over(row["host_ratio"]),
                    gain_over(row["clock_ratio"]),
                    points_over(row["error_points"]),
                )
                for row in found["rows"]
            ],
        ),
        *_threshold(found["threshold"]),
    ]


def _inputs(found: dict[str, Any]) -> list[str]:
    """What the equations are given."""
    offload = found["offload"]
    costs = [
        (str(row["steps"]), over(row["setup_ns"]), over(row["transfer_ns"]))
        for row in offload["chains"]
    ]
    kernels = [
        (
            row["kernel"],
            over(row["own_ns"]),
            over(row["kernel_ns"]),
            f"{row['kernel_ns']['median'] / row['accelerated_ns']['median']:.2f}",
            over(row["paid_ns"]),
        )
        for row in found["kernels"]
    ]
    return [
        *markdown_table(("accelerators", "o0, ns", "L, ns"), costs),
        f"A thread switch, o1, takes {over(offload['thread_switch_ns'])} ns. *Paid* is what an"
        " offload without a response then cost the host's processor, beside o0.",
        "",
        *markdown_table(("kernel", "own work, ns", "on the host, ns", "A", "paid, ns"), kernels),
    ]


def _errors(rows: Rows) -> list[str]:
    """How far off the equations are, by form."""
    cells = []
    for form, name in FORMS.items():
        errors = [abs(row["error_points"]["median"]) for row in rows if row["form"] == form]
        by = "the clock" if form in ("sync", "sync_os_alone") else "the host's processor time"
        cells.append((name, by, f"{statistics.median(errors):.1f}", f"{max(errors):.1f}"))
    return markdown_table(("form", "compared by", "median error, points", "largest"), cells)


def _threshold(found: dict[str, Any]) -> list[str]:
    """Selective offload by its threshold."""
    mix = ", ".join(f"{row['count']} of {row['bytes']:,} B" for row in found["mix"])
    rows = []
    for row in found["rows"]:
        least = row["least_bytes"]
        name = "all stay" if least is None else f"{least:,}" if least else "0: all are offloaded"
        rows.append((name, gain_over(row["host_ratio"]), gain_over(row["clock_ratio"])))
    return [
        "### Selective offload",
        "",
        f"Ten requests ({mix}) in turn, {found['own_us']} us of own work each, Async in the same"
        " thread. Payloads below `least_bytes` stay on the host"
        " ([ensemble.md](../../ensemble.md#selective-offload)). The break-even size of equation"
        " (7) with the inputs above, the fixed part of a compression taken off o0, is"
        f" {over(found['break_even_bytes'])} B. The gain is that over the host that does all"
        " kernels itself.",
        "",
        *markdown_table(("`least_bytes`", "by the host's processor time", "by the clock"), rows),
    ]


def _shown(found: dict[str, Any]) -> list[str]:
    """What an offload without a response costs, beside o0 of one accelerator."""
    paid = [row["paid_ns"]["median"] / 1e3 for row in found["kernels"]]
    setup = found["offload"]["chains"][0]["setup_ns"]["median"] / 1e3
    errors = [abs(row["error_points"]["median"]) for row in found["rows"]]
    within = sum(error <= LARGEST for error in errors)
    return [
        "An offload without a response cost the host's processor"
        f" {between(paid, 1)} us, where o0 of one accelerator is {setup:.1f} us.",
        "",
        f"{within} of {len(errors)} rows differ by at most {LARGEST} points, the largest error in"
        " the paper. The largest errors, of compressions of 16,384 B with 20 us of own work, are of"
        " an ensemble that is saturated: its one core takes longer for a kernel than the host for"
        " its own work, and the equations are given no Q. What makes the other errors was not"
        " separated.",
        "",
    ]
