"""The server with a handler in Python for benches/server_thrift.py.

    python accelflow_python.py INTERFACE [CERTIFICATE KEY]

Prints its port, and serves until its standard input ends.
"""

import sys
from typing import Any

from accelflow import Server


def main() -> None:
    options: dict[str, Any] = {}
    if len(sys.argv) == 4:
        options = {"certificate": sys.argv[2], "key": sys.argv[3]}
    server = Server(sys.argv[1], **options)
    server.handle("Bench.echo", lambda arguments: arguments["value"])
    print(server.start(), flush=True)
    sys.stdin.read()
    server.stop(1.0)


if __name__ == "__main__":
    main()
