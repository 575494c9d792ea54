"""The colours of systems and of parts of the latency on HTML pages, light or dark."""

from __future__ import annotations

from typing import Final

from accelflow.page.plots import PALETTE
from accelflow.report.results import Comparison

__all__ = ["PART_COLORS", "SYSTEM_COLORS", "system_colors"]

#: The colours of orchestrators by identifier, from :data:`accelflow.page.plots.PALETTE`;
#: AccelFlow's is the same as in pictures.
SYSTEM_COLORS: Final = {
    "non_acc": "#808080",
    "cpu_centric": "#2b8cc4",
    "relief": "#a58300",
    "cohort": "#008f68",
    "cohort_polling": "#3f8f3f",
    "per_acc_type_q": "#9d7350",
    "direct_list": "#b0622a",
    "direct": "#7d6bd0",
    "cntr_flow": "#0072b2",
    "accelflow": "#d55e00",
    "accelflow_deadline": "#c23b3b",
    "accelflow_edf": "#9d7350",
    "ideal": "#c2609a",
}

#: The colours of the parts of the mean latency.
PART_COLORS: Final = {
    "application": "#0072b2",
    "accelerators": "#2b8cc4",
    "orchestration": "#d55e00",
    "queueing": "#a58300",
    "communication": "#c2609a",
    "remote": "#808080",
}


def system_colors(comparison: Comparison) -> dict[str, str]:
    """Return the colour of each system on a page, by the system's label.

    With several chips, colours are assigned in the order of the systems. With one, each
    orchestrator has a fixed colour; those written in Python have none and are left out.
    """
    if comparison.chips:
        return {
            system.label: PALETTE[place % len(PALETTE)]
            for place, system in enumerate(comparison.systems)
        }
    return {
        system.label: SYSTEM_COLORS[system.orchestrator]
        for system in comparison.systems
        if system.orchestrator in SYSTEM_COLORS
    }
