"""What tests of profiles share: profiles as text, and the command that reads them."""

import subprocess
import sys
from pathlib import Path

FOLDED = """\
server;main;handle;ThriftSerializer::write;memcpy 30
server;main;handle;compress_reply;ZSTD_compressBlock_fast 20
server;main;send_reply;sendmsg;entry_SYSCALL_64_[k];tcp_sendmsg_[k] 25
server;main;handle;lookup 15
server;main;handle;lookup;__strlen_avx2 10
"""

PERF = """\
# captured on: a machine
server 4711/4712 [003] 81234.567890:     250000 cycles:ppp:
        ffffffff81a01234 tcp_sendmsg+0x4c ([kernel.kallsyms])
            7f01c0ffee00 __libc_sendmsg+0x1f (/usr/lib/libc.so.6)
            55d0deadbeef send_reply+0x10 (/opt/server)

my server 4711 81234.667890:     750000 cycles:
            7f01c0ffee42 __memmove_avx_unaligned_erms+0x42 (/usr/lib/libc.so.6)
            55d0deadbe00 ThriftSerializer::write(char const*, int)+0x20 (/opt/server)
            55d0deadb000 [unknown] (/opt/server)

"""

TWO_EVENTS = """\
server 7 [001] 1.000: 100 cycles:u:
        7f01 __memmove_avx_unaligned_erms+0x4 (/usr/lib/libc.so.6)
        55d0 copy_rows+0x10 (/opt/server)

server 7 [001] 1.000: 50 instructions:u:
        7f01 __memmove_avx_unaligned_erms+0x4 (/usr/lib/libc.so.6)
        55d0 copy_rows+0x10 (/opt/server)

server 7 [001] 1.002: 300 cycles:u:
        7f02 ZSTD_compressBlock_fast+0x4 (/usr/lib/libzstd.so.1)

server 7 [001] 1.003: 900 instructions:u:
        7f02 ZSTD_compressBlock_fast+0x4 (/usr/lib/libzstd.so.1)
"""


def profile_of(text: str, tmp_path: Path) -> Path:
    path = tmp_path / "profile.txt"
    path.write_text(text)
    return path


def shares(rows: list[dict[str, object]]) -> dict[object, object]:
    return {row["category"]: row["share_ratio"] for row in rows if row["weight"]}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("accelflow")
    return subprocess.run(
        [script, "profile", *arguments], capture_output=True, text=True, check=False
    )
