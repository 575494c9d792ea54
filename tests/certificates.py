"""Certificates for servers on this machine, signed by themselves, and for their clients."""

import datetime
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: A certificate chain and its key.
Files: TypeAlias = tuple[Path, Path]


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """Chain and key for localhost, valid for a day, as cert.pem and key.pem in `folder`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _write(folder / "cert.pem", made), _write(folder / "key.pem", key)


def make_clients(folder: Path, identities: dict[str, list[str]]) -> tuple[Path, list[Files]]:
    """An authority, as ca.pem in `folder`, and chain and key of clients with DNS names and URIs."""
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    issuer_key = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of clients")])
    authority = (
        x509.CertificateBuilder(
            issuer, issuer, issuer_key.public_key(), x509.random_serial_number()
        )
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )
    made: list[Files] = []
    for who, names in identities.items():
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, who)])
        alternatives: list[x509.GeneralName] = [
            x509.UniformResourceIdentifier(name) if ":" in name else x509.DNSName(name)
            for name in names
        ]
        certificate = (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - day)
            .not_valid_after(now + day)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .sign(issuer_key, hashes.SHA256())
        )
        made.append(
            (_write(folder / f"{who}.pem", certificate), _write(folder / f"{who}.key", key))
        )
    return _write(folder / "ca.pem", authority), made


def _write(path: Path, made: x509.Certificate | ec.EllipticCurvePrivateKey) -> Path:
    if isinstance(made, x509.Certificate):
        text = made.public_bytes(serialization.Encoding.PEM)
    else:
        text = made.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    path.write_bytes(text)
    return path
