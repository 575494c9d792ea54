"""The paper's case studies on this machine, and its micro-benchmarks."""

from datetime import UTC, datetime
from typing import Any

from accelerometer_parts.text import gain_over, over, points_over, queue_text
from accelflow.accelerometer import bodies, measured, trial
from accelflow.findings.page import markdown_table


def on_this_machine() -> dict[str, Any]:
    """Measure this machine, and repeat the case studies on it."""
    return {
        "date": _today(),
        **benchmarks(),
        "bodies": bodies.measure_bodies(),
        "trial": trial.case_studies(),
    }


def benchmarks() -> dict[str, Any]:
    """Measure the processor's instructions, switches and io_uring alone."""
    return {"measured_date": _today(), "measured": measured.measure(rounds=15)}


def _today() -> str:
    return datetime.now(tz=UTC).date().isoformat()


def lines(machine: dict[str, Any]) -> list[str]:
    """The section on a real machine."""
    of, studies = machine["measured"], machine["trial"]
    return [
        "## On a real machine",
        "",
        "The paper's case studies, repeated in the small on"
        f" {machine['bodies']['machine']} ({machine['date']}):"
        " AES-128-GCM with and without the processor's instructions for it, and in another process;"
        " and CRC-32C by the processor's instruction and by tables. Inputs are micro-benchmarks;"
        " the measured gain is that of the host's processor time for a request. Estimate and"
        f" measurement are paired round by round, in {studies['rounds']} rounds in which all cases"
        " alternate; values are medians with their 95 % intervals by the sign test. Other work ran"
        f" on the machine meanwhile ({queue_text(studies['run_queue'])}), from which processor"
        " times suffer less than wall times, and switches most of all.",
        "",
        "The other process is on another core where there is one, and the host has no other thread"
        " to run: it idles between switching away and back, and nobody is charged for idling. So"
        " its cost may lie anywhere between one switch and the two of equation (3).",
        "",
        *markdown_table(
            (
                "case",
                "alpha",
                "A",
                "o0 + L, ns",
                "o1, ns",
                "estimated",
                "measured",
                "error, points",
            ),
            [_case(case) for case in studies["cases"]],
        ),
        "### Micro-benchmarks",
        "",
        f"`accelflow accelerometer --measure` on {of['machine']} ({machine['measured_date']};"
        f" {queue_text(of['run_queue'])}): instructions, which have o0 and L in one. Fixed costs"
        " are without the interpreter's time for a call. The case studies' are with it, since their"
        " requests have it, too; so their o0 + L is larger.",
        "",
        *_benchmarks(of),
        "`accelflow accelerometer --measure --bodies`: the nine software bodies of the"
        " [ensemble](../../ensemble.md), on another core"
        f" ({queue_text(machine['bodies']['run_queue'])}). With the same code on both sides A is 1,"
        " where nothing disturbs one of the cores; Encr and Decr by instructions are compared with"
        " a host that encrypts without them.",
        "",
        *_bodies(machine["bodies"]),
    ]


def _case(case: dict[str, Any]) -> list[str]:
    inputs = case["inputs"]
    return [
        case["case"],
        over(inputs["kernel_share_ratio"], 3),
        over(inputs["acceleration_ratio"], 1),
        over(inputs["setup_ns"]),
        over(inputs["thread_switch_ns"]),
        gain_over(case["estimated_speedup_ratio"]),
        gain_over(case["measured_speedup_ratio"]),
        points_over(case["error_points"]),
    ]


def _benchmarks(of: dict[str, Any]) -> list[str]:
    known = {name: row for name, row in of["kernels"].items() if row is not None}
    rows = [
        (
            name,
            over(row["acceleration_ratio"], 2),
            over(row["setup_ns"]),
            over(row["host_fixed_ns"]),
            over(row["host_ns_per_byte"], 3),
        )
        for name, row in known.items()
    ]
    found = markdown_table(
        ("kernel", "A", "o0 + L, ns", "fixed on the host, ns", "on the host, ns/B"), rows
    )
    costs = [
        (title, over(of[key]))
        for title, key in (
            ("o1, a thread switch", "thread_switch_ns"),
            ("o0 of io_uring, an operation", "io_uring_ns"),
        )
        if of[key] is not None
    ]
    return [*found, *markdown_table(("cost", "ns"), costs)]


def _bodies(of: dict[str, Any]) -> list[str]:
    rows = [
        (
            name.replace("_", " "),
            over(row["acceleration_ratio"], 2),
            over(row["setup_ns"]),
            over(row["transfer_ns"]),
            over(row["host_fixed_ns"]),
            over(row["host_ns_per_byte"], 3),
        )
        for name, row in of["kernels"].items()
    ]
    columns = ("body", "A", "o0, ns", "L, ns", "fixed on a core, ns", "on a core, ns/B")
    return markdown_table(columns, rows)
