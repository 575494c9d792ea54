"""Writes docs/results/tenants.md from the results in docs/results/tenants/.

.venv/bin/python scripts/tenants_page.py [--results FOLDER] [--keep simulated|live] [--out PAGE]

`scripts/tenants` measures the results and calls this script. --keep first saves results from the
standard input; live results get the name of this machine and the date.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from accelflow.accelerometer.measured import machine_name
from accelflow.companions.medians import Median, median, median_ratio
from accelflow.errors import InputError
from accelflow.files import write_whole
from accelflow.findings import Estimate
from accelflow.findings.page import markdown_table
from accelflow.findings.statistics import estimate

RESULTS: Final = Path(__file__).parents[1] / "docs" / "results" / "tenants"

#: The schemas of the results, by the name of the file.
SCHEMAS: Final = {"simulated": "accelflow.tenants/1", "live": "accelflow.tenant-flood/1"}

#: A rule protects the victim if the victim keeps the first share of its rate, and if its P99 is at
#: most the second multiple of its P99 without a flood.
KEPT_RATE: Final = 0.98
KEPT_P99: Final = 1.5

Cell = Mapping[str, Any]

#: Explanations of the mechanisms, which do not depend on the results.
REASONS: Final = (
    "A limit in bytes takes almost no tokens for small messages, but a part of the accelerators' "
    "time is the same for every size. A limit in traces passes 64 KiB for one token. A promise in "
    "one unit says nothing about the other, so a tenant whose sizes are unknown needs both, or a "
    "limit in accelerator time: the same time pays for more small messages than the limit in "
    "traces passes, and for more huge ones than that in bytes.",
    "AccelFlow's limit N bounds how many of the flooder's traces wait in the queues, not how much "
    "accelerator time they get. It is the same for all tenants, so it also holds back the victim, "
    "whose traces take longer during the flood. A limit on the flooder alone was not measured.",
    "Deadlines exchange entries of one queue, in which both tenants are late.",
    "The simulated bursty flood draws its rate some 37 times in a run. With some seeds it asks for "
    "less than it was promised, and then gets all that it asks for.",
    "On the live server, connections that wait for their answers cannot flood as fast as the "
    "simulated tenant. Requests of eight connections that take turns to wake cost more processor "
    "time than those of the one on which the promise's time was measured, so that its limit in "
    "accelerator time passes fewer. Under the control plane the flooder has no promise.",
)

HEAD: Final = """\
# Who keeps P99 and rate when a tenant floods

Written by `scripts/tenants` from [the results](tenants/); do not edit.
"""


def page(simulated: Mapping[str, Any], live: Mapping[str, Any]) -> str:
    """Return the page of the simulated and the live results."""
    lines = [HEAD, about_simulated(simulated), ""]
    floods = [
        (flood["name"], flood["what"], f"{flood['rate_rps']:,.0f}") for flood in simulated["floods"]
    ]
    lines += markdown_table(("flood", "messages", "requests a second, mean"), floods)
    lines += [LEGEND, ""]
    for table in simulated["tables"]:
        lines += simulated_section(table, simulated["victim_rps"])
    lines += live_section(live)
    lines += ["## Why", "", *(f"- {reason}" for reason in REASONS)]
    return "\n".join(lines).rstrip() + "\n"


LEGEND: Final = (
    "A cell is the mean over the seeds with its 95 % interval. *Of its promise* is the flooder's "
    "rate over the lowest that its limits allow with such messages, 8,192 B for those of the "
    'fleet. "In the order of asking" is `tenant.shaping_order` 0; else traces of requests that '
    "have begun get tokens before first traces. A figure in a run that cannot keep up is a "
    'property of the run\'s length, not of the server. "tenant limit" stands for whatever holds '
    "a tenant back, its limit N or its tokens."
)


def about_simulated(result: Mapping[str, Any]) -> str:
    """Return the text on what was simulated."""
    promised = f"{result['promised_rps']:,.0f}"
    each = f"{result['interval_us']:g} us"
    kib = result["bucket_traces"] * result["bytes_of_a_trace"] / 1024
    return (
        "AccelFlow on the base server, profile `paper`, sizes `fleet`. The victim is all eight "
        f"SocialNetwork services at {result['victim_rps']:,.0f} requests a second each, Poisson; "
        f"P99 is the mean over the services. The flooder is another tenant's {result['flooder']}, "
        f"for as long. Every service has an SLO of {result['slo_factor']} times its mean response "
        f"time when alone. The flooder was promised {promised} requests a second of "
        f"{result['traces_of_a_request']:g} traces at {result['bytes_of_a_trace']:,} B each: its "
        f"shaper has a trace every {each} (bucket {result['bucket_traces']}), as many bytes every "
        f"{each} (bucket {kib:g} KiB), both limits, or the accelerator time that {promised} such "
        f"requests take each second (bucket: of {result['bucket_traces']} traces)."
    )


def simulated_section(table: Mapping[str, Any], victim_rps: float) -> list[str]:
    """Return the table with one cost of TCP, and sentences on what it shows."""
    alone, *cells = table["cells"]
    requests, ms = table["requests"], 1e3 * table["requests"] / victim_rps
    lines = [
        f"## Simulated, TCP at {table['tcp_us']} us",
        "",
        f"{requests:,} requests of each service ({ms:.0f} ms), of which the first tenth is not "
        f"counted; seeds 1 to {table['seeds']}.",
        "",
    ]
    rows = [simulated_row(alone, alone), *(simulated_row(cell, alone) for cell in cells)]
    columns = (
        *("flood", "rule", "victim's P99, us", "of that alone", "victim, 1,000/s"),
        *("flooder, 1,000/s", "of its promise", "cannot keep up"),
    )
    lines += markdown_table(columns, rows)
    return [*lines, *(f"- {sentence}" for sentence in simulated_sentences(cells, alone)), ""]


def over_seeds(cell: Cell, key: str) -> Estimate | None:
    """Return the mean of the value `key` over the seeds; None if a service had no responses."""
    return estimate([run[key] for run in cell["runs"]])


def mean(cell: Cell, key: str) -> float:
    """Return the mean of the value `key` over the seeds; NaN without responses."""
    found = over_seeds(cell, key)
    return float("nan") if found is None else found.mean


def text(found: Estimate | None, scale: float = 1.0) -> str:
    """Return an estimate with half its interval as text."""
    if found is None:
        return "a service without responses"
    half = "" if found.half_width is None else f" ± {found.half_width / scale:,.1f}"
    return f"{found.mean / scale:,.1f}{half}"


def simulated_row(cell: Cell, alone: Cell) -> list[str]:
    """Return the cells of a row of the simulated table; `alone` is the case without a flood."""
    ratio, share = mean(cell, "p99_us") / mean(alone, "p99_us"), of_promise(cell)
    causes = sorted({run["saturated"] for run in cell["runs"] if run["saturated"]})
    flooded = cell is not alone
    return [
        cell["flood"] or "*nobody floods*",
        cell["rule"] or "",
        text(over_seeds(cell, "p99_us")),
        f"{ratio:.2f}" if flooded and math.isfinite(ratio) else "",
        text(over_seeds(cell, "victim_rps"), 1e3),
        text(over_seeds(cell, "flooder_rps"), 1e3) if flooded else "",
        "" if share is None else percent(share),
        ", ".join(causes),
    ]


def of_promise(cell: Cell) -> float | None:
    """Return the flooder's rate over its promised rate; None without a promise."""
    promised = cell["promised_rps"]
    return None if promised is None else mean(cell, "flooder_rps") / promised


def protects(cell: Cell, alone: Cell) -> bool:
    """Return whether the victim keeps its rate and P99, compared with those in `alone`."""
    rate = mean(cell, "victim_rps") / mean(alone, "victim_rps")
    return rate >= KEPT_RATE and mean(cell, "p99_us") <= KEPT_P99 * mean(alone, "p99_us")


def simulated_sentences(cells: Sequence[Cell], alone: Cell) -> Iterator[str]:
    """Yield sentences on what the simulated table shows."""
    by_rule: dict[str, list[Cell]] = {}
    for cell in cells:
        by_rule.setdefault(cell["rule"], []).append(cell)
    yield (
        f"A rule *protects* here if the victim keeps {percent(KEPT_RATE)} of its rate, and its P99 "
        f"is at most {KEPT_P99:g} times that alone."
    )
    for rule, of_rule in by_rule.items():
        if not rule.endswith("in the order of asking"):
            yield rule_sentence(rule, of_rule, alone)
    asking = [cell for cell in cells if cell["rule"].endswith("in the order of asking")]
    begun = [
        cell
        for cell in cells
        if any(cell["rule"] + ", in the order of asking" == other["rule"] for other in asking)
    ]
    yield (
        f"In the order of asking, the flooder gets {shares(asking, alone)} of its promise where "
        "the victim is protected. The queue fills with first traces of new requests, which take "
        "the tokens that second traces of old requests wait for. If requests that have begun go "
        f"first, it gets {shares(begun, alone)}."
    )


def rule_sentence(rule: str, cells: Sequence[Cell], alone: Cell) -> str:
    """Return a sentence: the floods that a rule protects from, the P99, and the flooder's rate."""
    kept = [cell for cell in cells if protects(cell, alone)]
    floods = listed([cell["flood"] for cell in kept])
    name = "Without a rule" if rule == "none" else f"*{rule}*"
    if not kept:
        ratios = [mean(cell, "p99_us") / mean(alone, "p99_us") for cell in cells]
        known = [ratio for ratio in ratios if math.isfinite(ratio)]
        p99 = f"the victim's P99 is {times(known)} that alone" if known else "no P99 is known"
        return f"{name}: no protection from any flood; {p99}."
    ratios = [mean(cell, "p99_us") / mean(alone, "p99_us") - 1 for cell in kept]
    said = (
        f"{name}: protection from {floods}, with the victim's P99 {within(ratios)} above that alone"
    )
    if kept[0]["promised_rps"] is not None:
        said += f"; the flooder gets {shares(kept, alone)} of its promise"
    return said + "."


def shares(cells: Sequence[Cell], alone: Cell) -> str:
    """Return the range of flooders' rates over their promises where the victim is protected."""
    found = [
        share for cell in cells if protects(cell, alone) and (share := of_promise(cell)) is not None
    ]
    return within(found) if found else "no rate"


def within(values: Sequence[float]) -> str:
    """Return the range of `values` as text in percent."""
    low, high = percent(min(values)), percent(max(values))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def percent(share: float) -> str:
    """Return a share (0 to 1) as text in percent."""
    return f"{100 * share:.0f} %"


def times(values: Sequence[float]) -> str:
    """Return the range of the factors `values` as text."""
    low, high = f"{min(values):,.3g}", f"{max(values):,.3g}"
    return f"{low} times" if low == high else f"{low} to {high} times"


def listed(names: Sequence[str]) -> str:
    """Return `names` joined for a sentence, such as `a, b and c`."""
    *first, last = names or ["none"]
    return f"{', '.join(first)} and {last}" if first else last


def live_section(live: Mapping[str, Any]) -> list[str]:
    """Return the section with the live server's table, and sentences on what it shows."""
    alone, *cells = live["cells"]
    lines = ["## In the live server", "", about_live(live), ""]
    columns = (
        *("flood", "rule", "victim's P50, us", "P90, us", "of that alone", "P99, us"),
        *("of that alone", "victim, 1,000/s", "flooder, 1,000/s"),
    )
    lines += markdown_table(columns, [live_row(cell, alone) for cell in (alone, *cells)])
    return [*lines, *(f"- {sentence}" for sentence in live_sentences(live)), ""]


def about_live(live: Mapping[str, Any]) -> str:
    """Return the text on how the live server was measured."""
    victim, promise, control = live["victim"], live["promise"], live["control"]
    queues = [f"{queue:.1f}" for queue in live["run_queue"] if queue is not None]
    kib = promise["bytes"] / 1024
    return (
        f"Measured on {live['date']} on {live['cores']} cores of {live['machine']}, with a run "
        f"queue of {' and '.join(queues)} before and after; server and clients share the machine. "
        f"The victim sends {victim['per_s']:,.0f} messages of {victim['bytes']} B a second on one "
        f"connection. The flooder has {live['flooder']['connections']} that call and wait: "
        "*small*, 64 B; *huge*, 64 KiB; *bursty*, sizes from 256 B to 33 KB (mean 8.1 KB) for 5 "
        f"ms of each 50. The flooder was promised {promise['per_s']:,.0f} requests a second of "
        f"{kib:g} KiB, and has these in tokens of requests, of bytes, of both, or in accelerator "
        "time: what so many requests take, measured before on one connection "
        f"({1e6 * promise['s']:.1f} us each; {1e6 * victim['s']:.1f} us for one of the victim). "
        f"The control plane has promised the victim {control['victim_per_s']:,.0f} requests a "
        f"second out of {control['capacity']:g} core, and the flooder nothing, so that it gets "
        f"what is left of 0.8 of that.\n\n{live['rounds']} alternating rounds of "
        f"{live['seconds']:g} s, of which the first fifth is not counted: medians, with 95 % "
        "intervals by the bootstrap. Ratios are medians of the rounds' ratios."
    )


def of_rounds(cell: Cell, key: str) -> list[float]:
    """Return the value `key` of each round."""
    return [round_[key] for round_ in cell["rounds"]]


def live_ratio(cell: Cell, other: Cell, key: str) -> Median:
    """Return the median ratio of the value `key` in `cell` to that in `other`, per round."""
    return median_ratio(of_rounds(cell, key), of_rounds(other, key))


def live_row(cell: Cell, alone: Cell) -> list[str]:
    """Return the cells of a row of the live table; `alone` is the case without a flood."""

    def shown(key: str, digits: int, scale: float = 1.0) -> str:
        return median(of_rounds(cell, key)).text(digits, scale)

    flooded = cell is not alone
    ratio = {
        key: live_ratio(cell, alone, key).text(2) if flooded else "" for key in ("p90_us", "p99_us")
    }
    return [
        cell["flood"] or "*nobody floods*",
        cell["rule"] or "",
        shown("p50_us", 0),
        shown("p90_us", 0),
        ratio["p90_us"],
        shown("p99_us", 0),
        ratio["p99_us"],
        shown("victim_rps", 2, 1e-3),
        shown("flooder_rps", 2, 1e-3) if flooded else "",
    ]


def live_sentences(live: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on what the live table shows."""
    cells = live["cells"][1:]
    without = {cell["flood"]: cell for cell in cells if cell["rule"] == "none"}
    rules = dict.fromkeys(cell["rule"] for cell in cells if cell["rule"] != "none")
    yield (
        "Beside each rule: the floods in which the victim's percentile is shorter than without a "
        "rule, or longer, and those in which the interval of the ratio contains 1."
    )
    for rule in rules:
        of_rule = [cell for cell in cells if cell["rule"] == rule]
        parts = [
            f"{name} {compared(of_rule, without, key)}"
            for name, key in (("P90", "p90_us"), ("P99", "p99_us"))
        ]
        yield f"*{rule}*: {'; '.join(parts)}."
    control = live["control"]
    yield (
        f"The control plane counted {control['periods']:,} periods of the victim; in "
        f"{control['missed']:,} the victim got less than it was promised and had asked for."
    )


def compared(cells: Sequence[Cell], without: Mapping[str, Cell], key: str) -> str:
    """Return a text on the floods in which a percentile is decidedly changed by a rule."""
    groups: dict[str, list[str]] = {"shorter": [], "longer": [], "not decided": []}
    for cell in cells:
        ratio = live_ratio(cell, without[cell["flood"]], key)
        group = "shorter" if ratio.high < 1 else "longer" if ratio.low > 1 else "not decided"
        groups[group].append(f"{cell['flood']} ({ratio.median:.2f} times)")
    return ", ".join(f"{group} under {listed(names)}" for group, names in groups.items() if names)


def keep(kind: str, folder: Path) -> None:
    """Save the results from the standard input in `folder`."""
    try:
        measured = checked(json.load(sys.stdin), kind, "standard input")
    except ValueError as error:
        raise InputError(f"standard input: must be JSON: {error}") from None
    if kind == "live":
        date = datetime.now(UTC).date().isoformat()
        measured |= {"machine": machine_name(), "cores": os.cpu_count(), "date": date}
    text = json.dumps(measured, indent=2) + "\n"
    write_whole(folder / f"{kind}.json", lambda path: path.write_text(text, encoding="utf-8"))


def read(kind: str, folder: Path) -> Mapping[str, Any]:
    """Return the saved results. Raises InputError for a file with another schema."""
    path, option = folder / f"{kind}.json", {"simulated": "", "live": " --server"}[kind]
    try:
        return checked(json.loads(path.read_text(encoding="utf-8")), kind, str(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; `scripts/tenants{option}` measures it") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None


def checked(found: object, kind: str, place: str) -> dict[str, Any]:
    """Return `found` if its schema is that of `kind`. Raises InputError otherwise."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMAS[kind]:
        raise InputError(f"{place}: must have the schema {SCHEMAS[kind]}")
    return found


def main() -> None:
    """Save results if asked to, and write the page."""
    parser = argparse.ArgumentParser(description="Write the page of tenants' floods.")
    parser.add_argument("--results", type=Path, default=RESULTS, metavar="FOLDER")
    parser.add_argument("--keep", choices=tuple(SCHEMAS), help="keep the results on standard input")
    parser.add_argument("--out", type=Path, metavar="PAGE", help="by default FOLDER.md")
    options = parser.parse_args()
    out = options.out or options.results.with_suffix(".md")
    try:
        if options.keep:
            keep(options.keep, options.results)
        text = page(*(read(kind, options.results) for kind in SCHEMAS))
        write_whole(out, lambda path: path.write_text(text, encoding="utf-8"))
    except (InputError, OSError) as error:
        sys.exit(f"tenants_page: error: {error}")


if __name__ == "__main__":
    main()
