"""Readings as files: the page, its pictures, and everything as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from accelflow.errors import InputError
from accelflow.files import free_suffix, holds_another, why, write_whole
from accelflow.findings.results import json_text
from accelflow.readings.page import markdown
from accelflow.readings.runs import Figure, Readings

__all__ = ["PAGE", "SCHEMA", "to_json", "write_readings"]

SCHEMA: Final = "accelflow.readings/2"

#: The name of the page in the folder of the results.
PAGE: Final = "readings.md"


def write_readings(found: Readings, out: Path) -> list[Path]:
    """Write the page, its pictures and ``readings.json`` to the folder `out`; return their paths.

    If the folder has readings of another scenario, budget or experiments, all names get the next
    free number. Equal readings give equal bytes. Raises InputError if a file cannot be written.
    """
    from accelflow.readings.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    data, page = to_json(found), markdown(found)
    content = json.loads(data)
    mine = {key: content[key] for key in ("budget", "seeds", "scenario", "experiments")}
    suffix = free_suffix(lambda suffix: holds_another(out / f"readings{suffix}.json", mine))
    pictures = {
        f"readings-{definition.name}": f"readings{suffix}-{definition.name}"
        for definition in found.definitions
    }
    for name, numbered in pictures.items():
        page = page.replace(f"({name}.png)", f"({numbered}.png)")
    written = [out / f"readings{suffix}.json", out / f"{Path(PAGE).stem}{suffix}.md"]
    try:
        for path, text in zip(written, (data, page), strict=True):
            _write(path, text)
        for index, numbered in enumerate(pictures.values()):
            written += write_pictures(found, index, out / numbered)
    except OSError as error:
        raise InputError(f"--out {out}: {why(error)}") from error
    return written


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def to_json(found: Readings) -> str:
    """Everything as text: equal readings are equal bytes."""
    content = {
        "schema": SCHEMA,
        "budget": found.budget.name,
        "requests": found.budget.requests,
        "seeds": list(found.budget.seeds),
        "scenario": found.scenario.to_dict(),
        "experiments": [definition.name for definition in found.definitions],
        "default": _figures(found.default),
        "readings": [
            {
                "choice": tried.choice.name,
                "settings": dict(tried.reading.settings),
                "basis": tried.reading.basis,
                "rows": _figures(tried.figures),
            }
            for tried in found.tried
        ],
    }
    return json_text(content)


def _figures(by_experiment: tuple[tuple[Figure, ...], ...]) -> dict[str, Any]:
    return {figure.finding.key: _figure(figure) for figures in by_experiment for figure in figures}


def _figure(figure: Figure) -> dict[str, Any]:
    ours = figure.finding.ours
    return {
        "paper": figure.finding.paper_value,
        "mean": figure.mean,
        "half_width": None if ours is None else ours.half_width,
        "verdict": figure.verdict,
        "log_ratio": figure.log_ratio,
        "saturated": list(figure.finding.saturated),
    }
