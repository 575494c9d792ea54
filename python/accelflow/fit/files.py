"""The files of a search of `accelflow fit`: the chosen scenario, and the log.

`accelflow reproduce --config` reads the scenario's file.
"""

from __future__ import annotations

import json
import math
from os import PathLike
from pathlib import Path
from typing import Any, Final

from accelflow import simulation
from accelflow.errors import file_path, unwritable
from accelflow.files import alone_in, free_suffix, parse_json, read_text, write_whole
from accelflow.findings import targets
from accelflow.fit.objective import EXPERIMENT, Evaluation
from accelflow.fit.search import Fit
from accelflow.fit.space import Bound, bounds, free_bounds, values_of
from accelflow.reproduce import Scenario

__all__ = ["SCHEMA", "to_json", "to_toml", "write_fit"]

#: The schema of the log of a search, ``fit.json``.
SCHEMA: Final = "accelflow.fit/3"


def to_toml(found: Fit) -> str:
    """Return the best scenario of the search `found` as TOML for `accelflow reproduce --config`."""
    best = found.best
    lines = [
        "# Chosen by `accelflow fit` against the rows marked `fit` alone: root of the mean squared",
        f"# difference of the logarithms of latency ratios {best.distance:.3f}, standard error "
        f"{best.noise:.3f}",
        f"# ({best.seeds} seeds of {found.lengths.requests:,} requests a service); the default "
        f"scenario is {found.default.distance:.3f} off.",
        f"# {len(found.evaluations)} evaluations, seed {found.seed}."
        + (f" Fixed: {_fixed(found)}." if found.fixed else ""),
        "",
        "[scenario]",
    ]
    for name, value in best.scenario.to_dict().items():
        if name != "config":
            lines.append(f"{name} = {json.dumps(value)}")
    sections: dict[str, list[str]] = {}
    for key, value in sorted(best.scenario.config.items()):
        section, _, name = key.partition(".")
        sections.setdefault(section, []).append(f"{name} = {_named(key, value)}")
    for section, entries in sections.items():
        lines += ["", f"[{section}]", *entries]
    return "\n".join(lines) + "\n"


def _fixed(found: Fit) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(found.fixed.items()))


def _named(key: str, value: float) -> str:
    """Return the value of the parameter `key` as TOML; a choice is given by its name."""
    parameter = next(parameter for parameter in simulation.parameters() if parameter.key == key)
    names = [choice.name for choice in parameter.choices if choice.value == value and choice.name]
    return json.dumps(names[0]) if names else repr(value)


def to_json(found: Fit) -> str:
    """Return all points of the search `found` as JSON; equal searches give the same text."""
    content = {
        "schema": SCHEMA,
        "asked": _asked(found),
        "default": _logged(found.default),
        "evaluations": [_logged(evaluation) for evaluation in found.evaluations],
        "finalists": [_logged(evaluation) for evaluation in found.finalists],
        "best": _logged(found.best),
    }
    return json.dumps(content, sort_keys=True, indent=1, allow_nan=False) + "\n"


def _asked(found: Fit) -> dict[str, Any]:
    """Return the arguments and inputs of the search, which distinguish it from other searches."""
    lengths = found.lengths
    return {
        "experiment": EXPERIMENT,
        "seed": found.seed,
        "evaluations": found.asked,
        "requests": lengths.requests,
        "seeds": lengths.seeds,
        "most_seeds": lengths.most_seeds,
        "noise": lengths.noise,
        "fixed": dict(found.fixed),
        "default": Scenario().to_dict(),
        "start": values_of(found.default.scenario, free_bounds(found.fixed)),
        "rows": {row: targets()[row].value for row in found.best.rows},
        "bounds": [_bound(bound) for bound in bounds()],
    }


def _bound(bound: Bound) -> dict[str, Any]:
    allowed = (
        {"choices": list(bound.choices)}
        if bound.choices
        else {"low": bound.low, "high": bound.high}
    )
    return {"name": bound.name, "source": bound.source, **allowed}


def _logged(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "scenario": evaluation.scenario.to_dict(),
        "stage": evaluation.stage,
        "rows": dict(evaluation.rows),
        "distance": _finite(evaluation.distance),
        "noise": _finite(evaluation.noise),
        "seeds": evaluation.seeds,
        "steady": evaluation.steady,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def write_fit(found: Fit, out: str | PathLike[str]) -> list[Path]:
    """Write the best scenario and all points of a search to the folder `out`; return the paths.

    The files are ``scenario.toml`` and ``fit.json``. If the folder has files of another search, the
    new names get the next free number. Raises InputError if a file cannot be written.
    """
    out = file_path("out", out)
    text = to_json(found)
    asked = json.loads(text)["asked"]
    try:
        with alone_in(out):
            suffix = free_suffix(lambda suffix: _is_another(asked, out, suffix))
            choice, log = out / f"scenario{suffix}.toml", out / f"fit{suffix}.json"
            _write(choice, to_toml(found))
            _write(log, text)
    except OSError as error:
        raise unwritable("--out", out, error) from error
    return [choice, log]


def _write(path: Path, content: str) -> None:
    write_whole(path, lambda scratch: scratch.write_text(content, encoding="utf-8"))


def _is_another(asked: dict[str, Any], out: Path, suffix: str) -> bool:
    """Return whether files with `suffix` exist that do not belong to the search `asked`."""
    log, choice = out / f"fit{suffix}.json", out / f"scenario{suffix}.toml"
    if not log.exists() and not choice.exists():
        return False
    try:
        there = parse_json(read_text(log))
    except (OSError, ValueError):
        return True
    return not isinstance(there, dict) or there.get("asked") != asked
