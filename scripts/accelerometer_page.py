"""Write docs/results/accelerometer/validation.md and validation.json: where the closed form holds.

.venv/bin/python scripts/accelerometer_page.py            # all but the machine anew
.venv/bin/python scripts/accelerometer_page.py --machine  # only the trial on this machine anew
.venv/bin/python scripts/accelerometer_page.py --chains   # only the chains anew
.venv/bin/python scripts/accelerometer_page.py --ensemble FILE  # only what FILE has, the output of
    # cargo run --profile extension -p accelflow-runtime --example ensemble_offload >FILE
.venv/bin/python scripts/accelerometer_page.py --check    # only write the page of validation.json
"""

import json
import os
import statistics
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from accelflow.accelerometer import measured, offloaded, trial, validation
from accelflow.errors import AccelflowError
from accelflow.files import write_whole
from accelflow.report.results import Comparison
from accelflow.simulation import run, services
from accelflow.sizing.closed import closed_form
from accelflow.sizing.plan import Plan, demands

FOLDER = Path(__file__).parents[1] / "docs" / "results" / "accelerometer"
JSON, PAGE = FOLDER / "validation.json", FOLDER / "validation.md"

HEAD = """\
# Where the equations hold, and where they break

Written by `scripts/accelerometer_page.py`; not edited by hand.
[accelerometer.md](../../accelerometer.md) introduces the model.

The equations add up means. Here the same offloads are executed, event by event: threads on cores,
an interface, an accelerator and its queue. The kernel is the compression of the paper's Feed1
(alpha 0.15, 15,008 offloads a second, L 2,300 and o1 5,750 cycles, A 27, all offloaded), unless a
row says otherwise. *Equations* and *simulated* are gains in per cent; the error is in points,
equations less simulated, as the paper states its errors (1.1 to 3.7 points in production).
"""

#: A title for each section, and what it shows.
TEXTS = {
    "nothing_waits": (
        "Throughput, where nothing waits",
        "Threads enough (16 on a core), an accelerator that is always free, a saturated host:"
        " equations (1), (3) and (6) hold for every threading.",
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


def main() -> None:
    """Do what the arguments say."""
    arguments = set(sys.argv[1:])
    if "--ensemble" in arguments:
        write_ensemble(Path(sys.argv[sys.argv.index("--ensemble") + 1]))
        arguments = {"--check"}
    old: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {}
    result = dict(old)
    if not arguments & {"--check", "--chains", "--machine"}:
        result |= validation.grid()
    if not arguments & {"--check", "--machine"}:
        result["chains"] = chains()
    if "--machine" in arguments:
        result["machine"] = on_this_machine()
    if "--check" not in arguments:
        write_whole(JSON, lambda file: file.write_text(json.dumps(result, indent=1) + "\n"))
    write_whole(PAGE, lambda file: file.write_text(page(result)))


def write_ensemble(path: Path) -> None:
    """Put the offloads of the benchmark's output at `path` beside the equations."""
    result = json.loads(JSON.read_text())
    result["ensemble"] = {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": measured.machine_name(),
        "cores": os.cpu_count(),
        **offloaded.beside(offloaded.read_offloads(path)),
    }
    write_whole(JSON, lambda file: file.write_text(json.dumps(result, indent=1) + "\n"))


def on_this_machine() -> dict[str, Any]:
    """Measure this machine, and repeat the case studies on it."""
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "measured": measured.measure(),
        "trial": trial.case_studies(),
    }


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


def chains() -> list[dict[str, Any]]:
    """Gains in latency of each service of SocialNetwork on an idle server, by system."""
    bare, needed = of_system("non_acc", {})
    found = {name: of_system(system, config)[0] for name, (system, config) in COLUMNS.items()}
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


def of_system(
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


def page(result: dict[str, Any]) -> str:
    """The page of the results."""
    lines = [
        HEAD,
        f"Each run has {result['requests']:,} requests, with {result['seeds']} seeds; the"
        " interval is Student's 95 %.",
        "",
        "| what | rows | largest error, points |",
        "|---|---|---|",
    ]
    sections = result["sections"]
    for name, (title, _) in TEXTS.items():
        rows = sections[name]
        lines.append(
            f"| [{title}](#{anchor(title)}) | {len(rows)} | {validation.worst(rows):.2f} |"
        )
    for name, (title, text) in TEXTS.items():
        lines += ["", f"## {title}", "", text, "", *table(sections[name])]
    lines += chain_lines(result["chains"])
    if "ensemble" in result:
        lines += ensemble_lines(result["ensemble"])
    if "machine" in result:
        lines += machine_lines(result["machine"])
    return "\n".join(lines) + "\n"


def anchor(title: str) -> str:
    """A heading's place on the page."""
    return title.lower().replace(",", "").replace(" ", "-")


def gain(ratio: float) -> str:
    """A ratio as a gain in per cent."""
    return f"{100 * (ratio - 1):.2f} %"


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The rows of a section."""
    lines = ["| | equations | simulated | 95 % | error, points |", "|---|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['varied']} | {gain(row['closed_form_ratio'])} | {gain(row['simulated_ratio'])}"
            f" | ± {100 * row['half_width']:.2f} | {row['error_points']:+.2f} |"
        )
    return lines


def chain_lines(found: list[dict[str, Any]]) -> list[str]:
    """The section on chains."""
    hands = ", ".join(f"{name}: {who}" for name, who in SYSTEMS.items())
    lines = [
        "",
        "## Chains",
        "",
        "A service of the simulated server is a chain of kernels, one for each accelerator that"
        " its traces visit. The closed form takes each as an offload of its own and adds their"
        " times, along the longest of parallel chains, with what one core or manager does in turn"
        " for all of them; the simulator executes the traces, with drawn sizes, wires, DMA, and"
        " what orchestrates them. Both are of requests at so little load that nothing queues. The"
        " gain is that of the mean response time over a server without accelerators, in times:"
        " closed form, simulated, and how far off the former is."
        " Who hands"
        f" operations over: {hands}.",
        "",
        f"With AccelFlow it is off by at most {worst_of(found, 'accelflow'):.0f} %, with a core"
        f" that hands over by at most {worst_of(found, 'cpu_centric'):.0f} %. A manager's parallel"
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
        f" {off_by(found, 'ReadH', LARGE_ENTRIES):.0f} % instead of"
        f" {off_by(found, 'ReadH', 'relief'):.0f} %.",
        "",
        "[prediction.md](../prediction.md) has the closed form of `accelflow size` beside the live"
        " server's response times.",
        "",
        "| service | operations | " + " | ".join(COLUMNS) + " |",
        "|---|---|" + "---|" * len(COLUMNS),
    ]
    for row in found:
        cells = [
            f"{of['closed_form_ratio']:.2f}, {of['simulated_ratio']:.2f}"
            f" ({100 * (of['closed_form_ratio'] / of['simulated_ratio'] - 1):+.0f} %)"
            for of in row["systems"].values()
        ]
        lines.append(f"| {row['service']} | {row['operations']:.0f} | {' | '.join(cells)} |")
    return lines


def worst_of(found: list[dict[str, Any]], system: str) -> float:
    """The largest error of the closed form of `system` over the services, in per cent."""
    ratios = [row["systems"][system] for row in found]
    return max(100 * abs(of["closed_form_ratio"] / of["simulated_ratio"] - 1) for of in ratios)


def off_by(found: list[dict[str, Any]], service: str, system: str) -> float:
    """How far the closed form of `system` is off for `service`, in per cent."""
    (of,) = (row["systems"][system] for row in found if row["service"] == service)
    return 100 * (float(of["closed_form_ratio"]) / float(of["simulated_ratio"]) - 1)


#: What a form of the ensemble's offloads is, and the equation that it is compared with.
FORMS = {
    "sync": "Sync: the thread spins (1)",
    "sync_os": "Sync-OS: it sleeps, others run (3)",
    "sync_os_alone": "Sync-OS, latency on an idle host (5)",
    "async_same_thread": "Async, same thread (6)",
    "async_distinct_thread": "Async, distinct thread",
    "async_no_response": "Async, no response",
}


def plus_minus(of: dict[str, Any], form: Callable[[float], str]) -> str:
    """A mean and its interval."""
    return f"{form(of['mean'])} ± {form(of['half_width'])}"


def points(of: dict[str, Any]) -> str:
    """A ratio as a gain in per cent, and its interval."""
    return f"{gain(of['mean'])} ± {100 * of['half_width']:.1f}"


def thousands(value: float) -> str:
    """A number without decimals."""
    return f"{value:,.0f}"


def ensemble_lines(found: dict[str, Any]) -> list[str]:
    """The section on the runtime's own ensemble."""
    return [
        "",
        "## The ensemble of the runtime",
        "",
        "Offloads that run: the host is one core, whose threads spin for their own work and have a"
        " kernel done by the software bodies of the [ensemble](../../ensemble.md), whose workers"
        " share another core. Kernels are compressions, and T1, the trace that receives a message:"
        " five accelerators that pass the message on, one offload. Measured on"
        f" {found['machine']}, a virtual machine with {found['cores']} cores ({found['date']}),"
        " with a real-time priority over other work, on a machine that had much of it, by a"
        f" {BUILDS[found['build']]} build:",
        "",
        *repeat_lines(found),
        "",
        "The inputs are micro-benchmarks of the same program. o0 is what the host runs to begin an"
        " offload and to take its result; L is the rest of the time that a chain of bodies that do"
        " nothing takes, for which the host spins: threads that are woken. The equations are"
        " evaluated with the inputs of each round, and all intervals are Student's 95 % over the"
        " rounds.",
        "",
        *input_lines(found),
        "",
        *error_lines(found["rows"]),
        "",
        *holds_lines(found),
        "",
        "| kernel | own work | form | equation | by the host's processor time | by the clock |"
        " error, points |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {row['kernel']} | {row['own_us']} us | {FORMS[row['form']]} |"
            f" {points(row['closed_form_ratio'])} | {points(row['host_ratio'])} |"
            f" {points(row['clock_ratio'])} | {row['error_points']:+.1f} |"
            for row in found["rows"]
        ),
        "",
        *threshold_lines(found["threshold"]),
    ]


#: How the benchmark was compiled.
BUILDS = {"dev": "development (`opt-level = 1`)", "release": "release"}


def between(values: list[float], digits: int = 0) -> str:
    """The range of `values`."""
    low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
    return low if low == high else f"{low} to {high}"


def errors_of(
    rows: list[dict[str, Any]], kernel: str, forms: tuple[str, ...], own_us: int | None = None
) -> list[float]:
    """The errors of some forms of a kernel, in points without their signs."""
    return [
        abs(row["error_points"])
        for row in rows
        if row["kernel"].startswith(kernel)
        and row["form"] in forms
        and own_us in (None, row["own_us"])
    ]


def paid_of(kernels: list[dict[str, Any]], kernel: str, own_us: int | None = None) -> list[float]:
    """What an offload of a kernel cost the host's processor, in us."""
    return [
        row["paid_ns"]["mean"] / 1e3
        for row in kernels
        if row["kernel"].startswith(kernel) and own_us in (None, row["own_us"])
    ]


def holds_lines(found: dict[str, Any]) -> list[str]:
    """What the table of offloads shows. A new table may need other reasons: read it anew."""
    rows, kernels = found["rows"], found["kernels"]
    asynchronous = ("async_same_thread", "async_distinct_thread", "async_no_response")
    setup = found["offload"]["chains"][0]["setup_ns"]["mean"] / 1e3
    chain = found["offload"]["chains"][1]["setup_ns"]["mean"] / 1e3

    errors, paid = partial(errors_of, rows), partial(paid_of, kernels)
    small = [
        error
        for size in (256, 1024)
        for error in errors(f"compress, {size} B", ("sync", *asynchronous))
    ]
    large = "compress, 16384 B"
    (busy,) = (row for row in kernels if row["kernel"] == large and row["own_us"] == 20)
    whole = busy["own_ns"]["mean"] + busy["kernel_ns"]["mean"]
    bound = 100 * (whole / busy["accelerated_ns"]["mean"] - 1)
    promised = [
        100 * (row["closed_form_ratio"]["mean"] - 1)
        for row in rows
        if row["kernel"] == large and row["own_us"] == 20 and not row["form"].startswith("sync_os_")
        if row["form"] != "sync"
    ]
    return [
        f"Where the equations hold: compressions of up to 1,024 B, within {max(small):.1f} points"
        " in Sync (by the clock) and in Async (by the host's processor time). In Async they tell"
        " rightly which sizes pay. With A = 1 an offload must save more than it costs the host:"
        " 1,024 B lose, 4,096 B gain, and Sync cannot gain.",
        "",
        "Where they break:",
        "",
        f"- *o0 is no constant.* On an accelerator that idles it is {setup:.1f} us. The host paid"
        f" {between(paid('compress, 256 B') + paid('compress, 1024 B'), 1)} us for 256 and 1,024 B,"
        f" {between(paid('compress, 4096 B', 100) + paid(large, 100), 1)} us for 4,096 and 16,384 B"
        f" behind 100 us of own work, and {between(paid(large, 20), 1)} us where the worker always"
        " has another offload to do: most of o0 is waking a worker that sleeps. There, Async"
        f" without a response is {max(errors(large, ('async_no_response',), 20)):.0f} points off.",
        "- *The accelerator saturates.* Behind 20 us of own work, a compression of 16,384 B keeps"
        f" the one worker busy all the time. By the clock no form can gain more than {bound:.0f} %"
        f" then; equations (3) and (6) promise {between(promised)} %, as they are given no Q. And a"
        " host that waits for its oldest response pays switches that (6) does not have:"
        f" {max(errors(large, ('async_same_thread',), 20)):.0f} points.",
        "- *Waking a core that idles is more than a switch.* The latency of Sync-OS with one"
        f" request at a time is {between(errors('', ('sync_os_alone',)))} points worse than"
        " equation (5) says with o1 of two busy threads.",
        "- *Sync-OS near the break-even size.* Equation (3) says that 4,096 B lose; they gain,"
        " since o0 is smaller than it was given:"
        f" {between(errors('compress, 4096 B', ('sync_os',)))} points.",
        f"- *T1 costs the host more than an empty chain*: {between(paid('receive'), 1)} us instead"
        f" of {chain:.1f}, so that Async gains {between(errors('receive', asynchronous, 20))}"
        " points less behind 20 us of own work. What adds to it was not separated.",
    ]


def repeat_lines(found: dict[str, Any]) -> list[str]:
    """The commands that measure again."""
    profile, folder = {"dev": ("", "debug"), "release": ("--profile extension ", "extension")}[
        found["build"]
    ]
    return [
        f"    cargo build {profile}-p accelflow-runtime --example ensemble_offload",
        f"    chrt --fifo 1 target/{folder}/examples/ensemble_offload {found['rounds']}"
        " >offload.json",
        "    .venv/bin/python scripts/accelerometer_page.py --ensemble offload.json",
    ]


def input_lines(found: dict[str, Any]) -> list[str]:
    """What the equations are given."""
    lines = ["| input | ns |", "|---|---|"]
    for row in found["offload"]["chains"]:
        steps = f"{row['steps']} accelerator{'s' * (row['steps'] > 1)}"
        lines += [
            f"| o0, {steps} | {plus_minus(row['setup_ns'], thousands)} |",
            f"| L, {steps} | {plus_minus(row['transfer_ns'], thousands)} |",
        ]
    lines.append(
        f"| o1, a thread switch | {plus_minus(found['offload']['thread_switch_ns'], thousands)} |"
    )
    lines += [
        "",
        "*Paid* is what an offload without a response then cost the host's processor, beside o0.",
        "",
        "| kernel | own work, ns | on the host, ns | A | paid, ns |",
        "|---|---|---|---|---|",
    ]
    for row in found["kernels"]:
        speed = row["kernel_ns"]["mean"] / row["accelerated_ns"]["mean"]
        lines.append(
            f"| {row['kernel']} | {plus_minus(row['own_ns'], thousands)} |"
            f" {plus_minus(row['kernel_ns'], thousands)} | {speed:.2f} |"
            f" {plus_minus(row['paid_ns'], thousands)} |"
        )
    return lines


def error_lines(rows: list[dict[str, Any]]) -> list[str]:
    """How far off the equations are, by form."""
    lines = ["| form | compared by | median error, points | largest |", "|---|---|---|---|"]
    for form, name in FORMS.items():
        errors = [abs(row["error_points"]) for row in rows if row["form"] == form]
        by = "the clock" if form in ("sync", "sync_os_alone") else "the host's processor time"
        lines.append(f"| {name} | {by} | {statistics.median(errors):.1f} | {max(errors):.1f} |")
    return lines


def threshold_lines(found: dict[str, Any]) -> list[str]:
    """Selective offload by its threshold."""
    mix = ", ".join(f"{row['count']} of {row['bytes']:,} B" for row in found["mix"])
    even = found["break_even_bytes"]
    lines = [
        "### Selective offload",
        "",
        f"Ten requests ({mix}) in turn, {found['own_us']} us of own work each, Async in the same"
        " thread. Payloads below `least_bytes` stay on the host"
        " ([ensemble.md](../../ensemble.md#selective-offload)). The break-even size of equation (7)"
        " with the inputs above, the fixed part of a compression taken off o0, is"
        f" {plus_minus(even, thousands)} B. The gain is that over the host that does all kernels"
        " itself.",
        "",
        "| `least_bytes` | by the host's processor time | by the clock |",
        "|---|---|---|",
    ]
    for row in found["rows"]:
        least = row["least_bytes"]
        name = "all stay" if least is None else f"{least:,}" if least else "0: all are offloaded"
        lines.append(f"| {name} | {points(row['host_ratio'])} | {points(row['clock_ratio'])} |")
    return lines


def machine_lines(machine: dict[str, Any]) -> list[str]:
    """The section on a real machine."""
    of = machine["measured"]
    lines = [
        "",
        "## On a real machine",
        "",
        f"The paper's case studies, repeated in the small on {of['machine']} ({machine['date']}):"
        " AES-128-GCM with and without the processor's instructions for it, and in another process."
        " Inputs are micro-benchmarks (`accelflow accelerometer --measure`); the measured gain is"
        " that of the host's processor time for a request. The machine had other work meanwhile,"
        " from which processor times suffer less than wall times, and switches most of all.",
        "",
        "The other process is on another core where there is one, and the host has no other thread"
        " to run: it idles between switching away and back, and nobody is charged for idling. So"
        " its cost may lie anywhere between one switch and the two of equation (3).",
        "",
        "| case | alpha | A | o0 + L, ns | o1, ns | estimated | measured | error, points |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case in machine["trial"]["cases"]:
        inputs, real = case["inputs"], case["measured_speedup_ratio"]
        lines.append(
            f"| {case['case']} | {inputs['kernel_share_ratio']:.3f} |"
            f" {inputs['acceleration_ratio']:.1f} | {inputs['setup_ns']:,.0f} |"
            f" {inputs['thread_switch_ns']:,.0f} | {gain(case['estimated_speedup_ratio'])} |"
            f" {gain(real['mean'])} ± {100 * real['half_width']:.1f} |"
            f" {case['error_points']:+.1f} |"
        )
    lines += ["", "| micro-benchmark | mean | 95 % |", "|---|---|---|"]
    for name, row in of["kernels"].items():
        if row is not None:
            a = row["acceleration_ratio"]
            lines.append(
                f"| A of {name} by instructions | {a['mean']:.2f} | ± {a['half_width']:.2f} |"
            )
    for name, key in (
        ("o1, a thread switch, ns", "thread_switch_ns"),
        ("o0 of io_uring, an operation, ns", "io_uring_ns"),
    ):
        row = of[key]
        if row is not None:
            lines.append(f"| {name} | {row['mean']:,.0f} | ± {row['half_width']:,.0f} |")
    return lines


if __name__ == "__main__":
    main()
