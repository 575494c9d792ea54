"""`accelflow record`: the cost of requests, for `accelflow compare --recording`."""

import datetime
import http.client
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from accelflow import Server, _native
from accelflow.calibration import measure
from accelflow.cli.naming import left_out
from accelflow.cli.output import bar
from accelflow.cli.places import written_as
from accelflow.errors import LEFT_OUT, AccelflowError, InputError, refused, unreadable, unwritable
from accelflow.files import parse_json, read_text, why, write_whole
from accelflow.handlers import find_setup, set_up
from accelflow.recordings import completed
from accelflow.scenario import WORKLOADS
from accelflow.settings import Observability, Tls
from accelflow.signals import StopSignals
from accelflow.workload import is_file, load_workload

#: Time limit in seconds for a running server's answer.
_TIMEOUT_S: Final = 30.0

#: Size limit in bytes of a recording from a server.
_MAX_BYTES: Final = 64 << 20

_FILE = click.Path(path_type=Path, dir_okay=False)


class _UnrecordedError(InputError):
    """The answer of a running server that cannot record: it has the status 409 (Conflict)."""


@dataclass(frozen=True)
class _Settings:
    """Settings of the server that `accelflow record` starts and records."""

    interface: Path
    certificate: Path
    key: Path
    host: str
    port: int
    seconds: float


@click.command("record")
@click.argument("source", required=False, metavar="[MODULE:FUNCTION|WORKLOAD]")
@click.option(
    "--from",
    "address",
    metavar="http://HOST:PORT",
    help="Read the recording of a running server, from its HTTP port for operators.",
)
@click.option(
    "--service",
    "services",
    multiple=True,
    metavar="FUNCTION=NAME",
    help="Record FUNCTION, a Service.method, as the service NAME, such as CPost; with WORKLOAD, "
    "give NAME alone, a service to run. Repeatable.",
)
@click.option(
    "--base",
    type=_FILE,
    metavar="FILE",
    help="A recording from which all other services are taken, and those that no request reached.",
)
@click.option(
    "--out", type=written_as(".json"), required=True, metavar="FILE", help="File for the recording."
)
@click.option(
    "--interface",
    type=_FILE,
    metavar="FILE",
    help="The server's .thrift or .proto file; required with MODULE:FUNCTION.",
)
@click.option(
    "--certificate",
    type=_FILE,
    metavar="FILE.pem",
    help="Certificate chain of the server; required with MODULE:FUNCTION.",
)
@click.option(
    "--key",
    type=_FILE,
    metavar="FILE.pem",
    help="Private key of the certificate; required with MODULE:FUNCTION.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any",
    help="Port to listen on.",
)
@click.option(
    "--seconds",
    type=float,
    default=30.0,
    show_default=True,
    help="Duration of the recording; SIGINT or SIGTERM ends it earlier.",
)
def record(
    source: str | None,
    address: str | None,
    services: tuple[str, ...],
    base: Path | None,
    out: Path,
    **options: Any,
) -> None:
    """Record the cost of each step of live requests.

    MODULE:FUNCTION receives an `accelflow.Server` and registers its handlers; the server then
    answers clients over TLS for --seconds. Alternatively, --from is the operators' port of a
    running server with `Observability(record=True)`. With WORKLOAD (a suite or a workload's file),
    its services run on built-in messages, without a server. `accelflow compare --recording FILE`
    simulates the recording.
    """
    if source is not None and address is not None:
        raise refused("--from", address, "must be left out with MODULE:FUNCTION or WORKLOAD")
    if source is None and address is None:
        raise refused(
            "--from",
            LEFT_OUT,
            "must be given, as http://HOST:PORT, unless MODULE:FUNCTION or WORKLOAD is given",
        )
    served = source is not None and not (is_file(source) or source in WORKLOADS)
    if not served:
        by = f" with --from {address}" if address is not None else f": the workload {source}"
        left_out(
            click.get_current_context(),
            f"{by}{' needs no server' if address is None else ''}",
            ("source", "address", "services", "base", "out"),
        )
    filled = _read(base) if base else None
    if source is not None and not served:
        text = _run(source, services)
    else:
        names = _names(services)
        if address is not None:
            text = _asked(lambda some: _fetched(address, some), names)
        else:
            text = _served(str(source), _settings(**options), names)
        _warn_of_missing(text, names, base, filled)
    recorded = [service["service"] for service in parse_json(text)["services"]]
    if filled is not None:
        text = completed(text, filled)
    try:
        write_whole(out, lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise unwritable("--out", out, error) from error
    click.echo(f"wrote {out}: {', '.join(recorded)}", err=True)


def _run(source: str, names: tuple[str, ...]) -> str:
    """Run the services of the workload `source` on built-in messages; return the recording."""
    workload = load_workload(source) if is_file(source) else source
    with bar(Console(stderr=True), "running") as advance:
        try:
            return measure(advance, workload, names)
        except AccelflowError as error:
            raise InputError(f"{source}: {error}", error.place) from error


_FORM_OF_SERVICE: Final = "must be FUNCTION=NAME, as in Text.ComposeText=CPost"


def _names(services: tuple[str, ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    if not services:
        raise refused("--service", LEFT_OUT, _FORM_OF_SERVICE)
    for text in services:
        function, _, name = text.partition("=")
        if not function or not name:
            raise refused("--service", text, _FORM_OF_SERVICE)
        if function in names or name in names.values():
            allowed = "must have a FUNCTION and a NAME that no other --service has"
            raise refused("--service", text, allowed)
        names[function] = name
    return names


def _read(file: Path) -> str:
    try:
        text = read_text(file)
        _native.check_recording(text)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable("--base", file, error) from error
    except AccelflowError as error:
        raise refused("--base", str(file), f"must be a valid recording: {error}") from error
    return text


def _settings(**options: Any) -> _Settings:
    missing = [f"--{name}" for name in ("interface", "certificate", "key") if not options[name]]
    if missing:
        raise refused(
            missing[0],
            LEFT_OUT,
            "must be given to serve MODULE:FUNCTION: the server needs --interface, --certificate"
            " and --key, as only requests over TLS can be simulated",
        )
    if not 0 < options["seconds"] <= 1e6:
        raise refused("--seconds", options["seconds"], "must be above 0 and at most 1000000")
    return _Settings(**options)


def _served(handlers: str, settings: _Settings, names: dict[str, str]) -> str:
    setup = find_setup(handlers)
    _check_names(settings.interface, names)
    server = Server(
        settings.interface,
        tls=Tls(certificate=settings.certificate, key=settings.key),
        observability=Observability(record=True),
    )
    set_up(handlers, setup, server)
    with StopSignals() as stop:
        server.start(settings.host, settings.port)
        try:
            click.echo(
                f"recording on {settings.host} port {server.port} for {settings.seconds:g} s",
                err=True,
            )
            stop.wait(settings.seconds)
            return _asked(server.recording, names)
        finally:
            server.stop()


def _asked(record: Callable[[dict[str, str]], str], names: dict[str, str]) -> str:
    """Return the recording of the functions in `names` that have had requests.

    A server refuses the whole recording if one function has had none. Then this asks for each
    function alone, and again for those that can be recorded. `record` returns the recording of the
    functions that it is given, or raises AccelflowError. If no function can be recorded, this
    raises the error of the first attempt.
    """
    try:
        return record(names)
    except AccelflowError as error:
        if not _lacks_requests(error):
            raise
        kept = {function: name for function, name in names.items() if _has(record, function, name)}
        if not kept:
            raise
    return record(kept)


def _has(record: Callable[[dict[str, str]], str], function: str, name: str) -> bool:
    try:
        record({function: name})
    except AccelflowError as error:
        if not _lacks_requests(error):
            raise
        return False
    return True


def _lacks_requests(error: AccelflowError) -> bool:
    """Whether a function without requests can be the reason of `error`; the text does not matter.

    A server of this process raises InputError for all settings that it refuses. Where a server
    records nothing at all, each function alone has the same error.
    """
    return isinstance(error, _UnrecordedError) or not isinstance(error, InputError)


def _warn_of_missing(
    text: str, names: dict[str, str], base: Path | None, filled: str | None
) -> None:
    """Say which functions have had no request, and what the recording has instead."""
    recorded = {service["service"] for service in parse_json(text)["services"]}
    others = {
        service["service"] for service in parse_json(filled or '{"services": []}')["services"]
    }
    for function, name in names.items():
        if name in recorded:
            continue
        instead = f"has no {name}" if name not in others else f"has the {name} of --base {base}"
        click.echo(
            f"accelflow: warning: --service {function}={name}: had no request that succeeded; the"
            f" recording {instead}",
            err=True,
        )


def _check_names(interface: Path, names: dict[str, str]) -> None:
    """Raise InputError for a function that the interface does not have.

    At the end of the recording it would be too late.
    """
    server = Server(interface)
    for function, name in names.items():
        try:
            server.handle(function, lambda _: None)
        except AccelflowError as error:
            allowed = f"must begin with a function of the interface: {error}"
            raise refused("--service", f"{function}={name}", allowed) from error


def _fetched(address: str, names: dict[str, str]) -> str:
    host_and_port = _host_and_port(address)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    query = urllib.parse.urlencode({"date": today} | names)
    url = f"http://{host_and_port}/recording?{query}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            data = response.read(_MAX_BYTES + 1)
    except urllib.error.HTTPError as error:
        message = error.read(1_000).decode(errors="replace").strip()
        found = refused(
            "--from",
            address,
            "must be the `admin` address of a server that can make this recording; the server"
            f" answered: {message or error}",
        )
        if error.code == HTTPStatus.CONFLICT:
            found = _UnrecordedError(str(found), found.place)
        raise found from error
    except http.client.HTTPException as error:  # such as a TLS port's answer
        allowed = "must be the `admin` address of a running server: the answer there is not HTTP"
        raise refused("--from", address, allowed) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        message = why(reason) if isinstance(reason, Exception) else str(reason)
        raise refused(
            "--from", address, f"must be the `admin` address of a running server: {message}"
        ) from error
    try:
        text: str = data.decode()
        _native.check_recording(text)
    except (UnicodeDecodeError, AccelflowError) as error:
        raise refused(
            "--from", address, f"must be the `admin` address of a server that records: {error}"
        ) from error
    return text


def _host_and_port(address: str) -> str:
    """Return HOST:PORT of an address http://HOST:PORT. Raises InputError for another form."""
    allowed = "must be http://HOST:PORT, with a port from 1 to 65535"
    try:
        parts = urllib.parse.urlsplit(address)
        port = parts.port
    except ValueError as error:  # a bad port, or a bracket without its other
        raise refused("--from", address, allowed) from error
    others = (parts.path.strip("/"), parts.query, parts.fragment)
    plain = re.fullmatch(r"[^\s@\x00-\x1f\x7f]+", parts.netloc)
    if parts.scheme != "http" or not parts.hostname or port == 0 or any(others) or not plain:
        raise refused("--from", address, allowed)
    return parts.netloc
