"""Chains of the simulated server beside the closed form of `accelflow size`."""

from typing import Any

from accelflow.errors import AccelflowError
from accelflow.findings.page import markdown_table
from accelflow.report.results import Comparison
from accelflow.simulation import run, services
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import Plan, demands

#: Systems with a closed form, and who hands an operation over to the next accelerator in each.
SYSTEMS = {"cpu_centric": "a core", "relief": "a manager", "accelflow": "the accelerators"}

#: RELIEF with queue entries that hold every payload: what ReadH's large messages cost.
LARGE_ENTRIES, CONFIG = "relief, entries of 64 KiB", {"accelerator.inline_bytes": 65_536}

#: The columns of the table on chains: a name, its system, and what is set.
COLUMNS: dict[str, tuple[str, dict[str, int]]] = {
    "cpu_centric": ("cpu_centric", {}),
    "relief": ("relief", {}),
    LARGE_ENTRIES: ("relief", CONFIG),
    "accelflow": ("accelflow", {}),
}

#: A load at which nothing queues.
RATE_RPS = 100.0

Rows = list[dict[str, Any]]


def chains() -> Rows:
    """Gains in latency of each service of SocialNetwork on an idle server, by system."""
    bare, needed = _of_system("non_acc", {})
    found = {name: _of_system(system, config)[0] for name, (system, config) in COLUMNS.items()}
    return [
        {
            "service": row["service"],
            "operations": sum(of["count"] for of in row["operations"].values()),
            "systems": {
                name: {
                    f"{way}_ratio": bare[way][row["service"]] / times[way][row["service"]]
                    for way in ("closed_form", "simulated")
                }
                for name, times in found.items()
            },
        }
        for row in needed["services"]
    ]


def _of_system(
    system: str, config: dict[str, int]
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Response times of each service in us, in closed form and simulated, and the demands."""
    plan = Plan(
        rates_rps=dict.fromkeys(services("socialnetwork"), RATE_RPS),
        requests=2_000,
        scenario={"profile": "paper", "config": config},
    )
    needed = demands(plan, None)
    form = closed_form(plan, system, needed, {})
    if form is None:
        raise AccelflowError(f"{system}: has no closed form")
    closed = {name: time / 1e3 for name, time in form.serial_ns.items()}
    results = run(plan.scenario_of(1.0, system=system, seed=1), threads=1)
    rows = Comparison.from_dict(results).systems[0].services
    simulated = {row.service: row.latencies.mean_us or 0.0 for row in rows}
    return {"closed_form": closed, "simulated": simulated}, needed


def lines(found: Rows) -> list[str]:
    """The section on chains."""
    hands = ", ".join(f"{name}: {who}" for name, who in SYSTEMS.items())
    return [
        "## Chains",
        "",
        "A service of the simulated server is a chain of kernels, one for each accelerator that"
        " its traces visit. The closed form takes each as an offload of its own and adds their"
        " times, along the longest of parallel chains, with what one core or manager does in turn"
        " for all of them; the simulator executes the traces, with drawn sizes, wires, DMA, and"
        " what orchestrates them. Both are of requests at so little load that nothing queues. The"
        " gain is that of the mean response time over a server without accelerators, in times:"
        " closed form, simulated, and how far off the former is. The operations are handed over by:"
        f" {hands}.",
        "",
        f"With AccelFlow it is off by at most {_worst(found, 'accelflow'):.0f} %, with a core"
        f" that hands over by at most {_worst(found, 'cpu_centric'):.0f} %. A manager's parallel"
        " chains wait for each other where the request forks (CPost, Follow), which no equation"
        " has.",
        "",
        "ReadH under the manager is off because of its sizes. The manager's chains hold only data"
        " that fit a queue entry, of 2,048 bytes; behind each operation on more than that, it"
        " interrupts a core, which submits the rest of the chain (`accelflow trace watch ReadH"
        " --system relief --profile paper --rate 100 --requests 300` shows each of them: the posts"
        " that T10 reads and the answer that T3 sends are larger than an entry, so that a core has"
        " to help behind eight operations more). The closed form counts branches and messages, not"
        f" sizes. With entries that hold every payload (*{LARGE_ENTRIES}*) it is off by"
        f" {_off_by(found, 'ReadH', LARGE_ENTRIES):.0f} % instead of"
        f" {_off_by(found, 'ReadH', 'relief'):.0f} %.",
        "",
        "[prediction.md](../prediction.md) has the closed form of `accelflow size` beside the live"
        " server's response times.",
        "",
        *markdown_table(("service", "operations", *COLUMNS), [_cells(row) for row in found]),
    ]


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["service"],
        f"{row['operations']:.0f}",
        *(
            f"{of['closed_form_ratio']:.2f}, {of['simulated_ratio']:.2f}"
            f" ({100 * (of['closed_form_ratio'] / of['simulated_ratio'] - 1):+.0f} %)"
            for of in row["systems"].values()
        ),
    ]


def _worst(found: Rows, system: str) -> float:
    """The largest error of the closed form of `system` over the services, in per cent."""
    ratios = [row["systems"][system] for row in found]
    return max(100 * abs(of["closed_form_ratio"] / of["simulated_ratio"] - 1) for of in ratios)


def _off_by(found: Rows, service: str, system: str) -> float:
    """How far the closed form of `system` is off for `service`, in per cent."""
    (of,) = (row["systems"][system] for row in found if row["service"] == service)
    return 100 * (float(of["closed_form_ratio"]) / float(of["simulated_ratio"]) - 1)
