"""Values of other types are refused by name where traces are built, run and saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError
from accelflow.trace import (
    Library,
    Trace,
    branch,
    enqueue_trace,
    run_trace,
    save,
    tail,
    trans,
)

LIBRARY = Library(templates=False)
PACK = Trace(library=LIBRARY)
PACK.build("Cmp")
PACK.register("pack")
#: A value of any other type.
OTHER: Any = 5


def run(name: Any = "pack", library: Any = LIBRARY, **others: Any) -> object:
    return run_trace(name, b"data", library=library, **others)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: run(OTHER), "name = 5: must be the name of a trace"),
        (lambda: run(library=None), "library = None: must be a trace Library"),
        (lambda: run(library=LIBRARY.link()), "must be a trace Library"),
        (lambda: run(call="http"), "call = 'http': must be a sequence of texts or None"),
        (lambda: run(call=("http", 1)), "must be a sequence of texts or None"),
        (lambda: run(call=OTHER), "call = 5: must be a sequence of texts or None"),
        (lambda: run(cpu_fallback=OTHER), "cpu_fallback = 5: must be a function"),
        (lambda: run(connection=OTHER), "connection = 5: must be a Connection or None"),
        (lambda: enqueue_trace(OTHER, b""), "name = 5: must be the name of a trace"),
        (lambda: enqueue_trace("T1", b"", library=OTHER), "library = 5: must be a trace Library"),
        (lambda: branch(OTHER, "Cmp"), "condition_op = 5: must be the text of a condition"),
        (lambda: branch("x", "Cmp", likely=OTHER), "likely = 5: must be True, False or None"),
        (lambda: trans(OTHER, "JSON"), "src = 5: must be str, JSON or BSON"),
        (lambda: trans("str", OTHER), "dst = 5: must be str, JSON or BSON"),
        (lambda: tail(OTHER), "name = 5: must be the name of a trace"),
        (lambda: Trace(library=OTHER), "library = 5: must be a trace Library"),
        (lambda: PACK.register(OTHER), "name = 5: must be the name of a trace"),
    ],
)
def test_a_value_of_another_type_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert message in str(refused.value)


def test_only_traces_are_saved(tmp_path: Path) -> None:
    place = tmp_path / "mine.aftrace"
    with pytest.raises(InputError, match="traces = 5: must be a trace Library or Image"):
        save(place, OTHER)
    assert not place.exists()
    save(place, LIBRARY)
    save(place, LIBRARY.link())
