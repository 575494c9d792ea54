"""grpcio's servers for benches/server_grpc.py: an echo with code that protoc generates.

    python grpcio_python.py sync|aio [CERTIFICATE KEY]

Prints its port, and serves until its standard input ends.
"""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

MESSAGES, SERVICES = grpc.protos_and_services("bench.proto")  # found beside this file


class Echo(SERVICES.BenchServicer):  # type: ignore[misc, name-defined]
    def Echo(self, request: Any, context: Any) -> Any:  # noqa: N802 (the interface's name)
        return request


class AsyncEcho(SERVICES.BenchServicer):  # type: ignore[misc, name-defined]
    async def Echo(self, request: Any, context: Any) -> Any:  # noqa: N802 (the interface's name)
        return request


def listen(server: Any) -> int:
    if len(sys.argv) < 4:
        return server.add_insecure_port("127.0.0.1:0")
    chain, key = (Path(name).read_bytes() for name in sys.argv[2:4])
    credentials = grpc.ssl_server_credentials([(key, chain)])
    return server.add_secure_port("127.0.0.1:0", credentials)


def serve() -> None:
    server = grpc.server(ThreadPoolExecutor(max_workers=10))
    SERVICES.add_BenchServicer_to_server(Echo(), server)
    port = listen(server)
    server.start()
    print(port, flush=True)
    sys.stdin.read()
    server.stop(1.0).wait()


async def serve_aio() -> None:
    server = grpc.aio.server()
    SERVICES.add_BenchServicer_to_server(AsyncEcho(), server)
    port = listen(server)
    await server.start()
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop(1.0)


if __name__ == "__main__":
    if sys.argv[1] == "aio":
        asyncio.run(serve_aio())
    else:
        serve()
