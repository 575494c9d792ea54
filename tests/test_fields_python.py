"""Studies made in Python are checked as their files are; long values and byte-order marks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accelflow import InputError, accelerometer, studies
from accelflow.accelerometer.recorded import read_recording
from accelflow.errors import refused
from test_plan_fields import write_recording

NAN, INFINITE = float("nan"), float("inf")


def axis(*values: Any, name: str = "rate_rps", **ends: Any) -> studies.Axis:
    """An axis of values, or of the range with `ends`."""
    return studies.Axis(name=name, values=studies.Range(**ends) if ends else values)


def study(**fields: Any) -> studies.Study:
    return studies.Study(**{"axes": [axis(1.0, 2.0)], **fields})


def question(**limits: Any) -> studies.Question:
    return studies.Question(
        study=study(),
        system="relief",
        name="rate_rps",
        most=True,
        values=studies.Range(low=1.0, high=2.0),
        limits=limits,
    )


def goal(**limits: Any) -> studies.Goal:
    axes = (axis(low=1.0, high=2.0),)
    return studies.Goal(
        study=study(), system="relief", minimize="elements", axes=axes, limits=limits
    )


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: axis(low=NAN, high=2.0), "low = nan: must be a finite number"),
    (lambda: axis(low=1.0, high=INFINITE), "high = inf: must be a finite number"),
    (lambda: axis(low=True, high=2.0), "low = True: must be a finite number"),
    (lambda: axis(low=3.0, high=1.0), "high = 1: must be more than 3, where the range begins"),
    (lambda: axis(low=1.0, high=2.0, points=1), "points = 1: must be a whole number from 2"),
    (lambda: axis(low=1.0, high=2.0, scale="lin"), "scale = 'lin': must be linear or log"),
    (lambda: axis(low=0.0, high=2.0, scale="log"), "low = 0: must be more than 0 on a"),
    (lambda: axis(low=1.5, high=2.0, whole=True), "low = 1.5: must be a whole number, since"),
    (lambda: axis(low=1.0, high=2.0, whole=1), "whole = 1: must be true or false"),
    (lambda: axis(1.0, NAN), "rate_rps[1] = nan: must be a finite number"),
    (axis, "rate_rps = (): must be a Range, or a list with values"),
    (lambda: axis(1.0, name="rate_rsp"), "axis = 'rate_rsp': must be a field of a scenario"),
    (lambda: study(kind="lst"), "kind = 'lst': must be grid, latin_hypercube or list"),
    (lambda: study(scenario={"rate_rps": NAN}), "scenario.rate_rps = nan: must be a finite"),
    (
        lambda: study(scenario={"config": {"core.count": INFINITE}}),
        "scenario.config.core.count = inf: must be a finite number",
    ),
    (lambda: study(scenario={"seed": 3}), "scenario key = 'seed': must be workload"),
    (lambda: study(points=[{"rate_rps": NAN}]), "points[0].rate_rps = nan: must be a finite"),
    (lambda: study(points=[{"rate": 1.0}]), "points[0] = 'rate': must be a field of a scenario"),
    (lambda: study(kind="latin_hypercube"), "count = 0: must be a whole number from 2"),
    (lambda: study(draw=-1), "draw = -1: must be a whole number from 0"),
    (lambda: study(seeds=()), "seeds = []: must have at least one seed"),
    (lambda: study(seeds=(1, NAN)), "seeds = nan: must be a whole number"),
    (lambda: question(p99_us=NAN), "limits.p99_us = nan: must be a number above 0"),
    (lambda: question(p99_us=INFINITE), "limits.p99_us = inf: must be a number above 0"),
    (lambda: question(p98_us=5.0), "limits key = 'p98_us': must be mean_us"),
    (question, "limits = {'slo': False}: must be a table with a limit"),
    (lambda: goal(slo_missed_ratio=1.0), "limits.slo_missed_ratio = 1: must be a number above"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_studies_made_in_python_are_checked(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value).startswith(message)


def test_a_range_of_whole_numbers_may_be_given_as_integers() -> None:
    found = studies.Range(low=1, high=4, whole=True)
    assert (found.low, found.high, found.at(0.5)) == (1.0, 4.0, 2.0)


@pytest.mark.parametrize(
    "value", ["x" * 5_000, ["x" * 5_000], list(range(5_000)), {"x": "y" * 999}]
)
def test_long_values_and_places_are_cut_in_refusals(value: Any) -> None:
    text = str(refused("p" * 5_000, value, "must be short"))
    assert len(text) < 900
    assert text.startswith("ppp")
    assert text.endswith(": must be short")


def test_values_of_a_usual_length_are_whole() -> None:
    assert (
        str(refused("name", "x" * 200, "must be short")) == f"name = '{'x' * 200}': must be short"
    )


def test_services_and_recordings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    write_recording(tmp_path / "plain.json", app_ns=1_000.0)
    marked = tmp_path / "marked.json"
    marked.write_text((tmp_path / "plain.json").read_text(), encoding="utf-8-sig")
    assert read_recording(marked) == read_recording(tmp_path / "plain.json")
    text = "host_ghz = 2.3\n[[kernels]]\nthreading = 'sync'\nkernel_share_ratio = 0.15\n"
    text += "offloads_per_s = 15008\nacceleration_ratio = 27\n"
    for name, encoding in (("plain.toml", "utf-8"), ("marked.toml", "utf-8-sig")):
        (tmp_path / name).write_text(text, encoding=encoding)
    plain, other = (accelerometer.read(tmp_path / f"{name}.toml") for name in ("plain", "marked"))
    assert plain == other
