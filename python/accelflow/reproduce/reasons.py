"""Reasons why figures are off and statements do not hold, with checked references to proofs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from accelflow import findings
from accelflow.errors import InputError, refused
from accelflow.findings.reasons import Reason
from accelflow.findings.reasons import read_reason as read_plain
from accelflow.reproduce.held import computed_text, implied_text, quoted
from accelflow.reproduce.implications import IMPLIED, proof
from accelflow.reproduce.measures import check_measure

__all__ = ["read_reason", "reasons"]


@cache
def reasons() -> Mapping[str, Reason]:
    """Return the recorded reasons why our figures differ from the paper's, by the figure's key.

    Where the paper can be read in several ways, a reason also states with which of the readings
    that were tried our figure agrees, is undecided or stays off. Raises InputError as
    :func:`accelflow.findings.reasons` does, for an unknown measure or proof, and for a proof that
    does not support its reason.
    """
    found = findings.reasons()
    for key, reason in found.items():
        place = f"reasons.toml: {key}"
        if key.startswith("accelflow."):
            _check_measures(reason, place)
        _check(reason, place, key.removeprefix("accelflow."))
    return {key: _with_evidence(key, reason) for key, reason in found.items()}


def _with_evidence(key: str, reason: Reason) -> Reason:
    """Return `reason` with the values at which the figure would agree, and readings tried."""
    tried = quoted(key, reason.choices)
    values = [reason.holds, tried.holds, implied_text(reason.implied)]
    if reason.computed:
        values.append(computed_text(reason.computed, f"reasons.toml: {key}"))
    holds = "; or ".join(value for value in values if value)
    return replace(reason, holds=holds, undecided=tried.undecided, tried=tried.off)


def read_reason(content: object, place: str, row: str = "") -> Reason:
    """Make a reason from `content`, a parsed table of ``reasons.toml`` or of an experiment's file.

    `place` names the table in error messages. `row` is the key of the figure that the reason
    explains, without the paper's name, or empty. Raises InputError for content that is no table
    of a reason, for an unknown measure or proof, and for a proof that does not support the reason.
    """
    reason = read_plain(content, place)
    _check_measures(reason, place)
    _check(reason, place, row)
    return reason


def _check_measures(reason: Reason, place: str) -> None:
    """Raise InputError for a measure of the reason that no simulation has."""
    for measure in reason.measures:
        check_measure(measure, f"{place}: measures")


def _check(reason: Reason, place: str, row: str) -> None:
    """Raise InputError unless the reason's proofs exist and support it.

    The proofs of a contradiction must each rule out something, one of them the figure `row`.
    """
    try:
        named = [proof(name) for name in (*reason.proofs, *reason.implied)]
    except InputError as error:
        raise InputError(f"{place}: proofs or implied: {error}") from error
    for implied in reason.implied:
        if proof(implied).kind != IMPLIED:
            raise refused(
                f"{place}: implied",
                implied,
                "must be a proof of a figure that the paper does not print",
            )
    if reason.kind != "contradiction":
        return
    for named_proof in named:
        if named_proof.kind == IMPLIED or not named_proof.found().rules_out:
            allowed = "must be a proof that rules a figure out, since class = 'contradiction'"
            raise refused(f"{place}: proofs", named_proof.name, allowed)
    if row and not any(row in named_proof.rows for named_proof in named):
        allowed = f"must include a proof about {row}, the figure in question"
        raise refused(f"{place}: proofs", ", ".join(reason.proofs), allowed)
