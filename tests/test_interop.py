"""The interoperation matrix: clients that no one here wrote, each protocol, each transport.

`scripts/interop build` makes the clients; those that it could not make here are skipped.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent / "interop"))

import matrix


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, tuple[int, Path | None]]]:
    with matrix.servers() as running:
        yield running


@pytest.mark.parametrize("transport", matrix.TRANSPORTS)
@pytest.mark.parametrize("protocol", matrix.PROTOCOLS)
@pytest.mark.parametrize("client", matrix.LIBRARIES)
def test_the_client_is_answered(
    servers: dict[str, tuple[int, Path | None]], client: str, protocol: str, transport: str
) -> None:
    start = matrix.command(client)
    if start is None:
        pytest.skip(f"not built: scripts/interop build {client}")
    port, ca = servers[transport]
    assert matrix.run_cell(start, port, protocol, ca) == ""
