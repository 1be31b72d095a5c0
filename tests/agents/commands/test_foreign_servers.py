"""Foreign servers in Virtlab's place get no token, remove no run, and cost little time
and memory.
"""

import io
import json
import resource
import socket
import subprocess
import sys
import textwrap
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agents import client as client_module
from agents.client import Client, TemporaryError, token_error
from agents.local_state import Enrolment, save_enrolment
from agents.spool_delivery import send_spool
from tests.agents.packed_agent import TOKEN, problem

ROOT = Path(__file__).parents[3]
DEEP = b"[" * 200_000
PAGE = b"<html>Pay first.</html>"


def response(status, body=b"", *headers):
    """Return an HTTP/1.1 response with its length."""
    head = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode() + body


def endless(head, piece, pause_s=0.0):
    def send(sock):
        sock.sendall(head)
        while True:
            sock.sendall(piece)
            time.sleep(pause_s)

    return send


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
FOREIGN = json.dumps({"code": 404, "message": "no such route"}).encode()
FOREIGN_SERVERS = {
    "a body without end": endless(OK + b"\r\n", b"x" * 65536),
    "chunks without end": endless(CHUNKED, b"8000\r\n" + b"x" * 32768 + b"\r\n"),
    "headers without end": endless(OK, b"a: b\r\n"),
    "a header without end": endless(OK + b"a: ", b"b" * 65536),
    "a byte now and then": endless(OK + b"\r\n", b"x", 0.1),
    "a header's byte now and then": endless(OK + b"a: ", b"x", 0.1),
    "100 Continue without end": endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n", 0.01),
    "silence": lambda _: time.sleep(3),
    "a hang-up": b"",
    "half a status line": b"HTTP/1.1 20",
    "a status line alone": OK,
    "no HTTP": b"\x15\x03\x01\x00\x02\x02\x46",
    "a text": b"hello\r\n",
    "a status that is none": b"HTTP/1.1 abc x\r\n\r\n",
    "a status line of 100 kB": b"HTTP/1.1 200 " + b"x" * 100_000,
    "a length that is too long": OK + b"Content-Length: 500\r\n\r\n{}",
    "a length that is none": OK + b"Content-Length: -5\r\n\r\n{}",
    "chunks that are none": CHUNKED + b"xyz\r\n",
    "a packed body": response(200, b"\x1f\x8b\x08\0\0", "Content-Encoding: gzip"),
    "a portal's page": response(200, PAGE),
    "nothing": response(200),
    "a list": response(200, b"[1, 2]"),
    "deep JSON": response(200, DEEP),
    "another key": response(200, b'{"key": "00000000-0000-4000-8000-000000000000"}'),
    "a redirection": response(302, b"", "Location: http://127.0.0.1:9/"),
    "400 of another": response(400, PAGE),
    "403 of a proxy": response(403, PAGE),
    "404 of a proxy": response(404, PAGE),
    "404 of another API": response(404, FOREIGN),
    "407 of a proxy": response(407, PAGE),
    "413 of a proxy": response(413, PAGE),
    "422 without our words": response(422, b'{"detail": "no"}'),
    "422 of deep JSON": response(422, DEEP),
    "our own 404": response(404, json.dumps(problem("not_found", "Nothing.")).encode()),
    "503 with an infinite delay": response(503, PAGE, "Retry-After: 1e999"),
    "503 with an invalid delay": response(503, PAGE, "Retry-After: nan"),
    "511": response(511, PAGE),
}


@contextmanager
def foreign_server(answer):
    """Start a server that gives this answer to every request."""
    listener = socket.create_server(("127.0.0.1", 0))
    requests = []

    def serve():
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threading.Thread(target=talk, args=(sock,), daemon=True).start()

    def talk(sock):
        with sock, suppress(OSError):
            sock.settimeout(5)
            requests.append(sock.recv(65536))
            if callable(answer):
                answer(sock)
            else:
                sock.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(client_module, "RESPONSE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(client_module, "READ_TIMEOUT_S", 0.5)


@pytest.mark.parametrize("name", FOREIGN_SERVERS)
def test_foreign_server_removes_no_run(name, spool, impatient):
    keys = [spool.save({"key": str(uuid.uuid4())}) for _ in range(2)]
    messages = []

    with foreign_server(FOREIGN_SERVERS[name]) as (url, requests):
        began_s = time.monotonic()
        delivery = send_spool(spool, Client(url, TOKEN), messages.append)
        took_s = time.monotonic() - began_s

    assert (delivery.sent, delivery.rejected, delivery.waiting_count) == (0, 0, 2), (
        messages
    )
    assert set(spool.waiting()) == set(keys)
    assert took_s < 30
    assert 0 <= delivery.wait_s <= 3600
    assert delivery.problem
    assert TOKEN not in delivery.problem + "".join(messages)
    assert not delivery.token_refused
    assert TOKEN.encode() in requests[0]


BIG = """
    import resource, sys
    from agents.client import Client, TemporaryError

    client = Client(sys.argv[1], "vl_abcdef_secret")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        client.send_once("POST", "runs/", b"{}", most_bytes=1024 * 1024)
    except TemporaryError as error:
        print(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_endless_body_is_read_to_a_limit():
    with foreign_server(FOREIGN_SERVERS["a body without end"]) as (url, _):
        program = [sys.executable, "-c", textwrap.dedent(BIG), url]
        sentence, kib = subprocess.check_output(
            program, cwd=ROOT, text=True, timeout=60
        ).splitlines()

    assert sentence == "the response exceeds 1048576 bytes"
    assert int(kib) < 8 * 1024
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0


@pytest.mark.parametrize(
    "words",
    [
        ("doctor",),
        ("spool", "send"),
        ("push", "-", "--study", "s", "--host", "h", "--hypervisor", "KVM"),
        ("enroll", "--server", "URL", "--token", TOKEN),
        ("plan", "7", "--system", "1", "--as", "a", "--patience-s", "0"),
    ],
    ids=lambda words: words[0],
)
def test_echoed_request_shows_no_token(
    words, call, home, monkeypatch, impatient, spool
):
    payload = problem("echo", f"\x1b[2J\u202eYou said: Authorization: Token {TOKEN}")
    echo = response(422, json.dumps(payload).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Triad: 1\n")))

    with foreign_server(echo) as (url, _):
        save_enrolment(Enrolment(url, TOKEN))
        code, out, err = call(*(url if word == "URL" else word for word in words))
        rejected = call("spool", "rejected")[1]

    assert code != 0 or words[0] == "spool"
    assert TOKEN not in out + err + rejected
    assert not {"\x1b", "\u202e"} & set(out + err + rejected)


@pytest.mark.parametrize(
    "echoed",
    [
        response(422, json.dumps(problem("echo", TOKEN.replace("_", "%5F"))).encode()),
        response(
            422,
            json.dumps(problem("echo", "X"))
            .replace("X", "\\u0076" + TOKEN[1:])
            .encode(),
        ),
        f"HTTP/1.1 {TOKEN}\r\n\r\n".encode(),
        f"{TOKEN}\r\n".encode(),
    ],
    ids=["part of an address", "escaped", "status", "no HTTP"],
)
def test_other_encodings_of_the_token_are_hidden(
    echoed, call, home, monkeypatch, impatient, spool
):
    secret = TOKEN.rpartition("_")[2]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Triad: 1\n")))

    with foreign_server(echoed) as (url, _):
        save_enrolment(Enrolment(url, TOKEN))
        words = ("push", "-", "--study", "s", "--host", "h", "--hypervisor", "KVM")
        said_then = call(*words)[1:] + call("spool", "rejected")[1:]

    assert "***" in "".join(said_then)
    assert secret not in "".join(said_then)
    assert all(
        secret not in path.read_text() for path in (home / "spool/rejected").glob("*")
    )


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("", "empty"),
        ("vl_a\rb", "line break"),
        ("vl_a\nSet-Cookie: x", "line break"),
        ("\ufeffvl_abc", "byte order mark"),
        ("v\0l\0_\0", "UTF-16"),
        ("vl_ä", "plain ASCII"),
        ("vl_a b", "plain ASCII"),
        ("vl_a\x1b[2J", "plain ASCII"),
        ("v" * 513, "longer"),
    ],
)
def test_invalid_token_is_not_quoted(token, word, call, home, monkeypatch):
    monkeypatch.setenv("VIRTLAB_SERVER", "http://127.0.0.1:9")
    if token and "\0" not in token:
        monkeypatch.setenv("VIRTLAB_TOKEN", token)
        code, _, err = call("spool", "send")
        assert (code, word in err, token in err) == (3, True, False)

    assert word in token_error(token)
    assert not token or token not in token_error(token)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "ascii"])
def test_token_in_powershell_encoding_is_read(
    encoding, call, server, home, machine, monkeypatch
):
    text = f"{TOKEN}\r\n".encode(encoding)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))

    code, _, err = call("enroll", "--server", server.url, "--token", "-")

    assert (code, err.count(TOKEN)) == (0, 0)
    assert json.loads((home / "agent.json").read_text())["token"] == TOKEN


def test_usage_errors_hide_the_token(call, home, capsys):
    with pytest.raises(SystemExit):
        call("enroll", "--server", "http://127.0.0.1:9", "--token", "x", TOKEN)

    err = capsys.readouterr().err
    assert "unrecognized arguments: vl_***" in err
    assert TOKEN not in err


def test_repr_of_enrolment_hides_the_token():
    assert TOKEN not in repr(Enrolment("http://a", TOKEN))


def test_measured_program_gets_no_token(monkeypatch):
    from agents.processes import program_output

    monkeypatch.setenv("VIRTLAB_TOKEN", TOKEN)

    assert TOKEN not in program_output(["env"])


@pytest.fixture
def proxied(monkeypatch):
    def through(url, no=""):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("https_proxy", url)
        monkeypatch.setenv("no_proxy", no)

    return through


@pytest.mark.parametrize("server", ["http://lab.example", "https://lab.example"])
def test_dead_proxy_is_named_without_its_password(proxied, server):
    proxied("http://ann:secret@127.0.0.1:9")

    with pytest.raises(
        TemporaryError, match=r"the proxy http://127.0.0.1:9: Conn"
    ) as no:
        Client(server, TOKEN).send_once("GET", "health/")

    assert "secret" not in str(no.value)


def test_other_kind_of_proxy_is_named(proxied):
    proxied("socks5://127.0.0.1:1080")

    with pytest.raises(
        TemporaryError, match=r"socks5://127.0.0.1:1080 is not an HTTP proxy"
    ):
        Client("http://lab.example", TOKEN).send_once("GET", "health/")


def test_ipv6_proxy_is_named_in_brackets_and_incomplete_url_reported(proxied):
    client = Client("http://lab.example", TOKEN)

    proxied("http://[::1]:9")
    with pytest.raises(TemporaryError, match=r"the proxy http://\[::1\]:9: "):
        client.send_once("GET", "health/")

    proxied("http://[::1")
    with pytest.raises(
        TemporaryError, match="is not an HTTP proxy: correct http_proxy"
    ):
        client.send_once("GET", "health/")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (response(407), "HTTP 407"),
        (response(403, PAGE), "HTTP 403"),
        (b"", "closed the connection"),
        (endless(b"HTTP/1.1 200 x\r\n", b"a: b\r\n"), "closed the connection|in time"),
    ],
)
def test_refusing_proxy_is_named(proxied, impatient, answer, sentence):
    with foreign_server(answer) as (url, requests):
        proxied(url)
        with pytest.raises(TemporaryError, match=f"the proxy .*({sentence})|in time"):
            Client("https://lab.example", TOKEN).send_once("GET", "health/")

    assert requests[0].startswith(b"CONNECT lab.example:443 HTTP/1.1\r\n")
    assert TOKEN.encode() not in requests[0]


def test_uploads_and_stamps_use_the_proxy(proxied, impatient):
    from agents.timing.time_client import (
        TimeServerError,
        connect_time_server,
        take_stamp,
    )

    with foreign_server(response(200, b'{"status": "ok"}')) as (url, requests):
        proxied(url.replace("http://", "http://ann:secret@"))
        answer = Client("http://lab.example", TOKEN).send_once("GET", "health/")
        with (
            connect_time_server("http://lab.example") as asking,
            pytest.raises(TimeServerError),
        ):
            take_stamp(asking)

    assert answer == {"status": "ok"}
    assert requests[0].startswith(b"GET http://lab.example/api/v1/health/ HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnNlY3JldA==" in requests[0]
    assert requests[1].startswith(b"GET http://lab.example/api/v1/time/?nonce=")


def test_excluded_server_is_contacted_directly(proxied, server):
    proxied("http://127.0.0.1:9", no="127.0.0.1")

    assert Client(server.url, TOKEN).send_once("GET", "health/")["status"] == "ok"


def test_server_url_must_not_contain_credentials(call, home):
    code, _, err = call("enroll", "--server", "https://ann:pw@lab.org", "--token", "x")

    assert code == 2
    assert "such as https://virtlab.example.org" in err


@pytest.mark.parametrize("text", ["[" * 60_000, '{"server": ' + "[" * 60_000])
def test_deeply_nested_enrolment_is_reported(text, call, home):
    home.mkdir()
    (home / "agent.json").write_text(text)

    code, _, err = call("spool", "send")

    assert (code, "cannot be read" in err) == (3, True)
