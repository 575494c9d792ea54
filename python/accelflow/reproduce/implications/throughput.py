"""Proofs from throughputs within the SLO: with fewer elements, with deadlines, in other systems."""

from __future__ import annotations

import math
from typing import Final

from accelflow.reproduce.implications.accelerators import KINDS, keys
from accelflow.reproduce.implications.proof import (
    AVERAGES,
    ELEMENTS,
    IMPLIED,
    READING,
    Figures,
    Proof,
)
from accelflow.reproduce.implications.ranges import Range

__all__ = ["PROOFS"]

_ALONE: Final = f"{ELEMENTS}, which are busy for their computation C/S alone"
_ON_CORES: Final = (
    "Operations that are denied cost a core what they cost without accelerators, and nothing else "
    "does: no switches, no notifications, no orchestration."
)


def _cores(figures: Figures) -> Range:
    return figures["cores"]


def _capacity(figures: Figures) -> Range:
    """Return the highest load, in busy cores of Non-acc, if cores help TCP's elements."""
    elements = figures["elements"] * figures["tcp_speedup"]
    return (figures["cores"] + elements) / (figures["application"] + figures["tcp_share"])


def _peak(figures: Figures) -> Range:
    """Return the load in busy cores of Non-acc at which TCP's elements are as busy as printed."""
    elements = figures["elements"] * figures["tcp_speedup"]
    return figures["tcp_used"] * elements / figures["tcp_share"]


#: Numbers of elements as words, as in the keys of their statements.
_WORDS: Final = {4: "four", 2: "two"}


def _denied_work(left: int) -> Proof:
    """Return the proof on the cores needed for work that `left` elements per kind cannot do."""
    number = _WORDS[left]
    kept = f"{number}_elements"

    def bound(figures: Figures) -> Range:
        total = Range.of(0.0)
        for kind in KINDS:
            wanted = figures["elements"] * figures[f"{kind.key}_used"] * figures[kept]
            beyond = (wanted - left).at_least(0.0)
            total = total + kind.accelerators * beyond * figures[kind.speedup()]
        return total

    return Proof(
        name=f"{number}_elements_need_cores",
        kind=READING,
        title=f"What {number} elements leave to the cores",
        inputs=(
            "elements",
            kept,
            *keys("used", "speedup"),
            "cores",
        ),
        steps=(
            f"At the printed throughput with {number} elements, each accelerator has the work of "
            f"8 x its utilisation x that throughput elements, and {number} of them. Cores execute "
            "the rest, which takes them the speedup times as long. All of (De)Cmp's is taken to be "
            "Dcmp's, which is less."
        ),
        formula=f"cores >= sum of max(0, 8 x utilisation x throughput - {left}) x speedup",
        bound=bound,
        quantity="the number of cores that execute the operations for which elements are too few",
        relation="at least",
        figure=_cores,
        figure_says="cores of the server",
        rests_on=("An operation runs on an element or falls back to a core (section VII.C.3).",),
        gives=("the meaning of utilisation", "the throughput with fewer elements"),
        reading=_ALONE,
        rows=(f"sensitivity.throughput_{left}pe_over_8",),
    )


def _tcp_on_cores(left: int) -> Proof:
    number = _WORDS[left]
    kept = f"{number}_elements"
    return Proof(
        name=f"tcp_on_cores_with_{number}",
        kind=IMPLIED,
        title=f"TCP on cores with {number} elements",
        inputs=("elements", "tcp_used", kept),
        steps=(
            "With eight elements, TCP keeps 8 x 92 % of them busy. At the throughput printed for "
            f"{number} elements, its work keeps that throughput times as many busy. Only {number} "
            "elements are there, and cores execute the rest."
        ),
        formula=f"TCP's operations on cores >= 1 - {left} / (8 x 92 % x throughput)",
        bound=lambda f: 1 - left / (f["elements"] * f["tcp_used"] * f[kept]),
        quantity="share of TCP's work that cores execute, at least",
        percent=True,
        rests_on=(f"Reading: {ELEMENTS}.",),
        gives=("how much of TCP's work falls back, which is not printed",),
        rows=(f"sensitivity.throughput_{left}pe_over_8",),
    )


def _denial(left: int) -> Proof:
    number = _WORDS[left]

    def bound(figures: Figures) -> Range:
        return 1 - left / (figures["elements"] * figures["encr_used"])

    return Proof(
        name=f"encr_denials_with_{number}",
        kind=READING,
        title=f"Encr's denials with {number} elements at the peak load",
        inputs=("elements", "encr_used", f"denied_{number}"),
        steps=(
            f"If Encr's eight elements are 82 % busy, {number} cannot carry more than "
            f"{left} / (8 x 0.82) of the work at the same load, and the rest is denied."
        ),
        formula=f"denied >= 1 - {left} / (8 x Encr's utilisation)",
        bound=bound,
        quantity="share of Encr's operations that is denied",
        relation="at least",
        figure=f"denied_{number}",
        percent=True,
        rests_on=("The denials of Fig. 19 are those at the load of section VII.B.4.",),
        gives=("the meaning of utilisation", "the load of Fig. 19, which is then below the peak"),
        reading=f"{ELEMENTS}, and the denials are those at the peak load",
        rows=(f"fallback.encr_denied_{left}pe",),
    )


def _peak_over_load(figures: Figures) -> Range:
    """Return the least ratio of the peak to the load of Fig. 19 that Encr's denials imply."""
    most = 2 / (figures["elements"] * (1 - figures["denied_two"]))
    return figures["encr_used"] / most


def _allowed_by_misses(figures: Figures) -> Range:
    """Return the largest ratio of the peak to the load of Fig. 19.

    Infinite if no more than 1 % of the deadlines are missed.
    """
    beyond_slo = figures["missed_four"].low > 0.01
    return 1 / figures["four_elements"] if beyond_slo else Range.of(math.inf)


#: The proofs about throughputs within the SLO.
PROOFS: Final = (
    Proof(
        name="deadlines_beyond_tcp",
        kind=READING,
        title="A gain of 1.6x from deadlines, on accelerators",
        inputs=("tcp_used", "deadline_gain"),
        steps=(
            "The order of a queue does not change what an operation takes. With FIFO queues TCP's "
            "elements are 92 % busy at the highest load; they cannot be more than 100 % busy "
            "at any."
        ),
        formula="gain <= 1 / TCP's utilisation",
        bound=lambda f: 1 / f["tcp_used"],
        quantity="throughput with deadlines over that with FIFO queues",
        figure="deadline_gain",
        rests_on=("All operations of TCP stay on TCP's elements.",),
        gives=("the meaning of utilisation", "the gain", "where operations run"),
        reading=f"{ELEMENTS}, and no operation of TCP falls back to a core",
        rows=("throughput.deadline_scheduling_gain",),
    ),
    Proof(
        name="deadlines_beyond_tcp_and_cores",
        kind=READING,
        title="A gain of 1.6x from deadlines, with cores that help",
        inputs=(
            "cores",
            "elements",
            "tcp_speedup",
            "tcp_share",
            "application",
            "tcp_used",
            "deadline_gain",
        ),
        steps=(
            "Even if all cores execute nothing but application logic and what TCP's elements "
            "cannot take, both together bound the load; FIFO queues reach the load at which TCP's "
            "elements are 92 % busy. Loads are in units of a core's without accelerators."
        ),
        formula=("gain <= (36 + 8 x 3.5) / (20.7 % + 25.6 %) / (92 % x 8 x 3.5 / 25.6 %)"),
        bound=lambda f: _capacity(f) / _peak(f),
        quantity="throughput with deadlines over that with FIFO queues",
        figure="deadline_gain",
        rests_on=(AVERAGES, _ON_CORES),
        gives=("the meaning of utilisation", "the gain"),
        reading=_ALONE,
        rows=("throughput.deadline_scheduling_gain",),
    ),
    *(proof_of(left) for proof_of in (_denied_work, _tcp_on_cores, _denial) for left in _WORDS),
    Proof(
        name="denials_and_misses",
        kind=READING,
        title="Encr's denials beside missed deadlines",
        inputs=("elements", "encr_used", "denied_two", "four_elements", "missed_four"),
        steps=(
            "With two elements at least 61 % of Encr's operations fit them, so with eight Encr is "
            "at most 41 % busy at the load of Fig. 19: the peak, where it is 82 % busy, is "
            "at least "
            "twice that load. But with four elements 8.2 % of the requests miss their deadlines at "
            "that load, more than the 1 % that a P99 within the SLO allows, so it is above the "
            "highest load with four elements, 0.89 of the peak."
        ),
        formula="peak / load >= 82 % / (2 / (8 x (1 - 39 %))), and < 1 / 0.89",
        bound=_peak_over_load,
        quantity="peak load over the load of Fig. 19",
        relation="at least",
        figure=_allowed_by_misses,
        figure_says="what the missed deadlines allow at most",
        rests_on=(
            "Denials and missed deadlines are those of one load, and deadlines are the SLO's.",
            "What is a maximum with Poisson arrivals is one with the production arrivals.",
        ),
        gives=("the meaning of utilisation", "that deadlines are the SLO's", "the common load"),
        reading=f"{ELEMENTS}, deadlines are the SLO's, and denials and misses have one load",
        rows=("fallback.encr_denied_2pe", "sensitivity.deadline_miss_4pe"),
    ),
    Proof(
        name="ideal_uses_all_of_tcp",
        kind=IMPLIED,
        title="TCP in the Ideal system",
        inputs=("tcp_used", "below_ideal"),
        steps="Ideal carries 1 / (1 - 8.0 %) of the load with the same elements.",
        formula="TCP in Ideal = 92 % / (1 - 8.0 %)",
        bound=lambda f: f["tcp_used"] / (1 - f["below_ideal"]),
        quantity="utilisation of TCP in Ideal, at its own maximum",
        percent=True,
        rests_on=(f"Reading: {ELEMENTS}.",),
        gives=("a queue whose servers are always busy has no finite P99 under random arrivals",),
        rows=("throughput.below_Ideal",),
    ),
    Proof(
        name="relief_gains_nothing_from_speed",
        kind=IMPLIED,
        title="RELIEF with accelerators four times as fast",
        inputs=(
            "cores",
            "application",
            "elements",
            "tcp_speedup",
            "tcp_share",
            "tcp_used",
            "over_relief",
            "over_relief_x4",
        ),
        steps=(
            "With any accelerators AccelFlow's load is at most what keeps all cores busy with "
            "application logic. That over 3.9, by the load at TCP's 92 % over 2.2, is RELIEF's own "
            "gain from accelerators that are four times as fast: at most none worth naming."
        ),
        formula="RELIEF(x4) / RELIEF(x1) <= (36 / 20.7 % / 3.9) / (92 % x 8 x 3.5 / 25.6 % / 2.2)",
        bound=lambda f: (
            f["cores"] / f["application"] / f["over_relief_x4"] / (_peak(f) / f["over_relief"])
        ),
        quantity="RELIEF's maximum with accelerators four times as fast, over that without",
        rests_on=(f"Reading: {_ALONE}.", AVERAGES, "Ratios of means for means of ratios."),
        rows=("sensitivity.throughput_vs_relief_speedup_x4",),
    ),
    Proof(
        name="non_acc_is_far_from_busy",
        kind=IMPLIED,
        title="Cores without accelerators at their maximum",
        inputs=("cores", "elements", "tcp_speedup", "tcp_share", "application", "over_non_acc"),
        steps=(
            "Whatever executes TCP and application logic, 36 cores and 8 elements of TCP carry at "
            "most 3.8 times what 36 cores carry alone. The printed ratio of 8.3 is one of loads "
            "within the SLO, so Non-acc's must end long before its cores are busy."
        ),
        formula="Non-acc's cores <= (36 + 8 x 3.5) / (20.7 % + 25.6 %) / 36 / 8.3",
        bound=lambda f: _capacity(f) / f["cores"] / f["over_non_acc"],
        quantity="share of the time that Non-acc's cores are busy at its highest load, at most",
        percent=True,
        rests_on=(AVERAGES, _ON_CORES, "Ratios of means for means of ratios."),
        gives=("an SLO that Non-acc exceeds with most of its cores idle: whose idle time it is",),
        rows=("throughput.vs_Non-acc",),
    ),
)
