"""The files with the results under each reading of the paper: a page, its pictures, and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.errors import file_path, unwritable
from accelflow.files import alone_in, free_suffix, holds_another, write_whole
from accelflow.findings.results import json_text
from accelflow.readings.page import drawn_rows, markdown
from accelflow.readings.rule import Decision, Judged, decisions
from accelflow.readings.runs import Figure, Readings

__all__ = ["PAGE", "SCHEMA", "to_json", "write_held", "write_readings"]

#: The schema of ``readings.json``.
SCHEMA: Final = "accelflow.readings/3"
#: The schema of ``held.json``, the results by reading that `accelflow reproduce` quotes.
HELD_SCHEMA: Final = "accelflow.held/1"

#: The file name of the page with the results under each reading.
PAGE: Final = "readings.md"


def write_readings(found: Readings, out: str | PathLike[str]) -> list[Path]:
    """Write ``readings.md``, its pictures and ``readings.json`` to `out`, and return the paths.

    `out` is a folder. If it has results of another scenario, budget, seeds, experiments or choices,
    these are kept, and a number is added to the new files' names. Equal results give equal bytes.
    Raises InputError if a file cannot be written.
    """
    out = file_path("out", out)
    from accelflow.readings.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    data, page = to_json(found), markdown(found)
    content = json.loads(data)
    mine = {key: content[key] for key in ("budget", "seeds", "scenario", "experiments")}
    try:
        with alone_in(out):
            suffix = free_suffix(
                lambda suffix: _is_another(out / f"readings{suffix}.json", mine, _choices(content))
            )
            pictures = {
                f"readings-{definition.name}": f"readings{suffix}-{definition.name}"
                for definition in found.definitions
            }
            for name, numbered in pictures.items():
                page = page.replace(f"({name}.png)", f"({numbered}.png)")
            written = [out / f"readings{suffix}.json", out / f"{Path(PAGE).stem}{suffix}.md"]
            for path, text in zip(written, (data, page), strict=True):
                _write(path, text)
            for index, numbered in enumerate(pictures.values()):
                if not drawn_rows(found, index):
                    continue
                written += write_pictures(found, index, out / numbered)
    except OSError as error:
        raise unwritable("--out", out, error) from error
    return written


def _is_another(path: Path, mine: Mapping[str, Any], chosen: list[str]) -> bool:
    """Return whether the file `path` has results other than of `mine` and the choices `chosen`."""

    def has_other_choices(content: Mapping[str, Any]) -> bool:
        try:
            return _choices(content) != chosen
        except (KeyError, TypeError):  # not a file of readings
            return True

    return holds_another(path, mine, has_other_choices)


def _choices(content: Mapping[str, Any]) -> list[str]:
    """Return the names of the choices whose readings have run, without repetitions."""
    return list(dict.fromkeys(row["choice"] for row in content["readings"]))


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(text, encoding="utf-8"))


def to_json(found: Readings) -> str:
    """Return the content of ``readings.json``; equal results give equal text."""
    content = {
        "schema": SCHEMA,
        "budget": found.budget.name,
        "requests": found.budget.requests,
        "seeds": list(found.budget.seeds),
        "scenario": found.scenario.to_dict(),
        "experiments": [definition.name for definition in found.definitions],
        "default": _figures(found.default),
        "decisions": [_decision(decision) for decision in decisions(found)],
        "readings": [
            {
                "choice": tried.choice.name,
                "settings": dict(tried.reading.settings),
                "basis": tried.reading.basis,
                "set_aside": tried.reading.set_aside or None,
                "rows": _figures(tried.figures),
            }
            for tried in found.tried
        ],
    }
    return json_text(content)


def write_held(found: Sequence[Readings], path: str | PathLike[str]) -> None:
    """Write our results under each reading of the paper to the file `path`, as JSON.

    The results are grouped by their key and by choice. `accelflow reproduce` quotes them in its
    reasons for differences. Raises InputError if the file cannot be written.
    """
    path = file_path("path", path)
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for tried in (tried for readings in found for tried in readings.tried):
        for figure in (figure for figures in tried.figures for figure in figures):
            by_choice = rows.setdefault(figure.finding.key, {})
            by_choice.setdefault(tried.choice.name, []).append(
                {
                    "reading": (
                        tried.reading.with_keys if tried.choice.combined else tried.reading.label
                    ),
                    "mean": figure.mean,
                    "verdict": figure.verdict,
                    "saturated": figure.saturated,
                }
            )
    try:
        _write(path, json_text({"schema": HELD_SCHEMA, "rows": rows}))
    except OSError as error:
        raise unwritable("--held", path, error) from error


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "choice": decision.choice.name,
        "by": decision.by,
        "default": None if decision.default is None else _judged(decision.default),
        "others": [_judged(other) for other in decision.others],
        "exceptions": [judged.reading.label for judged in decision.exceptions],
        "breaks": list(decision.breaks),
    }


def _judged(judged: Judged) -> dict[str, Any]:
    return {
        "reading": judged.reading.label,
        "basis": judged.reading.basis,
        "distance": judged.distance if math.isfinite(judged.distance) else None,
        "saturated": list(judged.saturated),
        "rows_off": judged.off,
        "stands": judged.stands,
    }


def _figures(by_experiment: tuple[tuple[Figure, ...], ...]) -> dict[str, Any]:
    return {figure.finding.key: _figure(figure) for figures in by_experiment for figure in figures}


def _figure(figure: Figure) -> dict[str, Any]:
    ours = figure.finding.ours
    return {
        "paper": None if figure.finding.paper is None else figure.finding.paper.to_json(),
        "mean": figure.mean,
        "half_width": None if ours is None else ours.half_width,
        "verdict": figure.verdict,
        "log_ratio": figure.log_ratio,
        "saturated": list(figure.finding.saturated),
    }
