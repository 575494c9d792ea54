"""Import spans of Jaeger and OpenTelemetry, which native code reads (docs/import-spans.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelflow import _native
from accelflow.errors import AccelflowError, InputError, refused
from accelflow.importing.report import SCHEMA
from accelflow.importing.times import Traced
from accelflow.importing.workloads import Imported

__all__ = ["import_spans"]


def import_spans(
    kind: str, files: Sequence[Path], options: Mapping[str, Any]
) -> tuple[Imported, dict[str, Any]]:
    """Derive a workload from the spans of distributed tracing in `files`; also return a report.

    `kind` is the files' format, ``jaeger`` or ``otlp``. The report on the import is an object for
    JSON. `options` maps names of the import's options to values; those that are None have their
    defaults. Raises InputError for invalid options, and for files that cannot be read, are of
    another kind, are truncated or have no request.
    """
    given = {key: value for key, value in options.items() if value is not None}
    for key, value in given.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise refused(f"--{key.replace('_', '-')}", value, "must be a finite number")
    try:
        text = _native.import_spans(kind, [str(file) for file in files], json.dumps(given))
    except AccelflowError as error:
        raise InputError.of(error) from error
    found = json.loads(text)
    traced = {row["service"]: _traced(row) for row in found["report"].pop("times")}
    report = {"schema": SCHEMA, "kind": kind, **found["report"]}
    return Imported(found["workload"], {}, traced), report


def _traced(row: Mapping[str, Any]) -> Traced:
    operation = " ".join(part for part in (row["spans_of"], row["operation"]) if part)
    return Traced(operation, row["requests"], row["mean_us"], row["p99_us"])
