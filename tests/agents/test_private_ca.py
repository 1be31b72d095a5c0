"""HTTPS with a certificate of a private authority ($SSL_CERT_FILE)."""

import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agents import client as client_module
from agents.client import Client, TemporaryError
from tests.agents.conftest import serving
from tests.agents.packed_agent import TOKEN, KeepingServer


def certificate(name, issuer, key, signer, *, is_authority):
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        # Python 3.13 refuses certificates without these three (VERIFY_X509_STRICT).
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
        .add_extension(_key_usage(is_authority), critical=True)
    )
    return builder.sign(signer, hashes.SHA256()).public_bytes(
        serialization.Encoding.PEM
    )


def _key_usage(is_authority):
    names = (
        *("digital_signature", "content_commitment", "key_encipherment"),
        *("data_encipherment", "key_agreement", "key_cert_sign", "crl_sign"),
        *("encipher_only", "decipher_only"),
    )
    used = {"key_cert_sign", "crl_sign"} if is_authority else {"digital_signature"}
    return x509.KeyUsage(**{name: name in used for name in names})


@pytest.fixture
def authority(tmp_path):
    """Write the files of an authority and of a server that it certified."""
    own, server = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    private = server.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    files = {
        "ca.pem": certificate("lab", "lab", own, own, is_authority=True),
        "server.pem": certificate("server", "lab", server, own, is_authority=False),
        "server.key": private,
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def https_client(authority, monkeypatch):
    """A client of an HTTPS server; nothing is known about its authority."""
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setattr(client_module, "_CONTEXTS", [])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    server = KeepingServer()
    server.socket = context.wrap_socket(server.socket, server_side=True)
    for running in serving(server):
        yield Client(running.url.replace("http:", "https:"), TOKEN)


def test_private_authority_is_accepted_if_it_is_named(
    https_client, authority, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority / "ca.pem"))

    assert https_client.send_once("GET", "health/")["status"] == "ok"


def test_unknown_authority_is_refused_with_the_remedy(https_client, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)

    with pytest.raises(TemporaryError, match="SSL_CERT_FILE"):
        https_client.send_once("GET", "health/")
