"""Whoever answers in Virtlab's place takes no run, no time, no memory and no token."""

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
from agents.client import Client, PassingError, token_problem
from agents.home import Enrolment, save_enrolment
from agents.sending import deliver
from tests.agents.stage import TOKEN, problem

ROOT = Path(__file__).parents[3]
DEEP = b"[" * 200_000
PAGE = b"<html>Pay first.</html>"


def said(status, body=b"", *headers):
    """An answer as HTTP/1.1 has it, with its length."""
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
STRANGERS = {
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
    "a packed body": said(200, b"\x1f\x8b\x08\0\0", "Content-Encoding: gzip"),
    "a portal's page": said(200, PAGE),
    "nothing": said(200),
    "a list": said(200, b"[1, 2]"),
    "deep JSON": said(200, DEEP),
    "another key": said(200, b'{"key": "00000000-0000-4000-8000-000000000000"}'),
    "a redirection": said(302, b"", "Location: http://127.0.0.1:9/"),
    "400 of another": said(400, PAGE),
    "403 of a proxy": said(403, PAGE),
    "404 of a proxy": said(404, PAGE),
    "404 of another API": said(404, FOREIGN),
    "407 of a proxy": said(407, PAGE),
    "413 of a proxy": said(413, PAGE),
    "422 without our words": said(422, b'{"detail": "no"}'),
    "422 of deep JSON": said(422, DEEP),
    "our own 404": said(404, json.dumps(problem("not_found", "Nothing.")).encode()),
    "503 for ever": said(503, PAGE, "Retry-After: 1e999"),
    "503 for no time": said(503, PAGE, "Retry-After: nan"),
    "511": said(511, PAGE),
}


@contextmanager
def stranger(answer):
    """A server that answers every question so."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        with suppress(OSError):
            while True:
                sock, _ = listener.accept()
                threading.Thread(target=talk, args=(sock,), daemon=True).start()

    def talk(sock):
        with sock, suppress(OSError):
            sock.settimeout(5)
            asked.append(sock.recv(65536))
            if callable(answer):
                answer(sock)
            else:
                sock.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(client_module, "ANSWER_S", 1.0)
    monkeypatch.setattr(client_module, "SILENCE_S", 0.5)


@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_takes_no_run(name, spool, impatient):
    keys = [spool.save({"key": str(uuid.uuid4())}) for _ in range(2)]
    told = []

    with stranger(STRANGERS[name]) as (url, asked):
        began_s = time.monotonic()
        delivery = deliver(spool, Client(url, TOKEN), told.append)
        took_s = time.monotonic() - began_s

    assert (delivery.sent, delivery.rejected, delivery.left) == (0, 0, 2), told
    assert set(spool.waiting()) == set(keys)
    assert took_s < 10
    assert 0 <= delivery.wait_s <= 3600
    assert delivery.trouble
    assert TOKEN not in delivery.trouble + "".join(told)
    assert not delivery.token_refused
    assert TOKEN.encode() in asked[0]


BIG = """
    import resource, sys
    from agents.client import Client, PassingError

    client = Client(sys.argv[1], "vl_abcdef_secret")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        client.attempt("POST", "runs/", b"{}", most_bytes=1024 * 1024)
    except PassingError as error:
        print(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_body_without_end_is_read_to_a_limit():
    with stranger(STRANGERS["a body without end"]) as (url, _):
        program = [sys.executable, "-c", textwrap.dedent(BIG), url]
        sentence, kib = subprocess.check_output(
            program, cwd=ROOT, text=True, timeout=60
        ).splitlines()

    assert sentence == "an answer of more than 1048576 bytes"
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
def test_an_echo_of_our_question_shows_no_token(
    words, call, home, monkeypatch, impatient, spool
):
    told = problem("echo", f"\x1b[2J\u202eYou said: Authorization: Token {TOKEN}")
    echo = said(422, json.dumps(told).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Triad: 1\n")))

    with stranger(echo) as (url, _):
        save_enrolment(Enrolment(url, TOKEN))
        code, out, err = call(*(url if word == "URL" else word for word in words))
        rejected = call("spool", "rejected")[1]

    assert code != 0 or words[0] == "spool"
    assert TOKEN not in out + err + rejected
    assert not {"\x1b", "\u202e"} & set(out + err + rejected)


@pytest.mark.parametrize(
    "echoed",
    [
        said(422, json.dumps(problem("echo", TOKEN.replace("_", "%5F"))).encode()),
        said(
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
def test_no_other_way_of_writing_a_token_is_shown(
    echoed, call, home, monkeypatch, impatient, spool
):
    secret = TOKEN.rpartition("_")[2]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Triad: 1\n")))

    with stranger(echoed) as (url, _):
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
        ("vl_a\rb", "line end"),
        ("vl_a\nSet-Cookie: x", "line end"),
        ("\ufeffvl_abc", "byte order mark"),
        ("v\0l\0_\0", "UTF-16"),
        ("vl_ä", "plain ASCII"),
        ("vl_a b", "plain ASCII"),
        ("vl_a\x1b[2J", "plain ASCII"),
        ("v" * 513, "longer"),
    ],
)
def test_an_odd_token_gets_a_sentence_without_it(token, word, call, home, monkeypatch):
    monkeypatch.setenv("VIRTLAB_SERVER", "http://127.0.0.1:9")
    if token and "\0" not in token:
        monkeypatch.setenv("VIRTLAB_TOKEN", token)
        code, _, err = call("spool", "send")
        assert (code, word in err, token in err) == (3, True, False)

    assert word in token_problem(token)
    assert not token or token not in token_problem(token)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "ascii"])
def test_a_token_as_powershell_writes_it_is_read(
    encoding, call, server, home, machine, monkeypatch
):
    given = f"{TOKEN}\r\n".encode(encoding)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))

    code, _, err = call("enroll", "--server", server.url, "--token", "-")

    assert (code, err.count(TOKEN)) == (0, 0)
    assert json.loads((home / "agent.json").read_text())["token"] == TOKEN


def test_wrong_words_do_not_show_a_token(call, home, capsys):
    with pytest.raises(SystemExit):
        call("enroll", "--server", "http://127.0.0.1:9", "--token", "x", TOKEN)

    err = capsys.readouterr().err
    assert "unrecognized arguments: vl_***" in err
    assert TOKEN not in err


def test_an_enrolment_that_is_printed_hides_its_token():
    assert TOKEN not in repr(Enrolment("http://a", TOKEN))


def test_a_program_that_is_measured_is_told_no_token(monkeypatch):
    from agents.processes import output_of

    monkeypatch.setenv("VIRTLAB_TOKEN", TOKEN)

    assert TOKEN not in output_of(["env"])


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
def test_a_dead_proxy_is_named_without_its_password(proxied, server):
    proxied("http://ann:secret@127.0.0.1:9")

    with pytest.raises(PassingError, match=r"the proxy http://127.0.0.1:9: Conn") as no:
        Client(server, TOKEN).attempt("GET", "health/")

    assert "secret" not in str(no.value)


def test_a_proxy_that_is_none_of_https_is_named(proxied):
    proxied("socks5://127.0.0.1:1080")

    with pytest.raises(PassingError, match=r"socks5://127.0.0.1:1080 is no HTTP proxy"):
        Client("http://lab.example", TOKEN).attempt("GET", "health/")


def test_a_proxy_of_ipv6_is_named_in_brackets_and_one_without_an_end_is_said(proxied):
    client = Client("http://lab.example", TOKEN)

    proxied("http://[::1]:9")
    with pytest.raises(PassingError, match=r"the proxy http://\[::1\]:9: "):
        client.attempt("GET", "health/")

    proxied("http://[::1")
    with pytest.raises(PassingError, match="is no HTTP proxy: set http_proxy"):
        client.attempt("GET", "health/")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (said(407), "HTTP 407"),
        (said(403, PAGE), "HTTP 403"),
        (b"", "hung up"),
        (endless(b"HTTP/1.1 200 x\r\n", b"a: b\r\n"), "hung up|in time"),
    ],
)
def test_a_proxy_that_lets_nobody_through_is_named(
    proxied, impatient, answer, sentence
):
    with stranger(answer) as (url, asked):
        proxied(url)
        with pytest.raises(PassingError, match=f"the proxy .*({sentence})|in time"):
            Client("https://lab.example", TOKEN).attempt("GET", "health/")

    assert asked[0].startswith(b"CONNECT lab.example:443 HTTP/1.1\r\n")
    assert TOKEN.encode() not in asked[0]


def test_uploads_and_stamps_go_through_a_proxy(proxied, impatient):
    from agents.timing.asking import NoTimeError, open_asking, take_stamp

    with stranger(said(200, b'{"status": "ok"}')) as (url, asked):
        proxied(url.replace("http://", "http://ann:secret@"))
        answer = Client("http://lab.example", TOKEN).attempt("GET", "health/")
        with (
            open_asking("http://lab.example") as asking,
            pytest.raises(NoTimeError),
        ):
            take_stamp(asking)

    assert answer == {"status": "ok"}
    assert asked[0].startswith(b"GET http://lab.example/api/v1/health/ HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic YW5uOnNlY3JldA==" in asked[0]
    assert asked[1].startswith(b"GET http://lab.example/api/v1/time/?nonce=")


def test_who_needs_no_proxy_is_asked_directly(proxied, server):
    proxied("http://127.0.0.1:9", no="127.0.0.1")

    assert Client(server.url, TOKEN).attempt("GET", "health/")["status"] == "ok"


def test_a_server_with_a_name_and_a_password_is_no_address(call, home):
    code, _, err = call("enroll", "--server", "https://ann:pw@lab.org", "--token", "x")

    assert code == 2
    assert "such as https://virtlab.example.org" in err


@pytest.mark.parametrize("text", ["[" * 60_000, '{"server": ' + "[" * 60_000])
def test_an_enrolment_of_deep_json_gets_a_sentence(text, call, home):
    home.mkdir()
    (home / "agent.json").write_text(text)

    code, _, err = call("spool", "send")

    assert (code, "cannot be read" in err) == (3, True)
