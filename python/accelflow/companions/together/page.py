"""The Markdown page of AccelFlow and its companion papers on one server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from accelflow.companions.together.sentences import live_sentences, simulated_sentences
from accelflow.companions.together.systems import FLOODING
from accelflow.findings.page import markdown_table
from accelflow.simulation import PAPER_RATE_RPS

__all__ = ["markdown"]

_Value = Mapping[str, Any]

#: The mark of a figure that depends on the run's length, since the server is overloaded.
_OVERLOADED: Final = "†"
#: The lines of the section on the live server, if no live server was measured.
_NOT_MEASURED: Final = (
    "## On a live server",
    "",
    "No live server was measured for this page. `accelflow companions together --measure` does it, "
    "on a machine without other work.",
)
#: The text in place of the P99 of a tenant that waits for its tokens.
_WAITS: Final = "waits"


def markdown(result: Mapping[str, Any], picture: str | None = None) -> str:
    """Return the Markdown page of `accelflow companions together`.

    `result` is a result of :func:`accelflow.companions.together.compare`. `picture` is the file
    name of the page's picture; None for a page without one.
    """
    last = result["seed"] + result["replications"] - 1
    flood = f"{result['flood_ratio']:g}"
    lines = [
        "# The four papers on one server",
        "",
        "Written by `accelflow companions together`; do not edit. AccelFlow's ensemble, Cerebros "
        "in the place of its RPC accelerator, ARCUS before a tenant, and Accelerometer's closed "
        "form beside the simulator and a live server.",
        "",
        *([f"![P99 by load and system]({picture})", ""] if picture else []),
        "## On the simulated base server",
        "",
        f"SocialNetwork's eight services with {PAPER_RATE_RPS:,.0f} Poisson requests a second "
        f"each. A service with the mean rate serves {result['requests']:,} requests. TCP takes 7 "
        f"us on a core. Simulated figures are means over seeds {result['seed']} to {last} with 95 "
        f"% intervals; *closed* is Accelerometer's closed form. Under *flood* a tenant sends "
        f"{flood} times as many requests of {FLOODING}. ARCUS promises it the accelerator time of "
        f"{result['promised_ratio']:g} times its share. Response times are means over the other "
        "seven services. Requests a second are those at which the busiest resource is always in "
        "use.",
        "",
        *_simulated_table(result["rows"]),
        *_marks(result["rows"]),
        "## What each adds, and where two get in one another's way",
        "",
        "The P99 of the seven services without the addition, divided by that with it. *Beside* is "
        "the gain where the other is, over the gain alone: below 1, the two interfere.",
        "",
        *_effects_table(result["effects"]),
        *(f"- {sentence}" for sentence in simulated_sentences(result["rows"], result["effects"])),
        "",
        "Accelerometer's closed form has queues of cores only, and each operation is an offload. "
        "What it lacks under flood are the queues of accelerators.",
    ]
    lines += ["", *(_live_section(result["live"]) if "live" in result else _NOT_MEASURED)]
    return "\n".join(lines) + "\n"


def _said(value: _Value | None, digits: int) -> str:
    """Return a mean and half its interval's width, or a median and its interval's ends."""
    if value is None:
        return "-"
    if "median" in value:
        low, high = value["low"], value["high"]
        return f"{value['median']:,.{digits}f} ({low:,.{digits}f} to {high:,.{digits}f})"
    half_width = value["half_width"]
    sure = "" if half_width is None else f" ± {half_width:,.{digits}f}"
    return f"{value['mean']:,.{digits}f}{sure}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _scaled(value: _Value | None, scale: float) -> dict[str, Any] | None:
    if value is None:
        return None
    shown = (key for key in ("mean", "half_width", "median", "low", "high") if key in value)
    return {key: value[key] and value[key] * scale for key in shown}


def _simulated_table(rows: Sequence[_Value]) -> list[str]:
    columns = (
        *("load", "system", "mean, us", "closed", "P99, us", "closed", "P99 of the tenant, us"),
        *("core time of a request, us", "closed", "1,000 requests/s", "closed", "limited by"),
    )
    return markdown_table(columns, [_simulated_row(row) for row in rows])


def _simulated_row(row: _Value) -> list[str]:
    mark = f" {_OVERLOADED}" if row["overloaded"] else ""
    return [
        row["load"],
        row["system"],
        _said(row["mean_us"], 1) + mark,
        _number(row["closed_mean_us"], 1),
        _said(row["p99_us"], 1) + mark,
        _number(row["closed_p99_us"], 1),
        _WAITS if row["tenant_waits"] else _said(row["flooding_p99_us"], 1) + mark,
        _said(row["core_us"], 1),
        _number(row["closed_core_us"], 1),
        _said(_scaled(row["capacity_rps"], 1e-3), 0),
        _number((row["closed_capacity_rps"] or 0.0) / 1e3 or None, 0),
        row["busiest"],
    ]


def _marks(rows: Iterable[_Value]) -> list[str]:
    """Return sentences that explain the marks in the table, if there are any."""
    said = []
    if any(row["overloaded"] for row in rows):
        said.append(
            f"{_OVERLOADED}: overloaded; the time depends on the length of the run, not on the "
            "server."
        )
    if any(row["tenant_waits"] for row in rows):
        said.append(
            f"*{_WAITS}*: the tenant asks for more than its promise, and its requests wait for "
            "tokens as long as it does. The closed form has the promised rate."
        )
    return [*said, ""] if said else []


def _effects_table(effects: Sequence[_Value]) -> list[str]:
    rows = [
        [
            effect["load"],
            effect["added"],
            _said(effect["p99_ratio"], 3),
            _said(effect["beside_ratio"], 3),
        ]
        for effect in effects
    ]
    return markdown_table(("load", "added", "P99, times less", "beside"), rows)


def _live_section(live: _Value) -> list[str]:
    """Return the section that compares the live server, the simulator and the closed form."""
    own = "a core of its own" if live["own_core"] else "no core of its own"
    low, high = min(live["run_queue"]), max(live["run_queue"])
    (tenant,) = live["control"]["tenants"]
    each = min(live["rates_rps"].values())
    return [
        "## On a live server",
        "",
        f"Measured on {live['date']} on {live['cores']} cores of {live['machine']}, with a run "
        f"queue from {low:.1f} to {high:.1f}; the server had {own}. It is one server with the "
        "eight services of `examples/socialnetwork` behind TLS, each with "
        f"{each:,.0f} Poisson requests a second; what they call answers at once. Under *flood* "
        f"the tenant sends {live['flood_ratio']:g} times as many. Live figures are medians over "
        f"{live['rounds']} alternating rounds of {live['seconds']:g} s, with 95 % intervals by the "
        f"bootstrap; simulated ones are means over {live['replications']} seeds.",
        "",
        "- *Live*: each of AccelFlow's accelerators is a thread; Cerebros is its split schema and "
        "reserved memory. ARCUS is the control plane, which has promised the tenant "
        f"{tenant['requests_per_s']:,.0f} requests a second of {tenant['request_us']:.0f} us, in "
        "accelerator time; the others share the rest.",
        "- *Simulated*: the same server, with the costs in a recording of its requests; first in "
        "software on one core, then with the papers' hardware and ARCUS's limit in accelerator "
        "time.",
        "- *Closed*: Accelerometer's form, with the same recording.",
        "",
        "The first row of each load compares the models with the machine. The other rows compare "
        "threads in the place of accelerators with the hardware. Requests a second are those at "
        "which the busiest resource is always in use; live it is the core.",
        "",
        *_live_table(live["rows"]),
        *_live_marks(live["rows"]),
        *(f"- {sentence}" for sentence in live_sentences(live)),
        "",
        "The P99 without the addition, divided by that with it:",
        "",
        *_live_effects(live["effects"]),
    ]


def _live_table(rows: Sequence[_Value]) -> list[str]:
    columns = (
        *("load", "system", "mean, us: live", "simulated", "closed", "P99, us: live", "simulated"),
        *("closed", "core time of a request, us: live", "simulated", "closed"),
        *("requests/s: live", "simulated", "closed", "of the tenant, requests/s: live"),
        "simulated",
    )
    return markdown_table(columns, [_live_row(row) for row in rows])


def _live_row(row: _Value) -> list[str]:
    live = f" {_OVERLOADED}" if row["live_overloaded"] else ""
    simulated = f" {_OVERLOADED}" if row["overloaded"] else ""
    cells = [row["load"], row["system"]]
    for key in ("mean_us", "p99_us"):
        cells += [
            _said(row[f"live_{key}"], 0) + live,
            _said(row[key], 0) + simulated,
            _number(row[f"closed_{key}"], 0),
        ]
    for key in ("core_us", "capacity_rps"):
        cells += [
            _said(row[f"live_{key}"], 0),
            _said(row[key], 0),
            _number(row[f"closed_{key}"], 0),
        ]
    return [*cells, _said(row["live_flooding_rps"], 0), _said(row["flooding_rps"], 0)]


def _live_marks(rows: Iterable[_Value]) -> list[str]:
    if not any(row["overloaded"] or row["live_overloaded"] for row in rows):
        return []
    return [f"{_OVERLOADED}: overloaded; the time depends on the length of the run.", ""]


def _live_effects(effects: Sequence[_Value]) -> list[str]:
    rows = [
        [
            effect["load"],
            effect["added"],
            _said(effect["live_p99_ratio"], 2),
            _said(effect["p99_ratio"], 2),
        ]
        for effect in effects
    ]
    return markdown_table(("load", "added", "live", "simulated"), rows)
