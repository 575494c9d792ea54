"""Percentile curves of response times, on an axis of percentiles that stretches the tail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from accelflow.report.results import Comparison

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["ALL_SERVICES", "LEVELS", "curves", "level_text"]

#: The name that stands for the requests of all services together.
ALL_SERVICES: Final = "all services"
#: The least number of requests beyond the last point of a curve.
_FEWEST_BEYOND: Final = 10
_STEP: Final = 0.1

#: The positions of a curve's points on the axis of percentiles. A position is -log10 of the share
#: of requests that take longer: 1 is P90 and 2 is P99.
LEVELS: Final = tuple(
    sorted({round(math.log10(2), 4), *(round(step * _STEP, 4) for step in range(61))})
)


def level_text(level: float) -> str:
    """Return the name of the percentile at `level`, such as ``P99.9`` at 3.

    `level` is -log10 of the share of requests that take longer, as in :data:`LEVELS`.
    """
    percent = 100 * (1 - 10**-level)
    digits = max(0, math.ceil(level) - 2)
    text = f"{percent:.{digits}f}"
    return f"P{text.rstrip('0').rstrip('.') if '.' in text else text}"


def curves(comparison: Comparison) -> dict[str, list[Any]] | None:
    """Return the points of each system's percentile curves, as columns of a table.

    There is a curve for each service and one for all services together. A row is a point: the
    system's ``name``, the ``service``, the response time ``x`` in us, and the percentile's position
    ``y`` (:data:`LEVELS`). Percentiles are by nearest rank. A curve ends where fewer than ten
    requests take longer than `x`. None if the comparison has no samples.
    """
    if comparison.samples is None:
        return None
    import numpy as np  # noqa: PLC0415 (slow to load)

    columns: dict[str, list[Any]] = {"name": [], "service": [], "x": [], "y": []}
    for system in comparison.systems:
        if system.samples is None:
            continue
        times = system.samples["response_us"].to_numpy()
        whose = np.asarray(system.samples["service"].to_pylist(), dtype=object)
        known = [service for service in comparison.service_names if (whose == service).any()]
        several: Mapping[str, Any] = {ALL_SERVICES: times} if len(known) > 1 else {}
        by_service = {**several, **{service: times[whose == service] for service in known}}
        for service, own in by_service.items():
            found = _percentiles(np.sort(own))
            columns["name"] += [system.label] * len(found)
            columns["service"] += [service] * len(found)
            columns["x"] += [time for time, _ in found]
            columns["y"] += [level for _, level in found]
    return columns if columns["x"] else None


def _percentiles(times: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return pairs of time in us and level, up to the last level with enough requests beyond."""
    count = len(times)
    found = []
    for level in LEVELS:
        share = 1 - 10**-level
        if level and count * (1 - share) < _FEWEST_BEYOND:
            break
        rank = min(max(math.ceil(share * count - 1e-9), 1), count)
        found.append((round(float(times[rank - 1]), 3), level))
    return found
