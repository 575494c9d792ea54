"""Accelerometer and Cerebros from Python and the command line."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from matplotlib.figure import Figure

from accelflow import AccelflowError, InputError, _native, accelerometer, cerebros
from accelflow.accelerometer import Kernel, Queue, Range, Service, Sizes, break_even, sweep
from conftest import ROOT

SCRIPT = Path(sys.executable).with_name("accelflow")

#: The columns of a nine-line file, and Tables 6 and 7 of the paper as it would hold them. Off-chip
#: compression has alpha scaled by the share of 15,008 offloads that pay (section 5).
NINE = ("C", "a", "n", "o0", "Q", "L", "o1", "A", "Threading")
TABLES = {
    "aes_ni": (2.0e9, 0.165844, 298951, 10, 0, 3, "NA", 6, "Sync"),
    "encryption": (2.3e9, 0.19154, 101863, 0, 0, 2530, "NA", "NA", "Async"),
    "inference": (2.5e9, 0.52, 10, 25000000, 0, "NA", 12500, 1, "Async-Distinct-Thread"),
    "on_chip": (2.3e9, 0.15, 15008, 0, 0, 0, "NA", 5, "Sync"),
    "off_chip_sync": (2.3e9, 0.15 * 9629 / 15008, 9629, 0, 0, 2300, "NA", 27, "Sync"),
    "off_chip_sync_os": (2.3e9, 0.15 * 3986 / 15008, 3986, 0, 0, 2300, 5750, 27, "Sync-OS"),
    "off_chip_async": (2.3e9, 0.15 * 9769 / 15008, 9769, 0, 0, 2300, "NA", 27, "Async"),
    "memory_copy": (2.3e9, 0.1512, 1473681, 0, 0, 0, "NA", 4, "Sync"),
    "allocation": (2.0e9, 0.055, 51695, 0, 0, 0, "NA", 1.5, "Sync"),
}
#: Speedup in per cent and digits printed, which the paper cuts off.
PRINTED = {
    "aes_ni": (15.7, 1),
    "encryption": (8.6, 1),
    "inference": (72.39, 2),
    "on_chip": (13.6, 1),
    "off_chip_sync": (9.0, 0),
    "off_chip_sync_os": (1.6, 1),
    "off_chip_async": (9.6, 1),
    "memory_copy": (12.7, 1),
    "allocation": (1.86, 2),
}

COMPRESSION = Kernel(
    name="compression",
    threading="sync",
    kernel_share_ratio=0.15,
    offloads_per_s=15_008,
    transfer_cycles=2_300,
    acceleration_ratio=27,
    cycles_per_byte=5.62,
)
FEED1 = Service(host_cycles_per_s=2.3e9, kernels=[COMPRESSION])


def nine_lines(name: str, separator: str = " ") -> str:
    return "".join(f"{key}{separator}{v}\n" for key, v in zip(NINE, TABLES[name], strict=True))


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )


def from_file(text: str, tmp_path: Path, name: str = "service.txt") -> dict[str, Any]:
    path = tmp_path / name
    path.write_text(text)
    return accelerometer.evaluate(accelerometer.read(path))


@pytest.mark.parametrize("name", PRINTED)
def test_nine_lines_give_the_papers_figures(name: str, tmp_path: Path) -> None:
    expected, digits = PRINTED[name]
    speedup = from_file(nine_lines(name), tmp_path)["speedup_percent"]
    assert np.floor(speedup * 10**digits) / 10**digits == expected


def test_latencies_of_fig_20(tmp_path: Path) -> None:
    assert from_file(nine_lines("off_chip_async"), tmp_path)[
        "latency_reduction_percent"
    ] == pytest.approx(9.2, abs=0.05)
    sync_os = from_file(nine_lines("off_chip_sync_os"), tmp_path)
    assert sync_os["latency_reduction_percent"] == pytest.approx(2.51, abs=0.01)
    assert sync_os["latency_reduction_two_switches_percent"] == pytest.approx(1.47, abs=0.005)
    assert from_file(nine_lines("encryption"), tmp_path)["latency_reduction_percent"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(" ", "\t"),
        lambda text: text.replace(" ", " = "),
        lambda text: text.replace(" ", ": "),
        lambda text: "# a comment\n\n" + text.replace("\n", "  # another\n"),
        lambda text: (
            text.replace("Sync", "SYNC").replace("C ", "c ").replace("Threading", "threading")
        ),
        lambda text: text.replace("a 0", "alpha 0").replace("o0", "O_0").replace("o1", "O1"),
        lambda text: "".join(reversed(text.splitlines(keepends=True))),
        lambda text: text.replace("298951", "298_951").replace("\n", "\r\n"),
    ],
)
def test_nine_lines_are_read_liberally(change: Any, tmp_path: Path) -> None:
    exact = from_file(nine_lines("aes_ni"), tmp_path)
    assert from_file(change(nine_lines("aes_ni")), tmp_path) == exact


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a 0.165844", "a 1.5", "kernel.kernel_share_ratio = 1.5: must be from 0 to 1"),
        ("A 6", "A 0", "kernel.acceleration_ratio = 0: must be above 0"),
        ("A 6", "A -6", "kernel.acceleration_ratio = -6: must be above 0"),
        ("A 6", "A NA", ":8: A = 'NA': must be a number"),
        ("A 6", "A six", ":8: A = 'six': must be a number or NA"),
        ("A 6\n", "", ": A = left out: must be given: all of C, a,"),
        ("A 6", "A 6 7", ":8: line = 'A 6 7': must be a name and a value"),
        ("A 6", "B 6", ":8: name = 'B': must be C, a, n,"),
        ("L 3", "n 3", ":6: name = 'n': must not be repeated: it was first set in line 3"),
        ("Sync", "Lazy", ":9: Threading = 'Lazy': must be Sync, "),
        ("C 2000000000.0", "C nan", "host_cycles_per_s = nan: must be a finite number"),
    ],
)
def test_bad_nine_lines_name_place_value_and_rule(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    text = nine_lines("aes_ni")
    assert old in text
    with pytest.raises(AccelflowError) as caught:
        from_file(text.replace(old, new), tmp_path)
    assert message in str(caught.value)


TOML = """
host_ghz = 2.3
[[kernels]]
name = "compression"
threading = "sync"
kernel_share_ratio = 0.15
offloads_per_s = 15_008
transfer_us = 1
acceleration_ratio = 27
cycles_per_byte = 5.62
"""


def test_toml_is_the_same_as_python(tmp_path: Path) -> None:
    assert from_file(TOML, tmp_path) == accelerometer.evaluate(FEED1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("host_ghz = 2.3", "", "host_cycles_per_s = left out: must be given, or host_ghz"),
        (
            "host_ghz",
            "host_cycles_per_s = 1\nhost_ghz",
            "host_ghz = 2.3: must be left out, as host_cycles_per_s",
        ),
        (
            "transfer_us",
            "transfer_cycles = 5\ntransfer_us",
            "transfer_us = 1: must be left out, as transfer_cycles",
        ),
        ("transfer_us = 1", "transfer_s = 1", "kernels[0]: key = 'transfer_s': must be"),
        ("transfer_us = 1", 'transfer_us = "1 us"', "transfer_us = '1 us': must be a number"),
        ("transfer_us = 1", "transfer_us = -1", "compression.transfer_cycles = -2300: must be"),
        (
            "kernel_share_ratio = 0.15",
            "",
            "kernels[0].kernel_share_ratio = left out: must be given",
        ),
        ('"sync"', '"lazy"', "compression.threading = 'lazy': must be sync, sync_os"),
        (
            '"sync"',
            '"sync"\ndriver_waits = false',
            "compression.driver_waits = false: must be true",
        ),
        ('"sync"', '"sync_os"\nlatency_thread_switches = 3', "must be a whole number from 1 to 2"),
        (
            "= 27",
            "= { min = 3 }",
            "acceleration_ratio: ends of the range = ['min']: must be min and max",
        ),
        ("= 27", "= { min = 3, max = 2 }", "= min 3, max 2: must have min below max"),
        ("= 27", "= { low = 3 }", "acceleration_ratio: key = 'low': must be min"),
        ("5.62", "5.62\nselection = 'lucrative'", "compression.sizes = missing: must be given"),
        ("5.62", "5.62\nall_offloads_per_s = 9", "compression.all_offloads_per_s = 9: must be at"),
        ("5.62", "5.62\nqueue = { servers = 0 }", "compression.queue.servers = 0: must be a whole"),
        ("5.62", "5.62\nqueue = { hosts = 200 }", "queue.utilisation = "),
        (
            "5.62",
            "5.62\nsizes = { bytes = [] }",
            "sizes: cumulative_ratio = left out: must be given",
        ),
        (
            "5.62",
            "5.62\nsizes = { bytes = [], cumulative_ratio = [] }",
            "compression.sizes = []: must have at least one point",
        ),
        (
            "5.62",
            "5.62\nsizes = { bytes = [1, 2], cumulative_ratio = [0.5, 0.4] }",
            "compression.sizes.cumulative_ratio[1] = 0.4: must be from 0.5 to 1",
        ),
        ("[[kernels]]", "[kernels]", ": must be one table or more, [[kernels]]"),
        ("host_ghz", "draws = 0\nhost_ghz", "draws = 0: must be a whole number from 1"),
        ("= 0.15", "= 0.15.1", "at line"),
    ],
)
def test_bad_toml_names_place_value_and_rule(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in TOML
    with pytest.raises(AccelflowError) as caught:
        from_file(TOML.replace(old, new), tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"draws": "a"}, "draws = 'a': must be a whole number from 1 to 10000000"),
        ({"draws": True}, "draws = True: must be a whole number"),
        ({"seed": 1.5}, "seed = 1.5: must be a whole number"),
        ({"seed": -1}, "seed = -1: must be a whole number from 0"),
        ({"kernels": [3]}, "kernels[0] = 3: must be a Kernel"),
        ({"kernels": 3}, "kernels = 3: must be a list of Kernel"),
        ({"kernels": "sync"}, "kernels = 'sync': must be a list of Kernel"),
        ({"host_cycles_per_s": "fast"}, "host_cycles_per_s = 'fast': must be a finite"),
        ({"name": 7}, "kernels[0].name = 7: must be a text"),
        ({"threading": "syncos"}, "threading = 'syncos': must be sync, sync_os, async_same_thread"),
        ({"threading": 4}, "compression.threading = 4: must be sync"),
        ({"placement": None}, "compression.placement = None: must be on_chip, off_chip or remote"),
        ({"selection": ["all"]}, "compression.selection = ['all']: must be all or lucrative"),
        ({"driver_waits": 1}, "compression.driver_waits = 1: must be True, False or None"),
        ({"latency_thread_switches": "2"}, "latency_thread_switches = '2': must be a whole number"),
        (
            {"all_offloads_per_s": "many"},
            "compression.all_offloads_per_s = 'many': must be a finite",
        ),
        ({"setup_cycles": None}, "compression.setup_cycles = None: must be a finite"),
        ({"queue_cycles": "long"}, "compression.queue_cycles = 'long': must be a finite"),
        ({"queue_cycles": ["long"]}, "compression.queue_cycles[0] = 'long': must be a finite"),
        ({"queue_cycles": Queue(servers=-1)}, "compression.queue.servers = -1: must be a whole"),
        ({"queue_cycles": Queue(hosts="2")}, "compression.queue.hosts = '2': must be a finite"),
        (
            {"queue_cycles": Queue(approximation="kimora")},
            "compression.queue.approximation = 'kimora': must be kimura or allen_cunneen, did you",
        ),
        ({"queue_cycles": Queue(shared=1)}, "compression.queue.shared = 1: must be a text or None"),
        ({"sizes": [1, 2]}, "compression.sizes = [1, 2]: must be Sizes or None"),
        ({"sizes": Sizes(bytes=3, cumulative_ratio=[1])}, "compression.sizes.bytes = 3: must be a"),
        ({"rides_on": 1}, "compression.rides_on = 1: must be the name of a kernel or None"),
    ],
)
def test_values_of_another_type_are_refused(change: dict[str, Any], message: str) -> None:
    if change.keys() <= {"draws", "seed", "kernels", "host_cycles_per_s"}:
        service = replace(FEED1, **change)
    else:
        service = replace(FEED1, kernels=[replace(COMPRESSION, **change)])
    with pytest.raises(InputError) as caught:
        accelerometer.evaluate(service)
    assert message in str(caught.value)


def test_names_are_those_of_the_engine() -> None:
    known = dict(_native.accelerometer_choices())
    assert list(accelerometer.THREADINGS) == known["threading"]
    assert list(accelerometer.PLACEMENTS) == known["placement"]
    for threading in accelerometer.THREADINGS:
        for placement in accelerometer.PLACEMENTS:
            kernel = replace(COMPRESSION, threading=threading, placement=placement)
            row = accelerometer.evaluate(replace(FEED1, kernels=[kernel]))["kernels"][0]
            assert (row["threading"], row["placement"]) == (threading, placement)


def test_break_even_size_and_ideal_of_feed1() -> None:
    result = accelerometer.evaluate(FEED1)
    even = result["kernels"][0]["break_even_speedup"]
    assert even == {"pays": True, "above_bytes": pytest.approx(425, abs=0.5), "below_bytes": None}
    assert result["ideal_speedup_percent"] == pytest.approx(17.647, abs=0.001)


def test_times_and_ranges_of_files_become_cycles(tmp_path: Path) -> None:
    text = TOML.replace("transfer_us = 1", "transfer_us = { min = 0.5, mode = 1, max = 2 }")
    path = tmp_path / "range.toml"
    path.write_text(text)
    (kernel,) = accelerometer.read(path).kernels
    assert kernel.transfer_cycles == Range(min=1_150, mode=2_300, max=4_600)
    assert "intervals" in accelerometer.evaluate(accelerometer.read(path))


def test_ideal_accelerator_may_be_infinite(tmp_path: Path) -> None:
    result = from_file(TOML.replace("= 27", "= inf").replace("us = 1", "us = 0"), tmp_path)
    assert result["speedup_percent"] == pytest.approx(result["ideal_speedup_percent"])
    assert result["kernels"][0]["limit"] == "rest_of_service"


def test_queue_of_a_shared_accelerator() -> None:
    queue = Queue(servers=2, hosts=30, service_scv_ratio=1.0)
    shared = replace(FEED1, kernels=[replace(COMPRESSION, queue_cycles=queue)])
    kernel = accelerometer.evaluate(shared)["kernels"][0]
    load = 30 * 0.15 / 27 / 2
    service = 0.15 * 2.3e9 / 27 / 15_008
    assert kernel["accelerator_utilization_ratio"] == pytest.approx(load)
    assert kernel["queue_cycles"] == pytest.approx(service * load**2 / (1 - load**2))
    waits = [0.0, 2 * kernel["queue_cycles"]]
    as_list = replace(FEED1, kernels=[replace(COMPRESSION, queue_cycles=waits)])
    assert accelerometer.evaluate(as_list)["speedup_ratio"] == pytest.approx(
        kernel["speedup_ratio"]
    )


def test_selection_from_sizes() -> None:
    sizes = Sizes(bytes=[100, 8_000], cumulative_ratio=[0.5, 1], interpolation="step")
    some = replace(COMPRESSION, sizes=sizes, selection="lucrative", scaling="cycles")
    kernel = accelerometer.evaluate(replace(FEED1, kernels=[some]))["kernels"][0]
    assert kernel["lucrative_offloads_ratio"] == 0.5
    assert kernel["offloaded_share_ratio"] == pytest.approx(0.15 * 80 / 81)


def test_inputs_that_say_one_thing_twice_must_agree(tmp_path: Path) -> None:
    sizes = "{ bytes = [100, 8_000], cumulative_ratio = [0.5, 1], interpolation = 'step' }"
    agreeing = TOML.replace("5.62", f"5.62\nsizes = {sizes}")
    from_file(agreeing, tmp_path)
    with pytest.raises(InputError) as caught:
        from_file(agreeing.replace("15_008", "15_008e5"), tmp_path)
    assert str(caught.value) == (
        "compression.kernel_share_ratio = 0.15: must agree with the rest to a factor of 1.25: "
        "1500800000 offloads a second of these sizes at 5.62 cycles per byte are 14852.0473 of the "
        "host's cycles; leave cycles_per_byte out to have it derived"
    )
    path = tmp_path / "wrong.toml"
    path.write_text(agreeing.replace("= 0.15", "= 0.3"))
    done = command("accelerometer", str(path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert f"{path}: compression.kernel_share_ratio = 0.3: must agree with the rest" in done.stderr


def test_sensitivities_are_of_independent_inputs() -> None:
    sizes = Sizes(bytes=[100, 8_000], cumulative_ratio=[0.5, 1], interpolation="step")

    def swings(kernel: Kernel) -> dict[str, tuple[float, float]]:
        service = replace(FEED1, kernels=[kernel])
        found = accelerometer.evaluate(service, around_ratio=0.1)["sensitivity"]
        return {
            s["parameter"]: (s["low"]["speedup_ratio"], s["high"]["speedup_ratio"]) for s in found
        }

    tied = swings(replace(COMPRESSION, sizes=sizes))
    assert set(tied) == {
        "offloads_per_s",
        "cycles_per_byte",
        "transfer_cycles",
        "acceleration_ratio",
    }
    # Ten per cent more compressions are ten per cent more compressing.
    more = sweep(
        threading="sync",
        host_cycles_per_s=2.3e9,
        kernel_share_ratio=[0.135, 0.165],
        offloads_per_s=[0.9 * 15_008, 1.1 * 15_008],
        transfer_cycles=2_300,
        acceleration_ratio=27,
    ).speedup_ratio
    assert tied["offloads_per_s"] == pytest.approx(tuple(more))
    measured = swings(replace(COMPRESSION, sizes=sizes, cycles_per_byte=None))
    assert set(measured) == {
        "kernel_share_ratio",
        "offloads_per_s",
        "transfer_cycles",
        "acceleration_ratio",
    }
    twice = replace(
        COMPRESSION,
        sizes=sizes,
        kernel_share_ratio=Range(min=0.1, max=0.2),
        cycles_per_byte=Range(min=5, max=6.24),
    )
    with pytest.raises(InputError, match="cycles_per_byte = a range: must be left out: it follows"):
        accelerometer.evaluate(replace(FEED1, kernels=[twice]))


def test_heat_maps_are_of_the_neighbourhood_of_the_point(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {}

    def keep(figure: Figure, path: Path, **_: object) -> None:
        axes = figure.axes[0]
        limits[path.name.partition(".png")[0]] = (axes.get_xlim(), axes.get_ylim())
        path.write_bytes(b"")

    monkeypatch.setattr(Figure, "savefig", keep)
    named = {
        "near": COMPRESSION,
        "slow": replace(COMPRESSION, acceleration_ratio=1.5),
        "free": replace(COMPRESSION, transfer_cycles=0),
        "ideal": replace(COMPRESSION, acceleration_ratio=float("inf")),
    }
    for name, kernel in named.items():
        service = replace(FEED1, kernels=[replace(kernel, name=name)])
        accelerometer.write_plots(service, tmp_path)
    found = {name: limits[key] for name in named for key in limits if f"heatmap-{name}" in key}
    assert set(found) == set(named)
    work = 0.15 * 2.3e9 / 15_008
    for name, (middle, most) in {
        "near": (27, 4 * 2_300),
        "slow": (1.5, 4 * 2_300),
        "free": (27, work / 4),
        "ideal": (25, 4 * 2_300),
    }.items():
        across, up = found[name]
        assert across == pytest.approx((middle / 4, middle * 4), rel=0.05)
        assert up == pytest.approx((0, most), rel=0.05, abs=0.05 * most)


def test_ranges_give_intervals_that_depend_on_the_seed_alone() -> None:
    some = replace(COMPRESSION, acceleration_ratio=Range(min=20, max=30))
    service = replace(FEED1, kernels=[some], draws=2_000)
    first = accelerometer.evaluate(service)
    assert first == accelerometer.evaluate(service)
    assert first != accelerometer.evaluate(replace(service, seed=2))
    at = first["intervals"]["speedup_ratio"]
    assert at["min"] < at["p5"] < at["p50"] < at["p95"] < at["max"]
    ends = sweep(
        threading="sync",
        host_cycles_per_s=2.3e9,
        kernel_share_ratio=0.15,
        offloads_per_s=15_008,
        transfer_cycles=2_300,
        acceleration_ratio=[20, 30],
    ).speedup_ratio
    assert ends[0] <= at["min"]
    assert at["max"] <= ends[1]


ratios = st_numpy.arrays(np.float64, st.integers(1, 30), elements=st.floats(0, 1))


@given(share=ratios)
def test_sweep_is_the_equation(share: Any) -> None:
    found = sweep(
        threading="sync_os",
        host_cycles_per_s=2e9,
        kernel_share_ratio=share[:, np.newaxis],
        offloads_per_s=1e5,
        setup_cycles=np.array([0.0, 10.0, 100.0]),
        transfer_cycles=300,
        queue_cycles=200,
        thread_switch_cycles=1_000,
        acceleration_ratio=4,
    )
    setup = np.array([0.0, 10.0, 100.0])
    host = 1 - share[:, np.newaxis] + 1e5 / 2e9 * (setup + 500 + 2_000)
    latency = host + share[:, np.newaxis] / 4 - 1e5 / 2e9 * 1_000
    np.testing.assert_allclose(found.speedup_ratio, 1 / host, rtol=1e-12)
    np.testing.assert_allclose(found.latency_reduction_ratio, 1 / latency, rtol=1e-12)


def test_sweep_takes_views_scalars_and_infinity() -> None:
    design: dict[str, Any] = {"threading": "sync", "host_cycles_per_s": 1.0, "offloads_per_s": 0.0}
    strided = np.linspace(0, 0.9, 10)[::-3]
    found = sweep(**design, kernel_share_ratio=strided, acceleration_ratio=np.inf)
    np.testing.assert_allclose(found.speedup_ratio, 1 / (1 - strided))
    single = sweep(**design, kernel_share_ratio=np.float64(0.5), acceleration_ratio=np.array(2))
    assert single.speedup_ratio.shape == ()
    assert single.speedup_ratio == 1 / 0.75
    many = np.linspace(0, 0.9, 40_000).reshape(200, 200)
    found = sweep(**design, kernel_share_ratio=many, acceleration_ratio=np.inf)
    np.testing.assert_allclose(found.speedup_ratio, 1 / (1 - many))
    assert sweep(**design, kernel_share_ratio=[], acceleration_ratio=2).speedup_ratio.size == 0


def test_sweep_refuses_what_it_cannot_use() -> None:
    def call(**changes: Any) -> object:
        arguments: dict[str, Any] = {
            "threading": "sync",
            "host_cycles_per_s": 1e9,
            "kernel_share_ratio": 0.5,
            "offloads_per_s": 1.0,
            "acceleration_ratio": 2.0,
        }
        return sweep(**{**arguments, **changes})

    with pytest.raises(AccelflowError, match=r"acceleration_ratio\[1\] = 0: must be above 0"):
        call(acceleration_ratio=[1, 0])
    late = np.full(50_000, 2.0)
    late[40_000] = -1
    with pytest.raises(AccelflowError, match=r"acceleration_ratio\[40000\] = -1: must be above 0"):
        call(acceleration_ratio=late)
    with pytest.raises(AccelflowError, match=r"kernel_share_ratio\[0\] = NaN: must be from 0 to 1"):
        call(kernel_share_ratio=[np.nan])
    with pytest.raises(
        InputError, match=r"do not broadcast: kernel_share_ratio .2,., offloads_per_s"
    ):
        call(kernel_share_ratio=[0.1, 0.2], offloads_per_s=[1, 2, 3])
    with pytest.raises(InputError, match="offloads_per_s = 'many': must be a number or an array"):
        call(offloads_per_s="many")
    with pytest.raises(AccelflowError, match="threading = 'lazy': must be sync"):
        call(threading="lazy")


def test_break_even_over_arrays() -> None:
    even = break_even(
        threading="sync_os",
        cycles_per_byte=5.62,
        complexity_exponent=[1.0, 2.0],
        transfer_cycles=2_300,
        thread_switch_cycles=5_750,
        acceleration_ratio=27,
    )
    np.testing.assert_allclose(even.above_bytes, [13_800 / 5.62, np.sqrt(13_800 / 5.62)])
    assert np.isinf(even.below_bytes).all()
    with pytest.raises(InputError, match="goal = 'cost': must be speedup or latency"):
        break_even(threading="sync", goal="cost", cycles_per_byte=1, acceleration_ratio=2)


# The command line.


def test_command_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "inference.txt"
    path.write_text(nine_lines("inference").replace("Async-Distinct-Thread", "Sync-OS"))
    done = command("accelerometer", str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["schema"] == "accelflow.accelerometer/1"
    # Equation (3) has two thread switches in Sync-OS; the authors' program has one.
    assert result["speedup_percent"] == pytest.approx(72.384, abs=0.001)
    assert result["authors_program_speedup_percent"] == pytest.approx(72.3989, abs=0.0001)


def test_command_says_what_limits(tmp_path: Path) -> None:
    path = tmp_path / "feed1.toml"
    path.write_text(TOML)
    done = command("accelerometer", str(path), "--sensitivity", "0.1")
    assert done.returncode == 0, done.stderr
    for part in (
        "17.65 %",
        "speedup above 425.",
        "limited by moving data (L)",
        "offloads_per_s",
    ):
        assert part in done.stdout


def test_errors_are_one_line_and_exit_codes(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(nine_lines("aes_ni").replace("0.165844", "1.5"))
    for arguments, code, part in (
        ([str(path)], 2, "bad.txt: kernel.kernel_share_ratio = 1.5: must be from 0 to 1"),
        ([str(tmp_path / "none.txt")], 2, "none.txt"),
        ([str(path), "--sensitivity", "2"], 2, "--sensitivity = 2.0: must be above 0"),
    ):
        done = command("accelerometer", *arguments)
        assert done.returncode == code
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert part in done.stderr


def test_plots_are_equal_bytes_for_equal_services(tmp_path: Path) -> None:
    sizes = Sizes(bytes=[64, 512, 4_096, 8_192], cumulative_ratio=[0, 0.4, 0.8, 1])
    other = replace(COMPRESSION, name="a/b", kernel_share_ratio=0.1, sizes=sizes)
    service = replace(FEED1, kernels=[COMPRESSION, other])
    first = accelerometer.write_plots(service, tmp_path / "first")
    names = ["breakdown", "sensitivity", "heatmap-compression", "granularity-compression"]
    assert [p.stem for p in first] == [*names, "heatmap-a_b", "granularity-a_b"]
    for path in first:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert len(data) > 5_000
    second = accelerometer.write_plots(service, tmp_path / "second")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_plot_option_writes_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "aes.txt"
    path.write_text(nine_lines("aes_ni"))
    done = command("accelerometer", str(path), "--plot", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("wrote ") == len(list((tmp_path / "out").iterdir())) == 3


def test_cerebros_is_beside_the_paper() -> None:
    result = cerebros.designs()
    for design in result["designs"]:
        paper = design["paper_speedup_ratio"]
        if paper is not None:
            digits = 0 if paper == 50 else 1
            assert round(design["speedup_ratio"], digits) == paper
    assert round(result["full_over_payload_and_header_ratio"], 1) == 21.5
    done = command("cerebros")
    assert done.returncode == 0
    assert "Full over P+H: 21.5x (paper 21.5x)" in done.stdout
    changed = json.loads(command("cerebros", "--traversal-cycles", "0", "--json").stdout)
    assert [d["paper_speedup_ratio"] for d in changed["designs"]] == [None] * 6
    assert changed["designs"][2]["offload_cycles"] == 0


def test_cerebros_refuses_what_it_cannot_use() -> None:
    with pytest.raises(InputError, match="parameter = 'clock': must be a key"):
        cerebros.designs(clock=2)
    with pytest.raises(InputError, match=r"header_tasks = 1.5: must be a whole number"):
        cerebros.designs(header_tasks=1.5)
    with pytest.raises(
        AccelflowError, match="payload_share_ratio = 2: must be a number from 0 to 1"
    ):
        cerebros.designs(payload_share_ratio=2)
    done = command("cerebros", "--rpc-cycles", "-1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
