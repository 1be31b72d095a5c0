"""`make fuzz`: send tens of thousands of invalid requests; no response may be 500.

Requests go to the API and, as a signed-in user, to pages. See docs/reliability.md,
Other commands.
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

from devtools.privacy_crawl import Crawler, addresses, first_sign_in
from devtools.temporary_product import (
    HttpResponse,
    arguments,
    command,
    database,
    document,
    exit_code_for,
    running_product,
    send_request,
    temporary_folder,
    wait_until,
)
from running.product_launcher import Product

STUDY, HOST = "fuzzed", "fuzzed-host"
CLIENTS: Final = 6
MAX_PRINTED: Final = 20
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
        "\uffff",
        "a\ufffeb",
        "\u200b",
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
class FuzzedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None = None

    def send(self, port: int) -> HttpResponse:
        try:
            return send_request(
                port,
                self.path,
                method=self.method,
                body=self.body,
                headers=self.headers,
            )
        except (ValueError, UnicodeError):
            return HttpResponse(-1)  # refused by Python's HTTP client

    def __str__(self) -> str:
        body = (self.body or b"")[:300].decode(errors="backslashreplace")
        return f"{self.method} {self.path[:300]} {body}"


class Fuzzer:
    def __init__(self, rng: random.Random, token: str, cookies: str, csrf: str):
        self.rng = rng
        self.token, self.cookies, self.csrf = token, cookies, csrf
        paths = {path.partition("?")[0] for path in addresses()}
        self.api = sorted(path for path in paths if path.startswith("/api/"))
        self.pages = sorted(paths - set(self.api))
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
            ("custom-tools/", self._tool),
        )

    def draw(self) -> FuzzedRequest:
        kind = self.rng.random()
        if kind < 0.35:
            request = self._document()
        elif kind < 0.55:
            request = self._read(self.api, {"Authorization": f"Token {self.token}"})
        elif kind < 0.8:
            request = self._read(self.pages, {"Cookie": self.cookies})
        else:
            request = self._form()
        return self._corrupt(request) if self.rng.random() < 0.1 else request

    def _document(self) -> FuzzedRequest:
        name, make = self.rng.choice(self.writers)
        document = make()
        for _ in range(self.rng.choice((0, 1, 1, 1, 2, 3))):
            document = self._changed(document)
        try:
            body = json.dumps(document).encode()
        except (ValueError, UnicodeError):
            body = b'{"a": "\xff"}'
        kind = "application/x-ndjson" if "bulk" in name else "application/json"
        headers = {"Authorization": f"Token {self.token}", "Content-Type": kind}
        return FuzzedRequest("POST", f"/api/v1/{name}", headers, body)

    def _changed(self, document: Any) -> Any:
        changed = deepcopy(document)
        items = list(_items(changed))
        if not items:
            return self._value()
        container, key = self.rng.choice(items)
        if isinstance(container, dict) and self.rng.random() < 0.15:
            del container[key]
        elif isinstance(container, dict) and self.rng.random() < 0.1:
            container[self.rng.choice(TEXTS)[:100]] = self._value()
        else:
            container[key] = self._value()
        return changed

    def _value(self) -> Any:
        return self.rng.choice(self.rng.choice((NUMBERS, TEXTS, TYPES)))

    def _read(self, paths: list[str], headers: dict[str, str]) -> FuzzedRequest:
        path = self.rng.choice(paths)
        parameters = [
            (self.rng.choice(PARAMETERS), str(self._value())[:3000])
            for _ in range(self.rng.choice((0, 1, 1, 2, 3)))
        ]
        if self.rng.random() < 0.02:
            parameters += self._too_many_fields()
        query = urllib.parse.urlencode(parameters, errors="surrogatepass")
        return FuzzedRequest("GET", f"{path}?{query}" if query else path, headers)

    def _form(self) -> FuzzedRequest:
        path = self.rng.choice(self.pages)
        fields = {
            "csrfmiddlewaretoken": self.csrf,
            "do": self.rng.choice(("preview", "store", "")),
            self.rng.choice(PARAMETERS): str(self._value())[:3000],
            self.rng.choice(("slug", "title", "name", "note", "facts", "role")): str(
                self._value()
            )[:3000],
        }
        if self.rng.random() < 0.05:
            fields |= dict(self._too_many_fields())
        headers = {"Cookie": self.cookies, "Referer": "http://127.0.0.1/"}
        if self.rng.random() < 0.5:
            body = urllib.parse.urlencode(fields, errors="surrogatepass").encode()
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            return FuzzedRequest("POST", path, headers, body)
        headers["Content-Type"] = "multipart/form-data; boundary=b"
        return FuzzedRequest("POST", "/upload/", headers, self._multipart(fields))

    def _too_many_fields(self) -> list[tuple[str, str]]:
        """Return more fields, or longer ones, than a URL or a form may have."""
        if self.rng.random() < 0.5:
            return [(f"a{number}", "") for number in range(1_001)]
        return [(self.rng.choice(PARAMETERS), "x" * self.rng.choice((9_000, 60_000)))]

    def _multipart(self, fields: dict[str, str]) -> bytes:
        parts = [
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in fields.items()
        ]
        file = self.rng.choice(
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
        name = self.rng.choice(("a.txt", "a.zip", "", "../a", "é", '";x', "x" * 900))
        head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"'
        extra = self.rng.choice(
            (
                *("", "Content-Transfer-Encoding: base64\r\n", "Content-Type: \r\n"),
                *("A\r\n", "Content-Type: text/plain; charset=utf-16\r\n"),
            )
        )
        end = self.rng.choice((b"\r\n--b--\r\n", b"", b"\r\n--b", b"\r\n--c--"))
        text = "".join(parts) + head + f"\r\n{extra}\r\n"
        return text.encode(errors="surrogatepass") + file + end

    def _corrupt(self, request: FuzzedRequest) -> FuzzedRequest:
        headers, method, body = dict(request.headers), request.method, request.body
        kind = self.rng.randrange(7)
        if kind == 0:
            method = self.rng.choice(METHODS)
        elif kind == 1:
            headers["Host"] = self.rng.choice(HOSTS)
        elif kind == 2:
            headers["Content-Type"] = self.rng.choice(KINDS)
        elif kind == 3:
            headers["Content-Encoding"] = self.rng.choice(ENCODINGS)
        elif kind == 4:
            headers["Accept"] = self.rng.choice((*KINDS, "*/*;q=x"))
            headers["Accept-Language"] = str(self._value())[:200]
        elif kind == 5:
            headers["Authorization"] = str(self._value())[:500]
            headers["Cookie"] = "sessionid=" + str(self._value())[:500]
        else:
            body = bytes(self.rng.randrange(256) for _ in range(200))
        return FuzzedRequest(method, request.path, headers, body)

    def _run(self) -> dict[str, Any]:
        key = f"{self.rng.getrandbits(128):032x}"
        run = document(STUDY, HOST, self.rng.uniform(50, 60), key=key)
        run["key"] = f"{key[:8]}-{key[8:12]}-4{key[13:16]}-a{key[17:20]}-{key[20:]}"
        if self.rng.random() < 0.5:
            run["system"]["hypervisor"] = self.rng.choice(("Xen", "KVM", "ESXi"))
        if self.rng.random() < 0.3:
            run["samples"][0]["value"] = self.rng.choice(NUMBERS)
        if self.rng.random() < 0.3:
            run["facts"] = {"execution": {"local_us": self.rng.choice(NUMBERS)}}
        if self.rng.random() < 0.2:
            run |= {"session": "day", "started_at": "2026-01-02T03:04:05Z"}
        return run

    def _power(self) -> dict[str, Any]:
        samples = [[n, self.rng.choice(NUMBERS)] for n in range(3)]
        return {"host": HOST, "meter": "m", "clock": "c", "samples": samples}

    def _plan(self) -> dict[str, Any]:
        design = {"systems": [{"system": 1}], "tools": [{"tool": "hackbench"}]}
        design |= {"repetitions": 1, "warm_up_rounds": 0}
        return {"study": STUDY, "title": "A plan", "design": design, "budget_s": 60}

    def _tool(self) -> dict[str, Any]:
        metric = {"name": "boot time", "unit": "ms", "better": "lower"}
        return {"slug": "boot", "title": "Boot", "metrics": [metric]}


def _items(value: Any) -> Any:
    if not isinstance(value, dict | list):
        return
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _items(value[key])


LINE: Final = (
    "fuzz: seed {seed}, {sent} requests ({statuses}), {accepted} runs accepted, "
    "{unanswered} unanswered, {stuck} jobs failed, {errors} x 5xx"
)


def fuzz(
    product: Product, seed: int, requests: int, *, sabotage: bool
) -> dict[str, Any]:
    """Send random requests, then read all pages; return the values for `LINE`."""
    client = product.client()
    client.create_study({"slug": STUDY, "title": "Fuzz", "visibility": "public"})
    client.register_host({"slug": HOST, "facts": {"cores": 2}})
    for hypervisor in ("native", "Xen"):
        run = document(STUDY, HOST, 52.0, system={"hypervisor": hypervisor})
        list(client.upload([run]))
    fuzzer = Fuzzer(random.Random(seed), *_credentials(product))
    if sabotage:
        _sabotage(product)
    statuses: Counter[int] = Counter()
    printed = 0
    requests_ = [fuzzer.draw() for _ in range(requests)]
    # Sent when the accepted uploads have been processed.
    reads = [
        FuzzedRequest("GET", path, {"Cookie": fuzzer.cookies}) for path in fuzzer.pages
    ]
    reads += [FuzzedRequest("GET", f"{path}?study={STUDY}", {}) for path in fuzzer.api]
    with ThreadPoolExecutor(CLIENTS) as pool:
        for batch in (requests_, reads):
            responses = pool.map(lambda request: request.send(product.port), batch)
            for request, response in zip(batch, responses, strict=True):
                status = response.status
                statuses[status] += 1
                if status in {0, *range(500, 600)} and printed < MAX_PRINTED:
                    printed += 1
                    print(f"  {status}: {request}", flush=True)
            wait_until(lambda: _is_settled(product), 60)
    kinds = Counter(status // 100 for status in statuses.elements())
    with database(product.var) as connection:
        [(stuck, accepted)] = connection.execute(
            "SELECT (SELECT count(*) FROM benchmarks_job WHERE error > ''),"
            " (SELECT count(*) FROM benchmarks_run)"
        )
    return {
        "seed": seed,
        "sent": statuses.total() - statuses[-1],
        "statuses": ", ".join(f"{kinds[n]} x {n}xx" for n in (2, 3, 4)),
        "accepted": accepted,
        "unanswered": statuses[0],
        "stuck": stuck,
        "errors": sum(n for status, n in statuses.items() if status >= 500),
    }


def _is_settled(product: Product) -> bool:
    response = send_request(product.port, "/api/v1/health/")
    if response.status != 200:
        return False
    health = json.loads(response.body)
    return not (
        health["outbox"]["waiting"]
        or any(kind["waiting"] for kind in health["waiting_jobs"])
    )


def _credentials(product: Product) -> tuple[str, str, str]:
    words = ("create_token", "first-lab", "fuzzer", "--upload", "--read", "--manage")
    token = command(product.var, "manage.py", *words).split()[-1]
    user = Crawler(product, "a user")
    user.sign_in(*first_sign_in(product.var))
    cookies = {cookie.name: cookie.value or "" for cookie in user.cookies}
    header = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return token, header, cookies.get("csrftoken", "")


def _sabotage(product: Product) -> None:
    with database(product.var) as connection:
        connection.execute("ALTER TABLE benchmarks_flag RENAME TO taken_away")


def main() -> int:
    options = arguments(__doc__, "cause 500s to find", seed=1, requests=20_000)
    quotas = {"PREVIEWS_PER_MINUTE": "0", "LAB_PREVIEWS_PER_MINUTE": "0"}
    with (
        temporary_folder("fuzz") as folder,
        running_product(folder / "var", **quotas) as product,
    ):
        figures = fuzz(
            product, options.seed, options.requests, sabotage=options.control
        )
    print(LINE.format(**figures))
    failures = figures["errors"] or figures["stuck"] or figures["unanswered"]
    return exit_code_for(
        is_good=not failures and figures["accepted"] > 0,
        control=options.control,
        is_found=figures["errors"] > 0,
    )


if __name__ == "__main__":
    sys.exit(main())
