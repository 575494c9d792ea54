"""Doubles of Thrift that JSON has no numbers for: NaN and the infinities."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from thrift.Thrift import TApplicationException

from accelflow import CallError, Client, DeclaredError, Server
from accelflow.client import CallLimits
from accelflow.settings import Observability
from thrift_client import INTERFACE, PROTOCOLS, Item, connect

NUMBERS = {"a": math.inf, "b": -math.inf, "c": math.nan, "d": -0.0, "e": 0.1}

OWN = """
struct Point { 1: double x, 2: string text }
exception Far { 1: double distance }
service Plane {
    double half(1: double x)
    list<double> all(1: list<double> numbers, 2: map<i32, double> by, 3: Point point)
    map<double, double> swap(1: map<double, double> numbers)
    double fail(1: double x) throws (1: Far far)
}
"""


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, and NaNs stand where NaNs do."""
    return repr(one) == repr(other)


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.__name__)
def test_apache_thrift_clients_send_and_receive_them(tmp_path: Path, protocol: type) -> None:
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    seen = []

    def echo(arguments: dict[str, Any]) -> Any:
        seen.append(arguments["value"]["shares"])
        return arguments["value"]

    server = Server(path)
    server.handle("Calculator.echo", echo)
    with server, connect(server.port, protocol) as client:
        item = client.call("echo", value=Item(text="NaN", shares=NUMBERS))
    assert same(seen, [NUMBERS])
    assert same(item.shares, NUMBERS)
    assert item.text == "NaN"


def plane(tmp_path: Path, **options: Any) -> Server:
    path = tmp_path / "plane.thrift"
    path.write_text(OWN, encoding="utf-8")
    server = Server(path, **options)

    def fail(arguments: dict[str, Any]) -> float:
        raise DeclaredError("far", {"distance": -arguments["x"]})

    async def swap(arguments: dict[str, Any]) -> list[list[float]]:
        return [[value, key] for key, value in arguments["numbers"]]

    def gathered(arguments: dict[str, Any]) -> list[float]:
        numbers = [*arguments["numbers"], *(value for _, value in arguments["by"])]
        assert arguments["point"]["text"] == "Infinity"
        return [*numbers, arguments["point"]["x"]]

    server.handle("Plane.half", lambda arguments: arguments["x"] / 2)
    server.handle("Plane.all", gathered)
    server.handle("Plane.swap", swap)
    server.handle("Plane.fail", fail)
    return server


def check(client: Client) -> None:
    for number in (math.inf, -math.inf, math.nan, 3.0):
        assert same(client.call("Plane.half", {"x": number}), number / 2)
    given = {
        "numbers": [math.nan, 1.5],
        "by": [[1, -math.inf], [2, 0.0]],
        "point": {"x": math.inf, "text": "Infinity"},
    }
    assert same(client.call("Plane.all", given), [math.nan, 1.5, -math.inf, 0.0, math.inf])
    swapped = client.call("Plane.swap", {"numbers": [[math.inf, math.nan]]})
    assert same(swapped, [[math.nan, math.inf]])
    with pytest.raises(DeclaredError) as raised:
        client.call("Plane.fail", {"x": math.inf})
    assert raised.value.args == ("far", {"distance": -math.inf})


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("protocol", ["binary", "compact"])
def test_python_has_them_as_floats_on_both_sides(
    tmp_path: Path, protocol: str, compress: bool
) -> None:
    with plane(tmp_path) as server:
        client = Client(
            tmp_path / "plane.thrift",
            f"127.0.0.1:{server.port}",
            protocol=protocol,  # type: ignore[arg-type]
            compress=compress,
            limits=CallLimits(timeout_s=60.0),
        )
        check(client)


def test_servers_that_record_have_them_too(tmp_path: Path) -> None:
    with plane(tmp_path, observability=Observability(record=True)) as server:
        check(Client(tmp_path / "plane.thrift", f"127.0.0.1:{server.port}"))


def test_other_types_do_not_take_them(tmp_path: Path) -> None:
    path = tmp_path / "calculator.thrift"
    path.write_text(INTERFACE, encoding="utf-8")
    server = Server(path, observability=Observability(verbose_errors=True))
    server.handle("Calculator.add", lambda _: math.nan)
    said = pytest.raises(TApplicationException, match="must be i64")
    with server, connect(server.port) as client, said:
        client.call("add", a=1, b=2)


TYPES = """
exception Bad { 1: string why }
struct Point { 1: double x, 2: optional string text }
service Types {
    string text(1: string v) throws (1: Bad bad)
    binary bytes(1: binary v)
    i32 number(1: i32 v)
    map<string, string> texts(1: map<string, string> v)
    map<i32, string> numbered(1: map<i32, string> v)
    list<string> many(1: list<string> v)
    Point point(1: Point v)
    void nothing(1: string v)
    map<double, double> doubles(1: map<double, double> v)
}
"""

#: Values that have a float where the interface has no double, and the type that it has.
WRONG: list[tuple[str, Callable[[float], Any], str]] = [
    ("text", lambda it: it, "string"),
    ("bytes", lambda it: it, "binary"),
    ("number", lambda it: it, "i32"),
    ("texts", lambda it: {"a": "b", "c": it}, "string"),
    ("numbered", lambda it: [[1, it]], "string"),
    ("many", lambda it: ["a", it], "string"),
    ("point", lambda it: {"x": math.inf, "text": it}, "string"),
]


def types(tmp_path: Path, **options: Any) -> tuple[Server, list[Any]]:
    """A server whose handlers return what is put in the list, or raise it."""
    path = tmp_path / "types.thrift"
    path.write_text(TYPES, encoding="utf-8")
    given: list[Any] = []

    def answer(_: dict[str, Any]) -> Any:
        if isinstance(given[0], Exception):
            raise given[0]
        return given[0]

    async def later(arguments: dict[str, Any]) -> Any:
        return answer(arguments)

    server = Server(path, observability=Observability(verbose_errors=True, **options))
    for number, (method, *_) in enumerate([*WRONG, ("nothing",), ("doubles",)]):
        server.handle(f"Types.{method}", later if number % 2 else answer)
    return server, given


FORMS = pytest.mark.parametrize(
    ("record", "compress"), [(False, False), (True, False), (False, True)]
)


@FORMS
def test_only_doubles_take_them(tmp_path: Path, record: bool, compress: bool) -> None:
    server, given = types(tmp_path, record=record)
    fitting = {"text": "", "number": 1, "bytes": "", "point": {"x": 1.0}, "texts": {}}
    with server:
        client = Client(tmp_path / "types.thrift", f"127.0.0.1:{server.port}", compress=compress)
        for method, make, kind in WRONG:
            for number, name in ((math.nan, "NaN"), (math.inf, "inf"), (-math.inf, "-inf")):
                said = f"is the float {name}: must be {kind}, as in the schema"
                given[:] = [make(number)]
                with pytest.raises(CallError, match=said) as raised:
                    client.call(f"Types.{method}", {"v": given[0]})
                assert (raised.value.reason, raised.value.executed) == ("wrong_json_type", "no")
                with pytest.raises(CallError, match=said) as raised:
                    client.call(f"Types.{method}", {"v": fitting.get(method, [])})
                assert raised.value.executed == "yes"


@FORMS
def test_doubles_and_texts_stay_apart(tmp_path: Path, record: bool, compress: bool) -> None:
    server, given = types(tmp_path, record=record)
    with server:
        client = Client(tmp_path / "types.thrift", f"127.0.0.1:{server.port}", compress=compress)
        given[:] = [[[math.inf, math.nan]]]
        assert same(client.call("Types.doubles", {"v": given[0]}), given[0])
        given[:] = ["NaN"]
        assert client.call("Types.text", {"v": "Infinity"}) == "NaN"
        given[:] = [DeclaredError("bad", {"why": math.nan})]
        with pytest.raises(CallError, match="'why' is the float NaN: must be string"):
            client.call("Types.text", {"v": "a"})
        # Not as None, which JSON text has for NaN.
        given[:] = [math.nan]
        with pytest.raises(CallError, match=r"result.*success"):
            client.call("Types.nothing", {"v": "a"})
        given[:] = ["a"]
        with pytest.raises(CallError, match="none"):
            client.call("Types.none", {"v": math.nan})
