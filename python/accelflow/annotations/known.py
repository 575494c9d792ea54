"""The calls that are operations of the datacenter tax, and the accelerators that do them."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Final

from accelflow.parameters import accelerators

__all__ = ["INPUTS", "NINE", "OWN", "TAX_CALLS", "carries_over", "names_of"]

#: The names of the paper's nine accelerators.
NINE: Final = accelerators()

#: The names of the custom accelerators in :data:`TAX_CALLS`.
OWN: Final = ("CRC32", "Adler32", "MD5", "SHA1", "SHA256", "SHA512", "BLAKE2")

#: The accelerator for each recognised function, by its name as :func:`names_of` yields it.
TAX_CALLS: Final = {
    "json.loads": "Dser",
    "json.dumps": "Ser",
    "orjson.loads": "Dser",
    "orjson.dumps": "Ser",
    "msgpack.unpackb": "Dser",
    "msgpack.packb": "Ser",
    "google.Message.ParseFromString": "Dser",
    "google.Message.FromString": "Dser",
    "google.Message.SerializeToString": "Ser",
    "thrift.deserialize": "Dser",
    "thrift.serialize": "Ser",
    "zlib.compress": "Cmp",
    "zlib.decompress": "Dcmp",
    "gzip.compress": "Cmp",
    "gzip.decompress": "Dcmp",
    "zstandard.compress": "Cmp",
    "zstandard.decompress": "Dcmp",
    "zstandard.ZstdCompressor.compress": "Cmp",
    "zstandard.ZstdDecompressor.decompress": "Dcmp",
    "snappy.compress": "Cmp",
    "snappy.decompress": "Dcmp",
    "cryptography.AESGCM.encrypt": "Encr",
    "cryptography.AESGCM.decrypt": "Decr",
    "cryptography.ChaCha20Poly1305.encrypt": "Encr",
    "cryptography.ChaCha20Poly1305.decrypt": "Decr",
    "ssl.SSLSocket.send": "Encr",
    "ssl.SSLSocket.sendall": "Encr",
    "ssl.SSLSocket.write": "Encr",
    "ssl.SSLSocket.recv": "Decr",
    "ssl.SSLSocket.read": "Decr",
    "zlib.crc32": "CRC32",
    "zlib.adler32": "Adler32",
    "_hashlib.openssl_md5": "MD5",
    "_hashlib.openssl_sha1": "SHA1",
    "_hashlib.openssl_sha256": "SHA256",
    "_hashlib.openssl_sha512": "SHA512",
    "_blake2.blake2b": "BLAKE2",
}

#: The position and name of the parameter with the payload, for functions of :data:`TAX_CALLS` whose
#: first parameter is something else: a nonce, or the class of the message.
INPUTS: Final = {
    "cryptography.AESGCM.encrypt": (1, "data"),
    "cryptography.AESGCM.decrypt": (1, "data"),
    "cryptography.ChaCha20Poly1305.encrypt": (1, "data"),
    "cryptography.ChaCha20Poly1305.decrypt": (1, "data"),
    "thrift.deserialize": (1, "buf"),
}

#: Calls that change the type of a value but not its content; they are not operations.
_CARRIES_OVER: Final = frozenset(
    {
        "builtins.str.encode",
        "builtins.bytes.decode",
        "builtins.bytearray.decode",
        "builtins.bytes",
        "builtins.bytearray",
        "builtins.memoryview",
    }
)


def names_of(function: object) -> Iterator[str]:
    """Yield the names under which :data:`TAX_CALLS` may list `function`.

    A function is ``PACKAGE.NAME``. A method is ``PACKAGE.CLASS.NAME``, first for its own class,
    then for each base class.
    """
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, ModuleType):
        yield f"{_package(function)}.{name}"
        return
    for base in (owner if isinstance(owner, type) else type(owner)).__mro__:
        yield f"{_package(base)}.{base.__name__}.{name}"


def carries_over(function: object) -> bool:
    """Return whether `function` changes only the type of a value, such as `str.encode`."""
    return any(name in _CARRIES_OVER for name in names_of(function))


def _package(thing: object) -> str:
    module = getattr(thing, "__module__", None)
    return module.split(".")[0] if isinstance(module, str) else "builtins"
