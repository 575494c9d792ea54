"""Measured response times compared with simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from accelflow.errors import LEFT_OUT, InputError, refused
from accelflow.files import parse_json, read_text, why
from accelflow.importing.latencies import Measured
from accelflow.report.notes import P999_RESPONSES
from accelflow.report.results import Comparison, ServiceResult

__all__ = ["compared"]

#: The figures to compare: name, percentile (None for the mean), and key in a comparison.
_FIGURES: Final = (
    ("mean", None, "mean_us"),
    ("P50", 50.0, "p50_us"),
    ("P99", 99.0, "p99_us"),
    ("P99.9", 99.9, "p999_us"),
)

#: The name of locust's row of all requests together.
_TOGETHER: Final = "Aggregated"


def compared(
    measured: Sequence[Measured], results: Path, service: str | None
) -> list[dict[str, Any]]:
    """Compare measured with simulated response times; return a row for each measure and system.

    The measures are the mean, P50, P99 and P99.9. `results` is the path of a file with the JSON of
    ``accelflow compare --json``. A measurement is compared with the simulated service called
    `service`; if this is None, with the service of the same name, or else with the only service.
    If measurements have the name `service`, the others are left out. So is locust's row of all
    requests together if there are several services and `service` is None.
    The P99.9 of fewer than 100,000 simulated responses is left out. Raises InputError for a file of
    another kind, an unknown service, and a measurement that belongs to no service.
    """
    comparison = _comparison(results)
    names = comparison.service_names
    if service is not None and service not in names:
        raise refused("--service", service, known=names)
    own = [each for each in measured if each.name == service]
    if service is None and len(names) > 1:
        own = [each for each in measured if each.name != _TOGETHER]
    rows: list[dict[str, Any]] = []
    for each in own or measured:
        name = service or (each.name if each.name in names else None)
        if name is None and len(names) == 1:
            name = names[0]
        if name is None:
            known = ", ".join(names)
            allowed = f"must name the service of the measurement {each.name!r}: {known}"
            raise refused("--service", LEFT_OUT, allowed)
        for system in comparison.systems:
            if (result := system.service(name)) is not None:
                rows += _rows(each, system.orchestrator, result)
    return rows


def _rows(measured: Measured, orchestrator: str, result: ServiceResult) -> list[dict[str, Any]]:
    found = []
    for figure, percent, key in _FIGURES:
        ours = getattr(result, key)
        theirs = measured.mean_us if percent is None else measured.percentiles_us.get(percent)
        if ours is None or theirs is None:
            continue
        if percent == 99.9 and result.completed < P999_RESPONSES:
            continue
        found.append(
            {
                "measured": measured.name,
                "service": result.service,
                "orchestrator": orchestrator,
                "figure": figure,
                "measured_us": theirs,
                "simulated_us": ours,
                "ratio": ours / theirs if theirs else None,
            }
        )
    return found


def _comparison(path: Path) -> Comparison:
    try:
        tree = parse_json(read_text(path))
        if not isinstance(tree, dict):
            raise ValueError("the file has no JSON object")
        return Comparison.from_dict(tree)
    except (OSError, ValueError, InputError) as error:
        raise refused(
            "--against", str(path), f"must be results of `accelflow compare`: {why(error)}"
        ) from error
