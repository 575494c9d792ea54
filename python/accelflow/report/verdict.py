"""The verdict of a comparison in words, and a system's utilisation and requests within the SLO."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from accelflow.findings.estimate import Estimate
from accelflow.report.answered import among_answered, listed, names_text
from accelflow.report.binding import binding_of, utilizations
from accelflow.report.reductions import reduction, reduction_text
from accelflow.report.results import Comparison, SystemResult, sum_of
from accelflow.report.servers import server_text, servers_of

__all__ = ["accelerator_use", "core_use", "verdict", "within_slo"]

#: The largest excess over Ideal's P99, as a ratio, with which a system "comes within" Ideal.
_NEAR: Final = 0.10
#: The largest number of rivals that a clause of the answer names.
_RIVALS: Final = 2


def verdict(comparison: Comparison) -> str:
    """Return a comparison's verdict in words: how much faster a system is, and its bottleneck.

    The text has an answer for each chip. An answer is about AccelFlow or, if AccelFlow did not take
    part, about the system with the lowest P99 (not Ideal). It has the reduction of P99, a mean over
    the services, against the strongest rivals, the ones with the lowest P99 beside the subject's:
    of the slower ones the two with the smallest reduction, and of the faster ones the two with the
    largest increase. The tables have the others. With several seeds each reduction has a 95 %
    interval. A rival is reported as equal if the interval contains zero, or with one seed if the
    reduction is 0 % when rounded.
    """
    chips: Sequence[str | None] = comparison.chips or [None]
    sentences = []
    for chip in chips:
        systems = [system for system in comparison.systems if system.chip == chip]
        where = "" if chip is None else f"on {chip}, "
        sentences.append(_of_one_chip(_subject(systems), systems, where))
    return " ".join(sentences)


def _of_one_chip(subject: SystemResult, systems: Sequence[SystemResult], where: str) -> str:
    """Return the answer for `subject` and others; `where` begins the sentence, in lower case.

    Services that `subject` never answers have their own sentence, and so have those that it cannot
    keep up with, if the load of others does not depend on them. The rest is about the others.
    """
    begun = _capital(where) + subject.name
    silent = subject.unanswered_services
    stuck = [result.service for result in subject.services if result.saturated]
    if silent:
        text = f"{begun} answers no request of {names_text(silent)}."
        return _and_of_others(text, silent, subject, systems)
    if subject.p99_us is None:
        return f"{begun}: a service has no answered request."
    if stuck and subject.isolates_tenants and len(stuck) < len(subject.services):
        text = f"{begun} cannot keep up with {names_text(stuck)}: {_overload(subject)}."
        return _and_of_others(text, stuck, subject, systems)
    if stuck:
        return f"{begun} cannot keep up: {_overload(subject)}."
    begun = _capital(where + among_answered(systems)) + subject.name
    bound = binding_of(subject)
    bottleneck = "" if bound is None else f". Its bottleneck is {bound.sentence}"
    clauses = _against(subject, systems)
    if clauses:
        return f"{begun} {listed(clauses)}{bottleneck}."
    return f"{begun}: P99 {_us(subject.p99_us)}, mean {_us(subject.mean_us)}{bottleneck}."


def _and_of_others(
    text: str, services: Sequence[str], subject: SystemResult, systems: Sequence[SystemResult]
) -> str:
    """Return `text`, which is about some `services`, and the answer for the others.

    The answer names those that clients call, since it is a mean over these.
    """
    others = [result for result in subject.services if result.service not in services]
    named = [result.service for result in others if not result.only_called]
    if not named:
        return text
    rest = {system.id: system.only([result.service for result in others]) for system in systems}
    of_others = f"of {names_text(named)}, "
    return f"{text} {_of_one_chip(rest[subject.id], list(rest.values()), of_others)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _overload(system: SystemResult) -> str:
    servers = servers_of(system)
    stuck = next(server for server in servers if any(service.saturated for service in server))
    names = [service.service for service in stuck]
    where = f" of {server_text(names)}" if len(servers) > 1 else ""
    resource = next(service.saturated for service in stuck if service.saturated)
    return f"'{resource}'{where} was overloaded during the run"


def _us(value: float | None) -> str:
    if value is None:
        return "unknown"
    return f"{value:,.1f} us" if value < 1_000 else f"{value / 1_000:,.2f} ms"


def _subject(systems: Sequence[SystemResult]) -> SystemResult:
    """Return AccelFlow, or without it the system other than Ideal with the lowest P99."""
    ours = next((system for system in systems if system.orchestrator == "accelflow"), None)
    real = [system for system in systems if system.orchestrator != "ideal"] or list(systems)
    return ours or min(real, key=lambda system: math.inf if (p := system.p99_us) is None else p)


def _against(subject: SystemResult, systems: Sequence[SystemResult]) -> list[str]:
    """Return clauses that compare `subject`'s P99 with those of its strongest rivals and Ideal."""
    others = [
        system for system in systems if system is not subject and system.orchestrator != "ideal"
    ]
    rivals = [
        (cut, rival)
        for rival in others
        if not rival.saturated and rival.p99_us is not None
        if (cut := reduction(subject, rival, "p99_us")) is not None
    ]
    # The strongest first: the rival whose P99 is lowest beside the subject's.
    rivals.sort(key=lambda item: item[0].mean)
    better = [pair for pair in rivals if _sign(pair[0]) > 0][:_RIVALS]
    worse = [pair for pair in rivals if _sign(pair[0]) < 0][:_RIVALS]
    same = [(cut, rival) for cut, rival in rivals if _sign(cut) == 0][:_RIVALS]
    clauses = [
        f"{verb} P99 by "
        + listed([f"{reduction_text(cut)} against {rival.name}" for cut, rival in chosen])
        for verb, chosen in (("cuts", better), ("raises", worse))
        if chosen
    ]
    if same:
        clauses.append(_equal(same))
    overloaded = [rival.name for rival in others if rival.saturated]
    if overloaded:
        clauses.append(f"keeps up where {listed(overloaded)} cannot")
    silent = [
        f"{listed(rival.unanswered_services)}, as {rival.name} does not"
        for rival in others
        if not rival.saturated and rival.unanswered_services
    ]
    if silent:
        clauses.append(f"answers requests of {'; of '.join(silent)}")
    ideal = next((system for system in systems if system.orchestrator == "ideal"), None)
    if ideal is not None and ideal is not subject and ideal.p99_us is not None:
        change = reduction(subject, ideal, "p99_us")
        clauses += [] if change is None else [_beside_ideal(change)]
    return clauses


def _sign(cut: Estimate) -> int:
    """Return 1 for a reduction, -1 for an increase, and 0 if it is not known or is 0 %.

    It is not known if the interval contains zero.
    """
    if cut.half_width is not None:
        return cut.sign or 0
    percent = round(cut.mean * 100)
    return (percent > 0) - (percent < 0)


def _equal(same: Sequence[tuple[Estimate, SystemResult]]) -> str:
    """Return the clause on rivals whose P99 is that of the subject."""
    names = listed([rival.name for _, rival in same])
    if any(cut.half_width is not None for cut, _ in same):
        return f"has the P99 of {names} within the interval"
    return f"has the same P99 as {names}"


def _beside_ideal(cut: Estimate) -> str:
    """Return the clause on Ideal, whose P99 the subject cuts by `cut`."""
    above = -cut.mean
    if above > _NEAR:
        return f"has a P99 {above * 100:.0f} % above Ideal's"
    if _sign(cut) > 0:
        return f"has a P99 {reduction_text(cut)} below Ideal's, which is no lower bound here"
    return f"comes within {max(1, math.ceil(abs(above) * 100))} % of Ideal"


def within_slo(system: SystemResult) -> tuple[float | None, float] | None:
    """Return how many requests `system` answers within the SLO: per second, and as a share.

    The share (0 to 1) is of all requests with an SLO; a request without an answer counts as late.
    The rate per second is None if a service's rate is unknown. The result is None if no service has
    an SLO.
    """
    known = [result for result in system.services if result.slo_missed_share is not None]
    missed = system.slo_missed_share
    if not known or missed is None:
        return None
    return sum_of([result.in_time_rps for result in known]), 1 - missed


def core_use(system: SystemResult) -> float:
    """Return the utilisation of `system`'s cores (0 to 1); of several servers, the highest."""
    return utilizations(system).get("cores", 0.0)


def accelerator_use(system: SystemResult) -> tuple[str, float] | None:
    """Return the kind and the utilisation (0 to 1) of `system`'s busiest kind of accelerator.

    With several servers, the utilisation is the highest among the servers. None if no accelerator
    was used.
    """
    names = dict.fromkeys(
        name for result in system.services for name in result.accelerator_utilization
    )
    used = utilizations(system)
    name = max(names, key=lambda name: used[name], default="")
    return (name, used[name]) if name and used[name] else None
