"""Files of Accelerometer's services, and the command that reads them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from accelflow import AccelflowError, InputError, accelerometer
from accelflow.accelerometer import Range
from conftest import ROOT
from offloads import FEED1

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

SCRIPT = Path(sys.executable).with_name("accelflow")

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


def nine_lines(name: str, separator: str = " ") -> str:
    return "".join(f"{key}{separator}{v}\n" for key, v in zip(NINE, TABLES[name], strict=True))


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPT, "accelerometer", *arguments], capture_output=True, text=True, check=False, cwd=ROOT
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
        ("a 0.165844", "a 1.5", ":2: a = 1.5: must be a number from 0 to 1"),
        ("a 0.165844", "a nan", ":2: a = nan: must be a number from 0 to 1"),
        ("A 6", "A 0", ":8: A = 0: must be above 0 (inf for an ideal accelerator)"),
        ("A 6", "A -6", ":8: A = -6: must be above 0 (inf for an ideal accelerator)"),
        ("A 6", "A -inf", ":8: A = -inf: must be above 0 (inf for an ideal accelerator)"),
        ("C 2000000000.0", "C 0", ":1: C = 0: must be a finite number above 0"),
        ("C 2000000000.0", "C inf", ":1: C = inf: must be a finite number above 0"),
        ("n 298951", "n -1", ":3: n = -1: must be a finite number, 0 or more"),
        ("n 298951", "n inf", ":3: n = inf: must be a finite number, 0 or more"),
        ("o0 10", "o0 -10", ":4: o0 = -10: must be a number from 0 to 1e+18"),
        ("o0 10", "o0 inf", ":4: o0 = inf: must be a number from 0 to 1e+18"),
        ("L 3", "L 1e19", ":6: L = 1e19: must be a number from 0 to 1e+18"),
        ("o1 NA", "o1 -1", ":7: o1 = -1: must be a number from 0 to 1e+18"),
        ("A 6", "A NA", ":8: A = 'NA': must be a number"),
        ("A 6", "A six", ":8: A = 'six': must be a number or NA"),
        ("A 6\n", "", ": a line for A is left out: must be given, as for each of C, a,"),
        ("A 6", "A 6 7", ":8: line = 'A 6 7': must be a name and a value"),
        ("A 6", "B 6", ":8: name = 'B': must be C, a, n,"),
        ("L 3", "n 3", ":6: name = 'n': must not be repeated: it was first set in line 3"),
        ("Sync", "Lazy", ":9: Threading = 'Lazy': must be Sync, "),
        ("C 2000000000.0", "C nan", ":1: C = nan: must be a finite number above 0"),
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


@pytest.mark.parametrize("word", ["inf", "Infinity", "+INF"])
def test_nine_lines_may_have_an_ideal_accelerator(word: str, tmp_path: Path) -> None:
    text = nine_lines("aes_ni").replace("A 6", f"A {word}")
    found = from_file(text, tmp_path)
    # Equation (1) without alpha / A.
    left = 1 - 0.165844 + 298_951 / 2e9 * (10 + 3)
    assert found["speedup_ratio"] == pytest.approx(1 / left, rel=1e-12)


def test_nine_lines_of_a_cost_beyond_any_number_name_the_offloads(tmp_path: Path) -> None:
    lines = ["C 2", "a 0.1", "n 1e308", "o0 9", "Q 0", "L 0", "o1 NA", "A 6", "Threading Sync"]
    with pytest.raises(InputError) as caught:
        from_file("\n".join(lines), tmp_path)
    assert ":3: n = 1e308: must be lower, or C higher: offloads cost more" in str(caught.value)


def test_nine_lines_without_any_work_left_name_the_share(tmp_path: Path) -> None:
    lines = ["C 2e9", "a 1", "n 10", "o0 0", "Q 0", "L 0", "o1 NA", "A inf", "Threading Sync"]
    with pytest.raises(InputError) as caught:
        from_file("\n".join(lines), tmp_path)
    assert ":2: a = 1: must be below 1, since offloading costs nothing" in str(caught.value)


def test_toml_is_the_same_as_python(tmp_path: Path) -> None:
    assert from_file(TOML, tmp_path) == accelerometer.evaluate(FEED1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("host_ghz = 2.3", "", "host_cycles_per_s is left out: must be given, unless host_ghz is"),
        (
            "host_ghz",
            "host_cycles_per_s = 1\nhost_ghz",
            "host_ghz = 2.3: must be left out, since host_cycles_per_s",
        ),
        (
            "transfer_us",
            "transfer_cycles = 5\ntransfer_us",
            "transfer_us = 1: must be left out, since transfer_cycles",
        ),
        ("transfer_us = 1", "transfer_s = 1", "kernels[0]: key = 'transfer_s': must be"),
        ("transfer_us = 1", 'transfer_us = "1 us"', "transfer_us = '1 us': must be a number"),
        (
            "transfer_us = 1",
            "transfer_us = -1",
            "kernels[0].transfer_us = -1: must be a number from",
        ),
        (
            "transfer_us = 1",
            "transfer_us = 1e308",
            "transfer_us = 1e308: must be a number from 0 to",
        ),
        ("transfer_us = 1", "transfer_us = inf", "transfer_us = inf: must be a number from 0 to"),
        ("transfer_us = 1", "queue_us = [1, -2]", "queue_us[1] = -2: must be a number from 0 to"),
        (
            "transfer_us = 1",
            "transfer_us = { min = 1, max = 1e300 }",
            "kernels[0].transfer_us.max = 1e300: must be a number from 0 to",
        ),
        ("transfer_us = 1", "transfer_us = {min = 2, max = 1}", "us.max = 1: must be above min"),
        ("= 2.3", "= 1e300", ": host_ghz = 1e300: must be a number above 0, at most 1e+290"),
        ("= 2.3", "= -1", ": host_ghz = -1: must be a number above 0, at most 1e+290"),
        ("= 2.3", "= nan", ": host_ghz = nan: must be a number above 0, at most 1e+290"),
        ("= 2.3", "= [2.3]", ": host_ghz = [2.3]: must be a number, or a table with a range"),
        ("= 2.3", "= {min = 0, max = 2}", ": host_ghz.min = 0: must be a number above 0"),
        ("= 2.3", "= {min = 3, max = 2}", ": host_ghz.max = 2: must be above min, which is 3"),
        (
            "kernel_share_ratio = 0.15",
            "",
            "kernels[0].kernel_share_ratio is left out: must be given",
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
        ("= 27", "= { min = 3, max = 2 }", "= min 3, max 2: must have finite min and max, and min"),
        ("= 27", "= { low = 3 }", "acceleration_ratio: key = 'low': must be min"),
        ("5.62", "5.62\nselection = 'lucrative'", "compression.sizes = missing: must be given"),
        (
            "5.62",
            "5.62\nscaling = 'cycles'",
            "compression.scaling = 'cycles': must be left out, since selection is 'all'",
        ),
        (
            "5.62",
            "5.62\nall_offloads_per_s = 3e4\nscaling = 'cycles'",
            "compression.scaling = 'cycles': must be left out, since selection is 'all'",
        ),
        (
            "5.62",
            "5.62\nall_offloads_per_s = 9",
            "compression.all_offloads_per_s = 9: must be a number above 0, and at least 15008",
        ),
        ("5.62", "5.62\nqueue = { servers = 0 }", "compression.queue.servers = 0: must be a whole"),
        ("5.62", "5.62\nqueue = { hosts = 200 }", "queue.utilisation = "),
        (
            "5.62",
            "5.62\nsizes = { bytes = [] }",
            "sizes: cumulative_ratio is left out: must be given",
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


def test_inputs_that_say_one_thing_twice_must_agree(tmp_path: Path) -> None:
    sizes = "{ bytes = [100, 8_000], cumulative_ratio = [0.5, 1], interpolation = 'step' }"
    agreeing = TOML.replace("5.62", f"5.62\nsizes = {sizes}")
    from_file(agreeing, tmp_path)
    with pytest.raises(InputError) as caught:
        from_file(agreeing.replace("15_008", "15_008e5"), tmp_path)
    assert str(caught.value) == (
        "compression.kernel_share_ratio = 0.15: must agree with the other fields to a factor of "
        "1.25: 1500800000 offloads a second of these sizes at 5.62 cycles per byte take 14852.0473 "
        "times the host's cycles; leave cycles_per_byte out to have it derived"
    )
    path = tmp_path / "wrong.toml"
    path.write_text(agreeing.replace("= 0.15", "= 0.3"))
    done = command(str(path))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert (
        f"{path}: compression.kernel_share_ratio = 0.3: must agree with the other fields"
        in done.stderr
    )


def test_command_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "inference.txt"
    path.write_text(nine_lines("inference").replace("Async-Distinct-Thread", "Sync-OS"))
    done = command(str(path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert result["schema"] == "accelflow.accelerometer/1"
    # Equation (3) has two thread switches in Sync-OS; the authors' program has one.
    assert result["speedup_percent"] == pytest.approx(72.384, abs=0.001)
    assert result["authors_program_speedup_percent"] == pytest.approx(72.3989, abs=0.0001)


def test_command_says_what_limits(tmp_path: Path) -> None:
    path = tmp_path / "feed1.toml"
    path.write_text(TOML)
    done = command(str(path), "--sensitivity", "0.1")
    assert done.returncode == 0, done.stderr
    for part in (
        "17.65 %",
        "speedup above 425.",
        "limited by moving data (L)",
        "offloads_per_s",
    ):
        assert part in done.stdout


def test_offloads_that_lose_are_told_from_those_that_pay(tmp_path: Path) -> None:
    # A byte saves 5.62 * 26 / 27 cycles, so that 2,300 cycles pay from 425 B on.
    sizes = "{ bytes = [400, 5_000], cumulative_ratio = [0.25, 1], interpolation = 'step' }"
    path = tmp_path / "sizes.toml"
    path.write_text(TOML.replace("acceleration_ratio", f"sizes = {sizes}\nacceleration_ratio"))
    done = command(str(path))
    assert (done.returncode, done.stderr) == (0, "")
    loses = (
        "  loses          25.00 % of the offloads, which are made although their size does not pay"
    )
    assert loses in done.stdout.splitlines()
    (kernel,) = json.loads(command(str(path), "--json").stdout)["kernels"]
    assert (kernel["lucrative_offloads_ratio"], kernel["paying_offloads_ratio"]) == (1, 0.75)

    path.write_text(path.read_text() + "selection = 'lucrative'\nscaling = 'cycles'\n")
    assert "loses" not in command(str(path)).stdout
    (kernel,) = json.loads(command(str(path), "--json").stdout)["kernels"]
    assert (kernel["lucrative_offloads_ratio"], kernel["paying_offloads_ratio"]) == (0.75, 0.75)
    # Another selection needs no word on the scaling of this one.
    path.write_text(path.read_text() + "[[alternatives]]\nname = 'all'\nselection = 'all'\n")
    first, second = json.loads(command(str(path), "--json").stdout)["decision"]["alternatives"]
    assert first["speedup_ratio"] > second["speedup_ratio"]

    path.write_text(TOML)
    assert "loses" not in command(str(path)).stdout
    (kernel,) = json.loads(command(str(path), "--json").stdout)["kernels"]
    assert kernel["paying_offloads_ratio"] is None


def test_cost_of_a_byte_has_the_unit_of_its_exponent(tmp_path: Path) -> None:
    path = tmp_path / "feed1.toml"
    path.write_text(TOML)
    assert "cycles/B)" in command(str(path)).stdout
    path.write_text(TOML + "complexity_exponent = 0.5\n")
    assert "(5.62 cycles/B^0.5)" in command(str(path)).stdout


def test_errors_are_one_line_and_exit_codes(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(nine_lines("aes_ni").replace("0.165844", "1.5"))
    for arguments, code, part in (
        ([str(path)], 2, "bad.txt:2: a = 1.5: must be a number from 0 to 1"),
        ([str(tmp_path / "none.txt")], 2, "none.txt"),
        ([str(path), "--sensitivity", "2"], 2, "--sensitivity = 2: must be above 0"),
    ):
        done = command(*arguments)
        assert done.returncode == code
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert part in done.stderr


def test_plot_option_writes_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "aes.txt"
    path.write_text(nine_lines("aes_ni"))
    done = command(str(path), "--plot", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("wrote ") == len(list((tmp_path / "out").iterdir())) == 3
