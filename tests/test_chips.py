"""Chips: files, names, several side by side, and what follows from them."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import accelflow
from accelflow import chip as models
from accelflow import simulation
from accelflow.chips import Chip, chip_schema, chip_text, find_chip, packaged, read_chip
from accelflow.errors import InputError
from accelflow.parameters import configured, parameters
from accelflow.report import Comparison, write_json, write_parquet
from accelflow.report.export import to_table
from accelflow.report.notes import notes_of
from accelflow.report.table import services_table
from test_compare import run


def small(**changes: Any) -> simulation.Scenario:
    fields: dict[str, Any] = {
        "profile": "paper",
        "services": ("UniqId",),
        "orchestrators": ("relief", "accelflow"),
        "requests": 200,
        **changes,
    }
    return simulation.Scenario(**fields)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_written_chip_has_a_line_for_every_parameter() -> None:
    config = {"accelerator.TCP.pes": 16, "core.balancing": "random", "speedup.Ser": 2.5}
    chip = Chip(name="mine", description='A "chip" of mine.', config=config)
    text = chip_text(chip)
    for parameter in parameters():
        name = (parameter.also or parameter.key).rpartition(".")[2]
        assert f"\n{name} = " in text or f"\n# {name} = " in text, parameter.key


def test_every_line_of_a_written_chip_may_be_used(tmp_path: Path) -> None:
    text = chip_text(Chip(name="all", config={"accelerator.TCP.pes": 16}))
    found = read_chip(write(tmp_path, "all", text))
    assert found.name == "all"
    defaults = {parameter.key: parameter.default for parameter in parameters()}
    assert {key: n for key, n in found.config.items() if n != defaults[key]} == {"pes.TCP": 16}
    # Taking away the # of each proposed line changes nothing: it has what it had without.
    known = {(each.also or each.key).rpartition(".")[2] for each in parameters()}
    lines = [
        line.removeprefix("# ") if line.removeprefix("# ").partition(" = ")[0] in known else line
        for line in text.splitlines()
    ]
    used = read_chip(write(tmp_path, "used", "\n".join(lines))).config
    assert set(used) == set(defaults)
    results = [simulation.run(small(config=config))["systems"] for config in (found.config, used)]
    assert results[0] == results[1]


def test_the_papers_chip_is_the_defaults_and_its_file_is_up_to_date() -> None:
    paper = packaged()[0]
    assert paper.name == "paper"
    file = Path(models.__file__).parent / "chips" / "paper.toml"
    same = Chip(name="paper", description=paper.description)
    assert file.read_text(encoding="utf-8") == chip_text(same), "accelflow chip show paper --file"
    default = {parameter.key: parameter.default for parameter in parameters()}
    assert all(default[key] == number for key, number in paper.config.items())


def test_packaged_chips_can_be_run_and_say_what_they_are() -> None:
    chips = packaged()
    assert len(chips) >= 4
    assert all(chip.description and chip.description.endswith(".") for chip in chips)
    results = simulation.run(small(chips=chips, requests=100))
    assert {system["chip"] for system in results["systems"]} == {chip.name for chip in chips}


def test_several_chips_have_the_results_of_each_alone() -> None:
    chips = {"one": {"accelerator.TCP.pes": 1}, "no TCP": {"accelerator.TCP.instances": 0}}
    together = simulation.run(small(chips=chips, config={"core.count": 8}))
    assert together["config"] == {"core.count": 8}
    assert together["chips"] == [
        {"name": "one", "config": {"pes.TCP": 1}},
        {"name": "no TCP", "config": {"instances.TCP": 0}},
    ]
    for name, config in chips.items():
        alone = simulation.run(small(config={"core.count": 8, **config}))
        assert "chips" not in alone
        found = [dict(system) for system in together["systems"] if system["chip"] == name]
        assert [system.pop("chip") for system in found] == [name, name]
        assert found == alone["systems"]


@pytest.mark.parametrize(
    "chips",
    [
        {"a": {"accelerator.pes": 4}, "b": {}},
        [Chip(name="a", config={"accelerator.pes": 4}), Chip(name="b")],
        [("a", {"accelerator.pes": 4}), ("b", {})],
    ],
)
def test_chips_are_a_mapping_or_a_list(chips: Any, tmp_path: Path) -> None:
    scenario = small(chips=chips)
    assert simulation.hashed(scenario) == simulation.hashed(
        small(chips={"a": {"accelerator.pes": 4}, "b": {}})
    )
    file = tmp_path / "scenario.json"
    simulation.write_scenario(scenario, file)
    assert simulation.hashed(simulation.read_scenario(file)) == simulation.hashed(scenario)


@pytest.mark.parametrize(
    ("chips", "words"),
    [
        (3, "chips = 3: must be a list of at most 64 chips"),
        ("ab", "chips = 'ab': must be a list"),
        ([1], r"chips = \[1\]: must be a list"),
        ([("a", {}), ("a", {})], "chips = 'a': must be given only once"),
        ({"a": {"accelerator.TCP.pse": 1}}, "did you mean accelerator.TCP.pes"),
        ({"a": {"accelerator.pes": 0}, "b": {}}, r"chips\['a'\].config.accelerator.pes = 0"),
        ({"": {}}, "must be a string of 1 to 64 characters"),
    ],
)
def test_bad_chips_are_refused(chips: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        simulation.check(small(chips=chips))


def test_a_folder_with_the_name_of_a_chip_is_no_chip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_chip("small").name == "small"


def test_an_empty_name_is_no_file() -> None:
    with pytest.raises(InputError, match=r"chip = '': must be a file, or one of .*paper"):
        find_chip("")


def test_tables_and_files_have_the_chip() -> None:
    chips = {"a": {}, "b": {"accelerator.TCP.instances": 0}}
    comparison = Comparison.from_dict(simulation.run(small(chips=chips)))
    assert comparison.chips == ["a", "b"]
    table = to_table(comparison)
    assert table.column("chip").to_pylist() == ["a", "b", "a", "b"]
    assert table.num_rows == 4
    assert [column.header for column in services_table(comparison).columns][:2] == ["", "Chip"]
    alone = Comparison.from_dict(simulation.run(small()))
    assert "chip" not in to_table(alone).column_names
    assert [column.header for column in services_table(alone).columns][:2] == ["", "Mean"]


def test_the_command_compares_chips_and_says_what_is_missing(tmp_path: Path) -> None:
    mine = write(tmp_path, "mine", "[accelerator.TCP]\ninstances = 0\n")
    done = run(
        *("compare", "socialnetwork", "--profile", "paper", "--requests", "200"),
        *("--service", "UniqId", "--orchestrator", "accelflow", "--out", str(tmp_path / "out")),
        *("--chip", "paper", "--chip", str(mine), "--set", "core.count=8"),
    )
    assert done.returncode == 0, done.stderr
    assert "AccelFlow" in done.stdout
    assert "paper" in done.stdout
    assert "The chip mine has no TCP: a trace that reaches it continues in software" in done.stdout
    results = json.loads((tmp_path / "out" / "compare-socialnetwork.json").read_text())
    assert results["config"] == {"core.count": 8}
    assert results["chips"][0] == {"name": "paper", "config": {}}
    shown = run("power", str(tmp_path / "out" / "compare-socialnetwork.json"))
    assert "accelflow on paper" in shown.stdout
    assert "accelflow on mine" in shown.stdout


def test_what_a_chip_without_custom_accelerators_lacks_is_named() -> None:
    asked = small(config={"accelerator.own.instances": 0, "accelerator.TCP.pes": 0})
    notes = notes_of(Comparison.from_dict(simulation.run(asked)), by_service=True)
    (note,) = [note for note in notes if "reaches" in note]
    assert note.startswith("The chip has no custom accelerator, TCP: a trace that reaches it")


def test_one_chip_is_as_its_parameters(tmp_path: Path) -> None:
    mine = write(tmp_path, "mine", 'schema = "accelflow.chip/1"\n[accelerator]\nTCP.pes = 2\n')
    chosen = (
        *("compare", "socialnetwork", "--profile", "paper", "--requests", "200", "--json"),
        *("--service", "UniqId", "--orchestrator", "accelflow", "--out", str(tmp_path / "out")),
    )
    results = [
        run(*chosen, *options)
        for options in (
            ("--chip", str(mine)),
            ("--config", str(mine)),
            ("--set", "accelerator.TCP.pes=2"),
            ("--set", "pes.TCP=2"),
        )
    ]
    assert all(result.returncode == 0 for result in results), results[0].stderr
    assert len({result.stdout for result in results}) == 1
    assert json.loads(results[0].stdout)["config"] == {"pes.TCP": 2}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--chip", "papr"), "chip = 'papr': must be a file, or one of paper, "),
        (("--chip", "papr"), "did you mean paper?"),
        (
            ("--chip", "/no/chip.toml"),
            "--chip = '/no/chip.toml': must be a file that can be read",
        ),
        (("--chip", "paper", "--chip", "paper"), "--chip = 'paper': must be the name of only"),
        (("--chip", "BAD"), "bad.toml:2:3: accelerator.TCP.pes = 0.5: must be a whole number"),
        (("--chip", "OTHER"), "other.toml:1:1: schema = 'accelflow.workload/1': must be"),
        (("--set", "accelerator.TCP.pes=2", "--set", "pes.TCP=3"), "must not be set again"),
    ],
)
def test_bad_options_name_the_place(options: tuple[str, ...], words: str, tmp_path: Path) -> None:
    files = {
        "BAD": write(tmp_path, "bad", "[accelerator.TCP]\n  pes = 0.5\n"),
        "OTHER": write(tmp_path, "other", 'schema = "accelflow.workload/1"\n'),
    }
    given = [str(files.get(option, option)) for option in options]
    done = run("compare", "socialnetwork", "--profile", "paper", *given)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_area_and_power_follow_the_chip(tmp_path: Path) -> None:
    config = configured({"accelerator.TCP.pes": 16, "accelerator.Cmp.instances": 0})
    base, changed = models.area(), models.area(models.sizes(config))
    parts = [{part["part"]: part["area_mm2"] for part in row["parts"]} for row in (base, changed)]
    assert parts[1]["TCP"] == pytest.approx(2 * parts[0]["TCP"])
    assert parts[1]["Cmp"] == 0
    assert parts[1]["queues"] == pytest.approx(8 / 9 * parts[0]["queues"])
    watts = [models.power(sizes=models.sizes(each))["accelerators"] for each in ({}, config)]
    assert watts[1]["TCP"] == pytest.approx(2 * watts[0]["TCP"])
    assert watts[1]["Cmp"] == 0
    file = write(tmp_path, "c", "[accelerator.TCP]\npes = 16\nspeedup = 7\n")
    for command in ("area", "power"):
        done = run(command, "--chip", str(file))
        assert done.returncode == 0, done.stderr
        assert "not part of the model of area and power: speedup.TCP" in done.stdout
        by_set = run(command, "--set", "accelerator.TCP.pes=16", "--json")
        assert by_set.stdout == run(command, "--chip", str(file), "--json").stdout
    refused = run("power", str(file), "--chip", "paper")
    assert refused.returncode == 2
    assert "--chip = 'paper': must be left out with RESULTS" in refused.stderr


def test_energy_is_that_of_the_chip() -> None:
    chips = {"a": {}, "b": {"accelerator.pes": 16}}
    together = simulation.run(small(chips=chips))
    for name, config in chips.items():
        alone = models.energy(simulation.run(small(config=config)), "accelflow")
        found = models.energy(together, "accelflow", chip=name)
        assert found.pop("chip") == name
        assert found == alone
    with pytest.raises(InputError, match="chip = 'c': must be a or b"):
        models.energy(together, "accelflow", chip="c")


def test_chips_are_listed_shown_and_written(tmp_path: Path) -> None:
    listed = run("chip", "list")
    assert listed.stdout.startswith("paper ")
    shown = run("chip", "show", "wide-tcp")
    assert "accelerator.TCP.pes " in shown.stdout
    assert "(all accelerators: 8)" in shown.stdout
    assert "mm2" in shown.stdout
    assert "every parameter has its default" in run("chip", "show", "paper").stdout
    file = tmp_path / "mine.toml"
    done = run("chip", "new", "mine", "--like", "wide-tcp", "--out", str(file))
    assert done.returncode == 0, done.stderr
    chip = find_chip(str(file))
    assert chip.name == "mine"
    assert (chip.config["pes.TCP"], chip.config["instances.TCP"]) == (16, 2)
    again = run("chip", "new", "mine", "--out", str(file))
    assert again.returncode == 2
    assert "must not exist yet" in again.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('""', "name = '': must be a string of 1 to 64 characters"),
        (f'"{"n" * 65}"', "must be a string of 1 to 64 characters"),
        ('"a\\nb\\u001b[31m"', "must have no control characters"),
    ],
)
def test_names_that_would_spoil_tables_are_refused(name: str, said: str, tmp_path: Path) -> None:
    file = write(tmp_path, "any", f"name = {name}\n")
    with pytest.raises(InputError, match=re.escape(said)):
        read_chip(file)


def test_a_chip_has_the_beginning_of_a_long_files_name(tmp_path: Path) -> None:
    file = write(tmp_path, "n" * 80, "[core]\ncount = 8\n")
    assert read_chip(file).name == "n" * 64


def test_the_schema_is_the_committed_one() -> None:
    committed = Path(__file__).parent.parent / "docs" / "schemas" / "chip.schema.json"
    assert chip_schema() == committed.read_text(encoding="utf-8")
    assert run("schema", "chip").stdout == chip_schema()


def test_explain_knows_both_spellings() -> None:
    plain, nested = (run("explain", key).stdout for key in ("pes.TCP", "accelerator.TCP.pes"))
    assert plain == nested
    assert "accelerator.TCP.pes" in plain
    assert "pes.TCP" in run("explain", "accelerator.TCP").stdout


@pytest.mark.parametrize("command", ["reproduce", "readings"])
def test_campaigns_take_a_chip(command: str, tmp_path: Path) -> None:
    bad = write(tmp_path, "bad", "[core]\ncount = 0\n")
    done = run(command, "--chip", str(bad))
    assert done.returncode == 2
    assert "bad.toml:2:1: core.count = 0: must be" in done.stderr
    done = run(command, "--set", "core.cuont=3")
    assert "did you mean core.count?" in done.stderr


@pytest.mark.parametrize("key", ["pes.TCP", "core.balancing", "accelerator.TCP.pes"])
def test_an_empty_table_is_no_value(tmp_path: Path, key: str) -> None:
    section, _, name = key.rpartition(".")
    with pytest.raises(InputError, match=rf":2:1: {key} = a table: must be "):
        read_chip(write(tmp_path, "empty", f"[{section}]\n{name} = {{}}\n"))


def test_chips_are_named_as_on_the_command_line() -> None:
    named = small(chips=["paper", "small"])
    assert simulation.hashed(named) == simulation.hashed(
        small(chips=[find_chip("paper"), find_chip("small")])
    )
    with pytest.raises(InputError, match="did you mean small"):
        simulation.check(small(chips=["smal"]))


def test_rows_have_one_order_in_every_file(tmp_path: Path) -> None:
    comparison = accelflow.compare(
        "trainticket",
        services=["Pay"],
        orchestrators=["relief", "non_acc", "accelflow"],
        chips=["small", "paper"],
        requests=100,
    )
    write_json(comparison, tmp_path / "results.json")
    write_parquet(comparison, tmp_path / "results.parquet")
    systems = json.loads((tmp_path / "results.json").read_text())["systems"]
    rows = pq.read_table(tmp_path / "results.parquet").to_pylist()
    in_json = [f"{row['orchestrator']} on {row['chip']}" for row in systems]
    assert in_json == [row["system"] for row in rows] == [each.id for each in comparison.systems]
    # The order of the paper's figures, and of the chips as given.
    assert in_json[:3] == ["non_acc on small", "non_acc on paper", "relief on small"]
