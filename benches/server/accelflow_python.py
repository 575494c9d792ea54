"""An echo server with a Python handler for benches/server_thrift.py and benches/server_grpc.py.

    python accelflow_python.py INTERFACE [CERTIFICATE KEY]

BENCH_HANDLER_THREADS in the environment sets the number of gRPC handler threads. Prints its port
and serves until standard input ends.
"""

import os
import sys

from accelflow import Execution, Server, Tls


def main() -> None:
    tls = Tls(certificate=sys.argv[2], key=sys.argv[3]) if len(sys.argv) == 4 else None
    threads = os.environ.get("BENCH_HANDLER_THREADS")
    execution = Execution(handler_threads=int(threads)) if threads else Execution()
    server = Server(sys.argv[1], tls=tls, execution=execution)
    if sys.argv[1].endswith(".proto"):
        server.handle("Bench.Echo", lambda arguments: arguments)
    else:
        server.handle("Bench.echo", lambda arguments: arguments["value"])
    print(server.start(), flush=True)
    sys.stdin.read()
    server.stop(1.0)


if __name__ == "__main__":
    main()
