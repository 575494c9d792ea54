"""Writes docs/results/prediction.md, from the results in docs/results/prediction/.

The page goes to the standard output. The results are those of `examples/prediction/run`, which
calls this script.
"""

import json
import sys
from pathlib import Path
from typing import Any

from accelflow import prediction
from accelflow.prediction.table import within

#: The services, in the order of the page.
FILES = ("short.json", "hash.json", "mixed.json")

#: The relative difference above which two core times count as different.
OTHER_CORE_RATIO = 0.05

HEAD = """\
# Forecasts against the live server

Written by `examples/prediction/run` from [the results](prediction/).
[prediction.md](../prediction.md) says what each rung knows, and why forecasts are off where they
are.
"""

FOOT = """\
*Off* is the forecast over the live time, less 1; the live time is the median of the runs. *Spread*
is the distance between the highest and the lowest run as a share of it: a forecast cannot be judged
more closely than that. *Medians* is the simulator with the medians of steps and nothing outside of
them, as before recordings had distributions; *simulator* draws from the distributions, with the
time outside of steps.
"""


def page(answers: list[dict[str, Any]]) -> str:
    """Return the page of `answers`, the results of `accelflow predict` for each service."""
    first = answers[0]
    queues = [queue for answer in answers for queue in answer["run_queue"]]
    calls = sum(row["live"]["calls"] for answer in answers for row in answer["loads"])
    errors = sum(row["live"]["errors"] for answer in answers for row in answer["loads"])
    own = "a core of its own" if first["own_core"] else "no core of its own"
    own += " and, as its callers, a real-time priority" if first["real_time"] else ""
    measured = (
        f"Measured on {first['date']} on {first['cores']} cores of {first['machine']}; the server"
        f" had {own}.\nThe machine's run queue was from {min(queues):.1f} to {max(queues):.1f}"
        " meanwhile; what is above 1 or 2 is other work,\nwhich disturbs the measurement. Each load"
        f" was driven for {first['seconds']:g} s, {first['repeats']} times: {calls:,} calls,"
        f" {errors:,} errors.\n"
    )
    return "\n".join(
        [HEAD, measured, reached(answers), missed(answers), prediction.markdown(answers), FOOT]
    )


def reached(answers: list[dict[str, Any]]) -> str:
    """Return sentences on the forecasts within the goal, and the median error of each rung."""
    goal = answers[0]["goal"]
    rows = [
        f"| rung | means within {goal['mean_ratio']:.0%} | median error of a mean |"
        f" P99s within {goal['p99_ratio']:.0%} | median error of a P99 |",
        "|---|---|---|---|---|",
    ]
    for rung, name in (
        ("closed_form", "closed form"),
        ("medians", "simulator, medians alone (before)"),
        ("simulator", "simulator, distributions and time outside of steps (after)"),
    ):
        cells = [name]
        for latency in ("mean", "p99"):
            good, of = within(answers, rung, latency)
            cells += [f"{good} of {of}", median_error(answers, rung, latency)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def missed(answers: list[dict[str, Any]]) -> str:
    """Return a sentence on the simulator's misses at loads whose core time is not the recorded."""
    counts = []
    for latency in ("mean", "p99"):
        rows = [
            abs(row["live"]["core_us"] / answer["recorded"]["core_us"] - 1.0) > OTHER_CORE_RATIO
            for answer in answers
            for row in answer["loads"]
            if not good(row, answer, latency)
        ]
        counts.append(f"{sum(rows)} of the {len(rows)} {'means' if latency == 'mean' else 'P99s'}")
    return (
        f"Of the simulator's misses, {' and '.join(counts)} are at loads at which the live"
        f" server's\nprocessor time for a call is more than {OTHER_CORE_RATIO:.0%} away from the"
        " recorded one.\n"
    )


def good(row: dict[str, Any], answer: dict[str, Any], latency: str) -> bool:
    """Return whether the simulator's forecast of a load is within the goal."""
    error = row["rungs"]["simulator"][f"{latency}_error_ratio"]
    return error is not None and abs(error) <= answer["goal"][f"{latency}_ratio"]


def median_error(answers: list[dict[str, Any]], rung: str, latency: str) -> str:
    """Return the median absolute error over services and loads; a saturated one is the largest."""
    errors = [
        row["rungs"][rung][f"{latency}_error_ratio"]
        for answer in answers
        for row in answer["loads"]
    ]
    sizes = sorted(float("inf") if error is None else abs(error) for error in errors)
    middle = sizes[len(sizes) // 2]
    return "saturated" if middle == float("inf") else f"{middle:.0%}"


def main(folder: Path) -> None:
    """Print the page of the results in `folder`."""
    answers = [json.loads((folder / name).read_text(encoding="utf-8")) for name in FILES]
    sys.stdout.write(page(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
