"""Proofs from the utilisations of section VII.B.4 and the speedups of section VI."""

from __future__ import annotations

from typing import Final

from accelflow.reproduce.implications.accelerators import (
    BESIDE_TCP,
    TCP,
    Kind,
    computation,
    keys,
    work,
)
from accelflow.reproduce.implications.proof import (
    AVERAGES,
    CONTRADICTION,
    ELEMENTS,
    IMPLIED,
    READING,
    Figures,
    Proof,
)
from accelflow.reproduce.implications.ranges import Range

__all__ = ["PROOFS"]

_LOADS: Final = (
    "An element computes for C/S. It also loads the data of an operation and saves the result, "
    "each at the rate of Table III and each as large as a scratchpad at most. An operation of TCP "
    'takes a core at least 10 us ("tens of us"). The loading of TCP itself is not counted.'
)
#: The keys of the statements from which the time of loading is computed.
_LOAD_INPUTS: Final = ("operation_us", "load_ns", "load_gb_per_s", "scratchpad_kb")

_ENCR, _RPC, _SER, _, _LDB = BESIDE_TCP


def _loading(figures: Figures, data: str = "scratchpad_kb") -> Range:
    """Return the longest time to load and save an operation, relative to a TCP computation."""
    each_ns = figures["load_ns"] + figures[data] * 1024 / figures["load_gb_per_s"]
    return 2 * each_ns / (figures["operation_us"] * 1e3 / figures["tcp_speedup"])


def _beside_tcp(kind: Kind) -> Proof:
    """Return the proof on the utilisation of a kind's elements, given that of TCP's elements."""
    accelerators, name = kind.accelerators, kind.name

    def bound(figures: Figures) -> Range:
        computes = work(figures, kind) / work(figures, TCP)
        loads = kind.operations * _loading(figures)
        return figures["tcp_used"] * (computes + loads) / accelerators

    both = f" The figure is the mean of {accelerators} accelerators." * (accelerators > 1)
    slow = " All of (De)Cmp is taken to be Dcmp, the slower of the two." * (kind.key == "cmp")
    return Proof(
        name=f"{kind.key}_elements_beside_tcp",
        kind=READING,
        title=f"{name}'s elements beside TCP's",
        inputs=(
            "tcp_used",
            "tcp_share",
            "tcp_speedup",
            f"{kind.key}_share",
            kind.speedup(),
            *_LOAD_INPUTS,
            f"{kind.key}_used",
        ),
        steps=(
            "Elements compute for a share of a request over a speedup, and load and save the data "
            f"of each operation, so that {name}'s elements are busy for a fixed part of the time "
            "of TCP's, whatever the load. The bound takes every operation to fill a scratchpad, in "
            f"and out.{both}{slow}"
        ),
        formula=(
            f"{name} <= TCP x (({name}'s share / its speedup) / (TCP's share / its speedup) + "
            f"operations / TCP's x loading / TCP's computation)"
            + f" / {accelerators}"
            * (accelerators > 1)
        ),
        bound=bound,
        quantity=f"utilisation of {name}",
        figure=f"{kind.key}_used",
        percent=True,
        rests_on=(AVERAGES, _LOADS),
        gives=("the meaning of utilisation", "shares or speedups at the peak"),
        reading=ELEMENTS,
        rows=(f"utilization_at_peak.{kind.row}",),
    )


def _ldb_any_busy(figures: Figures) -> Range:
    """Return the largest mean number of busy LdB elements, if LdB handles entries without data."""
    computes = work(figures, _LDB) / work(figures, TCP)
    return figures["elements"] * (computes + _LDB.operations * _loading(figures, "inline_kb"))


def _rpc_loading(figures: Figures) -> Range:
    """Return the loading time that RPC's printed utilisation needs, in TCP computations."""
    computes = work(figures, _RPC) / work(figures, TCP)
    return figures["rpc_used"] / figures["elements"] - computes


def _application(figures: Figures) -> Range:
    """Return the number of cores for the application logic that goes with the elements' work."""
    load, tcp = _loading(figures), figures["elements"] * figures["tcp_used"]
    tax = tcp / (1 + load) * figures["tcp_speedup"]
    for kind in BESIDE_TCP:
        busy = kind.accelerators * figures["elements"] * figures[f"{kind.key}_used"]
        computes = (busy - kind.operations * load * tcp).at_least(0.0)
        tax = tax + computes * figures[kind.speedup()]
    return tax * (figures["application"] / (1 - figures["application"]))


#: The proofs about utilisations and speedups.
PROOFS: Final = (
    Proof(
        name="accelerators_do_not_dominate",
        kind=READING,
        title="Accelerators cannot take most of the time",
        inputs=(
            "application",
            *keys("share", "speedup"),
        ),
        steps=(
            "Of a request that takes 1 on cores alone, accelerators execute each share in that "
            "share over its speedup, and the application logic still takes its own on cores. The "
            "sum of all accelerators is below the application logic alone, so cores take longer. "
            "Chains in parallel only shorten what is spent on accelerators. Section VII.B.1 says "
            'of Fig. 17: "the time spent executing on accelerators dominates the total execution '
            'time".'
        ),
        formula="accelerators <= sum of (share / speedup), with all of (De)Cmp at Dcmp's speedup",
        bound=computation,
        quantity="time on accelerators as a share of the request's time on cores alone",
        figure="application",
        figure_says="application logic on cores, which they would have to exceed",
        percent=True,
        rests_on=(
            "The averages of sections III and VI describe the requests of Fig. 17.",
            "Cores execute the application logic as fast as without accelerators.",
        ),
        gives=(
            "Fig. 17's sentence",
            "what is counted as time on accelerators: loading and waiting for memory",
        ),
        reading="time on accelerators is that of their computation, C/S",
    ),
    Proof(
        name="ldb_busy_at_all",
        kind=READING,
        title="LdB busy at all",
        inputs=(
            "elements",
            "tcp_share",
            "tcp_speedup",
            "ldb_share",
            "ldb_speedup",
            "operation_us",
            "load_ns",
            "load_gb_per_s",
            "inline_kb",
            "ldb_used",
        ),
        steps=(
            "The share of time in which any element is busy is at most the mean number of busy "
            "elements. LdB's is to TCP's as their work is, and TCP has eight: all of them busy all "
            "the time, and no two of LdB's ever busy together, would give the bound. LdB handles "
            'entries and no data (section III, Q3: it "does not process data").'
        ),
        formula=(
            "LdB <= 8 x ((LdB's share / its speedup) / (TCP's share / its speedup) + 1/2 x loading "
            "of an entry / TCP's computation)"
        ),
        bound=_ldb_any_busy,
        quantity="share of time with any element of LdB busy",
        figure="ldb_used",
        percent=True,
        rests_on=(AVERAGES, _LOADS),
        gives=(
            'what LdB handles: section IV.B also says that it "saves the results"',
            "LdB's share or speedup",
        ),
        reading="utilisation is the share of time with any element busy, and LdB handles no data",
        rows=("utilization_at_peak.LdB",),
    ),
    Proof(
        name="rpc_busy_needs_loading",
        kind=IMPLIED,
        title="RPC busy at all",
        inputs=(
            "elements",
            "tcp_share",
            "tcp_speedup",
            "rpc_share",
            "rpc_speedup",
            "rpc_used",
        ),
        steps=(
            "As for LdB, RPC's computation alone keeps any of its elements busy for at most 17 % "
            "of the time. For 68 % loading and saving has to take so much for each operation, even "
            "with all of TCP's elements always busy and no two of RPC's together."
        ),
        formula="loading / TCP's computation >= 68 % / 8 - (3.2 % / 20.5) / (25.6 % / 3.5)",
        bound=_rpc_loading,
        quantity="loading and saving of an operation, of what one of TCP's computes, at least",
        percent=True,
        rests_on=(AVERAGES, "Reading: utilisation is the share of time with any element busy."),
        gives=("how long elements are busy with data, which depends on sizes and on memory",),
        rows=("utilization_at_peak.RPC",),
    ),
    Proof(
        name="encr_is_no_long_operation",
        kind=CONTRADICTION,
        title="Encr is no accelerator with long operations",
        inputs=("encr_share", "encr_speedup", "ser_share", "ser_speedup"),
        steps=(
            "Every trace has one operation of Encr or Decr and one of Ser or Dser (Tables II and "
            "IV), so their mean operations are to each other as their work is. Section VII.C.3 "
            'says that fallback becomes common "particularly for accelerators with longer '
            "execution times, e.g., Encr and Cmp\". TCP's operations, as many, take longer than "
            "(De)Ser's."
        ),
        formula="Encr / Ser <= ((De)Encr's share / its speedup) / ((De)Ser's share / its speedup)",
        bound=lambda f: work(f, _ENCR) / work(f, _SER),
        quantity="time of a mean operation of (De)Encr over that of (De)Ser",
        figure=lambda _: Range.of(1.0),
        figure_says="what it would have to exceed to be the longer one",
        rests_on=(
            "The averages of sections III and VI describe the requests of Fig. 19.",
            "Both load as much for an operation: a message has one size.",
        ),
        gives=("which accelerators deny most", "shares or speedups of Fig. 19"),
        rows=("fallback.encr_denied_4pe", "fallback.encr_denied_2pe"),
    ),
    *map(_beside_tcp, BESIDE_TCP),
    Proof(
        name="application_needs_more_cores",
        kind=READING,
        title="Application logic beside busy elements",
        inputs=(
            "elements",
            *keys("used", "speedup"),
            "application",
            *_LOAD_INPUTS,
            "cores",
        ),
        steps=(
            "An element that computes does the work of as many cores as its speedup says. All "
            "utilisations together, less the most that is loading, are so many cores' worth of "
            "tax, and application logic is a fifth of a request beside it, which only cores "
            "execute."
        ),
        formula=(
            "cores >= sum of ((8 x accelerators x utilisation - loading) x speedup) x 20.7 % / "
            "(1 - 20.7 %)"
        ),
        bound=_application,
        quantity="cores that the application logic keeps busy at the peak",
        relation="at least",
        figure=lambda f: f["cores"],
        figure_says="cores of the server",
        rests_on=(AVERAGES, _LOADS),
        gives=("the meaning of utilisation",),
        reading=ELEMENTS,
        rows=("utilization_at_peak.Encr_Decr", "utilization_at_peak.RPC"),
    ),
)
