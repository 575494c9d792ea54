"""Files with our results for a companion paper: a page, its pictures, and a JSON file."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow.companions.outcome import PaperResult
from accelflow.companions.page import markdown
from accelflow.companions.precision import Precision, Seeds
from accelflow.errors import file_path, refused, unreadable, unwritable, with_schema
from accelflow.files import alone_in, free_suffix, holds_another, parse_json, read_text, write_whole
from accelflow.findings import Estimate, Finding, notes, reasons, targets
from accelflow.findings.results import from_dict, to_dict

__all__ = ["SCHEMA", "read", "to_json", "write"]

#: The name and version of the object in ``results.json``.
SCHEMA: Final = "accelflow.companions/2"


def to_json(outcome: PaperResult) -> dict[str, Any]:
    """Convert our results for a companion paper to the object that ``results.json`` contains."""
    return {
        "schema": SCHEMA,
        "paper": outcome.paper,
        "seed": outcome.seed,
        "precision": asdict(outcome.precision),
        "sections": {name: seeds.to_dict() for name, seeds in outcome.sections.items()},
        "findings": [to_dict(finding) for finding in outcome.findings],
        "results": outcome.results,
    }


def read(path: Path) -> PaperResult:
    """Read ``results.json``, written by :func:`write`.

    The paper's numbers and the reasons for differences are those of this version of accelflow, not
    those in the file. Raises InputError for a file that cannot be read or has other content.
    """
    try:
        found = with_schema(path, parse_json(read_text(path)), [SCHEMA])
        return PaperResult(
            found["paper"],
            found["seed"],
            tuple(_finding(row) for row in found["findings"]),
            found["results"],
            Precision(**found["precision"]),
            {name: Seeds(**seeds) for name, seeds in found["sections"].items()},
        )
    except (OSError, ValueError) as error:
        raise unreadable("results", path, error) from error
    except (KeyError, TypeError, AttributeError) as error:
        missing = isinstance(error, KeyError)
        lacks = f"it has no {error}" if missing else "a value in it has a wrong type"
        allowed = f"must be a file of `accelflow companions`: {lacks}"
        raise refused("results", path, allowed) from error


def _finding(row: Mapping[str, Any]) -> Finding:
    key = row["key"]
    target = targets().get(key)
    if target is not None:
        return replace(
            from_dict(row, target, reasons().get(key), row["experiment"]), note=notes().get(key, "")
        )
    return Finding(
        key=key,
        kind=row["kind"],
        unit=row["unit"],
        ours=Estimate.from_json(row),
        experiment=row["experiment"],
        label=row["label"],
        requests=row["requests"],
        note=notes().get(key, ""),
        also=tuple((other["says"], Estimate.from_json(other)) for other in row["also"]),
    )


def write(outcome: PaperResult, directory: str | PathLike[str]) -> list[Path]:
    """Write ``comparison.md``, ``results.json`` and the pictures of `outcome` to `directory`.

    If the folder has results of another paper, seed or precision, these are kept, and a number is
    added to the new files' names. All files are complete before the first one appears, and equal
    outcomes give equal bytes. Returns the paths. Raises InputError if a file cannot be written.
    """
    directory = file_path("directory", directory)
    try:
        with (
            alone_in(directory),
            tempfile.TemporaryDirectory(prefix=".companions-", dir=directory) as scratch,
        ):
            suffix = free_suffix(lambda suffix: _is_another(outcome, directory, suffix))
            made = _make(outcome, Path(scratch), suffix)
            return [_publish(path, directory / path.name) for path in made]
    except OSError as error:
        raise unwritable("--out", directory, error) from error


def _is_another(outcome: PaperResult, directory: Path, suffix: str) -> bool:
    """Return whether files with `suffix` exist that are not results of the same settings."""
    results = directory / f"results{suffix}.json"
    if not results.exists():
        return (directory / f"comparison{suffix}.md").exists()
    mine = {
        "schema": SCHEMA,
        "paper": outcome.paper,
        "seed": outcome.seed,
        "precision": asdict(outcome.precision),
    }
    return holds_another(results, mine)


def _make(outcome: PaperResult, folder: Path, suffix: str) -> list[Path]:
    """Write all files to `folder`; return their paths, the page and the results first."""
    from accelflow.companions.pictures import (  # noqa: PLC0415 (matplotlib is slow to load)
        write_pictures,
    )

    pictures = write_pictures(outcome, folder, suffix)
    page, results = folder / f"comparison{suffix}.md", folder / f"results{suffix}.json"
    text = markdown(outcome, {name: paths[0].name for name, paths in pictures.items()})
    page.write_text(text, encoding="utf-8")
    results.write_text(json.dumps(to_json(outcome), indent=1) + "\n", encoding="utf-8")
    return [page, results, *(path for paths in pictures.values() for path in paths)]


def _publish(made: Path, place: Path) -> Path:
    """Move the complete file `made` to `place`; if `place` is a link, write the linked file."""
    write_whole(place, made.replace)
    return place
