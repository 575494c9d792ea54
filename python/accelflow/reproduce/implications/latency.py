"""Proofs from orchestration's shares of the time, from loads, and from reductions of latency."""

from __future__ import annotations

import math
from typing import Final

from accelflow.reproduce.implications.accelerators import FAST_COMPRESSION, computation, keys
from accelflow.reproduce.implications.proof import CONTRADICTION, IMPLIED, READING, Figures, Proof
from accelflow.reproduce.implications.ranges import Range

__all__ = ["PROOFS"]

_WAITS: Final = "the overhead of Fig. 3 includes the waits that orchestration causes"


def _mean_beside_share(name: str, system: str, overhead: str, reduction: str, row: str) -> Proof:
    return Proof(
        name=name,
        kind=READING,
        title=f"{system}: overhead beside the reduction of the mean",
        inputs=(overhead, reduction),
        steps=(
            "Without any orchestration a response takes its other parts. If these are all but the "
            "overhead, no orchestrator can reduce the mean by more than it, and AccelFlow has some "
            "of its own. What is missing are waits that are no part of the overhead and yet vanish "
            "with it."
        ),
        formula="reduction of the mean <= overhead at 15 kRPS",
        bound=lambda f: f[overhead],
        quantity=f"reduction of the mean latency over {system}",
        figure=reduction,
        percent=True,
        rests_on=(
            'The overhead "increases rapidly with the load" (section III), so that at 13.4 kRPS it '
            "is at most that at 15 kRPS.",
            "Averages over all services (Fig. 3) hold for the eight of Fig. 11.",
        ),
        gives=("what is counted as overhead", "the services or loads of Fig. 3"),
        reading=_WAITS,
        rows=(row,),
    )


#: The keys of the statements on each service's number of operations per request.
_COUNTS: Final = (
    "cpost_operations",
    "readh_operations",
    "storep_operations",
    "follow_operations",
    "login_operations",
    "curls_operations",
    "uniqid_operations",
    "regusr_operations",
)


def _operations(figures: Figures) -> Range:
    """Return the total number of operations of one request to each service."""
    total = Range.of(0.0)
    for key in _COUNTS:
        total = total + figures[key]
    return total


def _filling_us(figures: Figures) -> Range:
    """Return the time in us that an entry is in use if traces that wait fill a queue."""
    waits_per_us = figures["production_krps"] * (_operations(figures) / 6) / 1e3
    return figures["queue_entries"] / waits_per_us


def _others(figures: Figures) -> Range:
    """Return a request's time per operation in us, without orchestration."""
    idle = figures["relief_idle_overhead"]
    return figures["manager_us"] * ((1 - idle) / idle)


def _dispatcher_us(figures: Figures) -> Range:
    share = figures["accelflow_idle_overhead"]
    return _others(figures) * (share / (1 - share))


def _width(figures: Figures) -> Range:
    """Return the largest excess of the P99 over the deadline; infinite if under 1 % miss it."""
    late = figures["missed_two"].low > 0.01
    return figures["tail_two"] if late else Range.of(math.inf)


#: The proofs about shares of orchestration, loads and reductions of latency.
PROOFS: Final = (
    Proof(
        name="relief_manager_is_saturated",
        kind=CONTRADICTION,
        title="RELIEF's manager at 10 kRPS of CPost",
        inputs=("manager_us", "cpost_operations", "medium_krps"),
        steps=(
            "The manager handles one completion after the other. Beyond the load at which it is "
            "busy all the time its queue grows for as long as requests come, and the P99 is a "
            "property of the run's length. The paper says so itself of 10 kRPS: \"the time the "
            "RELIEF orchestrator is busy for the 10K requests that arrive in 1 second is 1.3 "
            "seconds\", and still reports RELIEF's tails at 10, 13.4 and 15 kRPS."
        ),
        formula="load <= 1 / (87 x 1.5 us)",
        bound=lambda f: 1e3 / (f["cpost_operations"] * f["manager_us"]),
        quantity="load of CPost that RELIEF can hold, kRPS",
        figure="medium_krps",
        rests_on=("One manager, as in RELIEF, and one server for CPost alone; with others, less.",),
        gives=(
            "1.5 us as the manager's occupancy: as a latency of which less is occupancy it "
            "can hold",
            "RELIEF's tails of CPost as figures of a steady state",
        ),
        rows=("orchestration_overhead.RELIEF_15k_rps",),
    ),
    Proof(
        name="relief_manager_for_all_services",
        kind=READING,
        title="RELIEF's manager for all services on one server",
        inputs=("manager_us", *_COUNTS, "low_krps"),
        steps=(
            "A request of each of the eight services completes 245 operations in all. If the "
            "services share a server they share its manager, which cannot handle even the lowest "
            "load of Fig. 12."
        ),
        formula="load of each service <= 1 / (245 x 1.5 us)",
        bound=lambda f: 1e3 / (_operations(f) * f["manager_us"]),
        quantity="load of each service that RELIEF can hold, kRPS",
        figure="low_krps",
        rests_on=("One manager on a server, as in RELIEF.",),
        gives=("1.5 us as the manager's occupancy", "that the services share a server"),
        reading="the eight services share a server, and a completion occupies its manager",
        rows=("p99_reduction_vs_relief_by_load.rps_5000", "throughput.vs_RELIEF"),
    ),
    _mean_beside_share(
        "cpu_centric_overhead_and_mean",
        "CPU-Centric",
        "cpu_centric_overhead",
        "mean_over_cpu_centric",
        "orchestration_overhead.CPU-Centric_15k_rps",
    ),
    _mean_beside_share(
        "relief_overhead_and_mean",
        "RELIEF",
        "relief_overhead",
        "mean_over_relief",
        "orchestration_overhead.RELIEF_15k_rps",
    ),
    Proof(
        name="relief_waits_at_low_load",
        kind=IMPLIED,
        title="RELIEF's tail at 5 kRPS over its idle time",
        inputs=("relief_idle_overhead", "accelflow_idle_overhead", "tail_over_relief_5k"),
        steps=(
            "On an idle server AccelFlow takes (1 - 10 %) / (1 - 2.2 %) of RELIEF's time: 8 "
            "% less. "
            "At the lowest load its P99 is 55.1 % less, and a P99 is not below the idle mean. So "
            "RELIEF's P99 at 5 kRPS is a multiple of its idle time while AccelFlow's need not be: "
            "the reduction is one of waits, which the share of overhead does not show."
        ),
        formula="RELIEF's P99 / idle mean >= (1 - 10 %) / (1 - 2.2 %) / (1 - 55.1 %)",
        bound=lambda f: (
            (1 - f["relief_idle_overhead"])
            / (1 - f["accelflow_idle_overhead"])
            / (1 - f["tail_over_relief_5k"])
        ),
        quantity="RELIEF's P99 at 5 kRPS over its mean on an idle server, at least",
        rests_on=(
            "What is not orchestration takes equally long in both systems on an idle server.",
        ),
        rows=("orchestration_overhead.RELIEF_unloaded",),
    ),
    Proof(
        name="time_of_an_operation",
        kind=IMPLIED,
        title="What a request takes per operation beside orchestration",
        inputs=("manager_us", "relief_idle_overhead"),
        steps=(
            "If each completion costs RELIEF 1.5 us and that is 10 % of the time on an idle "
            "server, "
            "everything else takes nine times as long: application logic, accelerators, transfers, "
            "and whatever of other servers is counted."
        ),
        formula="time = 1.5 us x (1 - 10 %) / 10 %",
        bound=_others,
        quantity="time of a request for each of its operations, without orchestration, us",
        rests_on=("Every operation is on the request's path, none in parallel.",),
        rows=("orchestration_overhead.RELIEF_unloaded",),
    ),
    Proof(
        name="time_of_a_dispatch",
        kind=IMPLIED,
        title="What an instruction of a dispatcher takes",
        inputs=(
            "manager_us",
            "relief_idle_overhead",
            "accelflow_idle_overhead",
            "instructions",
            "clock_ghz",
        ),
        steps=(
            "With the time of an operation from RELIEF's 10 % at 1.5 us, AccelFlow's 2.2 % is 0.3 "
            "us for each operation of a dispatcher, in which it executes 18 instructions: so many "
            "cycles of 2.4 GHz each. A dispatcher that takes a cycle an instruction needs 7.5 ns."
        ),
        formula="cycles = 1.5 us x (1 - 10 %) / 10 % x 2.2 % / (1 - 2.2 %) / 18 x 2.4 GHz",
        bound=lambda f: _dispatcher_us(f) * 1e3 / f["instructions"] * f["clock_ghz"],
        quantity="cycles of 2.4 GHz for an instruction of a dispatcher",
        rests_on=(
            "What is not orchestration takes equally long in both systems on an idle server.",
        ),
        gives=("a dispatcher's clock, which is not printed", "what is counted as orchestration"),
        rows=("orchestration_overhead.AccelFlow_unloaded",),
    ),
    Proof(
        name="dispatcher_at_worst",
        kind=IMPLIED,
        title="A dispatcher's operation at worst",
        inputs=("plain", "branch", "transformation", "trace_end"),
        steps=(
            "An operation with one branch, a transformation and the end of a trace takes the sum "
            'of its parts. The paper says "about 50" of the worst case. A second branch at the '
            "same dispatcher, as T5 has (hit, then compressed), adds 7."
        ),
        formula="instructions = 15 + 7 + 12 + 20",
        bound=lambda f: f["plain"] + f["branch"] + f["transformation"] + f["trace_end"],
        quantity="instructions of an operation with everything once",
        rests_on=("One operation may find all of them (Fig. 8).",),
        rows=("dispatcher_instructions.worst",),
    ),
    Proof(
        name="non_acc_waits",
        kind=IMPLIED,
        title="Waits without accelerators at the production load",
        inputs=(
            "application",
            *keys("share", "speedup", compression=FAST_COMPRESSION),
            "mean_over_non_acc",
        ),
        steps=(
            "Speedups alone leave AccelFlow at least 37 % of a request's time without "
            "accelerators, "
            "one operation after the other. A mean that is 77.2 % less than Non-acc's is therefore "
            "beside a Non-acc whose requests wait."
        ),
        formula=(
            "Non-acc's mean / its idle mean >= (20.7 % + sum of share / speedup) / (1 - 77.2 %)"
        ),
        bound=lambda f: (
            (f["application"] + computation(f, compression=FAST_COMPRESSION))
            / (1 - f["mean_over_non_acc"])
        ),
        quantity="Non-acc's mean at the production load over that on an idle server, at least",
        rests_on=("Operations in parallel are as parallel with accelerators as without.",),
        rows=("mean_latency_reduction.Non-acc",),
    ),
    Proof(
        name="crossings_of_a_tail",
        kind=IMPLIED,
        title="Crossings between chiplets in a tail",
        inputs=(
            "hundred_over_sixty",
            "crossing_cycles",
            "slow_crossing_cycles",
            "clock_ghz",
        ),
        steps=(
            "If a tail grows by what its crossings take longer, 40 cycles each, 45 % of it are so "
            "many crossings, one after the other."
        ),
        formula="crossings per us = 45 % / ((100 - 60) cycles / 2.4 GHz)",
        bound=lambda f: (
            1e3
            * (f["hundred_over_sixty"] - 1)
            / ((f["slow_crossing_cycles"] - f["crossing_cycles"]) / f["clock_ghz"])
        ),
        quantity="serial crossings in each us of the P99 with six chiplets",
        rests_on=("A tail grows by the latency that is added, without more waiting.",),
        gives=("what crosses for each operation: the paper counts no crossings",),
        rows=("sensitivity.p99_6_chiplets_100_over_60_cycles",),
    ),
    Proof(
        name="crossings_of_two_chiplets",
        kind=IMPLIED,
        title="Crossings with two chiplets over those with six",
        inputs=(
            "six_over_two",
            "hundred_over_sixty",
            "crossing_cycles",
            "slow_crossing_cycles",
        ),
        steps=(
            "From 60 to 100 cycles six chiplets' crossings add 45 % of 1.14 tails, and from two to "
            "six chiplets the crossings that come with them add 14 % of one at 60 cycles each. So "
            "most of the crossings are there with two chiplets, where a trace crosses where it "
            "starts or ends, and not between accelerators."
        ),
        formula="crossings(2) / crossings(6) = 1 - (0.14 / 60) / (0.45 x 1.14 / 40)",
        bound=lambda f: (
            1
            - ((f["six_over_two"] - 1) / f["crossing_cycles"])
            / (
                (f["hundred_over_sixty"] - 1)
                * f["six_over_two"]
                / (f["slow_crossing_cycles"] - f["crossing_cycles"])
            )
        ),
        quantity="crossings with two chiplets, of those with six",
        percent=True,
        rests_on=("A tail grows by the latency that is added, without more waiting.",),
        rows=("sensitivity.p99_6_chiplets_over_2",),
    ),
    Proof(
        name="fallbacks_of_a_request",
        kind=IMPLIED,
        title="Fallbacks of a request that falls back",
        inputs=("full_of_invocations", "full_of_requests", *_COUNTS),
        steps=(
            "Section VII.B.6 gives 1.4 % of all invocations and section VII.C.3 1.4 % of all "
            "requests. Both hold only if a request that falls back does so for as many invocations "
            "as a mean request has, 30.6: more than any service but CPost has at all. Else one of "
            "the two is meant, and they are a factor of up to 30.6 apart."
        ),
        formula="fallbacks = 1.4 % x 245 / 8 / 1.4 %",
        bound=lambda f: f["full_of_invocations"] * (_operations(f) / 8) / f["full_of_requests"],
        quantity="invocations that fall back in a request that has any",
        rests_on=("All services have the same rate.",),
        gives=("of what 1.4 % is the share",),
        rows=("fallback.overflow_full_mean", "fallback.overflow_full_peak"),
    ),
    Proof(
        name="waits_that_fill_a_queue",
        kind=IMPLIED,
        title="How long traces wait for other servers if they fill TCP's queue",
        inputs=("production_krps", "queue_entries", *_COUNTS),
        steps=(
            "A trace that waits for another server keeps an entry of TCP's input queue. Before a "
            "wait a message is sent, by Ser, Encr and TCP at least, and after it one is received, "
            "by TCP, Decr and Dser at least: a wait for every six operations at most. By Little's "
            "law, the entries are all in use on average only if one is kept at least as long as "
            "this. Overflow areas come on top."
        ),
        formula="time >= 64 / (13.4 kRPS x 245 / 6)",
        bound=_filling_us,
        quantity="time that an entry of TCP's queue is in use, if all are on average, at least, us",
        rests_on=("Each of the eight services has the average rate.",),
        gives=("how long other servers take, which is not printed",),
        rows=("fallback.overflow_full_mean",),
    ),
    Proof(
        name="tails_are_narrow",
        kind=IMPLIED,
        title="A tail of requests that miss their deadlines",
        inputs=("missed_two", "tail_two"),
        steps=(
            "With two elements 21.7 % of the requests end after their deadline, and the P99 is "
            "1.357 times that with eight, which is within the deadline if the load is within the "
            "SLO. So from the percentile 78.3 to the percentile 99 response times differ by no "
            "more than that: a fifth of all requests is late, and none of them by much."
        ),
        formula="P99 / P78.3 <= 1.357",
        bound=_width,
        quantity="P99 over the percentile at the deadline, with two elements, at most",
        rests_on=(
            "Deadlines are the SLO's, and eight elements are within it at the load of Fig. 19.",
            "The mean of the services' ratios for each of them.",
        ),
        gives=("that deadlines are the SLO's",),
        rows=("sensitivity.p99_2pe_over_8", "sensitivity.deadline_miss_2pe"),
    ),
)
