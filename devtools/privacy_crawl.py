"""`make privacy-crawl`: search for private data as an anonymous client and other users.

A lab has a private study, which contains unique texts and values (markers), and a
public study of the same benchmarks. No response to an outsider may contain a marker.
The lab itself crawls, too, and must find every marker. See docs/reliability.md, Other
commands.
"""

import html
import http.cookiejar
import json
import random
import re
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections import deque
from pathlib import Path
from typing import Final

import yaml

from devtools.routes import ROUTES
from devtools.temporary_product import (
    OTHER_LAB,
    arguments,
    command,
    database,
    document,
    exit_code_for,
    running_product,
    temporary_folder,
)
from running.processes import ROOT
from running.product_launcher import Product, wait_until_processed

PRIVATE, PUBLIC, HOST = "marker-private-study", "open-study", "marker-host"
OPEN_HOST = "open-host"
LINK = re.compile(r"""(?:href|src|action|data-[a-z-]+)=["'](/[^"'#]*)""")
NEXT = re.compile(r"https?://127\.0\.0\.1:\d+(/[^\s\"\\]+)")
# Links to static files, and links that sign out.
SKIPPED_PATHS = ("/static/", "/logout", "/account/sign-out")
IDS: Final = range(1, 8)
QUERIES = ("", f"?study={PRIVATE}", f"?study={PUBLIC}", f"?host={HOST}")
FILES: Final = ("csv", "json", "tex", "bib")


class Crawler:
    def __init__(self, product: Product, name: str, token: str = "") -> None:
        self.base, self.name = product.url, name
        self.headers = {"Authorization": f"Token {token}"} if token else {}
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies)
        )
        self.read = self.errors = 0
        self.leaks: dict[str, set[str]] = {}

    def sign_in(self, username: str, password: str) -> None:
        self.get("/login/")
        csrf = next(
            cookie.value for cookie in self.cookies if cookie.name == "csrftoken"
        )
        form = {"username": username, "password": password}
        body = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": csrf or ""})
        request = urllib.request.Request(
            f"{self.base}/login/", body.encode(), {"Referer": self.base}
        )
        with self.opener.open(request, timeout=60) as response:
            response.read()
        if not any(cookie.name == "sessionid" for cookie in self.cookies):
            raise RuntimeError(f"{username} cannot sign in")

    def get(self, path: str) -> tuple[int, str, bytes]:
        quoted = urllib.parse.quote(path, safe="/?&=%:,+~!*'();@$-._[]")
        request = urllib.request.Request(self.base + quoted, headers=self.headers)
        try:
            with self.opener.open(request, timeout=60) as response:
                content_type = response.headers.get("Content-Type", "")
                # The URL of a redirect may contain private data, too.
                body = response.read() + response.url.encode()
                return response.status, content_type, body
        except urllib.error.HTTPError as error:
            with error:
                return error.code, "", error.read()

    def crawl(self, start: list[str], markers: dict[str, bytes], most: int) -> None:
        """Read up to ``most`` URLs; record those whose responses contain markers."""
        waiting, known = deque(start), set(start)
        while waiting and self.read < most:
            path = waiting.popleft()
            status, content_type, body = self.get(path)
            self.read += 1
            self.errors += status >= 500
            # A response may repeat the requested URL.
            content = body.replace(urllib.parse.unquote(path).encode(), b"")
            for name, marker in markers.items():
                if marker in content:
                    self.leaks.setdefault(name, set()).add(path)
            if "html" in content_type or "json" in content_type:
                text = body.decode(errors="replace")
                for match in (*LINK.findall(text), *NEXT.findall(text)):
                    link = html.unescape(match).rstrip("\\")
                    if link not in known and not link.startswith(SKIPPED_PATHS):
                        known.add(link)
                        waiting.append(link)


def addresses() -> list[str]:
    """Return the URLs of the API and of pages, with IDs from `IDS`.

    URLs with the first ID come first, so that a short crawl finds each marker.
    """
    schema = yaml.safe_load((ROOT / "tests/api/openapi.yaml").read_text())
    groups = [["/", "/labs/", "/evidence/"]]
    for route in ROUTES.values():
        for url in (*route.example_urls, *route.query_count_urls):
            path = re.sub(r"^/studies/[^/]+/[^/]+/", "", url)
            path = path.replace("alpha-lab", "first-lab")
            path = path.replace("lmu-athlon64-x2-4800", HOST)
            if not path.startswith("/"):
                path = f"/studies/first-lab/{PRIVATE}/{path}"
            ids = IDS if "{" in path else IDS[:1]
            groups.append([re.sub(r"\{\w+\}", str(pk), path) for pk in ids])
    groups += [[f"/studies/first-lab/{PRIVATE}/compare.{kind}"] for kind in FILES]
    for path, methods in schema["paths"].items():
        if "get" in methods and "{" not in path:
            groups.append([path + query for query in QUERIES])
        elif "get" in methods:
            csv_path = re.sub(r"\{format\}", "csv", path)
            groups.append(
                [re.sub(r"\{\w+\}", str(pk), csv_path) for pk in (*IDS, PRIVATE)]
            )
    urls = [
        group[index]
        for index in range(max(map(len, groups)))
        for group in groups
        if index < len(group)
    ]
    return list(dict.fromkeys(urls))


def _create_studies(product: Product, rng: random.Random) -> dict[str, bytes]:
    # Markers are unique words, and values that pages do not round.
    word = f"zq{rng.getrandbits(48):012x}"
    title, note = f"t{word}", f"n{word}"
    client = product.client()
    client.create_study({"slug": PRIVATE, "title": title, "visibility": "private"})
    client.create_study({"slug": PUBLIC, "title": "Open", "visibility": "public"})
    for slug in (HOST, OPEN_HOST):
        client.register_host({"slug": slug, "facts": {"cores": 2}})
    markers = {"title": title.encode(), "note": note.encode()}
    runs = []
    for guest, base in ((None, 7000.0), ("KVM", 6000.0)):
        # Values do not end in zero, which JSON would omit.
        values = [base + rng.randrange(10**5 + 1, 10**6, 10) / 1000 for _ in "123"]
        markers |= {
            f"{guest} value {n}": f"{v:.3f}".encode() for n, v in enumerate(values)
        }
        system = {"hypervisor": guest} if guest else {}
        for value in values:
            runs.append(document(PRIVATE, HOST, value, note=note, system=system))
        for value in (50.0, 51.0, 52.0):
            runs.append(document(PUBLIC, OPEN_HOST, value, system=system))
    list(client.upload(runs))
    wait_until_processed(client)
    return markers


def _publish(product: Product) -> None:
    with database(product.var) as connection:
        connection.execute(
            "UPDATE benchmarks_study SET visibility = 'public' WHERE slug = %s",
            [PRIVATE],
        )


def _outsiders(product: Product) -> list[Crawler]:
    admin = "other-admin"
    password = command(
        product.var,
        "manage.py",
        "create_lab",
        OTHER_LAB,
        "Another lab",
        "--admin",
        admin,
    )
    output = command(
        product.var, "manage.py", "create_token", OTHER_LAB, "reader", "--read"
    )
    upload = (product.var / "upload-token").read_text().strip()
    token = re.search(r"vl_[A-Za-z0-9]+_\S+", output)
    if not token:
        raise RuntimeError(f"no token: {output}")
    user = Crawler(product, "the admin of another lab")
    user.sign_in(admin, password.strip())
    return [
        Crawler(product, "an anonymous client"),
        user,
        Crawler(product, "a token of another lab", token[0]),
        Crawler(product, "the lab's token for uploads only", upload),
    ]


LINE: Final = (
    "leaks: seed {seed}, {crawlers} outsiders, {read} responses, {marks} markers "
    "({unseen} of them not seen by the lab itself), {leaks} leaks, {errors} x 5xx"
)


def crawl_all(
    product: Product, seed: int, most: int, *, sabotage: bool
) -> dict[str, int]:
    markers = _create_studies(product, random.Random(seed))
    read_token = (product.var / "read-token").read_text().strip()
    token = Crawler(product, "the lab's read token", read_token)
    admin = Crawler(product, "the lab's admin")
    admin.sign_in(*first_sign_in(product.var))
    start = addresses()
    for insider in (token, admin):
        insider.crawl(start, markers, most)
    outsiders = _outsiders(product)
    if sabotage:
        _publish(product)
    for outsider in outsiders:
        outsider.crawl(start, markers, most)
        for name, urls in outsider.leaks.items():
            print(f"  {outsider.name} reads {name}: {json.dumps(sorted(urls)[:3])}")
    crawlers = [token, admin, *outsiders]
    unseen = markers.keys() - token.leaks.keys() - admin.leaks.keys()
    for name in sorted(unseen):
        print(f"  the lab itself did not see {name}: {markers[name].decode()}")
    return {
        "seed": seed,
        "crawlers": len(outsiders),
        "read": sum(crawler.read for crawler in crawlers),
        "marks": len(markers),
        "unseen": len(unseen),
        "leaks": sum(len(crawler.leaks) for crawler in outsiders),
        "errors": sum(crawler.errors for crawler in crawlers),
    }


def first_sign_in(var: Path) -> tuple[str, str]:
    lines = (var / "first-sign-in").read_text().splitlines()
    user, password = (line.partition(": ")[2] for line in lines[:2])
    return user, password


def main() -> int:
    options = arguments(__doc__, "publish the study to find", seed=1, most=3000)
    with (
        temporary_folder("leaks") as folder,
        running_product(folder / "var") as product,
    ):
        figures = crawl_all(
            product, options.seed, options.most, sabotage=options.control
        )
    print(LINE.format(**figures))
    return exit_code_for(
        is_good=not (figures["leaks"] or figures["unseen"] or figures["errors"]),
        control=options.control,
        is_found=figures["leaks"] > 0,
    )


if __name__ == "__main__":
    sys.exit(main())
