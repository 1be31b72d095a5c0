"""PORT, BIND, VAR and the two URLs: what works, and a sentence for what does not."""

import errno
import socket
from pathlib import Path

import pytest

from running.errors import ServiceError
from running.options import ROOT, Options, allowed_hosts, child_environment


def test_it_needs_to_be_told_nothing():
    options = Options.of({})

    assert (options.url, options.var) == ("http://127.0.0.1:8000/", ROOT / "var")
    assert options.has_own_servers


def test_port_and_folder_choose_a_second_copy(tmp_path):
    options = Options.of({"PORT": "8001", "VAR": str(tmp_path)})

    assert (options.url, options.var) == ("http://127.0.0.1:8001/", tmp_path)


def test_a_relative_folder_lies_in_the_repository():
    assert Options.of({"VAR": "var2"}).var == ROOT / "var2"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "http", "8_000", "٨٠٠٠"])
def test_a_port_that_is_none_is_a_sentence(port):
    with pytest.raises(ServiceError, match="is not a number from 1 to 65535"):
        Options.of({"PORT": port})


@pytest.mark.parametrize(
    ("given", "missing"),
    [("DATABASE_URL", "REDIS_URL"), ("REDIS_URL", "DATABASE_URL")],
)
def test_one_server_of_ones_own_without_the_other_is_a_sentence(given, missing):
    with pytest.raises(ServiceError, match=f"{given} is set, but {missing} is not"):
        Options.of({given: "x://y"})


def test_with_both_urls_it_starts_no_servers():
    options = Options.of({"DATABASE_URL": "postgresql://a/b", "REDIS_URL": "redis://a"})

    assert not options.has_own_servers


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000/"),
        ("::", "http://[::1]:8000/"),
        ("192.0.2.7", "http://192.0.2.7:8000/"),
    ],
)
def test_it_names_an_address_that_can_be_opened(host, url):
    assert Options.of({"BIND": host}).url == url


def test_an_occupied_port_is_a_sentence_with_the_next_one():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = Options.of({"PORT": str(port)})

        with pytest.raises(ServiceError, match=rf"{port} is taken.*PORT=\d+ make run"):
            options.listen()


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EACCES, "reserved for root"), (errno.EADDRNOTAVAIL, "no address of this")],
)
def test_an_address_that_cannot_be_had_is_a_sentence(monkeypatch, number, words):
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr("socket.create_server", refuse)

    with pytest.raises(ServiceError, match=words):
        Options.of({"PORT": "80"}).listen()


def test_the_port_is_free_again_right_after_a_stop():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    options = Options.of({"PORT": str(port)})
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


def test_pages_answer_to_the_chosen_names_and_always_to_ourselves():
    local = allowed_hosts(Options.of({}), {"ALLOWED_HOSTS": "lab.example.org"})
    public = allowed_hosts(Options.of({"BIND": "0.0.0.0"}), {})

    assert local == "lab.example.org,127.0.0.1,localhost,[::1]"
    assert public.endswith(f",{socket.gethostname()}")


def test_pg_variables_do_not_lead_away_from_our_own_server():
    given = {"PGPORT": "5433", "PGHOST": "elsewhere", "LANG": "de_DE.UTF-8"}
    own = child_environment(Options.of({}), {"SECRET_KEY": "s"}, given)
    urls = {"DATABASE_URL": "postgresql://a/b", "REDIS_URL": "redis://a"}
    foreign = child_environment(Options.of(urls), {}, given)

    assert not {"PGPORT", "PGHOST"} & own.keys()
    assert (own["LANG"], own["SECRET_KEY"]) == ("de_DE.UTF-8", "s")
    assert foreign["PGPORT"] == "5433"
    assert Path(own["VIRTLAB_VAR"]) == ROOT / "var"


def test_the_published_studies_may_be_left_out():
    assert Options.of({}).has_reference
    assert not Options.of({"REFERENCE": "off"}).has_reference
    with pytest.raises(ServiceError, match="neither on nor off"):
        Options.of({"REFERENCE": "perhaps"})
