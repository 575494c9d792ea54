"""The forecasts as a table, for terminals and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["markdown", "text"]

#: The names of the rungs in tables.
_NAMES: Final = {
    "closed_form": "closed form",
    "medians": "medians",
    "simulator": "simulator",
}
_LATENCIES: Final = ("mean", "p99")


def text(answer: Mapping[str, Any]) -> str:
    """Return `answer`, a result of :func:`accelflow.prediction.predict`, as a table for a terminal.

    A line below the table counts the forecasts whose mean and P99 are within the largest allowed
    errors.
    """
    head = ["load", "req/s", "", "live us", "spread"]
    for name in _NAMES.values():
        head += [f"{name} us", "off"]
    rows = [head]
    for row in answer["loads"]:
        for latency in _LATENCIES:
            first = latency == "mean"
            rows.append(
                [
                    f"{row['load_ratio']:.0%}" if first else "",
                    f"{row['rate_rps']:,.0f}" if first else "",
                    "mean" if first else "P99",
                    f"{row['live'][f'{latency}_us']:,.0f}",
                    f"{_spread(row, latency):.0%}",
                    *_cells(row, latency),
                ]
            )
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *_notes(answer)])


def markdown(answers: Sequence[Mapping[str, Any]]) -> str:
    """Return `answers`, results of :func:`accelflow.prediction.predict`, as one Markdown table.

    The table has a row for each service and load.
    """
    head = ["service", "load", "req/s", "live mean, us", "spread"]
    head += [f"{name}, off" for name in _NAMES.values()]
    head += ["live P99, us", "spread"]
    head += [f"{name}, off" for name in _NAMES.values()]
    head += ["live core, us", "recorded core, us"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for answer in answers:
        for row in answer["loads"]:
            cells = [
                answer["function"].rpartition(".")[2],
                f"{row['load_ratio']:.0%}",
                f"{row['rate_rps']:,.0f}",
            ]
            for latency in _LATENCIES:
                cells += [f"{row['live'][f'{latency}_us']:,.0f}", f"{_spread(row, latency):.0%}"]
                cells += [_error(row, rung, latency) for rung in _NAMES]
            cells += [f"{row['live']['core_us']:.0f}", f"{answer['recorded']['core_us']:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any], latency: str) -> list[str]:
    cells = []
    for rung in _NAMES:
        time_us = row["rungs"][rung][f"{latency}_us"]
        cells += ["-" if time_us is None else f"{time_us:,.0f}", _error(row, rung, latency)]
    return cells


def _error(row: Mapping[str, Any], rung: str, latency: str) -> str:
    ratio = row["rungs"][rung][f"{latency}_error_ratio"]
    return "saturated" if ratio is None else f"{ratio:+.0%}"


def _spread(row: Mapping[str, Any], latency: str) -> float:
    """The distance between the highest and the lowest run, as a share of the median one."""
    runs = row["live"][f"{latency}s_us"]
    return float((max(runs) - min(runs)) / row["live"][f"{latency}_us"])


def within(answers: Sequence[Mapping[str, Any]], rung: str, latency: str) -> tuple[int, int]:
    """Return how many forecasts by the method `rung` are within the goal, and how many there are.

    `answers` are results of :func:`accelflow.prediction.predict`, each with its goal, the largest
    allowed error. `latency` is the compared latency, ``mean`` or ``p99``.
    """
    found = [
        (row["rungs"][rung][f"{latency}_error_ratio"], answer["goal"][f"{latency}_ratio"])
        for answer in answers
        for row in answer["loads"]
    ]
    return sum(error is not None and abs(error) <= goal for error, goal in found), len(found)


def _notes(answer: Mapping[str, Any]) -> list[str]:
    goal = answer["goal"]
    reached = []
    for rung, name in _NAMES.items():
        means, of = within([answer], rung, "mean")
        p99s, _ = within([answer], rung, "p99")
        reached.append(f"{name} {means} and {p99s} of {of}")
    errors = sum(row["live"]["errors"] for row in answer["loads"])
    calls = sum(row["live"]["calls"] for row in answer["loads"])
    first, last = answer["run_queue"]
    return [
        f"{answer['function']} as {answer['service']}, at most {answer['capacity_rps']:,.0f}"
        f" requests a second on one core; {calls:,} calls, {errors:,} errors.",
        "live: the median of the runs; spread: the highest less the lowest run, over the median;"
        " off: the",
        "forecast over the live time, less 1. Means within"
        f" {goal['mean_ratio']:.0%} and P99s within {goal['p99_ratio']:.0%}: {'; '.join(reached)}.",
        f"The machine's run queue was {first:.1f} when this began and {last:.1f} when it ended.",
    ]
