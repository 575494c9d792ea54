"""Servers whose handler is a coroutine that sleeps, for benches/server_coroutines.py.

    python coroutines.py accelflow|grpc_aio SECONDS

Prints its port, and serves until its standard input ends.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import grpc

from accelflow import Server

SECONDS = float(sys.argv[2])


def serve() -> None:
    async def echo(arguments: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(SECONDS)
        return arguments

    server = Server(Path(__file__).with_name("bench.proto"))
    server.handle("Bench.Echo", echo)
    with server:
        print(server.port, flush=True)
        sys.stdin.read()


async def serve_aio() -> None:
    messages, services = grpc.protos_and_services("bench.proto")  # found beside this file

    class Echo(services.BenchServicer):  # type: ignore[misc, name-defined]
        async def Echo(self, request: Any, context: Any) -> Any:  # noqa: N802 (the interface's name)
            await asyncio.sleep(SECONDS)
            return messages.Item(text=request.text)

    server = grpc.aio.server()
    services.add_BenchServicer_to_server(Echo(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(1.0)


if __name__ == "__main__":
    if sys.argv[1] == "grpc_aio":
        asyncio.run(serve_aio())
    else:
        serve()
