"""Profiles: folded stacks and perf script in the categories of the Accelerometer paper."""

import json
import math
from pathlib import Path

import pytest

from accelflow import InputError
from accelflow.findings import targets
from accelflow.profiles import (
    OTHER,
    Functionality,
    Leaf,
    breakdown,
    compare,
    peak_ipc,
    read,
    references,
)
from accelflow.profiles.categories import PARTS
from accelflow.profiles.plots import write_plots
from accelflow.profiles.references import REFERENCES, compared
from profile_texts import FOLDED, PERF, TWO_EVENTS, command, profile_of, shares


def test_folded_stacks_by_leaf_and_functionality(tmp_path: Path) -> None:
    result = breakdown(read(profile_of(FOLDED, tmp_path)))
    assert result["weight"] == 100
    leaves = {"memory": 0.3, "kernel": 0.25, "zstd": 0.2, "c_libraries": 0.1, "other": 0.15}
    assert shares(result["leaf"]) == leaves
    functionalities = {
        "serialization": 0.3,
        "secure_and_insecure_io": 0.25,
        "compression": 0.2,
        "other": 0.25,
    }
    assert shares(result["functionality"]) == functionalities
    assert [row["category"] for row in result["leaf"]][-1] == OTHER
    assert {row["category"] for row in result["leaf"]} == {*map(str, Leaf), OTHER}
    assert {r["category"] for r in result["functionality"]} == {*map(str, Functionality), OTHER}
    (unclaimed,) = result["leaf"][-1]["functions"]
    assert unclaimed == {"function": "lookup", "share_ratio": 0.15}


def test_the_mark_of_utf_8_is_not_part_of_the_first_frame(tmp_path: Path) -> None:
    (tmp_path / "stacks").write_text("\ufeffmemcpy 10\n", encoding="utf-8")
    assert read(tmp_path / "stacks").stacks == {("memcpy",): 10}


def test_cycles_and_instructions_of_perf_are_not_added_but_divided(tmp_path: Path) -> None:
    path = profile_of(TWO_EVENTS, tmp_path)
    profile = read(path)
    assert (profile.sample_type, profile.weight) == ("cycles:u", 400)
    assert profile.sample_types == ("cycles:u", "instructions:u")
    result = breakdown(profile)
    assert shares(result["leaf"]) == {"memory": 0.25, "zstd": 0.75}
    assert {row["category"]: row["ipc"] for row in result["leaf"] if row["weight"]} == {
        "memory": 0.5,
        "zstd": 3.0,
    }
    assert result["ipc"] == 950 / 400
    assert {row["ipc"] for row in result["leaf"] if not row["weight"]} == {None}
    by_instructions = breakdown(read(path, sample_type="instructions"))
    assert shares(by_instructions["leaf"]) == {"memory": 50 / 950, "zstd": 900 / 950}
    assert "ipc" not in by_instructions
    # Samples without a period count themselves.
    bare = TWO_EVENTS.replace(" 100 cycles", " cycles").replace(" 300 cycles", " cycles")
    assert read(profile_of(bare, tmp_path)).instructions is None


@pytest.mark.parametrize(
    ("data", "allowed"),
    [
        (b"PERFILE2" + bytes(96), "must be text, such as the output of perf script, and not"),
        (b"2ELIFREP" + bytes(96), "must be text, such as the output of perf script, and not"),
        (FOLDED.encode("utf-16"), "must be text in UTF-8; it is in UTF-16"),
    ],
)
def test_files_mistaken_for_a_profile_are_named(tmp_path: Path, data: bytes, allowed: str) -> None:
    path = tmp_path / "perf.data"
    path.write_bytes(data)
    done = command(str(path))
    assert done.returncode == 2
    assert f"FILE = '{path}': {allowed}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_events_of_perf_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    misses = TWO_EVENTS.replace("instructions:u", "cache-misses:u")
    path = profile_of(misses, tmp_path)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: event is left out: must be chosen with --event, since counts of cycles:u,"
        " cache-misses:u cannot be added"
    )
    assert read(path, sample_type="cache-misses").weight == 950
    assert read(path, sample_type="cycles:u").weight == 400
    with pytest.raises(InputError, match="event = 'branches': must be cycles:u or cache-misses"):
        read(path, sample_type="branches")


def test_cycles_of_both_kinds_of_core_and_of_user_and_kernel_add_up(tmp_path: Path) -> None:
    for other in ("cpu_atom/cycles/u", "cycles:k"):
        path = profile_of(TWO_EVENTS.replace("cycles:u", other, 1), tmp_path)
        profile = read(path)
        assert (profile.sample_type, profile.weight) == ("cycles", 400)
        assert breakdown(profile)["ipc"] == 950 / 400
        assert read(path, sample_type=other).weight == 100


def test_the_command_takes_an_event_and_prints_ipc(tmp_path: Path) -> None:
    path = str(profile_of(TWO_EVENTS, tmp_path))
    done = command(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "weighed by cycles:u; there are also instructions:u\ninstructions per cycle (IPC): 2.38\n"
    )
    (zstd,) = [line for line in done.stdout.splitlines() if line.startswith("  zstd")]
    assert zstd.split()[-1] == "3.00"
    assert "IPC" not in command(path, "--event", "instructions").stdout
    wrong = command(path, "--event", "branches")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)


def test_what_acceleration_buys(tmp_path: Path) -> None:
    result = breakdown(read(profile_of(FOLDED, tmp_path)), acceleration_ratio=3)
    memory = result["leaf"][0]
    assert memory["category"] == "memory"
    assert memory["speedup_percent"] == pytest.approx(25)
    assert memory["ideal_speedup_percent"] == pytest.approx(100 * 0.3 / 0.7)
    assert "SIMD" in memory["opportunity"]
    for wrong in (0, math.inf, math.nan):
        with pytest.raises(InputError, match=r"acceleration_ratio = .*: must be a finite number"):
            breakdown(read(profile_of(FOLDED, tmp_path)), acceleration_ratio=wrong)


def test_perf_script_weighs_periods_and_marks_the_kernel(tmp_path: Path) -> None:
    profile = read(profile_of(PERF, tmp_path))
    assert profile.stacks == {
        ("server", "send_reply", "__libc_sendmsg", "tcp_sendmsg_[k]"): 250_000,
        (
            "my server",
            "[unknown]",
            "ThriftSerializer::write(char const*, int)",
            "__memmove_avx_unaligned_erms",
        ): 750_000,
    }
    result = breakdown(profile)
    assert shares(result["leaf"]) == {"memory": 0.75, "kernel": 0.25}
    assert shares(result["functionality"]) == {
        "serialization": 0.75,
        "secure_and_insecure_io": 0.25,
    }


def test_perf_script_without_stacks_begins_with_blanks(tmp_path: Path) -> None:
    text = (
        "              fe  1234 [001]  1000.001000:    1000000 cpu-clock:ppp:"
        "  ffffffff81234567 tcp_sendmsg+0x10 ([kernel.kallsyms])\n"
        "          worker  1234 [001]  1000.002000:    3000000 cpu-clock:ppp:"
        "      55d0deadbeef cart::lookup+0x1c (/opt/checkout)\n"
    )
    profile = read(profile_of(text, tmp_path))
    assert profile.stacks == {
        ("fe", "tcp_sendmsg_[k]"): 1_000_000,
        ("worker", "cart::lookup"): 3_000_000,
    }
    assert profile.sample_type == "cpu-clock:ppp"
    assert profile.has_commands


def test_perf_script_without_stacks_and_without_periods(tmp_path: Path) -> None:
    text = (
        "server 1 [000] 1.5: cycles:u:  7f01c0ffee42 malloc+0x2 (/usr/lib/libc.so.6)\n"
        "server 1 [000] 1.6: cycles:u:  ffffffff81000000 do_idle+0x2 ([kernel.kallsyms])\n"
    )
    profile = read(profile_of(text, tmp_path))
    assert profile.stacks == {("server", "malloc"): 1, ("server", "do_idle_[k]"): 1}


@pytest.mark.parametrize("command", ["server", "my server", "fe"])
def test_perf_script_without_stacks_aligns_commands_to_the_right(
    command: str, tmp_path: Path
) -> None:
    text = (
        f"{command:>16} 1 [000] 1.500000: 7 cycles:u:  7f01c0ffee42 malloc+0x2 (/lib/libc.so.6)\n"
        f"{command:>16} 1 [000] 1.600000: 2 cycles:u:  ffffffff81000000 do_idle ([kernel])\n"
    )
    profile = read(profile_of(text, tmp_path))
    assert profile.stacks == {(command, "malloc"): 7, (command, "do_idle_[k]"): 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "profile.txt: number of samples = 0: must be above 0"),
        ("# nothing\n\n", "profile.txt: number of samples = 0: must be above 0"),
        ("main;work\n", "profile.txt:1: line = 'main;work': must be frames joined by ';'"),
        ("main;work 3\nmain;work x\n", "profile.txt:2:"),
        ("main;work -3\n", "profile.txt:1:"),
        ("main;work 0\n", "profile.txt: number of samples = 0: must be above 0"),
        (
            PERF + "what is this\n",
            "profile.txt:12: line = 'what is this': must be a sample's first line or",
        ),
    ],
)
def test_text_that_is_no_profile(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(profile_of(text, tmp_path))
    assert message in str(caught.value)


def test_command(tmp_path: Path) -> None:
    path = str(profile_of(FOLDED, tmp_path))
    done = command(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "serialization" in done.stdout
    assert "  unclassified: 15.0 %, mostly lookup (15.0 %)\n" in done.stdout
    assert "  unclassified: 25.0 %, mostly lookup (15.0 %), __strlen_avx2 (10.0 %)" in done.stdout
    assert json.loads(command(path, "--json").stdout)["schema"] == "accelflow.profile/1"
    own = tmp_path / "rules.toml"
    own.write_text(command("--print-rules").stdout)
    assert command(path, "--rules", str(own)).stdout == done.stdout
    missing = command()
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


def test_before_and_after_for_the_same_requests(tmp_path: Path) -> None:
    before = breakdown(read(profile_of(FOLDED, tmp_path)))
    faster = FOLDED.replace("fast 20", "fast 5")
    after = breakdown(read(profile_of(faster, tmp_path)))
    compared = compare({"before": before, "after": after})
    assert compared["freed_ratio"] == pytest.approx([0, 0.15])
    assert compared["speedup_ratio"] == pytest.approx([1, 1 / 0.85])
    rows = {row["category"]: row["profiles"][1] for row in compared["functionality"]}
    assert rows["compression"]["change_ratio"] == pytest.approx(-0.75)
    assert rows["serialization"]["change_ratio"] == pytest.approx(0)
    assert rows["logging"]["change_ratio"] is None
    # The same cycles for more requests are the same saving.
    scaled = breakdown(
        read(
            profile_of(
                faster.replace(" 25", " 50")
                .replace(" 30", " 60")
                .replace(" 5\n", " 10\n")
                .replace("lookup 15", "lookup 30")
                .replace("avx2 10", "avx2 20"),
                tmp_path,
            )
        )
    )
    twice = compare({"before": before, "after": scaled}, [1_000, 2_000])
    assert twice["total_ratio"] == pytest.approx(compared["total_ratio"])


def test_ipc_of_machines_side_by_side(tmp_path: Path) -> None:
    old = breakdown(read(profile_of(TWO_EVENTS, tmp_path)))
    new = breakdown(read(profile_of(TWO_EVENTS.replace(" 300 cycles", " 150 cycles"), tmp_path)))
    compared = compare({"GenA": old, "GenC": new})
    zstd = next(row for row in compared["leaf"] if row["category"] == "zstd")
    assert [each["ipc"] for each in zstd["profiles"]] == [3.0, 6.0]
    assert compared["ipc"] == [950 / 400, 950 / 250]
    assert {row["category"]: row["instructions_ratio"] for row in old["leaf"] if row["weight"]} == {
        "memory": 50 / 950,
        "zstd": 900 / 950,
    }


def test_profiles_that_cannot_be_compared(tmp_path: Path) -> None:
    one = breakdown(read(profile_of(FOLDED, tmp_path)))
    cycles = breakdown(read(profile_of(TWO_EVENTS, tmp_path)))
    with pytest.raises(InputError, match=r"profiles = \[\]: must be one or more"):
        compare({})
    with pytest.raises(InputError, match=r"= \[1, 2, 3\]: must be one number for each of 2 files"):
        compare({"one": one, "two": one}, [1, 2, 3])
    with pytest.raises(InputError, match="two by cycles:u': must be the same; choose one"):
        compare({"one": one, "two": cycles})


def test_references_are_the_papers_figures_for_known_categories() -> None:
    for view, categories in (("leaf", Leaf), ("functionality", Functionality)):
        found = [each for name in categories for each in references(view, name)]
        assert len(found) == len(REFERENCES[view])
        for each in found:
            assert 0 < each.ratio[0] <= each.ratio[1] < 1
            assert each.place
            assert set(each.parts) <= set(PARTS.get(each.category, ()))
    keys = [each.key for known in REFERENCES.values() for each in known]
    section = "accelerometer.characterisation."
    reported = {key.removeprefix(section) for key in targets() if key.startswith(section)}
    # A row for each figure, but for the two of IPC.
    assert sorted(keys) == sorted(reported - {"peak_ipc", "leaf_ipc"})
    assert peak_ipc() == 4.0


def test_references_are_compared_with_the_like_part(tmp_path: Path) -> None:
    text = "main;malloc 20\nmain;memcpy 10\nmain;memset 30\nmain;SHA256_Update 40\n"
    result = breakdown(read(profile_of(text, tmp_path)))
    rows = {row["reference"].key: row["share_ratio"] for row in compared(result)}
    assert rows["google_copies"] == pytest.approx(0.1)
    assert rows["google_copies_and_allocation"] == pytest.approx(0.3)
    assert rows["omnetpp_allocation"] == pytest.approx(0.2)
    assert rows["memory"] == pytest.approx(0.3)
    # Nothing encrypts here.
    assert "cache1_ssl" not in rows


def test_command_compares_and_shows_details(tmp_path: Path) -> None:
    before, after = tmp_path / "before.folded", tmp_path / "after.folded"
    before.write_text(FOLDED)
    after.write_text(FOLDED.replace("fast 20", "fast 5"))
    done = command(str(before), str(after))
    assert (done.returncode, done.stderr) == (0, "")
    cycles = "after.folded: 15.0 % of the cycles of before.folded freed"
    assert f"{cycles}, the same cycles serve 17.6 % more requests\n" in done.stdout
    cycles = "before.folded: 17.6 % more cycles than after.folded"
    turned = command(str(after), str(before)).stdout
    assert f"{cycles}, the same cycles serve 15.0 % fewer requests\n" in turned
    assert "-75.0 %" in done.stdout
    details = command(str(before), "--details").stdout
    assert "parts of kernel: network 100.0 %" in details
    assert "copies by functionality: serialization 100.0 %" in details
    assert "compression: 20.0 % here, 15 % in Feed1 (Accelerometer, Table 7)" in details
    wrong = command(str(before), str(after), "--requests", "1,x")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "must be numbers separated by commas" in wrong.stderr


def test_pictures_have_equal_bytes_and_ipc_where_it_was_counted(tmp_path: Path) -> None:
    path = profile_of(TWO_EVENTS, tmp_path)
    measured = breakdown(read(path))
    both = {"GenA": measured, "GenC": measured}
    drawn = [write_plots(compare(both), both, tmp_path / name) for name in ("one", "two")]
    one, two = ({each.name: each.read_bytes() for each in paths} for paths in drawn)
    assert one == two
    drawn_ipc = {"ipc-leaf.png", "ipc-functionality.png"}
    assert {"leaf.png", "functionality.png", "orchestration.png"} | drawn_ipc <= set(one)
    plain = {"one": breakdown(read(profile_of(FOLDED, tmp_path)))}
    paths = write_plots(compare(plain), plain, tmp_path / "plain")
    # Figs. 2, 9, 1, 3, 5, 7 and 4: nothing there waits for a lock (Fig. 6).
    names = ["leaf", "functionality", "orchestration", "memory", "kernel", "c_libraries", "copies"]
    assert [each.stem for each in paths] == names
