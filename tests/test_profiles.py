"""Profiles: folded stacks and perf script in the categories of the Accelerometer paper."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from accelflow import InputError
from accelflow.profiles import OTHER, Functionality, Leaf, Rules, breakdown, read

SCRIPT = Path(sys.executable).with_name("accelflow")

FOLDED = """\
server;main;handle;ThriftSerializer::write;memcpy 30
server;main;handle;compress_reply;ZSTD_compressBlock_fast 20
server;main;send_reply;sendmsg;entry_SYSCALL_64_[k];tcp_sendmsg_[k] 25
server;main;handle;lookup 15
server;main;handle;lookup;__strlen_avx2 10
"""

PERF = """\
# captured on: a machine
server 4711/4712 [003] 81234.567890:     250000 cycles:ppp:
        ffffffff81a01234 tcp_sendmsg+0x4c ([kernel.kallsyms])
            7f01c0ffee00 __libc_sendmsg+0x1f (/usr/lib/libc.so.6)
            55d0deadbeef send_reply+0x10 (/opt/server)

my server 4711 81234.667890:     750000 cycles:
            7f01c0ffee42 __memmove_avx_unaligned_erms+0x42 (/usr/lib/libc.so.6)
            55d0deadbe00 ThriftSerializer::write(char const*, int)+0x20 (/opt/server)
            55d0deadb000 [unknown] (/opt/server)

"""


def profile_of(text: str, tmp_path: Path) -> Path:
    path = tmp_path / "profile.txt"
    path.write_text(text)
    return path


def shares(rows: list[dict[str, object]]) -> dict[object, object]:
    return {row["category"]: row["share_ratio"] for row in rows if row["weight"]}


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


def test_what_acceleration_buys(tmp_path: Path) -> None:
    result = breakdown(read(profile_of(FOLDED, tmp_path)), acceleration_ratio=3)
    memory = result["leaf"][0]
    assert memory["category"] == "memory"
    assert memory["speedup_percent"] == pytest.approx(25)
    assert memory["ideal_speedup_percent"] == pytest.approx(100 * 0.3 / 0.7)
    assert "SIMD" in memory["opportunity"]
    with pytest.raises(InputError, match="acceleration_ratio = 0: must be above 0"):
        breakdown(read(profile_of(FOLDED, tmp_path)), acceleration_ratio=0)


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


def test_perf_script_without_stacks_and_without_periods(tmp_path: Path) -> None:
    text = (
        "server 1 [000] 1.5: cycles:u:  7f01c0ffee42 malloc+0x2 (/usr/lib/libc.so.6)\n"
        "server 1 [000] 1.6: cycles:u:  ffffffff81000000 do_idle+0x2 ([kernel.kallsyms])\n"
    )
    profile = read(profile_of(text, tmp_path))
    assert profile.stacks == {("server", "malloc"): 1, ("server", "do_idle_[k]"): 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no samples"),
        ("# nothing\n\n", "no samples"),
        ("main;work\n", "profile.txt:1: 'main;work'; must be frames joined by ';'"),
        ("main;work 3\nmain;work x\n", "profile.txt:2:"),
        ("main;work -3\n", "profile.txt:1:"),
        ("main;work 0\n", "no samples"),
        (PERF + "what is this\n", "profile.txt:12: 'what is this'; must be a sample of"),
    ],
)
def test_text_that_is_no_profile(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(profile_of(text, tmp_path))
    assert message in str(caught.value)


def test_rules_can_be_edited(tmp_path: Path) -> None:
    rules = Rules.parse("[functionality]\napplication_logic = ['^lookup$']\n", "mine")
    result = breakdown(read(profile_of(FOLDED, tmp_path)), rules)
    assert shares(result["functionality"]) == {"application_logic": 0.25, "other": 0.75}
    assert shares(result["leaf"]) == {"other": 1.0}
    assert result["leaf"][-1]["ideal_speedup_percent"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[leaves]", "mine: unknown table 'leaves'; known are leaf, functionality"),
        ("[leaf]\ncopy = []", "mine: leaf: unknown category 'copy'; known are memory, kernel"),
        ("[leaf]\nmemory = 'x'", "mine: leaf.memory = 'x'; must be a list"),
        ("[leaf]\nmemory = [1]", "mine: leaf.memory[0] = 1; must be a text"),
        ("[leaf]\nmemory = ['(']", "mine: leaf.memory[0] = '('; must be a regular expression"),
        ("leaf = 3", "mine: leaf = 3; must be a table"),
        ("[leaf", "mine: "),
    ],
)
def test_bad_rules_name_place_value_and_rule(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules.parse(text, "mine")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("function", "category"),
    [
        ("__memcpy_evex_unaligned_erms", "memory"),
        ("_int_malloc", "memory"),
        ("cfree@GLIBC_2.2.5", "memory"),
        ("operator new(unsigned long)", "memory"),
        ("finish_task_switch.isra.0_[k]", "kernel"),
        ("ZSTD_decompressSequences_bmi2", "zstd"),
        ("SHA256_Update", "hashing"),
        ("__pthread_mutex_lock", "synchronization"),
        ("mkl_blas_avx512_sgemm", "math"),
        ("aesni_gcm_encrypt", "ssl"),
        ("std::vector<int>::push_back", "c_libraries"),
        ("my_function", "other"),
    ],
)
def test_built_in_rules_know_common_functions(function: str, category: str) -> None:
    assert Rules.default().leaf_of((function,)) == category


def test_command(tmp_path: Path) -> None:
    path = str(profile_of(FOLDED, tmp_path))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, "profile", *arguments], capture_output=True, text=True, check=False
        )

    done = run(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "serialization" in done.stdout
    assert "other is mostly lookup" in done.stdout
    assert json.loads(run(path, "--json").stdout)["schema"] == "accelflow.profile/1"
    own = tmp_path / "rules.toml"
    own.write_text(run("--print-rules").stdout)
    assert run(path, "--rules", str(own)).stdout == done.stdout
    missing = run()
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1
