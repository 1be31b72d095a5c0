"""PORT, BIND, VAR and the two URLs: valid values, and messages for invalid ones."""

import errno
import socket
from pathlib import Path

import pytest

from running.errors import StartError
from running.options import ROOT, Options, allowed_hosts, child_environment


def test_defaults_need_no_variables():
    options = Options.from_environment({})

    assert (options.url, options.var) == ("http://127.0.0.1:8000/", ROOT / "var")
    assert options.has_own_servers


def test_port_and_folder_choose_a_second_installation(tmp_path):
    options = Options.from_environment({"PORT": "8001", "VAR": str(tmp_path)})

    assert (options.url, options.var) == ("http://127.0.0.1:8001/", tmp_path)


def test_relative_folder_is_in_the_repository():
    assert Options.from_environment({"VAR": "var2"}).var == ROOT / "var2"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "8_000", "٨٠٠٠"])
def test_invalid_port_is_explained(port):
    with pytest.raises(StartError, match="is not a number from 1 to 65535"):
        Options.from_environment({"PORT": port})


@pytest.mark.parametrize(
    ("variable", "missing"),
    [("DATABASE_URL", "REDIS_URL"), ("REDIS_URL", "DATABASE_URL")],
)
def test_single_external_server_is_explained(variable, missing):
    with pytest.raises(StartError, match=f"{variable} is set, but {missing} is not"):
        Options.from_environment({variable: "x://y"})


def test_external_servers_replace_our_own():
    options = Options.from_environment(
        {"DATABASE_URL": "postgresql://a/b", "REDIS_URL": "redis://a"}
    )

    assert not options.has_own_servers


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000/"),
        ("::", "http://[::1]:8000/"),
        ("192.0.2.7", "http://192.0.2.7:8000/"),
    ],
)
def test_url_can_be_opened(host, url):
    assert Options.from_environment({"BIND": host}).url == url


def test_occupied_port_suggests_the_next_one():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        options = Options.from_environment({"PORT": str(port)})

        with pytest.raises(StartError, match=rf"{port} is used.*PORT=\d+ make run"):
            options.listen()


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EACCES, "needs root"), (errno.EADDRNOTAVAIL, "is not an address of this")],
)
def test_unusable_address_is_explained(monkeypatch, number, words):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("socket.create_server", refuse)

    with pytest.raises(StartError, match=words):
        Options.from_environment({"PORT": "80"}).listen()


def test_port_is_free_right_after_a_stop():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = Options.from_environment({"PORT": str(port)})
    served = []
    for _ in range(2):
        with (
            options.listen() as listener,
            socket.create_connection(("127.0.0.1", port)),
        ):
            connection, _ = listener.accept()
            served.append(connection.getsockname()[1])
            connection.close()

    assert served == [port, port]


def test_allowed_hosts_contain_the_configured_and_own_names():
    local = allowed_hosts(
        Options.from_environment({}), {"ALLOWED_HOSTS": "lab.example.org"}
    )
    public = allowed_hosts(Options.from_environment({"BIND": "0.0.0.0"}), {})

    assert local == "lab.example.org,127.0.0.1,localhost,[::1]"
    assert public.endswith(f",{socket.gethostname()}")


def test_pg_variables_do_not_redirect_connections():
    variables = {"PGPORT": "5433", "PGHOST": "elsewhere", "LANG": "de_DE.UTF-8"}
    own = child_environment(
        Options.from_environment({}), {"SECRET_KEY": "s"}, variables
    )
    urls = {"DATABASE_URL": "postgresql://a/b", "REDIS_URL": "redis://a"}
    foreign = child_environment(Options.from_environment(urls), {}, variables)

    assert not {"PGPORT", "PGHOST"} & (own.keys() | foreign.keys())
    assert (own["LANG"], own["SECRET_KEY"]) == ("de_DE.UTF-8", "s")
    assert Path(own["VIRTLAB_VAR"]) == ROOT / "var"


def test_published_studies_are_optional():
    assert Options.from_environment({}).loads_reference
    assert not Options.from_environment({"LOAD_REFERENCE": "off"}).loads_reference
    assert not Options.from_environment({"LOAD_REFERENCE": "off"}).loads_data_sets
    small = Options.from_environment({"LOAD_REFERENCE": "small"})
    assert small.loads_reference
    assert not small.loads_data_sets
    with pytest.raises(StartError, match="neither on, small nor off"):
        Options.from_environment({"LOAD_REFERENCE": "perhaps"})
