"""Inputs of the equations that no other test distinguishes from their neighbours, and refusals."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from accelflow import accelerometer
from accelflow.accelerometer import Kernel, Queue, Service
from accelflow.accelerometer.decisions import Goal, decide, seek
from accelflow.accelerometer.files import read, read_question
from accelflow.accelerometer.service import Range, Sizes
from accelflow.accelerometer.simulated import Run, simulate
from accelflow.cli import program
from accelflow.cli.deciding import simulation_text
from accelflow.errors import InputError
from offloads import EXAMPLES

K = Kernel(
    threading="sync",
    kernel_share_ratio=0.15,
    offloads_per_s=15_008,
    transfer_cycles=2_300,
    acceleration_ratio=27,
    name="compression",
)
HOST = 2.3e9

TEXT = """
host_ghz = 2.3
[[kernels]]
threading = "sync"
kernel_share_ratio = 0.15
offloads_per_s = 15008
transfer_cycles = 2300
acceleration_ratio = 27
"""


def service(**changes: Any) -> Service:
    kernel = Kernel(**{**{f: getattr(K, f) for f in K.__dataclass_fields__}, **changes})
    return Service(host_cycles_per_s=HOST, kernels=[kernel])


def question(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "service.toml"
    path.write_text(text)
    return path


SIZES = Sizes(bytes=[100, 400, 1_600], cumulative_ratio=[0.3, 0.7, 1.0], interpolation="step")


def test_a_limit_beside_a_selection_is_the_end_of_the_values_next_to_the_best() -> None:
    # Of equal offloads, all or none pay; the gain is 0 from where none does.
    mixed = service(selection="lucrative", scaling="cycles", sizes=SIZES, cycles_per_byte=None)
    found = seek(mixed, "transfer_cycles", Goal("speedup", 1.10))
    assert found.value is not None
    assert not found.at_least
    gain = accelerometer.evaluate(
        service(
            selection="lucrative",
            scaling="cycles",
            sizes=SIZES,
            cycles_per_byte=None,
            transfer_cycles=found.value,
        )
    )["speedup_ratio"]
    assert gain == pytest.approx(1.10, abs=1e-6)


def test_the_number_of_selected_offloads_is_sought_from_some_on() -> None:
    mixed = service(selection="lucrative", scaling="cycles", sizes=SIZES)
    found = seek(mixed, "offloads_per_s", Goal("speedup", 1.05))
    assert found.value is not None
    assert found.value > 15_008


def test_what_only_fewer_offloads_reach_has_no_limit() -> None:
    losing = replace(read(EXAMPLES / "feed1-compression.toml").kernels[0], transfer_cycles=40_000)
    mixed = Service(host_cycles_per_s=HOST, kernels=[losing])
    with pytest.raises(InputError) as refusal:
        seek(mixed, "acceleration_ratio", Goal("speedup", 0.987))
    message = "compression.selection = 'lucrative': must be 'all', since acceleration_ratio has no"
    assert message in str(refusal.value)
    # Every dearer transfer loses, until no offload is made.
    limit = seek(mixed, "transfer_cycles", Goal("speedup", 1.0))
    assert limit.value == pytest.approx(22_136.3, rel=1e-4)


def test_fewer_of_all_offloads_are_better_where_each_loses() -> None:
    losing = service(transfer_cycles=30_000, all_offloads_per_s=20_000)
    found = seek(losing, "offloads_per_s", Goal("speedup", 0.99))
    assert not found.at_least
    # Of a share of .15 / 20,000 each, 1/27 is left, and 30,000 cycles more than before.
    each = 30_000 / HOST - 0.15 / 20_000 * (1 - 1 / 27)
    assert found.value == pytest.approx((1 / 0.99 - 1) / each, rel=1e-6)


def carried(rider_share: float, **changes: Any) -> dict[str, Any]:
    queue = Queue(hosts=18, service_scv_ratio=1)
    kernels = [
        Kernel(
            threading="sync",
            kernel_share_ratio=0.15,
            offloads_per_s=9_000,
            acceleration_ratio=changes.pop("acceleration_ratio", 20),
            queue_cycles=queue,
            name="carrier",
            **changes,
        )
    ]
    if rider_share:
        kernels.append(
            Kernel(
                threading="sync",
                kernel_share_ratio=rider_share,
                offloads_per_s=9_000,
                acceleration_ratio=20,
                rides_on="carrier",
                name="rider",
                **changes,
            )
        )
    return accelerometer.evaluate(Service(host_cycles_per_s=2e9, kernels=kernels), around_ratio=0.2)


def test_a_rider_of_no_weight_leaves_its_carrier_as_it_is() -> None:
    for changes in ({"all_offloads_per_s": 18_000.0}, {"acceleration_ratio": Range(min=4, max=36)}):
        alone, with_rider = carried(0, **changes), carried(1e-9, **changes)
        assert with_rider["speedup_ratio"] == pytest.approx(alone["speedup_ratio"], rel=1e-6)

        def low(outcome: dict[str, Any]) -> float:
            rows = outcome["sensitivity"]
            row = next(row for row in rows if row["parameter"] == "acceleration_ratio")
            return float(row["low"]["speedup_ratio"])

        assert low(with_rider) == pytest.approx(low(alone), rel=1e-6)


def test_unnamed_kernels_have_the_names_that_results_give_them(tmp_path: Path) -> None:
    kernel = TEXT.split("\n", 2)[2].replace("0.15", "0.1")
    both = "host_ghz = 2.3\n" + kernel + kernel
    text = f'{both}[[alternatives]]\nname = "ideal"\nkernel = "kernel2"\ntransfer_cycles = 0\n'
    alternatives = read_question(question(tmp_path, text)).alternatives
    first, second = alternatives["ideal"].kernels
    assert (first.transfer_cycles, second.transfer_cycles) == (2_300, 0)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            '[[alternatives]]\nname = "as given"\ntransfer_cycles = 0\n',
            "alternatives[0].name = 'as given': must be a string, neither another"
            " alternative's name nor 'as given'",
        ),
        (
            "[slo]\nlatency_us = 100\nlimit_us = inf\n",
            "slo.limit_us = inf: must be a finite number above 0",
        ),
        (
            "[slo]\nlatency_us = inf\nlimit_us = 90\n",
            "slo.latency_us = inf: must be a finite number above 0",
        ),
    ],
)
def test_what_a_decision_cannot_have_is_refused(tmp_path: Path, more: str, message: str) -> None:
    path = question(tmp_path, TEXT + more)
    with pytest.raises(InputError) as refusal:
        decide(read_question(path))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "kernel_share_ratio": 1.0,
                "offloads_per_s": 0,
                "transfer_cycles": 0,
                "acceleration_ratio": math.inf,
            },
            "kernel_share_ratio = 1: must be below 1, since offloading costs nothing",
        ),
        (
            {"setup_cycles": 1e18, "offloads_per_s": 1e300},
            "each second = inf: must be finite: lower offloads_per_s or the cycles",
        ),
        ({"setup_cycles": 1e19}, "setup_cycles = 1e19: must be a number from 0 to 1e18 cycles"),
        (
            {"selection": "lucrative", "sizes": SIZES, "all_offloads_per_s": 16_000},
            "compression.all_offloads_per_s = 16000: must be left out, since selection is",
        ),
    ],
)
def test_services_without_a_finite_answer_are_refused(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as refusal:
        accelerometer.evaluate(service(**changes))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "all_offloads_per_s = { min = 1, max = 2 }\n",
            "all_offloads_per_s = {'min': 1, 'max': 2}: must be a number, not a range",
        ),
        ('rides_on = "other"\n', "kernel.rides_on = 'other': must be left out: there is no other"),
    ],
)
def test_fields_of_a_kernel_are_refused_in_words(tmp_path: Path, line: str, message: str) -> None:
    path = question(tmp_path, TEXT + line)
    with pytest.raises(InputError) as refusal:
        accelerometer.evaluate(read(path))
    assert message in str(refusal.value)


def test_shares_that_add_up_to_all_are_all() -> None:
    def of(shares: list[float]) -> dict[str, Any]:
        kernels = [
            Kernel(
                threading="sync",
                kernel_share_ratio=share,
                offloads_per_s=1_000,
                acceleration_ratio=2,
                name=f"k{number}",
            )
            for number, share in enumerate(shares)
        ]
        return accelerometer.evaluate(Service(host_cycles_per_s=1e9, kernels=kernels))

    for shares in ([0.05, 0.5, 0.15, 0.2, 0.1], [0.6, 0.3, 0.1]):
        outcome = of(shares)
        assert outcome["speedup_ratio"] == pytest.approx(2)
        assert outcome["ideal_speedup_ratio"] is None


def test_long_names_have_short_pictures(tmp_path: Path) -> None:
    path = question(tmp_path, TEXT.replace("[[kernels]]", f'[[kernels]]\nname = "{"n" * 300}"'))
    arguments = ["accelerometer", str(path), "--plot", str(tmp_path / "out")]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, done.output
    assert any(each.name.startswith("heatmap-nnn") for each in (tmp_path / "out").iterdir())


def test_simulations_whose_clock_would_end_are_refused(tmp_path: Path) -> None:
    rare = TEXT.replace("15008", "0.0003")
    dear = TEXT.replace("2300", "1e18")
    for text, more, rule in (
        (rare, [], "must be at least"),
        (TEXT, ["--load", "1e-9"], "must be at least"),
        (dear, [], "cycles of an offload (setup, transfer, switches, wait, work) = 1"),
    ):
        path = question(tmp_path, text)
        done = CliRunner().invoke(program, ["accelerometer", str(path), "--simulate", *more])
        assert done.exit_code != 0
        assert isinstance(done.exception, InputError), done.output
        assert rule in str(done.exception)


def test_recordings_are_checked_by_value(tmp_path: Path) -> None:
    step = {
        "trace": "T1",
        "accelerator": "TCP",
        "direction": "receive",
        "input_bytes": 10,
        "output_bytes": 10,
        "cost_ns": 20_000.0,
        "samples": 10,
    }

    def refusal(**changes: Any) -> str:
        recorded = {
            "service": "A",
            "phases": [{"chains": [{"steps": [{**step, **changes}]}]}],
        }
        recording = {
            "format": "accelflow-recording",
            "version": 1,
            "machine": "m",
            "date": "d",
            "services": [recorded],
        }
        path = tmp_path / "recording.json"
        path.write_text(json.dumps(recording))
        done = CliRunner().invoke(program, ["accelerometer", "--recording", str(path)])
        assert isinstance(done.exception, InputError), done.output
        return str(done.exception)

    for changes in ({"cost_ns": -5.0}, {"samples": 0}, {"cost_ns": 1e300}):
        message = refusal(**changes)
        assert "service A, phase 0, chain 0, step 0" in message, message


def test_no_offloads_are_said_to_be_free(tmp_path: Path) -> None:
    path = tmp_path / "free.toml"
    path.write_text(
        "host_ghz = 2.0\n[[kernels]]\nname = 'k'\nthreading = 'sync'\nkernel_share_ratio = 0.2\n"
        "offloads_per_s = 0\nacceleration_ratio = 10\nsetup_cycles = 100\n"
    )
    done = CliRunner().invoke(program, ["accelerometer", str(path)])
    assert done.exit_code == 0
    assert "20.00 % of the host's cycles, at no cost: offloads_per_s is 0" in done.output
    assert "0 a second" not in done.output


def test_latencies_without_an_acceleration_are_unknown_to_equations_and_simulation() -> None:
    service = read(EXAMPLES / "two-accelerators.toml")
    first, second = (replace(k, acceleration_ratio=None, queue_cycles=0) for k in service.kernels)
    fast = replace(first, acceleration_ratio=8)
    rider = replace(first, name="rider", rides_on=first.name, transfer_cycles=0)
    rider = replace(rider, kernel_share_ratio=0.1)
    for kernels, named in (
        ([first], [first]),
        ([fast, second], [second]),
        ([first, second], [first, second]),
        ([fast, rider], [rider]),
        ([replace(first, placement="remote")], []),
        ([replace(first, queue_cycles=Queue(service_cycles=500))], []),
    ):
        run = Run(requests=200, seeds=2, load_ratio=1.5)
        found = simulate(replace(service, kernels=kernels), run)
        assert found["schema"] == "accelflow.accelerometer-simulation/3"
        row = found["service"] or found["kernels"][0]
        loaded = [row["loaded"][f"{of}_latency_cycles"] for of in ("mean", "p99")]
        reductions = [row["latency_reduction_ratio"], *(of["reduction_ratio"] for of in loaded)]
        text = "\n".join(simulation_text({**found, "kernels": [], "service": row}))
        assert row["speedup_ratio"]["mean"] > 0
        assert all(of["without_cycles"]["mean"] > 0 for of in loaded)
        if not named:
            assert all(
                of["mean"] > 0 for of in (*reductions, *(of["with_cycles"] for of in loaded))
            )
            assert row["why_latency_unknown"] is None
            continue
        assert row["closed_form"]["latency_reduction_ratio"] is None
        unknown = {"mean": None, "half_width": None}
        assert [*reductions, *(of["with_cycles"] for of in loaded)] == [unknown] * 5
        missing = " and ".join(f"{kernel.name}.acceleration_ratio" for kernel in named)
        assert row["why_latency_unknown"] == f"unknown without {missing}"
        assert text.count(" -\n") == 3
        assert f"\n  -: latency unknown without {missing}" in text
        assert "*" not in text


def test_columns_are_below_their_headings_for_any_name(tmp_path: Path) -> None:
    text = (EXAMPLES / "two-accelerators.toml").read_text(encoding="utf-8")
    long = "zstd::StreamingCompressor::compress"
    (tmp_path / "long.toml").write_text(text.replace('"compression"', f'"{long}"'))
    arguments = ["accelerometer", str(tmp_path / "long.toml"), "--sensitivity", "0.1"]
    lines = CliRunner().invoke(program, arguments).output.splitlines()
    head = lines[0].index("speedup") + len("speedup")
    rows = [line for line in lines[1:4] if line]
    assert [line[:head].rsplit("  ", 1)[0].strip() for line in rows] == [
        "encryption alone",
        f"{long} alone",
        "service",
    ]
    assert all(line[head - 2 : head] == " %" for line in rows)
    swings = lines[lines.index("speedup with one input at its low and its high value") + 1 :]
    assert len({line.index("%") for line in swings}) == 1


def test_a_simulation_of_sync_has_one_thread_and_a_service_without_work_no_sensitivity(
    tmp_path: Path,
) -> None:
    path = tmp_path / "service.toml"

    def said(threading: str, share: float, *arguments: str) -> str:
        path.write_text(
            f'host_ghz = 2.0\n[[kernels]]\nname = "k"\nthreading = "{threading}"\n'
            f"kernel_share_ratio = {share}\noffloads_per_s = 1000\nacceleration_ratio = 2\n"
        )
        return CliRunner().invoke(program, ["accelerometer", str(path), *arguments]).output

    assert "k: sync, simulated with 1 thread\n" in said("sync", 0.3, "--simulate")
    assert "k: sync_os, simulated with 64 threads\n" in said("sync_os", 0.3, "--simulate")
    changes = "\nspeedup with one input at its low and its high value\n  acceleration_ratio"
    assert changes in said("sync", 0.3, "--sensitivity", "0.1")
    assert said("sync", 0, "--sensitivity", "0.1").endswith("no input alone changes the speedup\n")


def test_inputs_that_are_impossible_at_both_ends_are_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "service.toml").write_text(
        'host_ghz = 2.0\n[[kernels]]\nname = "k"\n'
        'threading = "async_no_response"\nplacement = "remote"\n'
        "kernel_share_ratio = { mean = 0.5, sd = 0.3 }\noffloads_per_s = 0\n"
    )
    arguments = ["accelerometer", str(tmp_path / "service.toml"), "--sensitivity", "0.1"]
    arguments += ["--report", str(tmp_path / "page.html")]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0
    row = done.stdout.splitlines()[-1].split()
    assert row == ["kernel_share_ratio", "-0.1", "impossible", "1.1", "impossible"]
    page = (tmp_path / "page.html").read_text()
    assert "their low or high value is impossible: k.kernel_share_ratio." in page
