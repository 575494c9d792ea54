"""Accelerometer's equations, over services and over arrays, and their pictures."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from matplotlib.figure import Figure

from accelflow import AccelflowError, InputError, _native, accelerometer
from accelflow.accelerometer import Kernel, Queue, Range, Sizes, break_even, sweep
from offloads import COMPRESSION, FEED1


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
        ({"name": 7}, "kernels[0].name = 7: must be a string"),
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
        (
            {"queue_cycles": Queue(shared=1)},
            "compression.queue.shared = 1: must be a string or None",
        ),
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
    assert kernel["paying_offloads_ratio"] == 0.5
    assert kernel["offloaded_share_ratio"] == pytest.approx(0.15 * 80 / 81)


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
    with pytest.raises(
        InputError, match="cycles_per_byte = a range: must be left out, since kernel_share_ratio is"
    ):
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


def test_kernels_whose_names_look_alike_have_their_own_pictures(tmp_path: Path) -> None:
    alike = ["a/b", "a b", "a_b", "n" * 120 + "1", "n" * 120 + "2", "c d"]
    kernels = [replace(COMPRESSION, name=name, kernel_share_ratio=0.02) for name in alike]

    def written(kernels: list[Kernel], place: str) -> dict[str, bytes]:
        paths = accelerometer.write_plots(replace(FEED1, kernels=kernels), tmp_path / place)
        return {path.name: path.read_bytes() for path in paths}

    found = written(kernels, "found")
    heatmaps = {name: data for name, data in found.items() if name.startswith("heatmap-")}
    assert len(heatmaps) == len(set(heatmaps.values())) == len(alike)
    assert {"heatmap-a_b.png", "heatmap-c_d.png"} <= set(heatmaps)
    # The pictures' names depend on no order.
    turned = written(kernels[::-1], "turned")
    assert {name: turned[name] for name in heatmaps} == heatmaps
