"""Studies are published by workers that may be killed at any time."""

import hashlib
import http.cookiejar
import re
import time
import urllib.parse
import urllib.request

import pytest

from benchmarks.reference.study_documents import reference_studies
from tests.product.test_lifecycle import flush, settle, wait_for_checks

pytestmark = [pytest.mark.product, pytest.mark.slow, pytest.mark.timeout(300)]

PUBLISHED_S = 90
KILLS = 4  # after one more the sweeper may rightly give a job up
FORMS = ["bib", "csv", "json", "pdf", "tex"]


class Browser:
    """A signed-in user without a browser."""

    def __init__(self, product) -> None:
        self.url = product.url
        jar = http.cookiejar.CookieJar()
        cookies = urllib.request.HTTPCookieProcessor(jar)
        self.opener = urllib.request.build_opener(cookies)
        text = (product.var / "first-sign-in").read_text()
        name, password = re.findall(r"^\w+: (\S+)$", text, re.MULTILINE)[:2]
        self.send("/login/", username=name, password=password)

    def send(self, path: str, **fields: str):
        """Submit the form of a page; return the page after the redirect."""
        page = self.opener.open(self.url + path).read().decode()
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)
        assert token, page
        text = urllib.parse.urlencode({**fields, "csrfmiddlewaretoken": token[1]})
        return self.opener.open(self.url + path, text.encode())


def kill_workers(product) -> None:
    for process in product.processes_matching("celery", "worker"):
        process.kill()


def test_killed_workers_and_emptied_redis_publish_each_study_once(product):
    client, browser = product.client(), Browser(product)
    slugs = [study.document["slug"] for study in reference_studies()]
    settle(client)
    wait_for_checks(client, slugs)

    for at, slug in enumerate(slugs):
        browser.send(
            f"/studies/first-lab/{slug}/publish/", publishing_permission="unrestricted"
        )
        if at < KILLS:
            kill_workers(product)
            flush(product)

    deadline = time.monotonic() + PUBLISHED_S
    while len(list(client.get_all("versions/"))) < len(slugs):
        assert time.monotonic() < deadline, "not all of them are published"
        time.sleep(0.5)
    for slug in slugs:
        (version,) = client.get_all("versions/", study=slug)
        assert sorted(file["format"] for file in version["files"]) == FORMS
        for file in version["files"]:
            content = browser.opener.open(file["url"]).read()
            assert hashlib.sha256(content).hexdigest() == file["sha256"]
