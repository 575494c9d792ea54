"""Comparisons of our values with those that the papers report, in one form for all papers.

>>> from accelflow.findings import Estimate, Finding, targets
>>> finding = Finding.of(targets()["accelflow.table4.CPost"], Estimate.computed(87.0))
>>> str(finding.verdict)
'as printed'
"""

from accelflow.findings.estimate import Estimate
from accelflow.findings.finding import TOLERANCE, Finding, Verdict
from accelflow.findings.reasons import Reason, notes, reasons
from accelflow.findings.targets import Reported, Target, printed_figures, targets, uncovered
from accelflow.findings.text import NO_REASON, counts_text, number

__all__ = [
    "NO_REASON",
    "TOLERANCE",
    "Estimate",
    "Finding",
    "Reason",
    "Reported",
    "Target",
    "Verdict",
    "counts_text",
    "notes",
    "number",
    "printed_figures",
    "reasons",
    "targets",
    "uncovered",
]
