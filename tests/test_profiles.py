"""Profiles: folded stacks and perf script in the categories of the Accelerometer paper."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelflow import InputError
from accelflow.findings import targets
from accelflow.profiles import (
    OTHER,
    Functionality,
    Leaf,
    Rules,
    breakdown,
    compare,
    peak_ipc,
    read,
    references,
)
from accelflow.profiles.categories import PARTS
from accelflow.profiles.frames import function_name
from accelflow.profiles.plots import write_plots
from accelflow.profiles.references import REFERENCES, compared
from accelflow.profiles.rules import DEFAULT
from conftest import ROOT

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


TWO_EVENTS = """\
server 7 [001] 1.000: 100 cycles:u:
        7f01 __memmove_avx_unaligned_erms+0x4 (/usr/lib/libc.so.6)
        55d0 copy_rows+0x10 (/opt/server)

server 7 [001] 1.000: 50 instructions:u:
        7f01 __memmove_avx_unaligned_erms+0x4 (/usr/lib/libc.so.6)
        55d0 copy_rows+0x10 (/opt/server)

server 7 [001] 1.002: 300 cycles:u:
        7f02 ZSTD_compressBlock_fast+0x4 (/usr/lib/libzstd.so.1)

server 7 [001] 1.003: 900 instructions:u:
        7f02 ZSTD_compressBlock_fast+0x4 (/usr/lib/libzstd.so.1)
"""


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


def test_events_of_perf_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    misses = TWO_EVENTS.replace("instructions:u", "cache-misses:u")
    path = profile_of(misses, tmp_path)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value) == (
        f"{path}: event = left out: must be chosen with --event, since counts of cycles:u,"
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

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, "profile", path, *arguments], capture_output=True, text=True, check=False
        )

    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "weighed by cycles:u; there are also instructions:u\ninstructions per cycle (IPC): 2.38\n"
    )
    (zstd,) = [line for line in done.stdout.splitlines() if line.startswith("  zstd")]
    assert zstd.split()[-1] == "3.00"
    assert "IPC" not in run("--event", "instructions").stdout
    wrong = run("--event", "branches")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)


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
        ("", "profile.txt: number of samples = 0: must be above 0"),
        ("# nothing\n\n", "profile.txt: number of samples = 0: must be above 0"),
        ("main;work\n", "profile.txt:1: line = 'main;work': must be frames joined by ';'"),
        ("main;work 3\nmain;work x\n", "profile.txt:2:"),
        ("main;work -3\n", "profile.txt:1:"),
        ("main;work 0\n", "profile.txt: number of samples = 0: must be above 0"),
        (PERF + "what is this\n", "profile.txt:12: line = 'what is this': must be a sample of"),
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
        ("[leaves]", "mine: table = 'leaves': must be leaf, functionality, dispatcher"),
        ("[leaf]\ncopy = []", "mine: leaf: category = 'copy': must be memory, kernel"),
        ("[leaf]\nmemory = 'x'", "mine: leaf.memory = 'x': must be a list"),
        ("[leaf]\nmemory = [1]", "mine: leaf.memory[0] = 1: must be a text"),
        ("[leaf]\nmemory = ['(']", "mine: leaf.memory[0] = '(': must be a regular expression"),
        ("leaf = 3", "mine: leaf = 3: must be a table"),
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
        ("__GI___poll", "kernel"),
        ("__libc_recv", "kernel"),
        ("__send", "kernel"),
        ("Inbox::recv", "other"),
        ("my_function", "other"),
    ],
)
def test_built_in_rules_know_common_functions(function: str, category: str) -> None:
    assert Rules.default().leaf_of((function,)) == category


STACKS = ROOT / "tests" / "data" / "stacks"


@pytest.mark.parametrize(
    ("name", "expected", "handler"),
    [
        (
            "thrift-cpp",
            {
                "serialization": 0.10,
                "io_processing": 0.02,
                "secure_and_insecure_io": 0.26,
                "logging": 0.07,
                "thread_pool_management": 0.11,
                "other": 0.44,
            },
            {"function": "social_network::UserHandler::Login", "share_ratio": 0.44},
        ),
        (
            "grpc-cpp",
            {
                "serialization": 0.15,
                "io_processing": 0.10,
                "secure_and_insecure_io": 0.24,
                "logging": 0.03,
                "thread_pool_management": 0.10,
                "other": 0.38,
            },
            {"function": "GreeterServiceImpl::SayHello", "share_ratio": 0.38},
        ),
        (
            "python-servers",
            {
                "serialization": 0.24,
                "io_processing": 0.04,
                "secure_and_insecure_io": 0.15,
                "logging": 0.05,
                "thread_pool_management": 0.06,
                "other": 0.46,
            },
            {"function": "user_handler.py::Login", "share_ratio": 0.20},
        ),
    ],
)
def test_servers_do_not_claim_their_handlers(
    name: str, expected: dict[str, float], handler: dict[str, object]
) -> None:
    """Stacks of Thrift's threaded, pooled and nonblocking servers, of gRPC's synchronous and
    callback servers, and of both in Python, as py-spy and perf write them. The names are those of
    the libraries; what handlers are called, and the weights, are made up."""
    result = breakdown(read(STACKS / f"{name}.folded"))
    assert result["weight"] == 100
    assert shares(result["functionality"]) == expected
    assert result["functionality"][-1]["functions"][0] == handler


CAPTURED = sorted(path.stem for path in STACKS.glob("captured-*.folded"))

#: What the captured servers' handlers are called.
HANDLER = r"Users(Impl|Callbacks|Handler|Servicer)(::|\.)Login"


@pytest.mark.parametrize("name", CAPTURED)
def test_sampled_servers_leave_their_handlers_and_little_else_unclassified(name: str) -> None:
    """Stacks that benches/stacks/capture.py sampled from running servers of Thrift and gRPC."""
    profile = read(STACKS / f"{name}.folded")
    rules = Rules.default()
    below, servers_own = 0, 0
    for stack, weight in profile.stacks.items():
        found = rules.functionality_of(stack)
        if any(re.search(HANDLER, function_name(frame)) for frame in stack):
            # The kernel may interrupt a handler to schedule another thread.
            if not stack[-1].endswith("_[k]"):
                assert found.category == "other", stack
            below += weight if found.category == "other" else 0
            assert found.category != "other" or re.search(HANDLER, found.function), stack
        elif found.category == "other":
            servers_own += weight
    assert below > 0
    assert servers_own / profile.weight < 0.1

    # Once the handler is named, all of its work is application logic.
    own = f"[functionality]\napplication_logic = ['{HANDLER}']\n"
    named = Rules.parse(DEFAULT.replace("application_logic = []", ""), "built-in rules")
    added = Rules.parse(own, "own rules")
    named = replace(named, functionality=added.functionality + named.functionality)
    result = breakdown(profile, named)
    found = shares(result["functionality"])
    assert found["application_logic"] == pytest.approx(below / profile.weight)
    assert found.get("other", 0) < 0.1


def test_all_kinds_of_servers_were_sampled() -> None:
    assert CAPTURED == [
        "captured-grpc-aio-python",
        "captured-grpc-cpp-callback",
        "captured-grpc-cpp-sync",
        "captured-grpc-python",
        "captured-thrift-cpp-pool",
        "captured-thrift-cpp-threaded",
        "captured-thrift-python",
    ]
    for name in CAPTURED:
        how = (STACKS / f"{name}.folded").read_text().splitlines()[0]
        assert how.startswith(f"# {name.removeprefix('captured-')}: benches/stacks/capture.py on ")


@pytest.mark.parametrize(
    ("stack", "category"),
    [
        ("UserHandler::Login", "other"),
        ("UserHandler::LogOut", "other"),
        ("UserHandler::LogInUser", "other"),
        ("Audit::LogInfo", "logging"),
        ("AccessLogger::LogMessage;malloc", "logging"),
        ("handle;log", "other"),  # the logarithm
        ("handle;__ieee754_log_fma", "other"),
        ("HtmlParser::parse", "other"),  # no multilayer perceptron
        ("AudioBuffer::mix", "other"),  # no I/O buffer
        ("KeyValueStore::read", "other"),
        ("QueryExecutor::join", "other"),
        ("WebSocketRouter::route", "other"),
        ("decompress;ThreadPool::run;RouteDb::nearest", "other"),
        ("ThreadPool::run;pthread_cond_wait", "thread_pool_management"),
        ("clone3;start_thread;epoll_wait", "thread_pool_management"),
        ("clone3;start_thread;Poller::run;epoll_wait", "other"),
        (
            "apache::thrift::server::TServerFramework::serve();"
            "apache::thrift::transport::TServerSocket::acceptImpl();__GI___poll",
            "secure_and_insecure_io",
        ),
        (
            "run (threading.py:982);_serve (grpc/_server.py:1314)",
            "thread_pool_management",
        ),
        (
            "_unary_response_in_pool (grpc/_server.py:796);_status (grpc/_server.py:766)",
            "secure_and_insecure_io",
        ),
        ("handle;ThreadPool::submit;UnboundedQueue::insert", "thread_pool_management"),
        ("f(apache::thrift::protocol::TProtocol*, zlib::Stream<encrypt>)", "other"),
        ("std::unique_ptr<TProtocol> lookup<TBinaryProtocol>(int) const", "other"),
    ],
)
def test_functionality_of(stack: str, category: str) -> None:
    assert Rules.default().functionality_of(stack.split(";")).category == category


@given(frame=st.text(alphabet="ab:<>()[]{}*&~., '-_k\U0001f600operatnwus", min_size=1, max_size=60))
def test_any_frame_has_a_name_which_rules_can_be_asked_about(frame: str) -> None:
    name = function_name(frame)
    assert name
    assert len(name) <= len(frame) + frame.count("(anonymous namespace)") + 1
    assert Rules.default().functionality_of((frame,)).function == name


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        ("memcpy@plt", "memcpy@plt"),
        ("tcp_sendmsg_[k]", "tcp_sendmsg_[k]"),
        ("main.(*Server).handle", "main.(*Server).handle"),
        ("<alloc::vec::Vec<T> as Clone>::clone", "<alloc::vec::Vec<T> as Clone>::clone"),
        ("operator new(unsigned long)", "operator new"),
        ("std::ostream& operator<< <char>(std::ostream&, int)", "operator<<"),
        ("n::{lambda(int)#1}::operator()(int) const [clone .cold]", "n::{lambda#1}::operator()"),
        ("f<(anonymous namespace)::X>::g() const &", "f::g"),
        ("a::(anonymous namespace)::f(int (*)(char))", "a::{anonymous}::f"),
        ("handle (thrift/server/TServer.py:130)", "thrift/server/TServer.py::handle"),
        ("py::Server.handle:/opt/TServer.py", "/opt/TServer.py::Server.handle"),
        ("unbalanced(int", "unbalanced(int"),
    ],
)
def test_names_of_frames(frame: str, name: str) -> None:
    assert function_name(frame) == name


def test_the_name_of_a_command_is_no_function(tmp_path: Path) -> None:
    text = PERF.replace("my server", "tcp_logger").replace("ThriftSerializer::write", "work")
    rows = breakdown(read(profile_of(text, tmp_path)))["functionality"]
    assert shares(rows) == {"secure_and_insecure_io": 0.25, "other": 0.75}


def test_a_dispatcher_of_ones_own(tmp_path: Path) -> None:
    rules = Rules.parse(
        "[leaf]\nmemory = ['^malloc$']\n[functionality]\nlogging = ['^main$']\n"
        "[dispatcher]\nio_processing = ['^loop$']\nother = ['^silent$']\nruntime = ['^wait$']\n",
        "mine",
    )
    text = "main;loop 1\nmain;loop;wait;malloc 2\nmain;loop;get;malloc 4\nmain;silent 8\nmain 16\n"
    rows = breakdown(read(profile_of(text, tmp_path)), rules)["functionality"]
    assert {row["category"]: row["weight"] for row in rows if row["weight"]} == {
        "io_processing": 3,
        "logging": 16,
        "other": 12,
    }
    assert rows[-1]["functions"][1] == {"function": "get", "share_ratio": 4 / 31}


def test_command(tmp_path: Path) -> None:
    path = str(profile_of(FOLDED, tmp_path))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, "profile", *arguments], capture_output=True, text=True, check=False
        )

    done = run(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "serialization" in done.stdout
    assert "  unclassified: 15.0 %, mostly lookup (15.0 %)\n" in done.stdout
    assert "  unclassified: 25.0 %, mostly lookup (15.0 %), __strlen_avx2 (10.0 %)" in done.stdout
    assert json.loads(run(path, "--json").stdout)["schema"] == "accelflow.profile/1"
    own = tmp_path / "rules.toml"
    own.write_text(run("--print-rules").stdout)
    assert run(path, "--rules", str(own)).stdout == done.stdout
    missing = run()
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


def test_parts_of_leaves_and_who_calls_them(tmp_path: Path) -> None:
    text = FOLDED + "server;main;handle;log_request;malloc 6\nserver;main;send_reply;memcpy 4\n"
    result = breakdown(read(profile_of(text, tmp_path)))
    parts = result["details"]["parts"]
    assert parts["memory"] == {"copy": 0.85, "allocation": 0.15}
    assert parts["kernel"] == {"network": 1.0}
    assert parts["c_libraries"] == {"strings": 1.0}
    callers = result["details"]["by_functionality"]
    assert callers["memory"] == {
        "serialization": 0.75,
        "logging": 0.15,
        "secure_and_insecure_io": 0.1,
    }
    assert callers["copies"] == pytest.approx(
        {"serialization": 30 / 34, "secure_and_insecure_io": 4 / 34}
    )
    # Every view is of all stacks: each category is divided without rest.
    for of in (parts, callers):
        for shares_of in of.values():
            assert sum(shares_of.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("leaf", "function", "part"),
    [
        ("memory", "__memmove_avx_unaligned_erms", "move"),
        ("memory", "__memcpy_avx_unaligned", "copy"),
        ("memory", "__memset_avx2_erms", "set"),
        ("memory", "__memcmp_evex_movbe", "compare"),
        ("memory", "cfree", "free"),
        ("memory", "_int_free", "free"),
        ("memory", "operator delete(void*)", "free"),
        ("memory", "operator new(unsigned long)", "allocation"),
        ("memory", "_int_malloc", "allocation"),
        ("memory", "runtime.mallocgc", "allocation"),
        ("kernel", "try_to_wake_up_[k]", "scheduler"),
        ("kernel", "ep_poll_[k]", "events"),
        ("kernel", "tcp_sendmsg_locked_[k]", "network"),
        ("kernel", "clear_page_erms_[k]", "memory_management"),
        ("kernel", "__softirqentry_text_start_[k]", OTHER),
        ("synchronization", "folly::MicroSpinLock::lock()", "spin_lock"),
        ("synchronization", "pthread_mutex_lock", "mutex"),
        ("c_libraries", "std::vector<int>::push_back(int&&)", "vectors"),
        ("c_libraries", "std::unordered_map<int, int>::find(int const&)", "hash_tables"),
    ],
)
def test_parts_of_common_leaves(leaf: str, function: str, part: str) -> None:
    rules = Rules.default()
    assert rules.leaf_of([function]) == leaf
    assert rules.part_of(leaf, [function]) == part


def test_core_work_and_orchestration(tmp_path: Path) -> None:
    rules = Rules.parse(
        "[functionality]\napplication_logic = ['^lookup$']\nserialization = ['Serializer']", "mine"
    )
    around = breakdown(read(profile_of(FOLDED, tmp_path)), rules)["orchestration"]
    assert around == {
        "core_ratio": 0.25,
        "orchestration_ratio": pytest.approx(0.3),
        "unknown_ratio": 0.45,
        "core_removed_percent": pytest.approx(100 / 3),
    }


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
    with pytest.raises(InputError, match="requests = 3: must be one number for each of 2 files"):
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

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPT, "profile", *arguments], capture_output=True, text=True, check=False
        )

    done = run(str(before), str(after))
    assert (done.returncode, done.stderr) == (0, "")
    assert "after.folded: 15.0 % of the cycles of before.folded freed" in done.stdout
    assert "-75.0 %" in done.stdout
    details = run(str(before), "--details").stdout
    assert "parts of kernel: network 100.0 %" in details
    assert "copies by functionality: serialization 100.0 %" in details
    assert "compression: 20.0 % here, 15 % in Feed1 (Accelerometer, Table 7)" in details
    wrong = run(str(before), str(after), "--requests", "1,x")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "must be numbers with commas" in wrong.stderr


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
