"""Accelerometer beyond the equations: inputs from measurements, and the simulation."""

import json
import math
import os
import random
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelflow import AccelflowError, InputError, _native, accelerometer
from accelflow.accelerometer import (
    Kernel,
    Queue,
    Range,
    Service,
    Sizes,
    bodies,
    measured,
    validation,
)
from accelflow.accelerometer.files import read_question
from accelflow.accelerometer.histograms import read_histogram
from accelflow.accelerometer.recorded import Recorded, read_recording, service_of, to_toml
from accelflow.accelerometer.rounds import over_rounds
from accelflow.accelerometer.simulated import Run, simulate
from accelflow.cli.deciding import measured_text, simulation_text
from offloads import EXAMPLES, INFERENCE, command, refusal

# Histograms of bpftrace.

HISTOGRAM = """\
Attaching 1 probe...
@us[compress]:
[0]                    3 |@@                                |
[1]                    4 |@@                                |
[2, 4)                16 |@@@@@@@@@                         |

@bytes:
[256, 512)            30 |@@@@@@@@@@@@                      |
[512, 1K)             50 |@@@@@@@@@@@@@@@@@@@@@             |
[4K, 8K)              20 |@@@@@@@@                          |
"""


def test_histogram_becomes_a_distribution(tmp_path: Path) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text(HISTOGRAM)
    found = read_histogram(path, "@bytes")
    assert (found.count, found.empty) == (100, 0)
    assert list(found.sizes.bytes) == [255.5, 511.5, 1023.5, 4095.5, 8191.5]
    assert list(found.sizes.cumulative_ratio) == [0, 0.3, 0.8, 0.8, 1]
    # Sizes of 0 are no offloads; a single value is a bin whose mean is that value.
    other = read_histogram(path, "@us[compress]")
    assert (other.count, other.empty) == (20, 3)
    assert list(other.sizes.bytes) == [0.5, 1.5, 3.5]


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (HISTOGRAM, None, "map is left out: must be @us[compress] or @bytes"),
        (
            HISTOGRAM,
            "@byte",
            "map = '@byte': must be @us[compress] or @bytes, did you mean @bytes?",
        ),
        (
            "nothing\n",
            None,
            "number of histograms = 0: must be at least 1, in the output of bpftrace",
        ),
        (
            "@b:\n(..., 0)  4 |@@|\n[1]  1 |@|\n",
            None,
            "bin = '(..., 0)  4 |@@|': must have a start and an end",
        ),
        (
            "@b:\n[0]  4 |@@|\n",
            None,
            "number of offloads with a size above 0 bytes = 0: must be at least 1",
        ),
        (
            "@b:\n[4, 8)  4 |@@|\n[6, 10)  1 |@|\n",
            None,
            "start of a bin = 6: must not lie inside another bin",
        ),
    ],
)
def test_histograms_that_cannot_be_used(
    text: str, name: str | None, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "sizes.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_histogram(path, name)
    assert message in str(caught.value)


@given(st.lists(st.integers(0, 40), min_size=4, max_size=14).filter(any))
def test_any_histogram_is_a_distribution_of_its_mean(counts: list[int]) -> None:
    lines = [f"[{1 << i}, {2 << i})  {count} |@|" for i, count in enumerate(counts)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "histogram.txt"
        file.write_text("@bytes:\n" + "\n".join(lines) + "\n")
        sizes = read_histogram(file).sizes
    edges = list(zip(sizes.bytes, sizes.cumulative_ratio, strict=True))
    assert edges == sorted(edges)
    assert edges[-1][1] == 1
    mean = sum((b - a) * (x + y) / 2 for (x, a), (y, b) in pairwise(edges))
    # A bin [a, b) has the whole sizes a to b - 1, evenly.
    expected = sum(c * ((1 << i) + (2 << i) - 1) / 2 for i, c in enumerate(counts)) / sum(counts)
    assert mean == pytest.approx(expected)


def test_kernel_of_a_histogram_has_its_rate_with_an_interval() -> None:
    (kernel,) = read_question(EXAMPLES / "encryption.toml").service.kernels
    assert isinstance(kernel.offloads_per_s, Range)
    assert kernel.offloads_per_s.mean == pytest.approx(836.7)
    assert kernel.offloads_per_s.sd == pytest.approx(math.sqrt(8_367) / 10)
    assert kernel.sizes is not None
    assert kernel.sizes.bytes[-1] == 8191.5


# Recordings.


def recording(tmp_path: Path, app_ns: float | None = 40_000.0) -> Path:
    def step(accelerator: str, size: int, cost: float) -> dict[str, Any]:
        return {
            "trace": "T1",
            "accelerator": accelerator,
            "direction": "receive",
            "input_bytes": size,
            "output_bytes": size,
            "cost_ns": cost,
            "cost_quantiles_ns": [[0, 0.5 * cost], [1, 1.5 * cost]],
            "samples": 100,
        }

    steps = [
        step("TCP", 260, 10_000.0),
        step("Decr", 181, 20_000.0),
        step("RPC", 159, 10_000.0),
        step("Dser", 132, 10_000.0) | {"facts": {"compressed": 0}},
        step("LdB", 88, 10_000.0),
    ]
    tree = {
        "format": "accelflow-recording",
        "version": 4,
        "machine": "Example CPU at 2.4 GHz, Linux",
        "date": "2026-01-31",
        "services": [
            {
                "service": "UniqId",
                "phases": [
                    {"chains": [{"steps": steps}]},
                    {"cpu": {"app_ns": app_ns, "samples": 100}},
                ],
            }
        ],
    }
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(tree))
    return path


def test_recording_gives_shares_rates_and_sizes(tmp_path: Path) -> None:
    found = read_recording(recording(tmp_path))
    assert (found.request_ns, found.assumed_application) == (100_000.0, False)
    service = service_of(found, acceleration_ratio=8)
    assert service.host_cycles_per_s == 2.4e9
    decryption = next(k for k in service.kernels if k.name == "Decr")
    assert decryption.sizes == Sizes(bytes=[181.0], cumulative_ratio=[1.0], interpolation="step")
    # Evenly spread over its cost, 100 times: a standard error of cost / sqrt(12 x 100).
    share = decryption.kernel_share_ratio
    assert isinstance(share, Range)
    assert share.mean == pytest.approx(0.2)
    errors = [cost / math.sqrt(1_200) for cost in (20e3, 10e3, 10e3, 10e3, 10e3)]
    own, others = errors[0], sum(error**2 for error in errors[1:])
    assert share.sd == pytest.approx(math.sqrt((0.8 * own) ** 2 + 0.04 * others) / 1e5)
    # One in a request, whose total has the errors of all costs.
    rate = decryption.offloads_per_s
    assert isinstance(rate, Range)
    assert rate.mean == pytest.approx(10_000)
    assert rate.sd == pytest.approx(10_000 * math.sqrt(own**2 + others) / 1e5)
    outcome = accelerometer.evaluate(service)
    assert outcome["speedup_ratio"] == pytest.approx(1 / (0.4 + 0.6 / 8))
    assert outcome["intervals"]["speedup_ratio"]["p5"] < outcome["speedup_ratio"]


def with_one_total(found: Recorded, acceleration: float, offload_ns: float) -> tuple[float, float]:
    """The interval of a gain with the errors of costs drawn, from which alphas and n follow."""
    dice = random.Random(1)  # noqa: S311 (not for secrets)
    gains = []
    for _ in range(20_000):
        costs = [dice.gauss(each.cost_ns, each.cost_sd_ns) for each in found.operations]
        left = found.rest_ns + sum(costs) / acceleration + offload_ns * len(costs)
        gains.append((found.rest_ns + sum(costs)) / left)
    gains.sort()
    return gains[1_000], gains[19_000]


@pytest.mark.parametrize(
    ("offload_ns", "wider_ratio"),
    # Without costs; and where they take nearly all of the gain.
    [(0.0, (1.8, 2.6)), (10_000.0, (0.7, 1.0))],
)
def test_draws_of_shares_and_rates_do_not_have_one_total(
    tmp_path: Path, offload_ns: float, wider_ratio: tuple[float, float]
) -> None:
    found = read_recording(recording(tmp_path))
    service = service_of(found, acceleration_ratio=8, transfer_cycles=2.4 * offload_ns)
    drawn = accelerometer.evaluate(service)["intervals"]["speedup_ratio"]
    low, high = with_one_total(found, 8, offload_ns)
    least, most = wider_ratio
    assert least < (drawn["p95"] - drawn["p5"]) / (high - low) < most


def test_rates_have_no_error_without_that_of_costs_and_widen_intervals_with_it(
    tmp_path: Path,
) -> None:
    found = read_recording(recording(tmp_path))
    exact = replace(
        found, operations=tuple(replace(each, cost_sd_ns=0.0) for each in found.operations)
    )
    for kernel in service_of(exact).kernels:
        assert isinstance(kernel.offloads_per_s, float)
        assert isinstance(kernel.kernel_share_ratio, float)
    service = service_of(found, acceleration_ratio=8, transfer_cycles=20_000)
    numbers = [
        replace(kernel, offloads_per_s=kernel.offloads_per_s.central)
        for kernel in service.kernels
        if isinstance(kernel.offloads_per_s, Range)
    ]
    assert len(numbers) == len(service.kernels)
    with_ranges, without = (
        accelerometer.evaluate(each)["intervals"]["speedup_ratio"]
        for each in (service, replace(service, kernels=numbers))
    )
    assert with_ranges["p5"] < without["p5"]
    assert without["p95"] < with_ranges["p95"]


def test_recording_without_application_time_assumes_the_papers_share(tmp_path: Path) -> None:
    found = read_recording(recording(tmp_path, app_ns=None))
    assert found.assumed_application
    assert found.rest_ns / found.request_ns == pytest.approx(0.207)


def test_service_of_a_recording_is_written_and_read_back(tmp_path: Path) -> None:
    service = service_of(read_recording(recording(tmp_path)), threading="async_same_thread")
    path = tmp_path / "service.toml"
    path.write_text(to_toml(service, ["a remark"]))
    again = accelerometer.read(path)
    one, two = accelerometer.evaluate(service), accelerometer.evaluate(again)
    assert two["speedup_ratio"] == pytest.approx(one["speedup_ratio"])
    assert [k.name for k in again.kernels] == [k.name for k in service.kernels]
    assert isinstance(again.kernels[0].offloads_per_s, Range)


def test_command_takes_a_recording(tmp_path: Path) -> None:
    out = tmp_path / "out.toml"
    done = command("--recording", str(recording(tmp_path)), "--out", str(out))
    assert (done.exit_code, done.stderr) == (0, f"wrote {out}\n")
    assert "100.0 us of core time a request" in done.stdout
    assert command(str(out)).exit_code == 0
    unwritable = refusal("--recording", str(recording(tmp_path)), "--out", str(out / "sub.toml"))
    assert "--out" in unwritable
    wrong = refusal("--recording", str(recording(tmp_path)), "--service", "UniqIt")
    assert "did you mean UniqId" in wrong


# The simulation beside the equations.


def test_equations_agree_with_the_simulation_where_nothing_waits() -> None:
    size = validation.Size(requests=4_000, seeds=2, every=3)
    rows = validation.grid(size)["sections"]
    assert validation.worst(rows["nothing_waits"]) < 0.5
    # Paper: at most 3.7 points in production. Beyond stand the reasons of the page.
    slow = [row for row in rows["one_request"] if "A 27" not in row["varied"]]
    assert validation.worst(slow) < 0.5
    assert validation.worst(rows["threads"]) > 10
    # Alpha by the number of offloads, as for Fig. 20, leaves out that large ones cost more.
    scaled = {row["varied"]: row["error_points"] for row in rows["selection"]}
    assert scaled["sync, scaled by offloads"] < -4
    assert abs(scaled["sync_os, scaled by cycles"]) < 2


def test_simulation_depends_on_the_seeds_alone() -> None:
    service = Service(
        host_cycles_per_s=2e9,
        kernels=[
            Kernel(
                threading="sync_os",
                kernel_share_ratio=0.3,
                offloads_per_s=10_000,
                acceleration_ratio=8,
                thread_switch_cycles=2_000,
                queue_cycles=Queue(servers=1, hosts=4),
            )
        ],
    )
    run = Run(requests=500, seeds=2, threads=8)
    one = simulate(service, run)
    assert simulate(service, run) == one
    (row,) = one["kernels"]
    assert row["closed_form"]["speedup_ratio"] > 1
    assert 0 < row["saturated"]["accelerator_utilization_ratio"] < 1


def test_a_shared_accelerator_and_shared_offloads_are_simulated_at_once() -> None:
    service = accelerometer.read(EXAMPLES / "shared.toml")
    found = simulate(service, Run(requests=6_000, seeds=4, load_ratio=0.6, threads=8))
    # All three kernels share an offload or the device, so none is simulated alone.
    assert found["kernels"] == []
    row = found["service"]
    assert row["threading"] == "sync"
    closed, simulated = row["closed_form"], row["speedup_ratio"]
    assert simulated["mean"] == pytest.approx(closed["speedup_ratio"], rel=0.02)
    queue = row["loaded"]["queue_cycles"]
    assert queue["closed_form"] > 0
    assert queue["mean"] == pytest.approx(queue["closed_form"], rel=0.15)
    # Without the rider's share the device is less in use.
    first, _, third = service.kernels
    fewer = simulate(replace(service, kernels=[first, third]), Run(requests=2_000, seeds=1))
    used = "accelerator_utilization_ratio"
    assert fewer["service"]["saturated"][used] < row["saturated"][used]


def test_wait_at_a_load_that_only_offloading_allows() -> None:
    """Alpha times the load exceeds 1, but the accelerator is hardly in use: M/M/1."""
    (kernel,) = INFERENCE.kernels
    queue = Queue(service_cycles=2.5e6, service_scv_ratio=1)
    cheap = replace(kernel, setup_cycles=1e5, queue_cycles=queue)
    service = replace(INFERENCE, kernels=[cheap])
    (row,) = simulate(service, Run(load_ratio=1.95, requests=500, seeds=1))["kernels"]
    assert row["closed_form"]["speedup_ratio"] > 1.95
    use = 1.95 * 10 * 2.5e6 / 2.5e9
    wait = use / (1 - use) * 2.5e6
    assert row["loaded"]["queue_cycles"]["closed_form"] == pytest.approx(wait)


def test_latencies_of_an_overloaded_host_are_marked() -> None:
    service = accelerometer.read(EXAMPLES / "two-accelerators.toml")
    service = replace(service, kernels=service.kernels[:1])
    marks = {}
    for load in (0.9, 1.5):
        found = simulate(service, Run(load_ratio=load, requests=500, seeds=2))
        text = "\n".join(simulation_text(found))
        marks[load] = (text.count("*"), "  * with and without offloading, the host is ov" in text)
        overloaded = found["kernels"][0]["loaded"]["overloaded"]
        assert list(overloaded.values()) == [load > 1.0] * 2
    assert marks == {0.9: (0, False), 1.5: (3, True)}


def test_kernels_of_one_service_are_simulated_alone_and_at_once() -> None:
    service = accelerometer.read(EXAMPLES / "two-accelerators.toml")
    first, second = service.kernels
    # The simulation draws exponential service times, not those of the file.
    second = replace(second, queue_cycles=Queue(servers=2, hosts=36, service_scv_ratio=1.0))
    service = replace(service, kernels=[first, second])
    found = simulate(service, Run(requests=4_000, seeds=2, threads=16, own_work="constant"))
    assert [row["name"] for row in found["kernels"]] == [k.name for k in service.kernels]
    for row in (*found["kernels"], found["service"]):
        closed = row["closed_form"]["speedup_ratio"]
        assert row["speedup_ratio"]["mean"] == pytest.approx(closed, rel=0.02)


def test_what_cannot_be_simulated_is_refused() -> None:
    service = accelerometer.read(EXAMPLES / "shared.toml")
    first, second, third = service.kernels
    some = replace(second, all_offloads_per_s=18_000.0)
    parts = replace(service, kernels=[first, some, third])
    with pytest.raises(InputError, match=r"encryption\.all_offloads_per_s = 18000.*must equal"):
        simulate(parts, Run(requests=10, seeds=1))
    other = replace(third, queue_cycles=Queue(hosts=2, shared="other"))
    apart = replace(service, kernels=[first, second, other])
    with pytest.raises(InputError, match=r"checksum\.queue\.hosts = 2: must be 18"):
        simulate(apart, Run(requests=10, seeds=1))
    with pytest.raises(InputError, match="seeds = 0: must be a whole number from 1 to 1000"):
        simulate(INFERENCE, Run(seeds=0))
    for run, message in (
        (Run(threads=-1), "threads = -1: must be a whole number from 1 to 1000000"),
        (Run(load_ratio=math.nan), "load_ratio = NaN: must be a number from 1e-12"),
        (Run(load_ratio=math.inf), "load_ratio = inf: must be a number from 1e-12"),
    ):
        with pytest.raises(InputError, match=message):
            simulate(INFERENCE, run)
    with pytest.raises(InputError, match="own_work = 'even'"):
        simulate(INFERENCE, Run(own_work="even", seeds=1))


# Micro-benchmarks.


def test_line_finds_intercept_and_slope() -> None:
    intercept, slope = measured.line([(g, 40 + 0.5 * g) for g in (64, 256, 1_024, 16_384)])
    assert (intercept, slope) == pytest.approx((40, 0.5))


def test_switches_and_library_calls_take_time() -> None:
    assert measured.switch_ns(50) >= 0
    try:
        crypto = measured.library()
    except AccelflowError as error:
        pytest.skip(str(error))
    small, large = (
        measured.timed(measured.kernel_call(crypto, "sha256", size), 0.002) for size in (64, 16_384)
    )
    assert large > small > 0


def test_a_checksum_is_the_same_by_instruction_and_by_tables() -> None:
    # RFC 3720, appendix B.4: 32 bytes of zeros.
    zeros = 0x8A9136AA
    for tables in (False, True):
        assert _native.crc32c(bytes(32), tables) == zeros
        assert measured.timed(measured.checksum_call(4_096, tables=tables), 0.001) > 0
    random = bytes(range(256)) * 5
    assert all(
        _native.crc32c(random[:size], False) == _native.crc32c(random[:size], True)
        for size in (0, 1, 7, 64, 1_023, 1_280)
    )


def test_the_nine_bodies_are_measured_and_become_inputs(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("the host and the ensemble need a core each")
    found = bodies.measure_bodies(rounds=6, calls=4)
    nine = {"TCP", "Encr", "Decr", "RPC", "Ser", "Dser", "Cmp", "Dcmp", "LdB"}
    assert nine <= set(found["kernels"])
    for name, row in found["kernels"].items():
        assert row["against"], name
        for key in ("acceleration_ratio", "setup_ns", "transfer_ns"):
            assert row[key]["low"] <= row[key]["median"] <= row[key]["high"], (name, key)
            # A worker that happens to run already takes no time to be woken.
            assert row[key]["low"] > 0 or key == "transfer_ns", (name, key)
    if "instructions" not in found["lacking"]:
        # Without the instructions the host takes longer, by a factor that no noise makes.
        assert found["kernels"]["Encr_by_instructions"]["acceleration_ratio"]["median"] > 1.5
    (tmp_path / "bodies.json").write_text(json.dumps(found))
    path = tmp_path / "service.toml"
    path.write_text(
        """
        host_ghz = 2.0
        [[kernels]]
        threading = "async_same_thread"
        kernel_share_ratio = 0.2
        offloads_per_s = 1000
        measured = { file = "bodies.json", kernel = "Dser" }
        """
    )
    (kernel,) = accelerometer.read(path).kernels
    assert isinstance(kernel.setup_cycles, Range)
    assert kernel.setup_cycles.mean == pytest.approx(
        2.0 * found["kernels"]["Dser"]["setup_ns"]["median"]
    )
    transfer = found["kernels"]["Dser"]["transfer_ns"]["median"]
    assert isinstance(kernel.transfer_cycles, Range) == (transfer > 0)
    lines = list(measured_text(found))
    # Every column ends at the same place in all rows, whatever the numbers.
    table = lines[1 : 2 + len(found["kernels"])]
    assert len({len(line) for line in table}) == 1
    assert all("  " in line for line in table)


def test_measuring_takes_no_other_options() -> None:
    message = refusal("--measure", "--threads", "3")
    assert message == "--threads = 3: must be left out, since it does nothing for --measure"
    message = refusal(str(EXAMPLES / "fig20.toml"), "--bodies")
    assert message == "--bodies is given: must be left out, since it does nothing for FILE"


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=40))
def test_medians_of_rounds_have_intervals_of_values(values: list[float]) -> None:
    found = over_rounds(values)
    assert min(values) <= found["median"] <= max(values)
    if len(values) < 6:
        assert (found["low"], found["high"], found["standard_error"]) == (None, None, None)
        return
    low, high = found["low"], found["high"]
    assert low in values
    assert high in values
    assert low <= found["median"] <= high
    # A single round that was interrupted changes nothing beyond its neighbour.
    longer = [*sorted(values)[:-1], 1e12]
    assert over_rounds(longer)["high"] == high or len(values) < 9


def test_intervals_of_medians_hold_the_median_as_often_as_they_say() -> None:
    # The sign test of 15 rounds leaves 3 outside on each side: 96.5 %.
    stream = random.Random(1)  # noqa: S311 (not for secrets)
    inside = 0
    for _ in range(2_000):
        found = over_rounds([stream.lognormvariate(0, 2) for _ in range(15)])
        inside += found["low"] <= 1 <= found["high"]
    assert 0.95 < inside / 2_000 < 0.98


def test_what_is_not_measured_is_said_to_be_lacking() -> None:
    found = measured.measure(rounds=2, seconds=0.0005)
    absent = {name for name, row in found["kernels"].items() if row is None}
    absent |= {name for name in ("thread_switch", "io_uring") if found[f"{name}_ns"] is None}
    assert absent == set(found["lacking"])
    for row in found["kernels"].values():
        if row is not None:
            # The processor's own instructions are faster, by a factor that no noise makes.
            assert row["acceleration_ratio"]["median"] > 1
            assert row["transfer_ns"] is None
            assert row["against"]
            assert len(row["host_ns"]) == len(row["sizes_bytes"])


def test_kernel_takes_its_inputs_from_micro_benchmarks(tmp_path: Path) -> None:
    def of(median: float, error: float) -> dict[str, float]:
        ends = {"low": median - 2 * error, "high": median + 2 * error}
        return {"median": median, **ends, "standard_error": error}

    machine = {
        "schema": "accelflow.accelerometer-measured/3",
        "kernels": {
            "aes_128_gcm": {
                "acceleration_ratio": of(16.0, 0.2),
                "setup_ns": of(-100.0, 5.0),
                "transfer_ns": None,
            },
            "Encr": {
                "acceleration_ratio": of(1.0, 0.01),
                "setup_ns": of(5_000.0, 100.0),
                "transfer_ns": of(9_000.0, 300.0),
            },
            "sha256": None,
        },
        "thread_switch_ns": of(2_000.0, 50.0),
    }
    (tmp_path / "machine.json").write_text(json.dumps(machine))
    text = """
    host_ghz = 2.0
    [[kernels]]
    threading = "sync_os"
    kernel_share_ratio = 0.2
    offloads_per_s = 1000
    measured = { file = "machine.json", kernel = "aes_128_gcm" }
    """
    path = tmp_path / "service.toml"
    path.write_text(text)
    (kernel,) = accelerometer.read(path).kernels
    assert kernel.acceleration_ratio == Range(mean=16.0, sd=0.2)
    assert kernel.thread_switch_cycles == Range(mean=4_000.0, sd=100.0)
    assert (kernel.setup_cycles, kernel.transfer_cycles) == (0, 0)
    # A body has o0 and L apart.
    path.write_text(text.replace("aes_128_gcm", "Encr"))
    (kernel,) = accelerometer.read(path).kernels
    assert kernel.setup_cycles == Range(mean=10_000.0, sd=200.0)
    assert kernel.transfer_cycles == Range(mean=18_000.0, sd=600.0)
    broken = {key: of for key, of in machine.items() if key != "thread_switch_ns"}
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    # What the file says itself counts more.
    path.write_text(text + "acceleration_ratio = 5\nthread_switch_us = 1\n")
    (kernel,) = accelerometer.read(path).kernels
    assert (kernel.acceleration_ratio, kernel.thread_switch_cycles) == (5, 2_000)
    for old, new, message in (
        ("aes_128_gcm", "sha256", "measured.kernel = 'sha256': must be aes_128_gcm or Encr"),
        ("machine.json", "service.toml", "service.toml: "),
        ("machine.json", "broken.json", "--measure --json`: it has no 'thread_switch_ns'"),
    ):
        path.write_text(text.replace(old, new))
        with pytest.raises(InputError) as caught:
            accelerometer.read(path)
        assert message in str(caught.value)
