"""What an agent trusts: the machine's certificates, as few read as can be."""

import ssl

import pytest

from agents.trust import folder_of

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """A file of two certificates beside a folder that has both by their hashes."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "certs"
    folder.mkdir()
    for name in ("0a1b2c3d.0", "0a1b2c3d.1", "readme.txt"):
        (folder / name).write_text(CERTIFICATE)
    file = folder / "all.crt"
    file.write_text(2 * CERTIFICATE)
    given = ssl.get_default_verify_paths()
    return given._replace(cafile=str(file), capath=str(folder))


def test_a_folder_that_has_all_certificates_is_read_as_needed(paths):
    assert folder_of(paths) == paths.capath


def test_a_folder_that_lacks_one_is_not_enough(paths, tmp_path):
    (tmp_path / "certs" / "0a1b2c3d.1").unlink()

    assert folder_of(paths) == ""


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_what_somebody_named_is_what_counts(paths, monkeypatch, name):
    monkeypatch.setenv(name, "/elsewhere")

    assert folder_of(paths) == ""


@pytest.mark.parametrize("absent", ["cafile", "capath"])
def test_without_a_file_or_a_folder_python_decides(paths, absent):
    assert folder_of(paths._replace(**{absent: None})) == ""


def test_a_file_that_cannot_be_read_decides_nothing(paths):
    assert folder_of(paths._replace(cafile=f"{paths.cafile}.gone")) == ""
