"""`make leaks`: crawl as nobody, strangers and other labs for private data.

One lab has a private study with unique markers beside a public study of the same
machine and cases. Every outsider follows all links and asks all addresses with the ids
of private objects: no answer may have a marker. The lab itself crawls too, and must
find every marker. ``--control`` makes the study public, which must be found.
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

from devtools.product import (
    OTHER_LAB,
    arguments,
    command,
    database,
    document,
    own_folder,
    running_product,
    verdict,
)
from devtools.routes import ROUTES
from running.processes import ROOT
from running.product import Product, wait_until_processed

PRIVATE, PUBLIC, HOST = "marker-private-study", "open-study", "marker-host"
OPEN_HOST = "open-host"
LINK = re.compile(r"""(?:href|src|action|data-[a-z-]+)=["'](/[^"'#]*)""")
NEXT = re.compile(r"https?://127\.0\.0\.1:\d+(/[^\s\"\\]+)")
# Followed by no reader: files of the frame, and what signs out.
PASSED_OVER = ("/static/", "/logout", "/account/sign-out")
IDS: Final = range(1, 8)
QUERIES = ("", f"?study={PRIVATE}", f"?study={PUBLIC}", f"?host={HOST}")
FILES: Final = ("csv", "json", "tex", "bib")


class Crawler:
    """A reader that follows all links."""

    def __init__(self, running: Product, name: str, token: str = "") -> None:
        self.base, self.name = running.url, name
        self.headers = {"Authorization": f"Token {token}"} if token else {}
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(self.cookies)
        )
        self.read = self.errors = 0
        self.met: dict[str, set[str]] = {}

    def sign_in(self, username: str, password: str) -> None:
        self.get("/login/")
        mark = next(it.value for it in self.cookies if it.name == "csrftoken")
        form = {"username": username, "password": password}
        sent = urllib.parse.urlencode({**form, "csrfmiddlewaretoken": mark or ""})
        request = urllib.request.Request(
            f"{self.base}/login/", sent.encode(), {"Referer": self.base}
        )
        with self.opener.open(request, timeout=60) as answer:
            answer.read()
        if not any(it.name == "sessionid" for it in self.cookies):
            raise RuntimeError(f"{username} cannot sign in")

    def get(self, path: str) -> tuple[int, str, bytes]:
        """Return status, type and body of an answer."""
        quoted = urllib.parse.quote(path, safe="/?&=%:,+~!*'();@$-._[]")
        request = urllib.request.Request(self.base + quoted, headers=self.headers)
        try:
            with self.opener.open(request, timeout=60) as answer:
                kind = answer.headers.get("Content-Type", "")
                # Where it was led to tells as much as what stands there.
                return answer.status, kind, answer.read() + answer.url.encode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, "", error.read()

    def crawl(self, begin: list[str], marks: dict[str, bytes], most: int) -> None:
        """Read all that can be reached; note which marks were met, and where."""
        waiting, known = deque(begin), set(begin)
        while waiting and self.read < most:
            path = waiting.popleft()
            status, kind, body = self.get(path)
            self.read += 1
            self.errors += status >= 500
            # An address that was asked with a mark says it again: that tells nothing.
            said = body.replace(urllib.parse.unquote(path).encode(), b"")
            for name, mark in marks.items():
                if mark in said:
                    self.met.setdefault(name, set()).add(path)
            if "html" in kind or "json" in kind:
                text = body.decode(errors="replace")
                for found in (*LINK.findall(text), *NEXT.findall(text)):
                    link = html.unescape(found).rstrip("\\")
                    if link not in known and not link.startswith(PASSED_OVER):
                        known.add(link)
                        waiting.append(link)


def addresses() -> list[str]:
    """Return every address of API and pages, with ids that may be private.

    Each comes with its first id before any with another one, so that a short crawl has
    been everywhere and has met each marker.
    """
    schema = yaml.safe_load((ROOT / "tests/api/openapi.yaml").read_text())
    groups = [["/", "/labs/", "/evidence/"]]
    for route in ROUTES.values():
        for address in (*route.walked, *route.counted):
            path = re.sub(r"^/studies/[^/]+/[^/]+/", "", address)
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
            filled = re.sub(r"\{format\}", "csv", path)
            groups.append(
                [re.sub(r"\{\w+\}", str(pk), filled) for pk in (*IDS, PRIVATE)]
            )
    turns = range(max(map(len, groups)))
    found = [ways[turn] for turn in turns for ways in groups if turn < len(ways)]
    return list(dict.fromkeys(found))


def _fill(running: Product, chance: random.Random) -> dict[str, bytes]:
    """Keep a private study beside a public one; return the marks of the private one."""
    # Words that appear nowhere else; the values have digits that no page rounds away.
    word = f"zq{chance.getrandbits(48):012x}"
    title, note = f"t{word}", f"n{word}"
    client = running.client()
    client.create_study({"slug": PRIVATE, "title": title, "visibility": "private"})
    client.create_study({"slug": PUBLIC, "title": "Open", "visibility": "public"})
    for slug in (HOST, OPEN_HOST):
        client.register_host({"slug": slug, "facts": {"cores": 2}})
    marks = {"title": title.encode(), "note": note.encode()}
    runs = []
    for guest, near in ((None, 7000.0), ("KVM", 6000.0)):
        # Each number of it is its own mark, and so is their mean.
        # None ends with a nought, which JSON leaves out.
        values = [near + chance.randrange(10**5 + 1, 10**6, 10) / 1000 for _ in "123"]
        marks |= {
            f"{guest} value {n}": f"{v:.3f}".encode() for n, v in enumerate(values)
        }
        system = {"hypervisor": guest} if guest else {}
        for value in values:
            runs.append(document(PRIVATE, HOST, value, note=note, system=system))
        for value in (50.0, 51.0, 52.0):
            runs.append(document(PUBLIC, OPEN_HOST, value, system=system))
    list(client.upload(runs))
    wait_until_processed(client)
    return marks


def _opened(running: Product) -> None:
    """Make the study public, as a missing filter would."""
    with database(running.var) as connection:
        connection.execute(
            "UPDATE benchmarks_study SET visibility = 'public' WHERE slug = %s",
            [PRIVATE],
        )


def _outsiders(running: Product) -> list[Crawler]:
    admin = "other-admin"
    made = command(
        running.var,
        "manage.py",
        "create_lab",
        OTHER_LAB,
        "Another lab",
        "--admin",
        admin,
    )
    words = command(
        running.var, "manage.py", "create_token", OTHER_LAB, "reader", "--read"
    )
    upload = (running.var / "upload-token").read_text().strip()
    found = re.search(r"vl_[A-Za-z0-9]+_\S+", words)
    if not found:
        raise RuntimeError(f"no token: {words}")
    person = Crawler(running, "the admin of another lab")
    person.sign_in(admin, made.strip())
    return [
        Crawler(running, "nobody"),
        person,
        Crawler(running, "a token of another lab", found[0]),
        Crawler(running, "the lab's own token that may but upload", upload),
    ]


LINE: Final = (
    "leaks: seed {seed}, {crawlers} outsiders, {read} answers, {marks} marks ({unseen} "
    "of them not met by the lab itself), {leaks} leaks, {errors} x 5xx"
)


def leaks(running: Product, seed: int, most: int, *, sabotage: bool) -> dict[str, int]:
    """Fill a product, crawl it as everybody, and count."""
    marks = _fill(running, random.Random(seed))
    own = Crawler(running, "the lab", (running.var / "read-token").read_text().strip())
    person = Crawler(running, "the lab's admin")
    person.sign_in(*first_sign_in(running.var))
    begin = addresses()
    for insider in (own, person):
        insider.crawl(begin, marks, most)
    outsiders = _outsiders(running)
    if sabotage:
        _opened(running)
    for outsider in outsiders:
        outsider.crawl(begin, marks, most)
        for name, where in outsider.met.items():
            print(f"  {outsider.name} reads {name}: {json.dumps(sorted(where)[:3])}")
    crawlers = [own, person, *outsiders]
    unseen = marks.keys() - own.met.keys() - person.met.keys()
    for name in sorted(unseen):
        print(f"  the lab itself did not meet {name}: {marks[name].decode()}")
    return {
        "seed": seed,
        "crawlers": len(outsiders),
        "read": sum(crawler.read for crawler in crawlers),
        "marks": len(marks),
        "unseen": len(unseen),
        "leaks": sum(len(crawler.met) for crawler in outsiders),
        "errors": sum(crawler.errors for crawler in crawlers),
    }


def first_sign_in(var: Path) -> tuple[str, str]:
    lines = (var / "first-sign-in").read_text().splitlines()
    user, password = (line.partition(": ")[2] for line in lines[:2])
    return user, password


def main() -> int:
    given = arguments(__doc__, "must find a saboteur", seed=1, most=3000)
    with own_folder("leaks") as folder, running_product(folder / "var") as running:
        figures = leaks(running, given.seed, given.most, sabotage=given.control)
    print(LINE.format(**figures))
    return verdict(
        is_good=not (figures["leaks"] or figures["unseen"] or figures["errors"]),
        control=given.control,
        is_found=figures["leaks"] > 0,
    )


if __name__ == "__main__":
    sys.exit(main())
