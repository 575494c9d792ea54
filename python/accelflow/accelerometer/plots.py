"""Pictures of an evaluated service: its time, the sizes that pay, and its sensitivities."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from accelflow.accelerometer.arrays import sweep
from accelflow.accelerometer.service import Kernel, Range, Service, Sizes, evaluate
from accelflow.errors import file_path
from accelflow.pictures import STYLE, label_decades, plot, save

#: Okabe and Ito's palette. Neighbours in the bars also differ in grey.
_COLORS: Final = {
    "rest of the service": "#BBBBBB",
    "kernels on the host": "#0072B2",
    "waiting for the accelerator": "#D55E00",
    "setup (o0)": "#F0E442",
    "transfer (L)": "#56B4E9",
    "queue (Q)": "#CC79A7",
    "thread switches (o1)": "#009E73",
}
_LOSSES: Final = {
    "not_offloaded_ratio": "kernels on the host",
    "accelerator_ratio": "waiting for the accelerator",
    "setup_ratio": "setup (o0)",
    "transfer_ratio": "transfer (L)",
    "queue_ratio": "queue (Q)",
    "thread_switches_ratio": "thread switches (o1)",
}

#: The share by which the picture of sensitivities varies inputs that are not ranges.
AROUND_RATIO: Final = 0.2

#: The factor by which a heat map's axes go beyond the given values. The acceleration is from the
#: given value divided by this factor, and the transfer from 0, to the given value times this
#: factor.
AROUND_POINT: Final = 4.0
#: The acceleration in the middle of a heat map if the given one is infinite.
IDEAL_AROUND: Final = 25.0

#: The most characters of a name that a picture shows.
_LONGEST_NAME: Final = 42


def write_plots(
    service: Service, directory: str | PathLike[str], *, decision: Mapping[str, Any] | None = None
) -> list[Path]:
    """Write the pictures of `service` to `directory` and return their paths.

    `breakdown.png` and `sensitivity.png` are always written. Each kernel has `heatmap-NAME.png` if
    its acceleration is known, and `granularity-NAME.png` if its cycles per byte are known. NAME is
    the kernel's name with underscores for spaces and special characters, and with a checksum if
    another kernel would have the same. With a `decision` of
    :func:`accelflow.accelerometer.decisions.decide`, `alternatives.png` is added.
    Equal services give equal bytes. Raises InputError as :func:`evaluate` does, and OSError if a
    file cannot be written.
    """
    directory = file_path("directory", directory)
    result = evaluate(service, around_ratio=AROUND_RATIO)
    names = _file_names([kernel.name for kernel in service.kernels])
    figures: dict[str, Figure] = {}
    with mpl.rc_context(STYLE):
        figures["breakdown"] = _breakdown(result)
        figures["sensitivity"] = _sensitivity(result)
        if decision is not None:
            figures["alternatives"] = _alternatives(decision, result["ideal_speedup_ratio"])
        for kernel, row in zip(service.kernels, result["kernels"], strict=True):
            name = names[kernel.name]
            if kernel.acceleration_ratio is not None:
                figures[f"heatmap-{name}"] = _heatmap(service, kernel, row)
            if row["cycles_per_byte"] is not None:
                figures[f"granularity-{name}"] = _granularity(kernel, row)
        return [save(figure, directory / f"{name}.png") for name, figure in figures.items()]


def _file_names(kernels: Sequence[str]) -> dict[str, str]:
    """Return the part of a file's name that stands for each kernel; no two are equal.

    Characters that do not suit file names become underscores. A kernel whose result is also
    another's has a checksum of its name added, which depends neither on the order of kernels nor on
    other kernels. A name that needs no change stays.
    """
    # Names of files have at most 255 bytes.
    plain = {name: re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:100] for name in kernels}
    counts = Counter(plain.values())
    return {
        name: short if short == name or counts[short] == 1 else f"{short}-{_checksum(name)}"
        for name, short in plain.items()
    }


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _brief(name: str) -> str:
    """Return a name that leaves space for what it stands beside; a long one loses its middle."""
    # The end of a function's name tells more than the names of its modules.
    return name if len(name) <= _LONGEST_NAME else f"{name[:8]}...{name[11 - _LONGEST_NAME :]}"


def _gain(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{100 * (ratio - 1):+.2f} %"


#: The gains in throughput and in latency: their key, colour and shift within a group.
_GAINS: Final = {
    "throughput": ("speedup_ratio", "#0072B2", -0.2),
    "latency reduction": ("latency_reduction_ratio", "#D55E00", 0.2),
}
#: Bars of the picture of alternatives end here, in per cent; larger losses are only written.
_LEAST_GAIN: Final = -30.0


def _alternatives(decision: Mapping[str, Any], ideal: float | None) -> Figure:
    """Draw the gains of each alternative, and the ideal one, as in the paper's Fig. 20."""
    rows: list[Mapping[str, Any]] = list(decision["alternatives"])
    if ideal is not None:
        rows = [{"name": "ideal", "speedup_ratio": ideal, "intervals": None}, *rows]
    figure, axes = plot(7.0, 1.2 + 0.5 * len(rows))
    legend: dict[str, Any] = {}
    for place, row in enumerate(rows):
        for label, (key, color, shift) in _GAINS.items():
            if row.get(key) is None:
                continue
            gain, at = 100 * (row[key] - 1), place + shift
            look: dict[str, Any] = {"facecolor": color, "edgecolor": "black", "linewidth": 0.4}
            axes.barh(at, max(gain, _LEAST_GAIN), 0.38, **look)
            legend.setdefault(label, mpl.patches.Patch(**look))
            drawn, end = (row["intervals"] or {}).get(key), max(gain, 0.0)
            if drawn is not None and drawn["p5"] is not None:
                ends = [max(100 * (drawn[p] - 1), _LEAST_GAIN) for p in ("p5", "p95")]
                axes.hlines(at, *ends, color="black", linewidth=1.2)
                end = max(end, *ends)
            axes.annotate(
                f"{gain:+.1f} %" + (", cut off" if gain < _LEAST_GAIN else ""),
                (end, at),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8,
            )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [_brief(row["name"]) for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel("gain (%)")
    figure.legend(legend.values(), legend, loc="outside upper center", ncols=2, frameon=False)
    return figure


def _breakdown(result: Mapping[str, Any]) -> Figure:
    """Draw the host's cycles before and after, as Figs. 16 to 18 of the paper do."""
    kernels = result["kernels"]
    share = sum(k["kernel_share_ratio"] for k in kernels)
    after = dict.fromkeys(_COLORS, 0.0)
    after["rest of the service"] = 1 - share
    for kernel in kernels:
        for loss, name in _LOSSES.items():
            after[name] += kernel["losses"][loss]
    before = {"rest of the service": 1 - share, "kernels on the host": share}
    figure, axes = plot(7.0, 2.6)
    for place, parts in ((1, before), (0, after)):
        left = 0.0
        for name, color in _COLORS.items():
            width = 100 * parts.get(name, 0.0)
            if width <= 0:
                continue
            axes.barh(place, width, left=left, color=color, edgecolor="black", linewidth=0.4)
            if width > 4:
                text = "white" if color in {"#0072B2", "#D55E00"} else "black"
                axes.text(
                    left + width / 2, place, f"{width:.1f}", ha="center", va="center", color=text
                )
            left += width
    used = [name for name in _COLORS if before.get(name, 0) > 0 or after[name] > 0]
    handles = [mpl.patches.Patch(facecolor=_COLORS[n], edgecolor="black", lw=0.4) for n in used]
    figure.legend(handles, used, loc="outside lower center", ncols=min(4, len(used)), frameon=False)
    axes.set_yticks([1, 0], ["before", "after"])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("cycles of the host for the same requests (% of before)")
    axes.set_title(
        f"speedup {_gain(result['speedup_ratio'])}, latency reduction"
        f" {_gain(result['latency_reduction_ratio'])}",
        fontsize=9.5,
    )
    return figure


def _sensitivity(result: Mapping[str, Any]) -> Figure:
    """Draw the speedup at both ends of each input, the most influential on top."""
    swings = [s for s in result["sensitivity"] if _ends(s) is not None][:12]
    figure, axes = plot(7.0, 1.2 + 0.34 * max(1, len(swings)))
    base = 100 * (result["speedup_ratio"] - 1)
    several = len(result["kernels"]) > 1
    for place, swing in enumerate(reversed(swings)):
        for side, color in (("low", "#56B4E9"), ("high", "#D55E00")):
            end = 100 * (swing[side]["speedup_ratio"] - 1)
            axes.barh(place, end - base, left=base, color=color, edgecolor="black", linewidth=0.4)
    axes.axvline(base, color="black", linewidth=0.8)
    labels = [_label(swing, several=several) for swing in reversed(swings)]
    axes.set_yticks(range(len(swings)), labels, fontsize=7.5)
    axes.set_xlabel(
        f"speedup (%), {base:.2f} as given\nblue: low value, red: high value of one input alone"
    )
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
    return figure


def _label(swing: Mapping[str, Any], *, several: bool) -> str:
    """Return two lines: the input's name, with that of its kernel if there are `several`, and ends.

    A kernel's name that is long has a line of its own.
    """
    ends = f"{_plain(swing['low']['value'])} to {_plain(swing['high']['value'])}"
    kernel, parameter = swing["kernel"] if several else "", swing["parameter"]
    if not kernel:
        return f"{parameter}\n{ends}"
    if len(kernel) + len(parameter) < _LONGEST_NAME:
        return f"{kernel}.{parameter}\n{ends}"
    return f"{_brief(kernel)}\n{parameter}: {ends}"


def _plain(value: float) -> str:
    if value >= 1e9:
        return f"{value / 1e9:.4g} billion"
    return f"{value:,.0f}" if value >= 1e3 else f"{value:.4g}"


def _short(value: float) -> str:
    """Return a tick's number with a suffix, short enough to fit between its neighbours."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"


def _ends(swing: Mapping[str, Any]) -> tuple[float, float] | None:
    low, high = swing["low"]["speedup_ratio"], swing["high"]["speedup_ratio"]
    return None if low is None or high is None or low == high else (low, high)


def _central(value: float | Range | None) -> float:
    return value.central if isinstance(value, Range) else float(value or 0.0)


def _heatmap(service: Service, kernel: Kernel, row: Mapping[str, Any]) -> Figure:
    """Draw the speedup over acceleration and transfer, for the offloads that are made."""
    given_a, given_l = _central(kernel.acceleration_ratio), row["transfer_cycles"]
    host = _central(service.host_cycles_per_s)
    offloads = row["offloads_per_s"]
    # The axes span the neighbourhood of the point; an ideal accelerator has no place on them.
    middle = given_a if np.isfinite(given_a) else IDEAL_AROUND
    acceleration = np.geomspace(middle / AROUND_POINT, middle * AROUND_POINT, 160)
    # Without a transfer, up to what costs a quarter of the host's own work for an offload.
    work = row["offloaded_share_ratio"] * host / offloads if offloads > 0 else 0.0
    transfer = np.linspace(0.0, AROUND_POINT * given_l or work / AROUND_POINT or 1.0, 160)
    points = sweep(
        threading=kernel.threading,
        placement=kernel.placement,
        driver_waits=kernel.driver_waits,
        latency_thread_switches=kernel.latency_thread_switches,
        host_cycles_per_s=host,
        kernel_share_ratio=row["offloaded_share_ratio"],
        offloads_per_s=offloads,
        setup_cycles=_central(kernel.setup_cycles),
        queue_cycles=row["queue_cycles"],
        thread_switch_cycles=_central(kernel.thread_switch_cycles),
        acceleration_ratio=acceleration[np.newaxis, :],
        transfer_cycles=transfer[:, np.newaxis],
    )
    gain = 100 * (points.speedup_ratio - 1)
    figure, axes = plot(5.6, 4.0)
    limit = max(float(np.abs(gain).max()), 1e-9)
    colors = axes.pcolormesh(
        acceleration, transfer, gain, cmap="PuOr", vmin=-limit, vmax=limit, shading="nearest"
    )
    if gain.min() < 0 < gain.max():
        axes.contour(acceleration, transfer, gain, levels=[0.0], colors="black")
    if np.isfinite(given_a):
        star: dict[str, Any] = {"marker": "*", "markersize": 13, "markeredgecolor": "white"}
        axes.plot(given_a, given_l, color="black", clip_on=False, **star)
    axes.set_xscale("log")
    ticks = [middle * factor for factor in (1 / AROUND_POINT, 0.5, 1.0, 2.0, AROUND_POINT)]
    axes.set_xticks(ticks, [f"{value:.3g}" for value in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("acceleration A (star: as given; line: no gain)")
    axes.set_ylabel("transfer L (cycles an offload)")
    axes.set_title(
        f"{_brief(kernel.name)} alone: {kernel.threading}, {kernel.placement}", fontsize=9.5
    )
    figure.colorbar(colors, ax=axes, label="speedup of the service (%)")
    return figure


def _shares(sizes: Sizes, low: float, high: float) -> tuple[list[float], list[float]]:
    """Return the sizes from `low` to `high`, and the share of offloads up to each, of a curve.

    Lines between neighbouring points are the curve, also on a logarithmic axis.
    """
    known, shares = np.array(sizes.bytes, float), np.array(sizes.cumulative_ratio, float)
    if sizes.interpolation == "step":
        # A share holds until the next size, where the curve rises at once.
        points, reached = np.repeat(known, 2)[1:], np.repeat(shares, 2)[:-1]
    else:
        # Sizes that are spread evenly give straight lines only on a linear axis.
        between = np.geomspace(known[0], known[-1], 400)[1:-1]
        points = np.union1d(known, between)
        reached = np.interp(points, known, shares)
    return [low, known[0], *points, high], [0.0, 0.0, *reached, 1.0]


def _granularity(kernel: Kernel, row: Mapping[str, Any]) -> Figure:
    """Draw the speedup of a single offload over its size, with the break-even size."""
    cost, beta = row["cycles_per_byte"], _central(kernel.complexity_exponent)
    even = row["break_even_speedup"]["above_bytes"]
    sizes = kernel.sizes.bytes if kernel.sizes else []
    ends = [value for value in (even, *sizes) if value]
    low, high = min([1.0, *ends]), max([65_536.0, *(30 * value for value in ends[:1]), *sizes])
    size = np.geomspace(low, high, 400)
    waits = 1.0 if row["driver_waits"] else 0.0
    switches = {"sync_os": 2.0, "async_distinct_thread": 1.0}.get(kernel.threading, 0.0)
    fixed = _central(kernel.setup_cycles) + switches * _central(kernel.thread_switch_cycles)
    fixed += waits * (_central(kernel.transfer_cycles) + row["queue_cycles"])
    work = cost * size**beta
    spent = fixed + waits * _central(kernel.transfer_cycles_per_byte) * size
    if kernel.threading == "sync":
        spent = spent + work / _central(kernel.acceleration_ratio)
    figure, axes = plot(5.6, 3.4)
    axes.axhline(1.0, color="#888888", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    if np.any(spent > 0):
        axes.plot(size, work / np.where(spent > 0, spent, np.nan), color="#D55E00", linewidth=1.8)
    if even:
        axes.axvline(even, color="#0072B2", linestyle="--", linewidth=1.0)
        axes.annotate(
            f"pays above {even:,.0f} B",
            (even, 0.04),
            xycoords=("data", "axes fraction"),
            xytext=(4, 0),
            textcoords="offset points",
            color="#0072B2",
        )
    axes.set_ylabel("cycles on the host over\ncycles with the accelerator")
    if kernel.sizes:
        shares = axes.twinx()
        shares.plot(*_shares(kernel.sizes, low, high), color="#009E73", linewidth=1.2)
        shares.set_ylabel("share of offloads up to the size", color="#009E73")
        shares.set_ylim(0, 1.02)
    axes.set_xlabel("size of the offload (bytes)")
    for axis in (axes.xaxis, axes.yaxis):
        label_decades(axis, _short)
    axes.grid(which="major", color="#DDDDDD", linewidth=0.6)
    axes.set_title(
        f"{_brief(kernel.name)}: one offload, in terms of the host's throughput", fontsize=9.5
    )
    return figure
