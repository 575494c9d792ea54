"""An echo server with a Python handler for benches/server_thrift.py and benches/server_grpc.py.

    python accelflow_python.py INTERFACE [CERTIFICATE KEY]

BENCH_HANDLER_THREADS in the environment sets the number of gRPC handler threads. Prints its port
and serves until standard input ends.
"""

import os
import sys
from typing import Any

from accelflow import Server


def main() -> None:
    options: dict[str, Any] = {}
    if len(sys.argv) == 4:
        options = {"certificate": sys.argv[2], "key": sys.argv[3]}
    if threads := os.environ.get("BENCH_HANDLER_THREADS"):
        options["handler_threads"] = int(threads)
    server = Server(sys.argv[1], **options)
    if sys.argv[1].endswith(".proto"):
        server.handle("Bench.Echo", lambda arguments: arguments)
    else:
        server.handle("Bench.echo", lambda arguments: arguments["value"])
    print(server.start(), flush=True)
    sys.stdin.read()
    server.stop(1.0)


if __name__ == "__main__":
    main()
