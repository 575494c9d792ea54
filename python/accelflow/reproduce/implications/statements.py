"""The statements of the AccelFlow paper that the proofs use, with section and sentence."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib import resources

from accelflow.errors import refused
from accelflow.findings.targets import printed_figures
from accelflow.reproduce.implications.ranges import Range

__all__ = ["Statement", "statements"]

_PACKAGE = "accelflow.reproduce.implications"


@dataclass(frozen=True)
class Statement:
    """A number that the AccelFlow paper prints, with the sentence that states it.

    `key` identifies the statement, `says` describes the number, `section` is its section in the
    paper, and `quote` the sentence. `row` is the number's key in ``paper-targets.toml`` without the
    paper's name; empty if the number is not there. `printed` is the number with its printed digits,
    and `figure` the range of numbers that round to it, or the number alone if it is exact.
    """

    key: str
    says: str
    section: str
    quote: str
    row: str
    printed: Decimal
    figure: Range


@cache
def statements() -> Mapping[str, Statement]:
    """Return the numbers printed in the paper that proofs use, by their keys.

    They are in the order of ``statements.toml``. Raises InputError for a statement whose `row` is
    the key of no entry of ``paper-targets.toml``, or of one that is not a single number.
    """
    text = resources.files(_PACKAGE).joinpath("statements.toml").read_text(encoding="utf-8")
    return {key: _statement(key, content) for key, content in tomllib.loads(text).items()}


def _statement(key: str, content: Mapping[str, str]) -> Statement:
    row = content.get("row", "")
    if row:
        known = printed_figures()
        if f"accelflow.{row}" not in known:
            place = f"statements.toml: {key}: row"
            raise refused(place, row, "must be the key of a single number in paper-targets.toml")
        printed = known[f"accelflow.{row}"]
    else:
        printed = Decimal(content["value"])
    exact = bool(content.get("exact", False))
    return Statement(
        key=key,
        says=content["says"],
        section=content["section"],
        quote=content["quote"],
        row=row,
        printed=printed,
        figure=Range.of(float(printed)) if exact else Range.printed(printed),
    )
