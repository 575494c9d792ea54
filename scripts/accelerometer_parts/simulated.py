"""The equations beside the simulation of offloads."""

from typing import Any

from accelerometer_parts.text import anchor, gain
from accelflow.accelerometer import validation
from accelflow.findings.page import markdown_table

#: A title for each section, and what it shows.
TEXTS = {
    "nothing_waits": (
        "Throughput, where nothing waits",
        "Threads enough (16 on a core), an accelerator that is always free, a saturated host:"
        " equations (1), (3) and (6) hold for every threading.",
    ),
    "varied_inputs": (
        "Throughput, each input alone",
        "The same with other transfers, queues of fixed length, switches and numbers of offloads,"
        " one at a time, and with work that varies exponentially (64 threads). The equations hold"
        " for all of them: means add up.",
    ),
    "sizes": (
        "Which sizes pay",
        "Equations (2), (4) and (7): all offloads have one size, from a quarter to four times the"
        " break-even size. Below it the simulated gain is negative, above it positive, for"
        " throughput and for the latency of one request. Where the accelerator is done before the"
        " thread has been switched away (Sync-OS with A 27), a request waits for two switches, not"
        " for the one of equation (5), and its latency breaks even later (see *switches*).",
    ),
    "one_request": (
        "Latency, where nothing waits",
        "One request at a time: equations (1), (5) and (8) hold, except where the accelerator is"
        " done before the switch away from the thread (Sync-OS with A 27; see *switches*).",
    ),
    "threads": (
        "Few threads",
        "Equation (3) assumes a thread that is ready whenever one waits. With A 1 the accelerator"
        " takes as long as the rest of the request, and below 4 threads a core idles.",
    ),
    "selection": (
        "Only what pays",
        "For Fig. 20 the paper scales alpha by the number of offloads that pay. Large ones carry"
        ' more cycles than that: the sizes that pay are most of the work, and `scaling = "cycles"`'
        " counts them so. The sizes are those of examples/accelerometer/feed1-compression.toml, in"
        " part assumed.",
    ),
    "queue": (
        "A shared accelerator",
        "Q is that of an M/G/1 queue at the rate without offloading. Faster hosts send more than"
        " that, so the closed form is too optimistic when the accelerator nears saturation (*in"
        " use* is at the rate without offloading). Work and kernels vary exponentially here, and"
        " the interval is that of throughputs with different seeds.",
    ),
    "shared": (
        "Two kernels in one queue",
        "Both kernels of each host wait in one queue for one accelerator, a quarter of the offloads"
        " with four times the work of the others. The closed form adds their rates, and their"
        " times' moments. It breaks as for one kernel: near saturation, where faster hosts send"
        " more.",
    ),
    "mean_with_load": (
        "Mean latency with load",
        "The latency reduction of the equations is that of an idle host. With load, requests wait"
        " for cores. In Sync faster requests also wait less, and the gain grows. In Sync-OS and"
        " Async what is left of a request waits for the core a second time: in the order of"
        " readiness that costs more than the accelerator gains. If responses go first they still"
        " wait for what the core has just begun; in Sync-OS less so, as the switch away from the"
        " thread takes longer than this accelerator (A 27).",
    ),
    "tail": (
        "P99 with load",
        "The same for the tail, which no equation has: an accelerator that gains 15 % by equation"
        " (8) may cost the P99 a quarter.",
    ),
    "overlap": (
        "Offloads that overlap",
        "Nobody waits for the responses, so the accelerator works while the request goes on:"
        " equation (8), which adds its time, is too pessimistic with several kernels a request.",
    ),
    "switches": (
        "One switch or two in the latency of Sync-OS",
        "Equation (5) has one, the paper's Fig. 20 was made with two. Both are right: two where the"
        " accelerator is faster than a switch, since its response waits until the core has switched"
        " away (then less the accelerator's own time); one where it takes longer.",
    ),
}

WAITS = "Waits in queues"


def summary(result: dict[str, Any]) -> list[str]:
    """The sections with their numbers of rows and their largest errors."""
    rows = []
    for name, (title, _) in TEXTS.items():
        section = result["sections"][name]
        worst = f"{validation.worst(section):.2f}"
        rows.append((f"[{title}](#{anchor(title)})", str(len(section)), worst))
    lines = [
        f"Each run has {result['requests']:,} requests, with {result['seeds']} seeds; the interval"
        " is Student's 95 %.",
        "",
    ]
    return [*lines, *markdown_table(("what", "rows", "largest error, points"), rows)]


def sections(result: dict[str, Any]) -> list[str]:
    """The table of each section."""
    lines = []
    for name, (title, text) in TEXTS.items():
        lines += [f"## {title}", "", text, "", *_table(result["sections"][name])]
    return [*lines, *_waits(result["waits"])]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    columns = ("", "equations", "simulated", "95 %", "error, points")
    cells = [
        (
            row["varied"],
            gain(row["closed_form_ratio"]),
            gain(row["simulated_ratio"]),
            f"± {100 * row['half_width']:.2f}",
            f"{row['error_points']:+.2f}",
        )
        for row in rows
    ]
    return markdown_table(columns, cells)


def _waits(rows: list[dict[str, Any]]) -> list[str]:
    """The closed form's wait of an offload at the hosts' own load."""
    cells = [
        (
            row["varied"],
            f"{row['closed_form_cycles']:,.0f}",
            f"{row['simulated_cycles']:,.0f}",
            f"± {row['half_width']:,.0f}",
            f"{100 * row['error_ratio']:+.0f} %",
        )
        for row in rows
    ]
    return [
        f"## {WAITS}",
        "",
        "The mean wait of an offload in the queues of the two sections on shared accelerators, with"
        " hosts that are not saturated: the equations have the same arrivals there. *In use* is at"
        " the rate of saturated hosts. Offloads are nearly Poisson arrivals: what is left is that a"
        " host that waits for the accelerator (Sync) sends nothing meanwhile.",
        "",
        *markdown_table(("", "equations, cycles", "simulated", "95 %", "error"), cells),
    ]
