"""Python servers for benches/stacks/capture.py: thrift, grpc or grpc_aio.

Prints its port once it listens, and serves until it is killed. The Thrift code is generated into a
folder on PYTHONPATH, and gRPC's is made from users.proto beside this file.
"""

import asyncio
import hashlib
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TFramedTransportFactory
from users import Users

MESSAGES, SERVICES = grpc.protos_and_services("users.proto")


class PasswordTable:
    """The application logic."""

    def derive(self, name: str, password: str) -> str:
        """Derive a token by many rounds of SHA-256."""
        state = (name + password).encode()
        for _ in range(400):
            state = hashlib.sha256(state).digest()
        return state.hex()


TABLE = PasswordTable()


class UsersHandler:
    def Login(self, name: str, password: str) -> str:  # noqa: N802 (the interface's name)
        return TABLE.derive(name, password)


class UsersServicer(SERVICES.UsersServicer):  # type: ignore[misc, name-defined]
    def Login(self, request: Any, context: Any) -> Any:  # noqa: N802 (the interface's name)
        return MESSAGES.Token(text=TABLE.derive(request.name, request.password))


class AsyncUsersServicer(SERVICES.UsersServicer):  # type: ignore[misc, name-defined]
    async def Login(self, request: Any, context: Any) -> Any:  # noqa: N802 (the interface's name)
        return MESSAGES.Token(text=TABLE.derive(request.name, request.password))


def serve_thrift() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    listener = TServerSocket("127.0.0.1", port)
    listener.listen()
    listener.listen = lambda: None
    print(port, flush=True)
    factories = TFramedTransportFactory(), TBinaryProtocolFactory()
    TThreadedServer(Users.Processor(UsersHandler()), listener, *factories, daemon=True).serve()


def serve_grpc() -> None:
    server = grpc.server(ThreadPoolExecutor(max_workers=10))
    SERVICES.add_UsersServicer_to_server(UsersServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    server.wait_for_termination()


async def serve_grpc_aio() -> None:
    server = grpc.aio.server()
    SERVICES.add_UsersServicer_to_server(AsyncUsersServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    if sys.argv[1] == "grpc_aio":
        asyncio.run(serve_grpc_aio())
    else:
        {"thrift": serve_thrift, "grpc": serve_grpc}[sys.argv[1]]()
