"""Rules of profiles: which frames belong to which categories, and which they divide."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accelflow import InputError
from accelflow.profiles import OTHER, Rules, breakdown, read
from accelflow.profiles.frames import function_name
from accelflow.profiles.rules import DEFAULT
from conftest import ROOT
from profile_texts import FOLDED, PERF, profile_of, shares


def test_rules_can_be_edited(tmp_path: Path) -> None:
    rules = Rules.parse("[functionality]\napplication_logic = ['^lookup$']\n", "mine")
    result = breakdown(read(profile_of(FOLDED, tmp_path)), rules)
    assert shares(result["functionality"]) == {"application_logic": 0.25, "other": 0.75}
    assert shares(result["leaf"]) == {"other": 1.0}
    assert result["leaf"][-1]["ideal_speedup_percent"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[leaves]", "mine: table name = 'leaves': must be leaf, functionality, dispatcher"),
        ("[leaf]\ncopy = []", "mine: leaf: category name = 'copy': must be memory, kernel"),
        ("[leaf]\nmemory = 'x'", "mine: leaf.memory = 'x': must be a list"),
        ("[leaf]\nmemory = [1]", "mine: leaf.memory[0] = 1: must be a string"),
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
