"""Texts that say under which readings and input values our figures agree with the paper's.

The texts become parts of the recorded reasons why a figure differs from the paper's. The readings
are those of ``experiments/held.json``, which has our figures under each reading; `accelflow
readings --held` writes this file. The input values are computed, or follow by proofs from figures
that the paper prints.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from accelflow import simulation
from accelflow.errors import one_of
from accelflow.findings import number, targets
from accelflow.findings.targets import DATA
from accelflow.reproduce.implications import proof
from accelflow.reproduce.implications.page import value_text

__all__ = ["COMPUTED", "HELD", "Quoted", "computed_text", "held", "implied_text", "quoted"]

#: The name of the file with our figures by reading of the paper.
HELD: Final = "held.json"

#: The posts of the measured timeline, the longest of SocialNetwork's messages, and the number of
#: invocations of each service for which its size is drawn.
_POSTS: Final = 10
_DRAWN: Final = 500

#: The largest number of readings that a text names in which a figure agrees.
_MOST: Final = 3


@cache
def held() -> Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]:
    """Return our figures under each reading of the paper that was tried, from ``held.json``.

    A choice is a setting that the paper leaves open, and a reading is one possible value of it. The
    result maps the figure's key to choices, and each choice to its readings. A reading has
    ``reading`` (its label), ``mean`` (our figure under it), ``verdict`` (whether the figure agrees
    with the paper's) and ``saturated`` (whether a system could not keep up).
    """
    text = resources.files(DATA).joinpath(HELD).read_text("utf-8")
    rows: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]] = json.loads(text)["rows"]
    return rows


@dataclass(frozen=True)
class Quoted:
    """Three texts that list readings of the paper, by whether one of our figures agrees under them.

    A reading is one way to understand what the paper leaves open. With the readings in `holds`, our
    figure agrees with the paper's. With those in `undecided`, its confidence interval is too wide
    to decide. With those in `off`, it differs. A text is empty if there is no such reading.
    """

    holds: str
    undecided: str
    off: str


def quoted(row: str, choices: Sequence[str]) -> Quoted:
    """Return under which readings of the paper one of our figures agrees with the paper's.

    `row` is the figure's key. `choices` names settings that the paper leaves open; their possible
    values are the readings (see :func:`held`). Of the readings under which the figure agrees, at
    most three are listed, those with our figure nearest to the paper's.
    """
    agreeing: list[tuple[float, str]] = []
    undecided: list[str] = []
    off: list[str] = []
    paper = targets()[row].figure
    for choice in choices:
        tried = held().get(row, {}).get(choice, ())
        for reading in tried:
            if reading["verdict"] == "agrees":
                distance = abs(reading["mean"] - float(paper.nearest(reading["mean"])))
                agreeing.append((distance, f"with {_text(choice, reading)}"))
            elif reading["verdict"] == "undecided":
                undecided.append(_text(choice, reading))
        others = [reading for reading in tried if reading["verdict"] == "off"]
        if others:
            off.append(_range(choice, others))
    nearest = [text for _, text in sorted(agreeing)[:_MOST]]
    return Quoted("; or ".join(nearest), "; or ".join(undecided), "; ".join(off))


def _text(choice: str, reading: Mapping[str, Any]) -> str:
    """Return a reading as text, with our figure."""
    mean = reading["mean"]
    found = "no figure" if mean is None else number(mean)
    return f"{_with_choice(choice, reading['reading'])} ({found})"


def _with_choice(choice: str, labels: str) -> str:
    """Return `labels` after the choice's name, unless they name their keys (a combined choice)."""
    first = labels.split(",", maxsplit=1)[0]
    return labels if " = " in first else f"{choice} = {labels}"


def _range(choice: str, readings: Sequence[Mapping[str, Any]]) -> str:
    """Return a text: the readings of a choice that do not agree, and the range of the figure."""
    labels = " or ".join(reading["reading"] for reading in readings)
    known = sorted(reading["mean"] for reading in readings if reading["mean"] is not None)
    if not known:
        found = "no figure"
    elif len(known) == 1 or known[0] == known[-1]:
        found = number(known[0])
    else:
        found = f"{number(known[0])} to {number(known[-1])}"
    without = [reading["reading"] for reading in readings if reading["mean"] is None]
    if known and without:
        found += f"; no figure with {' or '.join(without)}"
    stuck = ", saturated" if any(reading["saturated"] for reading in readings) else ""
    named = _with_choice(choice, labels)
    return f"{named} ({found}{stuck})"


def implied_text(names: Sequence[str]) -> str:
    """Return as text the values of unprinted figures that follow from the paper's printed ones.

    `names` are the names of the proofs that derive these values.
    """
    return "; or ".join(f"if {value_text(proof(name))}" for name in names)


def _timeout() -> str:
    """Return a text with the time-out at which as many messages time out as the paper prints."""
    paper = targets()["accelflow.fallback.tcp_timeouts_per_million"].value
    remote = "socialnetwork_drawn"

    def per_million(timeout_us: float) -> float:
        by_service = simulation.timeouts(remote=remote, timeout_us=timeout_us)
        return 1e6 * sum(by_service.values()) / len(by_service)

    low, high = 10.0, 1e7
    for _ in range(60):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if per_million(middle) > paper else (low, middle)
    return f"with a time-out of {number(low / 1e3)} ms and the captured waits of SocialNetwork"


def _posts() -> str:
    """Return a text with the lengths of timelines that are as long messages as the paper prints."""
    paper = targets()["accelflow.payload_kb.largest"].figure
    scenario = simulation.Scenario(profile="paper", facts="common", sizes="socialnetwork")
    payloads = simulation.payloads(scenario, _DRAWN)
    post_kb = max(max(before, after) for _, before, after in payloads) / 1e3 / _POSTS
    least, most = math.ceil(float(paper.low) / post_kb), math.floor(float(paper.high) / post_kb)
    return f"with timelines of {least} to {most} posts"


def _core_tlbs() -> str:
    """Return a text that gives the printed misses to the cores' TLBs: the accelerators' are few."""
    paper = targets()["accelflow.rare_events.data_tlb_misses_per_kilo_instruction"].value
    return f"if nearly all of the {number(paper)} misses are those of the cores' TLBs"


#: Functions that compute the value of an input at which a figure would agree, by name.
COMPUTED: Final[Mapping[str, Callable[[], str]]] = {
    "timeout": _timeout,
    "posts": _posts,
    "core_tlbs": _core_tlbs,
}


def computed_text(name: str, place: str) -> str:
    """Return as text the value of an input at which our figure would agree with the paper's.

    `name` is a key of :data:`COMPUTED`, whose function computes the value. `place` says in error
    messages where the name stands. Raises InputError for an unknown name.
    """
    return COMPUTED[one_of(f"{place}: computed", name, COMPUTED)]()
