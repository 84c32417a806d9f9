"""Authorities of our own, and certificates that they sign."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates; its own is `certificate`, a file."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        signed = self._signed(self._name, self._key.public_key(), (constraints, True))
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(signed.public_bytes(Encoding.PEM))

    def certify(self, host: str) -> tuple[Path, Path]:
        """Return the files of a certificate for a host name or an address, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            name: x509.GeneralName = x509.IPAddress(ip_address(host))
        except ValueError:
            name = x509.DNSName(host)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        signed = self._signed(subject, key.public_key(), (x509.SubjectAlternativeName([name]), False))
        certificate, private = self._folder / f"{host}.crt", self._folder / f"{host}.key"
        certificate.write_bytes(signed.public_bytes(Encoding.PEM))
        private.touch(0o600)
        private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return certificate, private

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extension: tuple[x509.ExtensionType, bool]
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        day = timedelta(days=1)
        return (
            x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number(), now - day, now + day)
            .add_extension(extension[0], critical=extension[1])
            .sign(self._key, SHA256())
        )
