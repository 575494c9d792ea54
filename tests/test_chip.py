"""Area, power and energy: the paper's figures, and energy from results of a comparison."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import accelflow
from accelflow import InputError, chip, simulation
from accelflow.cli import program


def run(*arguments: str) -> str:
    done = CliRunner().invoke(program, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def result(orchestrator: str, core: float, tcp: float, rps: float) -> dict[str, Any]:
    return {
        "orchestrator": orchestrator,
        "services": [
            {
                "service": name,
                "offered_rps": rps,
                "completed": 100,
                "mean_us": 1.0,
                "p50_us": 1.0,
                "p99_us": 1.0,
                "p999_us": 1.0,
                "throughput_rps": rps,
                "core_utilization": core,
                "accelerator_utilization": {"TCP": tcp},
                "fallbacks": {},
                "saturated": None,
                "dispatcher_instructions_mean": 18.0,
            }
            for name in ("UniqId", "Login")
        ],
    }


def comparison(placement: str = "colocated", **config: float) -> dict[str, Any]:
    return {
        "schema": "accelflow.compare/1",
        "workload": "socialnetwork",
        "profile": "paper",
        "seed": 1,
        "requests": 100,
        "warmup_requests": 10,
        "arrivals": {},
        "placement": placement,
        "config": config,
        "systems": [
            result("non_acc", 0.9, 0.0, 1000.0),
            result("relief", 0.3, 0.5, 1000.0),
            result("accelflow", 0.2, 0.5, 1000.0),
        ],
    }


def test_every_area_of_the_paper_is_exact_to_the_printed_digit() -> None:
    found = chip.area()
    printed = {part["part"]: f"{part['area_mm2']:.1f}" for part in found["parts"]}
    assert printed["cores"] == "83.1"
    assert printed["TCP"] == "9.1"
    assert f"{found['accelerators_mm2']:.1f}" == "44.9"
    assert f"{found['accelerators_share_ratio']:.3f}" == "0.261"
    both = found["accelerators_share_ratio"] + found["orchestration_share_ratio"]
    assert f"{both:.3f}" == "0.290"
    assert f"{found['queue_bytes'] / 1e6:.1f}" == "2.4"
    assert {row["provenance"] for row in found["inputs"]} == {"paper", "derived"}


def test_inputs_can_be_changed_and_only_sensibly() -> None:
    assert chip.area({"pes": 4})["accelerators_mm2"] == pytest.approx(44.9 / 2)
    for changes, said in [
        ({"gpus": 1.0}, "parameter = 'gpus': must be the key of"),
        ({"pes": 0.5}, "must be a whole number from 1 to 1024"),
        ({"pes": float("nan")}, "pes = NaN: must be a whole number from 1 to 1024"),
        ({"pes": True}, "pes = true: must be a whole number from 1 to 1024"),
    ]:
        with pytest.raises(InputError, match=said):
            chip.area(changes)


def test_the_servers_power_follows_and_its_parts_add_up() -> None:
    found = chip.power()
    assert f"{found['server_max_w']:.1f}" == "403.2"
    low, high = found["server_max_range_w"]
    assert low < found["server_max_w"] < high
    assert sum(found["accelerators"].values()) == pytest.approx(12.5)
    assert sum(found["orchestration"].values()) == pytest.approx(5.0)
    parts = found["baseline_max_w"] + 12.5 + 5.0
    assert parts == pytest.approx(found["server_max_w"])


def test_energy_of_a_comparison_is_that_of_what_each_server_did() -> None:
    results = comparison()
    power = chip.power()
    base = chip.energy(results, "non_acc")
    idle, active = 0.3 * power["baseline_max_w"], 0.7 * power["baseline_max_w"]
    assert base["power_w"]["total_w"] == pytest.approx(idle + 0.9 * active)
    assert base["throughput_rps"] == 2000.0
    assert base["joules_per_request"] == pytest.approx(base["power_w"]["total_w"] / 2000)
    assert base["requests_per_joule"] == pytest.approx(1 / base["joules_per_request"])
    at_rest = base["power_w"]["idle_w"] + base["power_w"]["leakage_w"]
    assert base["dynamic_joules_per_request"] == pytest.approx(
        base["joules_per_request"] - at_rest / 2000
    )

    ours = chip.energy(results, "accelflow")
    assert ours["estimated"]
    tcp = 0.7 * power["accelerators"]["TCP"] * 0.5
    assert ours["power_w"]["accelerators_w"] == pytest.approx(tcp)
    # UniqId invokes 9 accelerators, Login 29 (Table IV), each once a millisecond.
    dispatches = (9 + 29) * 1000.0
    instruction = power["dispatcher_instruction_j"]
    assert ours["power_w"]["dispatchers_w"] == pytest.approx(dispatches * 18 * instruction)
    moved = dispatches * chip.BYTES_PER_TRANSFER
    joules = power["transfer_byte_j"] + power["queue_byte_j"]
    assert ours["power_w"]["transfers_w"] == pytest.approx(moved * joules)
    assert ours["requests_per_joule"] > base["requests_per_joule"]


def test_one_accelerator_may_have_elements_of_its_own() -> None:
    before = chip.energy(comparison(), "accelflow")["power_w"]["accelerators_w"]
    # TCP alone is busy, for the same share of the time of twice as many elements.
    own = chip.energy(comparison(**{"pes.TCP": 16.0}), "accelflow")
    assert own["power_w"]["accelerators_w"] == pytest.approx(2 * before)
    other = chip.energy(comparison(**{"pes.Cmp": 16.0}), "accelflow")
    assert other["power_w"]["accelerators_w"] == pytest.approx(before)
    instances = chip.energy(comparison(**{"instances.TCP": 3.0}), "accelflow")
    assert instances["power_w"]["accelerators_w"] == pytest.approx(3 * before)
    assert chip.area({"pes.TCP": 16})["accelerators_mm2"] == pytest.approx(44.9 + 9.1)


def test_servers_of_their_own_count_each() -> None:
    shared = chip.energy(comparison(), "relief")
    own = chip.energy(comparison("isolated"), "relief")
    assert (shared["servers"], own["servers"]) == (1, 2)
    assert own["power_w"]["idle_w"] == pytest.approx(2 * shared["power_w"]["idle_w"])
    assert own["power_w"]["transfers_w"] == pytest.approx(shared["power_w"]["transfers_w"])


#: Two services that are on two servers by the file; clients call the first alone.
TWO_SERVERS = """
schema = "accelflow.workload/1"
name = "two"

[[services]]
name = "Front"
server = "front"
rate_rps = 2000
path = [
  { trace = "T1", facts = { T1 = { compressed = 0 } } },
  { trace = "T9", calls = "Back", facts = { T10 = { exception = 0, compressed = 0 } } },
  { trace = "T2" },
]

[[services]]
name = "Back"
server = "back"
path = [{ trace = "T1", facts = { T1 = { compressed = 0 } } }, { cpu_us = 400 }, { trace = "T2" }]
"""


def test_servers_that_a_workload_names_count_each(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(TWO_SERVERS)

    def results(placement: str) -> dict[str, Any]:
        found = accelflow.compare(
            path, orchestrators=["accelflow"], requests=300, profile="paper", placement=placement
        )
        return dict(found.source)

    named = results("colocated")
    assert named["servers"] == [["Front"], ["Back"]]
    energy = chip.energy(named, "accelflow")
    assert energy["servers"] == 2
    # The same servers as with one for each service, and nearly all of the load is on the second.
    assert energy["power_w"] == chip.energy(results("isolated"), "accelflow")["power_w"]
    busy = [service["core_utilization"] for service in named["systems"][0]["services"]]
    assert busy[1] > 5 * busy[0]
    most = chip.power()["baseline_max_w"]
    assert energy["power_w"]["cores_w"] == pytest.approx(sum(busy) * 0.7 * most)
    # A request to Front makes one to Back, which is no client's request.
    power = chip.power()
    operations = [row["operations_per_request"] for row in named["systems"][0]["services"]]
    per_s = energy["throughput_rps"] * sum(operations) * power["dispatcher_instruction_j"]
    assert energy["power_w"]["dispatchers_w"] == pytest.approx(per_s * 20.2, rel=0.01)
    file = tmp_path / "results.json"
    file.write_text(json.dumps(named))
    assert "watts are those of all 2 servers" in run("power", str(file))
    del named["servers"]
    with pytest.raises(InputError, match=r"results\.servers is left out: must list the services"):
        chip.energy(named, "accelflow")
    for wrong in ([["Front"]], [["Front"], ["Front"]], "Front", [1]):
        with pytest.raises(InputError, match=r"must be lists .* once: Front, Back"):
            chip.energy({**named, "servers": wrong}, "accelflow")


def test_operations_and_transfers_of_the_results_replace_the_estimate() -> None:
    results = comparison()
    for service in results["systems"][2]["services"]:
        service |= {"operations_per_request": 5.0, "dma_utilization": 0.25}
    ours = chip.energy(results, "accelflow")
    assert not ours["estimated"]
    power = chip.power()
    joules = power["transfer_byte_j"] + power["queue_byte_j"]
    # A quarter of ten engines, each at its peak of 38.4 GB/s.
    assert ours["power_w"]["transfers_w"] == pytest.approx(2.5 * 38.4e9 * joules)
    instructions = 2000 * 5 * 18 * power["dispatcher_instruction_j"]
    assert ours["power_w"]["dispatchers_w"] == pytest.approx(instructions)


def test_results_of_the_simulator_need_no_estimates() -> None:
    results = simulation.run(
        simulation.Scenario(orchestrators=["Non-acc", "AccelFlow"], requests=300, profile="paper")
    )
    ours, base = chip.energy(results, "accelflow"), chip.energy(results, "non_acc")
    assert not ours["estimated"]
    assert 0 < ours["power_w"]["transfers_w"] < ours["power_w"]["total_w"]
    assert base["power_w"]["transfers_w"] == base["power_w"]["leakage_w"] == 0
    assert ours["joules_per_request"] < base["joules_per_request"]


def test_the_simulated_servers_size_is_the_powers() -> None:
    small = chip.energy(comparison(**{"core.count": 18}), "non_acc")
    full = chip.energy(comparison(), "non_acc")
    assert small["power_w"]["total_w"] == pytest.approx(full["power_w"]["total_w"] / 2)


def test_a_system_that_took_no_part_is_named_with_those_that_did() -> None:
    with pytest.raises(InputError, match="orchestrator = 'ideal': must be non_acc"):
        chip.energy(comparison(), "ideal")


def test_commands_print_ours_beside_the_papers(tmp_path: Path) -> None:
    assert "accelerators: 44.9 mm2, 26.06% of the processor (paper 44.9 mm2, 26.1%)" in run("area")
    assert "paper" not in run("area", "--set", "pes=4")
    assert json.loads(run("area", "--json"))["schema"] == "accelflow.area/1"
    assert "derived" in run("area", "--inputs")
    shown = run("power")
    # The parts add up to the server, and the two pairs that give it stand side by side.
    assert (
        "everything else          385.7   95.7%\nserver                   403.2  100.0%\n" in shown
    )
    assert "12.5 W are 3.1% of 403.2 W; as rounded, of 395.2 to 411.5 W" in shown
    assert "5.0 W are 1.2% of 416.7 W; as rounded, of 396.0 to 439.1 W" in shown
    assert "both allow          396.0 to 411.5 W" in shown
    assert "taken here          403.2 W" in shown
    assert json.loads(run("power", "--json"))["schema"] == "accelflow.power/1"
    assert "assumed" in run("power", "--inputs")
    path = tmp_path / "results.json"
    path.write_text(json.dumps(comparison()))
    energy = run("power", str(path))
    assert "requests per joule of all energy, accelflow over non_acc" in energy
    ours, base = (chip.energy(comparison(), name) for name in ("accelflow", "non_acc"))
    for key, says in [
        ("joules_per_request", "all, with rest and leakage"),
        ("dynamic_joules_per_request", "beyond rest and leakage"),
    ]:
        assert f"  {says:32}{1 - ours[key] / base[key]:.1%}\n" in energy
    assert len(json.loads(run("power", str(path), "--json"))) == 3


def test_shares_of_power_are_those_of_the_chips_server() -> None:
    shown = run("power", "--set", "core.count=64")
    # 385.7 W are those of 36 cores.
    assert (
        "everything else          685.7   97.5%\nserver                   703.2  100.0%\n" in shown
    )
    assert "the maximum of the paper's server, from the printed figures" in shown
    assert "with this chip      703.2 W" in shown
    assert "with this chip" not in run("power")
    found = chip.power(sizes={"cores": 64})
    parts = ("accelerators_max_w", "orchestration_max_w", "baseline_max_w")
    assert found["total_max_w"] == pytest.approx(sum(found[part] for part in parts))


def test_bad_options_and_files_are_one_error(tmp_path: Path) -> None:
    path = tmp_path / "not.json"
    path.write_text("[1]")
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    for arguments, said in [
        (["area", "--set", "pes"], "--set = 'pes': must be of the form NAME=NUMBER"),
        (["power", str(tmp_path / "none")], "No such file"),
        (["power", str(path)], "must be a file of results"),
        (["power", str(empty)], "results.schema is left out: must be given"),
    ]:
        done = CliRunner().invoke(program, arguments)
        assert isinstance(done.exception, InputError)
        assert said in str(done.exception)
        assert done.output == ""


def test_both_spellings_of_an_accelerators_own_size_are_one_parameter() -> None:
    own, of_accelerator = {"pes.TCP": 32.0}, {"accelerator.TCP.pes": 32.0}
    assert chip.sizes(of_accelerator) == chip.sizes(own) == own
    assert chip.area(chip.sizes(of_accelerator)) == chip.area(own)
    assert chip.area(own)["total_mm2"] > chip.area()["total_mm2"]
    assert chip.elements(of_accelerator) == chip.elements(own)
    assert chip.ignored({**of_accelerator, "core.clock_ghz": 2.0}) == ["core.clock_ghz"]
    with pytest.raises(InputError, match=r"did you mean pes\.TCP"):
        chip.sizes({"pes.TCQ": 32.0})
    with pytest.raises(InputError, match=r"again: pes\.TCP already sets the same parameter"):
        chip.sizes({**own, **of_accelerator})
