"""The points of a study's design, in an order that depends on the study alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from accelflow.studies.study import Axis, Range, Study

__all__ = ["number_of_points", "points"]


def points(study: Study) -> Iterator[Mapping[str, Any]]:
    """Yield the points of `study`; a point maps the name of each axis to a value."""
    if study.kind == "list":
        yield from study.points
    elif study.kind == "grid":
        names = study.names
        for values in itertools.product(*(_grid(axis) for axis in study.axes)):
            yield dict(zip(names, values, strict=True))
    else:
        yield from _latin_hypercube(study)


def number_of_points(study: Study) -> int:
    """Return how many points (combinations of the axes' values) `study` has."""
    if study.kind == "list":
        return len(study.points)
    if study.kind == "latin_hypercube":
        return study.count
    return math.prod(len(_grid(axis)) for axis in study.axes)


def _grid(axis: Axis) -> Sequence[Any]:
    if not isinstance(axis.values, Range):
        return axis.values
    last = axis.values.points - 1
    numbers = [axis.values.at(index / last) for index in range(axis.values.points)]
    return list(dict.fromkeys(numbers))  # whole numbers may coincide


def _latin_hypercube(study: Study) -> Iterator[Mapping[str, Any]]:
    """Yield points, one at a random position in each strip of each axis."""
    import numpy as np  # noqa: PLC0415 (slow to load)

    draw = np.random.default_rng(study.draw)
    shares = [
        (draw.permutation(study.count) + draw.random(study.count)) / study.count for _ in study.axes
    ]
    for index in range(study.count):
        yield {
            axis.name: _at(axis, float(column[index]))
            for axis, column in zip(study.axes, shares, strict=True)
        }


def _at(axis: Axis, share: float) -> Any:
    if isinstance(axis.values, Range):
        return _whole(axis.values, share) if axis.values.whole else axis.values.at(share)
    return axis.values[min(int(share * len(axis.values)), len(axis.values) - 1)]


def _whole(values: Range, share: float) -> int:
    """Return the whole number at the position `share` of a range, from 0 up to 1.

    A number N has the part of the scale from N to N + 1. By rounding, the ends of the range would
    have half of the points of others.
    """
    low, high = int(values.low), int(values.high)
    if values.scale == "log":
        found = int(low * ((high + 1) / low) ** share)
    else:
        found = low + int(share * (high + 1 - low))
    return min(max(found, low), high)
