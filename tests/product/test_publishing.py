"""Studies are published by workers that may be killed at any moment."""

import hashlib
import http.cookiejar
import re
import time
import urllib.parse
import urllib.request

import pytest

from benchmarks.reference.documents import reference_studies
from tests.product.test_life import flush, settle, wait_for_checks

pytestmark = [pytest.mark.product, pytest.mark.proof, pytest.mark.timeout(300)]

PUBLISHED_S = 90
KILLS = 4  # one more and the sweeper may rightly give one up
FORMS = ["bib", "csv", "json", "pdf", "tex"]


class Browser:
    """Somebody signed in, without a browser."""

    def __init__(self, product) -> None:
        self.url = product.url
        jar = http.cookiejar.CookieJar()
        keeper = urllib.request.HTTPCookieProcessor(jar)
        self.opener = urllib.request.build_opener(keeper)
        said = (product.var / "first-sign-in").read_text()
        name, password = re.findall(r"^\w+: (\S+)$", said, re.MULTILINE)[:2]
        self.send("/login/", username=name, password=password)

    def send(self, path: str, **fields: str):
        """Fill in the form of a page; return the answer that it leads to."""
        page = self.opener.open(self.url + path).read().decode()
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)
        assert token, page
        said = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token[1]})
        return self.opener.open(self.url + path, said.encode())


def kill_workers(product) -> None:
    for process in product.named("celery", "worker"):
        process.kill()


def test_killed_workers_and_an_emptied_redis_publish_each_study_once(product):
    client, browser = product.client(), Browser(product)
    slugs = [study.document["slug"] for study in reference_studies()]
    settle(client)
    wait_for_checks(client, slugs)

    for at, slug in enumerate(slugs):
        browser.send(f"/studies/first-lab/{slug}/publish/", licence="free")
        if at < KILLS:
            kill_workers(product)
            flush(product)

    deadline = time.monotonic() + PUBLISHED_S
    while len(list(client.get_all("versions/"))) < len(slugs):
        assert time.monotonic() < deadline, "not all of them are published"
        time.sleep(0.5)
    for slug in slugs:
        (version,) = client.get_all("versions/", study=slug)
        assert sorted(each["form"] for each in version["files"]) == FORMS
        for each in version["files"]:
            content = browser.opener.open(each["url"]).read()
            assert hashlib.sha256(content).hexdigest() == each["sha256"]
