"""What people come for, counted in what their hands do: a paper's table, an answer."""

import os
import re
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from running import browser
from tests.dashboard import browsing
from tests.product.test_making import sign_in

pytestmark = [
    pytest.mark.product,
    pytest.mark.browser,
    pytest.mark.proof,
    pytest.mark.timeout(300),
]

SYSBENCH = Path(__file__).parents[1] / "data" / "sysbench" / "cpu-1thread.txt"
BEGAN = datetime(2026, 11, 20, 20, tzinfo=UTC)
COMPARED_MS = 60_000
HANDS = ("click", "fill", "check", "set_input_files", "select_option")


@pytest.fixture(scope="module")
def chromium():
    with browser.chromium() as started:
        yield started


@pytest.fixture
def hands(monkeypatch):
    """Every click, text, tick and choice of a test, in their order."""
    done = []

    def noted(name):
        act = getattr(Locator, name)

        def acting(self, *args, **kwargs):
            done.append(name)
            return act(self, *args, **kwargs)

        return acting

    for name in HANDS:
        monkeypatch.setattr(Locator, name, noted(name))
    return done


@pytest.fixture
def measured(tmp_path):
    """Five outputs of sysbench in each of two folders; the guest is 7 % slower."""
    printed = SYSBENCH.read_text()
    rate = float(re.search(r"events per second: +([\d.]+)", printed)[1])
    minute = 0
    for folder, share in (("native", 1.0), ("kvm-8.2", 0.93)):
        (tmp_path / folder).mkdir()
        for at, noise in enumerate((0, 0.002, -0.001, 0.001, -0.002)):
            file = tmp_path / folder / f"sysbench-{at}.txt"
            text = printed.replace(f"{rate:.2f}", f"{rate * share * (1 + noise):.2f}")
            file.write_text(text)
            wrote = (BEGAN + timedelta(minutes=minute)).timestamp()
            os.utime(file, (wrote, wrote))
            minute += 1
    return tmp_path


def test_a_student_makes_files_a_table_a_chart_and_a_citation(
    chromium, product, measured, hands
):
    with browsing.window(chromium, product.url) as visit:
        page = sign_in(visit, product)
        page.get_by_role("link", name="New study").first.click()
        page.get_by_label("Title").fill("KVM on my desk")
        page.get_by_role("button", name="Create the study").click()
        page.get_by_role("link", name="Upload results").click()
        for folder in ("native", "kvm-8.2"):
            page.locator("#upload-folder").set_input_files(measured / folder)
        expect(page.locator("[data-status]")).to_contain_text("10 read")
        native, kvm = (
            page.get_by_role("group", name=f"{name}/") for name in ("native", "kvm-8.2")
        )
        # Nobody's machine is taken for this one; said once, it holds for both folders.
        expect(native.get_by_label("Host")).to_have_value("")
        native.get_by_label("Host").select_option("One that is not listed…")
        native.get_by_label("What that machine is called").fill("My desk")
        page.get_by_label("Take the files' dates for the others").check()
        expect(kvm.get_by_label("What that machine is called")).to_have_value("My desk")
        page.get_by_role("button", name="Upload", exact=True).click()
        page.get_by_role("link", name="See the comparison").click(timeout=COMPARED_MS)
        expect(page.locator("main table").first).to_contain_text("0.93")
        page.get_by_role("link", name="Summary").click()
        page.get_by_role("link", name="For a paper").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Everything as a zip").click()

        assert visit.errors == []
        with zipfile.ZipFile(download.value.path()) as files:
            kit = {name: files.read(name) for name in files.namelist()}
    assert b"0.9300" in kit["table.tex"]
    assert b"KVM on my desk" in kit["study.bib"]
    assert kit["chart-3.33in.pdf"].startswith(b"%PDF")
    assert b"1 session" in kit["methods.txt"]
    assert len(hands) <= 25, hands


def test_a_planner_has_an_answer_in_three_clicks(chromium, product, hands):
    with browsing.window(chromium, product.url) as visit:
        page = visit.open("/")
        menu = page.get_by_role("navigation", name="Main")
        menu.get_by_role("link", name="Compare across studies").click()

        answer = page.locator("[data-answer]")
        expect(answer).to_contain_text(re.compile(r"\d+.*%"))
        assert visit.errors == []
    assert len(hands) <= 3
