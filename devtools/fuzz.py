"""`make fuzz`: tens of thousands of odd requests; no answer may be 500.

Requests go to the API and, signed in, to pages: valid documents with one thing wrong,
odd parameters, forms, files, methods, headers and lengths. At the end every page of the
study is read again. ``--seed`` repeats the requests; ``--control`` renames a table, and
500s must be found.
"""

import gzip
import json
import random
import sys
import urllib.parse
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from devtools.leaks import Crawler, addresses, first_sign_in
from devtools.product import (
    Answer,
    arguments,
    ask,
    command,
    database,
    document,
    own_folder,
    running_product,
    verdict,
    wait_until,
)
from running.product import Product

STUDY, HOST = "fuzzed", "fuzzed-host"
CLIENTS: Final = 6
WORST: Final = 20
NUMBERS: Final = (
    *(0, 1, -1, 2, 2**31, 2**53 + 1, 2**62, 2**63, -(2**63), 10**400, 0.1, -0.0),
    *(5e-324, 2e-308, 1.7e308, -1.7e308, 1e154, 1e16, 52.97),
)
TEXTS: Final = (
    *(
        "",
        " ",
        "x" * 70_000,
        "\0",
        "\ud800",
        "\u202e",
        "é" * 300,
        "\U0001d4b3",
        "1e999",
        "NaN",
    ),
    *("|cmd", "=1+1", "<script>", "../../etc/passwd", "%00", "{{7*7}}", "null", "-1"),
    *("2026-02-30T00:00:00Z", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00Z"),
    *("';--", "{}", "[]", "true", STUDY, HOST, "native", "first-lab"),
)
TYPES: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    [],
    {},
    [[]],
    [None],
    {"": ""},
    [1, "a"],
    {"a": {}},
)
METHODS: Final = ("OPTIONS", "HEAD", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND", "X")
HOSTS: Final = (
    *("", "a" * 300, "127.0.0.1:0", "127.0.0.1:99999", "[::1", "evil.example", "é"),
    *("127.0.0.1:abc", "localhost:8000, x", "127.0.0.1@x", "xn--a"),
)
KINDS: Final = (
    *("application/json", "text/plain", "application/xml", "multipart/form-data", ""),
    *("multipart/form-data; boundary=", "multipart/form-data; boundary=\x01", "a/b/c"),
    *("application/json; charset=utf-16", "application/json; charset=rot13"),
    *("application/x-www-form-urlencoded; charset=idna", "application/x-ndjson"),
)
ENCODINGS: Final = ("gzip", "deflate", "br", "gzip, gzip", "x-gzip", "identity", "zz")
PARAMETERS: Final = (
    *("study", "host", "system", "tool", "case", "cell", "pin", "baseline", "cursor"),
    *("page_size", "q", "show", "scenario", "component", "status", "before", "run"),
    *("session", "systems", "hypervisor", "work", "by", "flagged", "lab", "format"),
)


@dataclass(frozen=True)
class Request:
    """One request, to be sent again exactly."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None = None

    def send(self, port: int) -> Answer:
        sent: dict[str, Any] = {"method": self.method, "body": self.body}
        try:
            return ask(port, self.path, headers=self.headers, **sent)
        except (ValueError, UnicodeError):
            return Answer(-1)  # Python's own client does not send it

    def __str__(self) -> str:
        body = (self.body or b"")[:300].decode(errors="backslashreplace")
        return f"{self.method} {self.path[:300]} {body}"


class Fuzzer:
    """Draws requests; has tokens, a session, and every address."""

    def __init__(self, chance: random.Random, token: str, cookies: str, mark: str):
        self.chance = chance
        self.token, self.cookies, self.mark = token, cookies, mark
        every = [path.partition("?")[0] for path in addresses()]
        self.api = sorted({path for path in every if path.startswith("/api/")})
        self.pages = sorted({path for path in every if not path.startswith("/api/")})
        self.pages = [
            path.replace("marker-private-study", STUDY) for path in self.pages
        ]
        self.writers: tuple[tuple[str, Callable[[], Any]], ...] = (
            ("runs/", self._run),
            ("runs/bulk/", self._run),
            (
                "studies/",
                lambda: {"slug": STUDY, "title": "Fuzz", "visibility": "public"},
            ),
            ("hosts/", lambda: {"slug": HOST, "facts": {"cores": 2}}),
            ("systems/", lambda: self._run()["system"]),
            (
                "parse/",
                lambda: {"output": "Triad: 25684.4 0.1 0.1 0.1", "tool": "stream"},
            ),
            ("parse/machine/", lambda: {"output": "Linux a 6.1.0 #1 SMP x86_64"}),
            ("power/", self._power),
            ("plans/", self._plan),
            ("own-tools/", self._tool),
        )

    def draw(self) -> Request:
        kind = self.chance.random()
        if kind < 0.35:
            request = self._document()
        elif kind < 0.55:
            request = self._question(self.api, {"Authorization": f"Token {self.token}"})
        elif kind < 0.8:
            request = self._question(self.pages, {"Cookie": self.cookies})
        else:
            request = self._form()
        return self._odd(request) if self.chance.random() < 0.1 else request

    def _document(self) -> Request:
        name, make = self.chance.choice(self.writers)
        sent = make()
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 3))):
            sent = self._changed(sent)
        try:
            body = json.dumps(sent).encode()
        except (ValueError, UnicodeError):
            body = b'{"a": "\xff"}'
        kind = "application/x-ndjson" if "bulk" in name else "application/json"
        headers = {"Authorization": f"Token {self.token}", "Content-Type": kind}
        return Request("POST", f"/api/v1/{name}", headers, body)

    def _changed(self, document: Any) -> Any:
        """Return a document with one value, somewhere in it, replaced or gone."""
        changed = deepcopy(document)
        places = list(_places(changed))
        if not places:
            return self._value()
        inside, key = self.chance.choice(places)
        if isinstance(inside, dict) and self.chance.random() < 0.15:
            del inside[key]
        elif isinstance(inside, dict) and self.chance.random() < 0.1:
            inside[self.chance.choice(TEXTS)[:100]] = self._value()
        else:
            inside[key] = self._value()
        return changed

    def _value(self) -> Any:
        return self.chance.choice(self.chance.choice((NUMBERS, TEXTS, TYPES)))

    def _question(self, paths: list[str], headers: dict[str, str]) -> Request:
        path = self.chance.choice(paths)
        drawn = [
            (self.chance.choice(PARAMETERS), str(self._value())[:3000])
            for _ in range(self.chance.choice((0, 1, 1, 2, 3)))
        ]
        query = urllib.parse.urlencode(drawn, errors="surrogatepass")
        return Request("GET", f"{path}?{query}" if query else path, headers)

    def _form(self) -> Request:
        path = self.chance.choice(self.pages)
        fields = {
            "csrfmiddlewaretoken": self.mark,
            "do": self.chance.choice(("preview", "store", "")),
            self.chance.choice(PARAMETERS): str(self._value())[:3000],
            self.chance.choice(("slug", "title", "name", "note", "facts", "role")): str(
                self._value()
            )[:3000],
        }
        headers = {"Cookie": self.cookies, "Referer": "http://127.0.0.1/"}
        if self.chance.random() < 0.5:
            sent = urllib.parse.urlencode(fields, errors="surrogatepass").encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return Request("POST", path, headers, sent)
        headers["Content-Type"] = "multipart/form-data; boundary=b"
        return Request("POST", "/upload/", headers, self._multipart(fields))

    def _multipart(self, fields: dict[str, str]) -> bytes:
        parts = [
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        file = self.chance.choice(
            (
                *(
                    b"",
                    b"PK\x03\x04",
                    gzip.compress(b"x" * 1000, mtime=0),
                    b"\xff\xfe",
                    b"a\0b",
                ),
                *(b"Triad: 25684.4 0.1 0.1 0.1\n", b"9" * 5000, b"1e999 MB/s\n"),
            )
        )
        name = self.chance.choice(("a.txt", "a.zip", "", "../a", "é", '";x', "x" * 900))
        head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"'
        odd = self.chance.choice(
            (
                *("", "Content-Transfer-Encoding: base64\r\n", "Content-Type: \r\n"),
                *("A\r\n", "Content-Type: text/plain; charset=utf-16\r\n"),
            )
        )
        end = self.chance.choice((b"\r\n--b--\r\n", b"", b"\r\n--b", b"\r\n--c--"))
        text = "".join(parts) + head + f"\r\n{odd}\r\n"
        return text.encode(errors="surrogatepass") + file + end

    def _odd(self, request: Request) -> Request:
        headers, method, body = dict(request.headers), request.method, request.body
        what = self.chance.randrange(7)
        if what == 0:
            method = self.chance.choice(METHODS)
        elif what == 1:
            headers["Host"] = self.chance.choice(HOSTS)
        elif what == 2:
            headers["Content-Type"] = self.chance.choice(KINDS)
        elif what == 3:
            headers["Content-Encoding"] = self.chance.choice(ENCODINGS)
        elif what == 4:
            headers["Accept"] = self.chance.choice((*KINDS, "*/*;q=x"))
            headers["Accept-Language"] = str(self._value())[:200]
        elif what == 5:
            headers["Authorization"] = str(self._value())[:500]
            headers["Cookie"] = "sessionid=" + str(self._value())[:500]
        else:
            body = bytes(self.chance.randrange(256) for _ in range(200))
        return Request(method, request.path, headers, body)

    def _run(self) -> dict[str, Any]:
        key = f"{self.chance.getrandbits(128):032x}"
        run = document(STUDY, HOST, self.chance.uniform(50, 60), key=key)
        run["key"] = f"{key[:8]}-{key[8:12]}-4{key[13:16]}-a{key[17:20]}-{key[20:]}"
        if self.chance.random() < 0.5:
            run["system"]["hypervisor"] = self.chance.choice(("Xen", "KVM", "ESXi"))
        if self.chance.random() < 0.3:
            run["samples"][0]["value"] = self.chance.choice(NUMBERS)
        if self.chance.random() < 0.3:
            run["facts"] = {"execution": {"local_us": self.chance.choice(NUMBERS)}}
        if self.chance.random() < 0.2:
            run |= {"session": "day", "started_at": "2026-01-02T03:04:05Z"}
        return run

    def _power(self) -> dict[str, Any]:
        samples = [[n, self.chance.choice(NUMBERS)] for n in range(3)]
        return {"host": HOST, "meter": "m", "clock": "c", "samples": samples}

    def _plan(self) -> dict[str, Any]:
        design = {"systems": [{"system": 1}], "tools": [{"tool": "hackbench"}]}
        design |= {"repetitions": 1, "warm_up": 0}
        return {"study": STUDY, "title": "A plan", "design": design, "budget_s": 60}

    def _tool(self) -> dict[str, Any]:
        metric = {"name": "boot time", "unit": "ms", "better": "lower"}
        return {"slug": "boot", "title": "Boot", "metrics": [metric]}


def _places(value: Any) -> Any:
    """Yield each container of a document with each of its keys."""
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


LINE: Final = (
    "fuzz: seed {seed}, {sent} requests ({told}), {taken} runs taken, {unanswered} "
    "unanswered, {stuck} units of work failed, {errors} x 5xx"
)


def fuzz(
    running: Product, seed: int, requests: int, *, sabotage: bool
) -> dict[str, Any]:
    """Send odd requests, read everything once more, and count."""
    client = running.client()
    client.create_study({"slug": STUDY, "title": "Fuzz", "visibility": "public"})
    client.register_host({"slug": HOST, "facts": {"cores": 2}})
    for hypervisor in ("native", "Xen"):
        run = document(STUDY, HOST, 52.0, system={"hypervisor": hypervisor})
        list(client.upload([run]))
    fuzzer = Fuzzer(random.Random(seed), *_rights(running))
    if sabotage:
        _sabotage(running)
    statuses: Counter[int] = Counter()
    told = 0
    drawn = [fuzzer.draw() for _ in range(requests)]
    # Everything once more, after what was taken has been worked on.
    looks = [Request("GET", it, {"Cookie": fuzzer.cookies}) for it in fuzzer.pages]
    looks += [Request("GET", f"{it}?study={STUDY}", {}) for it in fuzzer.api]
    with ThreadPoolExecutor(CLIENTS) as pool:
        for batch in (drawn, looks):
            answers = pool.map(lambda it: it.send(running.port), batch)
            for request, answer in zip(batch, answers, strict=True):
                statuses[answer.status] += 1
                if answer.status in {0, *range(500, 600)} and told < WORST:
                    told += 1
                    print(f"  {answer.status}: {request}", flush=True)
            wait_until(lambda: _is_settled(running), 60)
    kinds = Counter(status // 100 for status in statuses.elements())
    with database(running.var) as connection:
        [(stuck, taken)] = connection.execute(
            "SELECT (SELECT count(*) FROM benchmarks_job WHERE error > ''),"
            " (SELECT count(*) FROM benchmarks_run)"
        )
    return {
        "seed": seed,
        "sent": statuses.total() - statuses[-1],
        "told": ", ".join(f"{kinds[n]} x {n}xx" for n in (2, 3, 4)),
        "taken": taken,
        "unanswered": statuses[0],
        "stuck": stuck,
        "errors": sum(n for status, n in statuses.items() if status >= 500),
    }


def _is_settled(running: Product) -> bool:
    answer = ask(running.port, "/api/v1/health/")
    if answer.status != 200:
        return False
    said = json.loads(answer.body)
    return not (
        said["outbox"]["waiting"] or any(kind["waiting"] for kind in said["due"])
    )


def _rights(running: Product) -> tuple[str, str, str]:
    """Return a token that may do all, and a signed-in person's cookies and mark."""
    words = ("create_token", "first-lab", "fuzzer", "--upload", "--read")
    token = command(running.var, "manage.py", *words).split()[-1]
    person = Crawler(running, "a person")
    person.sign_in(*first_sign_in(running.var))
    cookies = {it.name: it.value or "" for it in person.cookies}
    line = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return token, line, cookies.get("csrftoken", "")


def _sabotage(running: Product) -> None:
    """Take a table away, as a broken product does."""
    with database(running.var) as connection:
        connection.execute("ALTER TABLE benchmarks_flag RENAME TO taken_away")


def main() -> int:
    given = arguments(__doc__, "must see a 500", seed=1, requests=20_000)
    quotas = {"PREVIEWS_PER_MINUTE": "0", "LAB_PREVIEWS_PER_MINUTE": "0"}
    with (
        own_folder("fuzz") as folder,
        running_product(folder / "var", **quotas) as running,
    ):
        figures = fuzz(running, given.seed, given.requests, sabotage=given.control)
    print(LINE.format(**figures))
    failures = figures["errors"] or figures["stuck"] or figures["unanswered"]
    return verdict(
        is_good=not failures and figures["taken"] > 0,
        control=given.control,
        is_found=figures["errors"] > 0,
    )


if __name__ == "__main__":
    sys.exit(main())
