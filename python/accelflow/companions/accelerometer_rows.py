"""The Accelerometer paper's numbers beside ours, and the data of its page and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from accelflow.companions import case_studies
from accelflow.companions.live_server import live_server
from accelflow.findings import Estimate, Finding, reasons, targets

__all__ = ["NOT_COMPUTED", "accelerometer_findings", "accelerometer_results"]

#: Sections of the paper's figures that this project does not compute: profiles of its services.
NOT_COMPUTED: Final = ("accelerometer.characterisation",)

#: The table or figure of the paper that each section of our results belongs to.
_EXPERIMENTS: Final[Mapping[str, str]] = {
    "case_studies": "Table 6",
    "case_studies_measured": "Table 6",
    "case_studies_error": "Table 6",
    "before_after": "Figs. 16 to 18",
    "inference_removed": "section 2.4",
    "lucrative_offloads": "Fig. 20",
    "recommendations": "Fig. 20",
}

#: The name of the second definition of a reduction, by measured instead of estimated speedup.
_BY_MEASUREMENT: Final = "by the measured speedup of Table 6"


def accelerometer_findings() -> list[Finding]:
    """Return our values beside Accelerometer's numbers, in the order of ``paper-targets.toml``."""
    found = case_studies.estimates()
    for case in case_studies.MEASURED:
        estimate = found[f"case_studies.{case}"]
        found[f"case_studies_measured.{case}"] = estimate
        measured = targets()[f"accelerometer.case_studies_measured.{case}"].value
        found[f"case_studies_error.{case}"] = 100 * (estimate - measured)
    also = case_studies.by_measured_speedup()
    return [
        _finding(key, found[key.partition(".")[2]], also.get(key.partition(".")[2]))
        for key in targets()
        if key.partition(".")[2] in found and key.startswith("accelerometer.")
    ]


def _finding(key: str, value: float, by_measurement: float | None) -> Finding:
    about: dict[str, Any] = {}
    if by_measurement is not None:
        about["also"] = ((_BY_MEASUREMENT, Estimate.computed(by_measurement)),)
    return Finding.of(
        targets()[key],
        Estimate.computed(value),
        why=reasons().get(key),
        experiment=_EXPERIMENTS[key.split(".")[1]],
        **about,
    )


def accelerometer_results() -> Mapping[str, Any]:
    """Return the data of Accelerometer's results page and pictures, apart from the findings.

    ``studies`` and ``recommendations`` are results of the functions of these names in
    :mod:`accelflow.companions.case_studies`, and ``live_server`` is the result of
    :func:`accelflow.companions.live_server.live_server`.
    """
    return {
        "studies": case_studies.studies(),
        "recommendations": case_studies.recommendations(),
        "live_server": live_server(),
    }
