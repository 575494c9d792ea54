"""Texts that state how many requests have no response: latencies leave these requests out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from accelflow.report.results import Comparison, ServiceResult, SystemResult

__all__ = ["among_answered", "lacks_responses", "listed", "names_text", "unanswered_notes"]

#: A smaller share of requests without a response hardly changes a percentile.
_NEGLIGIBLE: Final = 0.001
#: The largest number of names in a sentence.
_MOST_NAMES: Final = 4


def lacks_responses(result: SystemResult | ServiceResult) -> bool:
    """Return whether more than 0.1 % of the requests of a service have no response.

    For a system, one such service is enough. A smaller share hardly changes a percentile.
    """
    services = result.services if isinstance(result, SystemResult) else (result,)
    return any(service.unanswered_share > _NEGLIGIBLE for service in services)


def _matters(systems: Sequence[SystemResult]) -> bool:
    """Return whether requests without a response are many, or differ between systems."""
    shares = {system.unanswered_share for system in systems}
    return len(shares) > 1 or any(lacks_responses(system) for system in systems)


def among_answered(systems: Sequence[SystemResult]) -> str:
    """Return the beginning of a sentence on latencies, which says that requests are left out.

    Latencies leave out requests without a response. The beginning is "among answered requests
    alone", with the share of requests that have no response in brackets. The result is empty if
    this share is at most 0.1 % for each service under each of `systems`.
    """
    if not any(lacks_responses(system) for system in systems):
        return ""
    shares = sorted(system.unanswered_share for system in systems)
    texts = list(dict.fromkeys(_percent(share) for share in (shares[0], shares[-1])))
    differing = ", depending on the system" if len(texts) > 1 else ""
    return f"among answered requests alone ({' to '.join(texts)} have no response{differing}), "


def unanswered_notes(comparison: Comparison, *, marked: bool) -> list[str]:
    """Return notes on how many requests have no response, by system and by service.

    The list is empty if the share without a response is the same under all systems, and is at most
    0.1 % for each service. With `marked`, the note begins with ``a``, the mark that a table puts on
    the latencies concerned.
    """
    systems = comparison.systems
    if not _matters(systems):
        return []
    by_system = {system.label: _percent(system.unanswered_share) for system in systems}
    if len(set(by_system.values())) == 1:
        whose = f"{next(iter(by_system.values()))} under every system"
    else:
        whose = ", ".join(f"{share} under {name}" for name, share in by_system.items())
    worst: dict[str, float] = {}
    for result in (result for system in systems for result in system.services):
        if result.unanswered_share > _NEGLIGIBLE:
            most = max(worst.get(result.service, 0.0), result.unanswered_share)
            worst[result.service] = most
    ordered = sorted(worst.items(), key=lambda item: -item[1])
    services = [f"{name} {_percent(share)}" for name, share in ordered]
    of_services = f" By service, at most: {names_text(services)}." if services else ""
    text = "Latencies are those of answered requests alone. Without a response: "
    return [f"{'a ' * marked}{text}{whose}.{of_services}"]


def _percent(share: float) -> str:
    """Return a share as text in percent, as 0 % or 100 % only if it is exactly that."""
    percent = 100 * share
    if share in (0, 1):
        return f"{percent:.0f} %"
    if percent < 0.01:
        return "below 0.01 %"
    digits = 2 if percent < 1 else 1 if percent < 10 or percent > 99 else 0
    return f"{math.floor(percent * 10**digits) / 10**digits:.{digits}f} %"


def names_text(names: Sequence[str]) -> str:
    """Join the first four of `names` with commas; "..." stands for any further ones."""
    return ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")


def listed(parts: Sequence[str]) -> str:
    """Join `parts` in a sentence, with commas and a last "and": ``a, b and c``."""
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
