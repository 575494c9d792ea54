"""Implications of the AccelFlow paper's printed figures for one another; every proof is code.

>>> proof("deadlines_beyond_tcp").found().rules_out
True
>>> proof("deadlines_beyond_tcp").found({"deadline_gain": 1.05}).rules_out
False
"""

from __future__ import annotations

from typing import Final

from accelflow.errors import refused
from accelflow.reproduce.implications import energy, latency, throughput, utilization
from accelflow.reproduce.implications.page import COMMAND, page, write_page
from accelflow.reproduce.implications.proof import (
    CONTRADICTION,
    IMPLIED,
    READING,
    Found,
    Proof,
)
from accelflow.reproduce.implications.ranges import Range
from accelflow.reproduce.implications.statements import Statement, statements

__all__ = [
    "COMMAND",
    "CONTRADICTION",
    "IMPLIED",
    "PROOFS",
    "READING",
    "Found",
    "Proof",
    "Range",
    "Statement",
    "page",
    "proof",
    "statements",
    "write_page",
]

#: All proofs about the AccelFlow paper's printed figures.
PROOFS: Final = (*utilization.PROOFS, *throughput.PROOFS, *latency.PROOFS, *energy.PROOFS)


def proof(name: str) -> Proof:
    """Return the proof called `name`. Raises InputError for an unknown name."""
    for known in PROOFS:
        if known.name == name:
            return known
    raise refused("proof", name, known=[known.name for known in PROOFS])
