"""What the paper leaves open, and the page that shows which rows hang on what."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from accelflow import simulation
from accelflow.errors import InputError
from accelflow.findings import Reported
from accelflow.readings import (
    BASES,
    NOISE,
    Judged,
    Readings,
    choices,
    decide,
    decisions,
    markdown,
    parse_choices,
    read_all,
    read_readings,
    select,
    swings,
    to_json,
    write_held,
    write_readings,
)
from accelflow.readings.pictures import write_pictures
from accelflow.readings.runs import Figure
from accelflow.reproduce import Budget, Runner, Scenario, load
from accelflow.reproduce.held import held

TINY = Budget(name="ci", requests=100, replications=2, rate_step=1.4)
#: Quick to simulate, and not the default of one of the two choices that are tried.
SCENARIO = Scenario(placement="isolated", sizes="socialnetwork", arrivals="poisson")
CHOICES = ("relief.occupancy_ns", "slo_system")


@pytest.fixture(scope="module")
def found() -> Readings:
    return read(2)


def read(threads: int) -> Readings:
    return read_all(
        [load("fig17")], select(CHOICES), budget=TINY, runner=Runner(threads), scenario=SCENARIO
    )


def test_every_choice_has_a_sentence_a_default_and_readings_that_can_be_simulated() -> None:
    for choice in choices():
        assert len(choice.quote) > 15
        assert choice.place.startswith(("section ", "Table "))
        for reading in choice.readings:
            assert len(reading.why) > 15
            reading.of(Scenario()).check()
        labels = [one.label for one in choice.readings]
        assert len(set(labels)) == len(labels)
        default = choice.default(Scenario())
        others = choice.alternatives(Scenario())
        assert others
        assert default not in others
        assert (default is None) == choice.combined
        assert bool(choice.contrary) == bool(choice.contrary_place)
        ranks = list(BASES)
        for reading in choice.readings:
            if reading.set_aside:
                assert default is not None
                assert ranks.index(reading.basis) <= ranks.index(default.basis)


def test_the_default_is_what_the_scenario_has() -> None:
    sizes, relief = select(["sizes", "relief.occupancy_ns"])
    assert sizes.default_text(replace(Scenario(), sizes="fleet")) == "fleet"
    other = replace(Scenario(), sizes="socialnetwork")
    assert sizes.default_text(other) == "socialnetwork"
    assert "fleet" in [one.label for one in sizes.alternatives(other)]
    own = replace(Scenario(), config={"relief.occupancy_ns": 300.0})
    assert relief.default(own) is None
    assert relief.default_text(own) == "0.3 us"
    assert len(relief.alternatives(own)) == len(relief.readings)
    literal = relief.readings[-1].of(own)
    assert relief.default_text(literal) == "1.5 us"
    (together,) = select(["together"])
    assert together.default(Scenario()) is None
    (cohort,) = select(["cohort"])
    polling = replace(Scenario(), cohort="cohort_polling", config={"cohort.pop_ns": 6000.0})
    assert cohort.default_text(polling) == "cohort_polling, cohort.pop_ns = 6 us"
    assert cohort.default(polling) not in cohort.alternatives(polling)


def test_parameters_of_the_simulator_with_choices_have_a_reading_for_each_that_is_named() -> None:
    known = {one.key: one for one in simulation.parameters() if one.choices}
    read_keys = {key for one in choices() for it in one.readings for key in it.settings}
    assert {"core.balancing", "tcp.parking", "payload.heaps"} <= read_keys & set(known)


def test_the_page_shows_what_moves_and_what_does_not(found: Readings) -> None:
    text = markdown(found)
    (relief_row,) = [
        row
        for row, figure in enumerate(found.default[0])
        if figure.finding.key == "accelflow.orchestration_overhead.RELIEF_unloaded"
    ]
    literal = next(one for one in found.tried if one.reading.label == "1.5 us")
    default, moved = found.default[0][relief_row], literal.figures[0][relief_row]
    assert default.mean is not None
    assert moved.mean is not None
    assert moved.mean > default.mean, "a manager that is occupied for longer costs more"
    assert default.log_ratio == pytest.approx(math.log(default.mean / default.finding.paper_value))
    slo = [one for one in found.tried if one.choice.name == "slo_system"]
    assert all(
        a.same(b) for one in slo for a, b in zip(one.figures[0], found.default[0], strict=True)
    )
    assert "| slo_system = non_acc | = | = |" in text
    assert "> The time the RELIEF orchestrator is busy" in text
    assert "**own**, the default (the paper's text): Each system's own." in text
    assert "**0.13 us**, the default (assumed): At this a sketch" in text
    assert "## How the default is chosen" not in text, "without the experiment of the fit"
    most = text.split("## What moves each row most")[1].split("##")[0]
    assert "relief.occupancy_ns ~" not in most
    assert "relief.occupancy_ns" in most
    (swing,) = swings(found, 0, relief_row)
    assert swing.sure
    assert swing.default == default.log_ratio
    assert moved.log_ratio in (*swing.others, *swing.saturated)


def test_rows_that_a_choice_decides_are_told_first(found: Readings) -> None:
    decided = markdown(found).split("## Rows that one choice decides")[1].split("##")[0]
    turned = [
        figure
        for one in found.tried
        for figure, before in zip(one.figures[0], found.default[0], strict=True)
        if {figure.verdict, before.verdict} == {"agrees", "off"}
    ]
    if not turned:
        assert "No choice alone turns a row." in decided
    for figure in turned:
        assert figure.finding.short_key in decided


def test_reductions_are_compared_as_latency_ratios() -> None:
    found = read_all(
        [load("fig11")], select(["slo_system"]), budget=TINY, runner=Runner(2), scenario=SCENARIO
    )
    for figure in found.default[0]:
        assert figure.mean is not None
        ratio = (1 - figure.mean) / (1 - figure.finding.paper_value)
        assert figure.log_ratio == pytest.approx(math.log(ratio))


def test_equal_readings_are_equal_bytes(found: Readings, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    written = write_readings(found, first)
    write_readings(read(1), second)
    assert [path.name for path in written] == [
        "readings.json",
        "readings.md",
        "readings-fig17.png",
        "readings-fig17.svg",
    ]
    for path in written:
        assert path.read_bytes() == (second / path.name).read_bytes()
    kept = json.loads(to_json(found))
    assert kept["schema"] == "accelflow.readings/3"
    assert len(kept["readings"]) == 4


def test_readings_of_another_scenario_are_not_overwritten(found: Readings, tmp_path: Path) -> None:
    written = write_readings(found, tmp_path)
    kept = {path: path.read_bytes() for path in written}
    another = replace(found, scenario=replace(found.scenario, placement="colocated"))
    numbered = write_readings(another, tmp_path)
    assert [path.name for path in numbered] == [
        "readings-2.json",
        "readings-2.md",
        "readings-2-fig17.png",
        "readings-2-fig17.svg",
    ]
    assert "(readings-2-fig17.png)" in numbered[1].read_text()
    assert {path: path.read_bytes() for path in written} == kept
    assert write_readings(found, tmp_path) == written


def test_readings_of_other_choices_are_not_overwritten(found: Readings, tmp_path: Path) -> None:
    written = write_readings(found, tmp_path)
    kept = {path: path.read_bytes() for path in written}
    (one, _) = found.choices
    tried = tuple(each for each in found.tried if each.choice == one)
    numbered = write_readings(replace(found, choices=(one,), tried=tried), tmp_path)
    assert [path.name for path in numbered][:2] == ["readings-2.json", "readings-2.md"]
    assert {path: path.read_bytes() for path in written} == kept
    assert write_readings(found, tmp_path) == written


@pytest.mark.parametrize("rows", ["", ', "readings": null', ', "readings": [{}]'])
def test_files_that_are_no_readings_are_not_overwritten(
    rows: str, found: Readings, tmp_path: Path
) -> None:
    content = json.loads(to_json(found))
    mine = {name: content[name] for name in ("budget", "seeds", "scenario", "experiments")}
    there = tmp_path / "readings.json"
    there.write_text(json.dumps(mine)[:-1] + rows + "}", encoding="utf-8")
    kept = there.read_bytes()
    written = write_readings(found, tmp_path)
    assert written[0].name == "readings-2.json"
    assert there.read_bytes() == kept


def test_pictures_say_why_a_row_is_not_drawn(found: Readings, tmp_path: Path) -> None:
    def texts(figures: tuple[Figure, ...]) -> str:
        drawn = write_pictures(replace(found, default=(figures,)), 0, tmp_path / "picture")
        return drawn[1].read_text(encoding="utf-8")

    figures = found.default[0]
    first = figures[0]
    assert first.finding.ours is not None
    zero = replace(first.finding, ours=replace(first.finding.ours, mean=0.0))
    bound = replace(first.finding, paper=Reported.bound("above", "0.5"))
    for finding, why in [
        (zero, "as ours is 0: "),
        (bound, "as the paper has no single number: "),
        (replace(first.finding, ours=None), "as ours is missing: "),
    ]:
        changed = replace(first, finding=finding, reduction=False)
        (line,) = [
            each
            for each in texts((changed, *figures[1:])).splitlines()
            if "Without a ratio" in each
        ]
        assert why in line
    assert "Without a ratio" not in texts(figures)


def test_what_is_wrong_is_refused() -> None:
    with pytest.raises(InputError, match=r"= 'placements': must be .*, did you mean placement"):
        select(["placements"])
    with pytest.raises(InputError, match="experiment = 'table1': must be an experiment"):
        read_all([load("table1")], choices(), budget=TINY, runner=Runner(1))
    start = "[[choice]]\nname = 'x'\ntitle = 'X'\nquote = 'q'\nplace = 'p'\n"
    one = "[[choice.reading]]\nsettings = { sizes = 'fleet' }\nbasis = 'data'\nwhy = 'w'\n"
    for text, message in (
        ("", "choice is left out: must be one or more TOML tables"),
        (start, "choices.toml: x: reading is left out: must be one or more"),
        (start + one, "choices.toml: x: number of readings = 1: must be 2"),
        (start + one + one.replace("data", "guess"), "basis = 'guess': must be text, data"),
        (
            start + one + one.replace("sizes", "size"),
            "settings: key = 'size': must be placement",
        ),
        (start + one + one.replace("'fleet'", "'much'"), "choices.toml: x: sizes = 'much'"),
        (start + one + one.replace("why", "because"), "choices.toml: x: key = 'because': must be"),
        (start + "on_request = 'yes'\n" + one + one, "x: on_request = 'yes': must be true or"),
        (start + "combined = 1\n" + one + one, "x: combined = 1: must be true or false"),
        ((start + one + one) * 2, "name = 'x': must not be repeated"),
        ("[", "choices.toml: "),
    ):
        with pytest.raises(InputError, match=message.replace("[", "\\[")):
            parse_choices(text)


# The rule.


def judged(
    label: str, basis: str, distance: float, *, aside: str = "", stuck: bool = False, off: int = 0
) -> Judged:
    reading = replace(
        select(["core.submit_ns"])[0].readings[0],
        settings={"remote": label},
        basis=basis,
        set_aside=aside,
    )
    return Judged(reading, distance, ("relief",) if stuck else (), off, 8)


def test_the_best_basis_decides_and_then_the_distance() -> None:
    (choice,) = select(["core.submit_ns"])
    text, data = judged("text", "text", 0.9), judged("data", "data", 0.1)
    found = decide(choice, text, [data])
    assert (found.by, found.breaks) == ("text", ())
    found = decide(choice, data, [text])
    assert found.breaks == ("text is preferred and not set aside",)
    near, nearer, nearest = (
        judged(name, "assumed", 0.2 - gain)
        for name, gain in (("near", 0.0), ("nearer", NOISE / 2), ("nearest", NOISE * 2))
    )
    assert decide(choice, near, [nearer]).breaks == ()
    found = decide(choice, near, [nearer, nearest])
    assert (found.by, found.breaks) == ("nearest", ("nearest is preferred and not set aside",))
    assert decide(choice, None, [near]).breaks == ("the default is none of the readings",)


def test_a_reading_that_is_set_aside_is_an_exception_if_it_stands() -> None:
    (choice,) = select(["core.submit_ns"])
    default = judged("default", "assumed", 0.2)
    for stuck, off in ((True, 0), (False, 4)):
        aside = judged("aside", "text", 0.1, aside="It cannot be.", stuck=stuck, off=off)
        assert not aside.stands
        found = decide(choice, default, [aside])
        assert (found.exceptions, found.breaks) == ((), ())
    stands = judged("aside", "text", 0.1, aside="It cannot be.", off=3)
    found = decide(choice, default, [stands])
    assert (found.exceptions, found.breaks) == ((stands,), ())
    farther = judged("aside", "assumed", 0.3, aside="It cannot be.")
    assert decide(choice, default, [farther]).exceptions == ()


# What is committed.

RESULTS = Path(__file__).parent.parent / "docs/results"
COMMITTED = sorted(path.parent for path in RESULTS.glob("**/readings.json"))


def test_tails_of_few_bursts_are_undecided() -> None:
    """Alibaba's rates change too rarely for runs of this length; Poisson arrivals have one rate."""
    found = read_readings(RESULTS / "readings.json")
    fig11 = [definition.name for definition in found.definitions].index("fig11")
    verdicts = {
        str(tried.reading.settings["arrivals"]): {row.verdict for row in tried.figures[fig11]}
        for tried in found.tried
        if tried.choice.name == "arrivals"
    }
    assert verdicts["alibaba"] == {"undecided"}
    assert "undecided" not in {row.verdict for row in found.default[fig11]}


def test_the_committed_default_follows_the_rule_or_says_why() -> None:
    """The readings are today's, and each choice is decided as the rule says."""
    found = read_readings(RESULTS / "readings.json")
    assert found.scenario == Scenario()
    decided = {one.choice.name: one for one in decisions(found)}
    assert list(decided) == [one.name for one in choices()]
    for choice in choices():
        decision = decided[choice.name]
        assert decision.breaks == (), choice.name
        default = choice.default(Scenario())
        assert default is not None
        assert decision.default is not None
        assert decision.default.reading == default
        tried = [one.reading for one in decision.others]
        assert tried == choice.alternatives(Scenario())
        for reading in choice.readings:
            judged_one = next((one for one in decision.others if one.reading == reading), None)
            if reading.set_aside:
                assert judged_one is not None
                assert judged_one in decision.exceptions or not judged_one.stands


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda path: path.name)
def test_a_committed_page_is_what_its_readings_give(folder: Path) -> None:
    found = read_readings(folder / "readings.json")
    assert markdown(found) == (folder / "readings.md").read_text(encoding="utf-8")
    assert to_json(found) == (folder / "readings.json").read_text(encoding="utf-8")


def test_reasons_quote_the_committed_readings(tmp_path: Path) -> None:
    # The main page first, as --held has them.
    folders = sorted(COMMITTED, key=lambda path: (path != RESULTS, path))
    path = tmp_path / "held.json"
    write_held([read_readings(folder / "readings.json") for folder in folders], path)
    assert json.loads(path.read_text(encoding="utf-8"))["rows"] == held()


def test_kept_readings_that_do_not_fit_are_refused(found: Readings, tmp_path: Path) -> None:
    path = tmp_path / "readings.json"
    tree = json.loads(to_json(found))
    for change, message in (
        ({"schema": "x"}, "schema = 'x': must be accelflow.readings/3"),
        ({"default": {}}, "does not fit this version"),
        ({"readings": [{**tree["readings"][0], "settings": {}}]}, "has no reading"),
    ):
        path.write_text(json.dumps({**tree, **change}), encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_readings(path)
    with pytest.raises(InputError, match="missing"):
        read_readings(tmp_path / "missing.json")


def test_the_quoted_file_has_each_row_by_choice(found: Readings, tmp_path: Path) -> None:
    path = tmp_path / "held.json"
    write_held([found], path)
    tree = json.loads(path.read_text(encoding="utf-8"))
    tried = tree["rows"]["accelflow.orchestration_overhead.RELIEF_unloaded"]
    assert set(tried) == set(CHOICES)
    assert {"reading", "mean", "verdict", "saturated"} == set(tried["slo_system"][0])
    with pytest.raises(
        InputError, match="--held = '/dev/null/x': must be a place that can be written: "
    ):
        write_held([found], Path("/dev/null/x"))


def test_the_command_writes_page_and_pictures(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text("[scenario]\nplacement = 'isolated'\nsizes = 'socialnetwork'\n")
    command = [sys.executable, "-m", "accelflow", "readings", "fig17", "--budget", "ci"]
    command += ["--choice", "rates", "--choice", "slo_system", "--config", str(scenario)]
    done = subprocess.run(
        [*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "wrote 4 files" in done.stderr
    page = (tmp_path / "readings.md").read_text()
    assert page.startswith("# Which rows depend on which reading")
    assert "| rates = equal | = | = |" in page
    held_file = tmp_path / "held.json"
    again = [*command[:4], "--page", str(tmp_path), "--held", str(held_file)]
    rewritten = subprocess.run(again, capture_output=True, text=True, check=False)
    assert rewritten.stderr.splitlines() == [
        f"wrote {tmp_path / 'readings.md'}",
        f"wrote {held_file}",
    ]
    listed = subprocess.run(
        [*command[:4], *command[7:], "--list"], capture_output=True, text=True, check=True
    )
    assert listed.stdout.splitlines() == [
        f"{'rates':32} alibaba; or equal",
        f"{'slo_system':32} own; or accelflow, non_acc",
    ]
