"""The page of the reproduction: reasons, exact rows and numbers."""

import io
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from accelflow import chip
from accelflow import reproduce as lib
from accelflow.errors import InputError
from accelflow.findings import NO_REASON, Estimate, Finding, Reported, Target, number
from accelflow.findings.text import difference_text
from accelflow.reproduce.beside import compared, draw_beside
from accelflow.reproduce.page import markdown
from accelflow.reproduce.pictures import draw
from accelflow.reproduce.runs import Runner

CI = lib.budget("ci")


def test_a_row_that_is_off_has_its_reason_with_the_class() -> None:
    row = "accelflow.fallback.encr_denied_2pe"
    why = lib.reasons()[row]
    off = Finding.of(lib.targets()[row], Estimate.computed(0.1), why=why)
    near = Finding.of(lib.targets()[row], Estimate.computed(0.38), why=why)
    outcome = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))[0]
    for one, expected in ((off, "not_printed"), (near, None)):
        changed = replace(outcome, findings=(one,))
        found = lib.to_dict(changed, lib.Scenario(), CI)["findings"][0]["why"]
        assert (found and found["class"]) == expected
        text = markdown([changed], lib.Scenario(), CI)
        assert ("- `fallback.encr_denied_2pe`: *not printed*: " in text) is (expected is not None)


def test_rows_on_energy_say_which_energy_they_compare() -> None:
    outcomes = lib.reproduce([lib.load("energy")], budget=CI, runner=Runner(2))
    file = io.StringIO()
    lib.print_outcome(outcomes[0], Console(file=file, width=200))
    row = "power_energy.energy_reduction_vs_Non-acc"
    assert f"{row} (energy beyond rest and leakage) " in file.getvalue()
    assert "reduces all energy, with rest and leakage, over" in file.getvalue()
    text = markdown(outcomes, lib.Scenario(), CI)
    assert f"| `{row}` energy beyond rest and leakage |" in text
    assert f"| `{row}` | of all energy, with rest and leakage |" in text


def test_a_ratio_near_one_is_compared_by_its_difference_from_one() -> None:
    target = lib.targets()["accelflow.sensitivity.p99_6_chiplets_over_2"]
    assert target.change
    assert target.value == 1.14
    far, near = (Finding.of(target, Estimate(mean, 0.001)) for mean in (1.005, 1.13))
    assert (str(far.verdict), str(near.verdict)) == ("off", "agrees")
    assert far.difference == pytest.approx(-0.135 / 0.14)
    assert difference_text(far) == "-96% of the change"
    unsure = Finding.of(target, Estimate(1.13, 0.04))
    assert unsure.doubts == "wide interval"


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("seeds", "1", "seeds = '1': must be a list of whole numbers"),
        ("warmup_requests", None, "warmup_requests = None: must be a whole number from 0"),
        ("requests", -3, "requests = -3: must be a whole number from 0"),
        ("longest_run", "x", "longest_run = 'x': must be a whole number from 0"),
    ],
)
def test_wrong_lengths_of_results_are_refused(
    key: str, value: object, said: str, tmp_path: Path
) -> None:
    outcomes = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))
    lib.write_outcomes(outcomes, lib.Scenario(), CI, tmp_path)
    file = tmp_path / "table4.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(results | {key: value}), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{file}: {said}")):
        lib.rewrite_page(tmp_path)


def test_a_missing_reason_is_loud() -> None:
    outcome = lib.reproduce([lib.load("table4")], budget=CI, runner=Runner(1))[0]
    assert NO_REASON not in markdown([outcome], lib.Scenario(), CI)
    wrong = Finding.of(Target("accelflow.table4.CPost", Reported.number(88), "exact"), None)
    spoilt = type(outcome)(
        definition=outcome.definition,
        requests=0,
        most_requests=0,
        warmup_requests=0,
        seeds=(),
        findings=(wrong,),
    )
    assert NO_REASON in markdown([spoilt], lib.Scenario(), CI)


def test_exact_rows_match() -> None:
    names = [name for name in lib.names() if lib.load(name).kind == "static" and name != "fig15"]
    outcomes = lib.reproduce([lib.load(name) for name in names], budget=CI, runner=Runner(1))
    exact = [one for outcome in outcomes for one in outcome.findings if one.kind == "exact"]
    assert len(exact) >= 8 + 7 + 9 + 18
    # One follows from the printed areas, where the paper subtracts two rounded shares.
    (off,) = [one for one in exact if not one.agrees]
    assert off.key == "accelflow.area_mm2.orchestration_share"
    assert off.ours is not None
    assert off.ours.mean == chip.area()["orchestration_share_ratio"]
    assert [(says, other and round(other.mean, 4)) for says, other in off.also] == [
        ("the difference of the two rounded shares", 0.029)
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(87.0, "87"), (0.2071, "0.207"), (123.456, "123.5"), (51234.5, "51,234"), (8.3, "8.300")],
)
def test_numbers_are_read_by_people(value: float, text: str) -> None:
    assert number(value) == text


def drawn_texts(figure: Figure) -> list[str]:
    """Every text of a drawing, in the order in which matplotlib keeps them."""
    return [one.get_text() for one in figure.findobj(Text) if one.get_text()]


def test_a_picture_has_our_figures_beside_the_papers() -> None:
    outcome = lib.reproduce([lib.load("fig1")], budget=CI, runner=Runner(1))[0]
    assert outcome.definition.plot is not None
    texts = drawn_texts(draw(outcome, outcome.definition.plot))
    assert {"here", "paper", "here | paper", "breakdown nonacc: TCP", "0.256 | 0.256"} <= {*texts}
    alone = replace(outcome, findings=())
    assert "paper" not in drawn_texts(draw(alone, outcome.definition.plot))


def test_figures_of_different_units_have_axes_of_their_own() -> None:
    times = [Reported.number(8.3), Reported(Decimal(2), Decimal(3)), Reported.number(1)]
    rows = [
        Finding(key=f"x.gain.{place}", kind="dynamic", unit=unit, paper=paper, ours=ours)
        for place, (unit, paper, ours) in enumerate(
            zip(("times", "times", ""), times, [Estimate(4.0, 0.5, (4.0,))] * 3, strict=True)
        )
    ]
    missing = [
        Finding(key="x.none", kind="dynamic", unit="mm2", paper=times[0]),
        Finding(key="x.own", kind="dynamic", unit="mm2", ours=Estimate.computed(1.0)),
        Finding(
            key="x.bound",
            kind="dynamic",
            paper=Reported(Decimal(1), Decimal("inf")),
            ours=Estimate.computed(2.0),
        ),
    ]
    assert compared([*rows, *missing]) == [rows[:2], rows[2:]]
    figure = Figure(figsize=(7.5, 4))
    (part,) = figure.subfigures(1, 1, squeeze=False)[:, 0]
    draw_beside(part, compared(rows))
    assert len(part.get_axes()) == 2
    assert [axes.get_xlabel() for axes in part.get_axes()] == ["times", ""]
    assert {"4 | 8.3", "4 | 2 to 3"} <= {*drawn_texts(figure)}


def test_pictures_drawn_from_files_are_those_of_the_run(tmp_path: Path) -> None:
    names = ["fig1", "fig5", "table4"]
    outcomes = lib.reproduce([lib.load(name) for name in names], budget=CI, runner=Runner(1))
    lib.write_outcomes(outcomes, lib.Scenario(), CI, tmp_path)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert "fig5.svg" in files
    text = files["comparison.md"].decode()
    assert "![Payload sizes before and after each accelerator](fig5.png)" in text
    assert "table4.png" not in text
    for path in tmp_path.glob("fig*.??g"):
        path.unlink()
    lib.rewrite_page(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.usefixtures("no_drawing")
def test_results_of_another_scenario_are_not_overwritten(tmp_path: Path) -> None:
    definitions = [lib.load(name) for name in ("fig5", "table4")]

    def written(scenario: lib.Scenario) -> list[str]:
        outcomes = lib.reproduce(definitions, budget=CI, runner=Runner(1), scenario=scenario)
        return [path.name for path in lib.write_outcomes(outcomes, scenario, CI, tmp_path)]

    first = ["fig5.json", "fig5.png", "fig5.svg", "table4.json", "comparison.md"]
    second = ["fig5-2.json", "fig5-2.png", "fig5-2.svg", "table4-2.json", "comparison-2.md"]
    colocated, isolated = lib.Scenario(), lib.Scenario(placement="isolated")
    assert written(colocated) == first
    kept = {name: (tmp_path / name).read_bytes() for name in first}
    assert written(isolated) == second
    assert {name: (tmp_path / name).read_bytes() for name in first} == kept
    assert "(fig5-2.png)" in (tmp_path / "comparison-2.md").read_text()
    # The same scenario finds its own files again.
    assert written(isolated) == second
    assert written(colocated) == first
    assert {name: (tmp_path / name).read_bytes() for name in first} == kept
    # A page that nobody wrote here is kept, too.
    for path in tmp_path.glob("*.json"):
        path.unlink()
    assert written(colocated)[-1] == "comparison-3.md"
