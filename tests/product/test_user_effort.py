"""The number of clicks and entries for common tasks: a table of a paper, an answer.

The lab manager's task (three labs, one foreign signature) is in test_making.py.
"""

import json
import os
import random
import re
import subprocess
import sys
import venv
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from client import build
from running import headless_browser
from tests.dashboard import browser_site
from tests.product.test_publishing_flow import sign_in

pytestmark = [
    pytest.mark.product,
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

DATA = Path(__file__).parents[1] / "data"
SYSBENCH = DATA / "sysbench" / "cpu-1thread.txt"
FIO = DATA / "fio" / "randread-4k-json.txt"
BEGAN = datetime(2026, 11, 20, 20, tzinfo=UTC)
RUNS = 10
COMPARED_MS = 60_000
HANDS = ("click", "fill", "check", "set_input_files", "select_option")


@pytest.fixture(scope="module")
def chromium():
    with headless_browser.shared_chromium() as started:
        yield started


@pytest.fixture
def hands(monkeypatch):
    """Every click, text entry and choice of a test, in order."""
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
    """Forty files: sysbench and fio, ten runs each, on the machine and in a guest.

    The guest's processor is 7 % slower, its disk 25 %; runs vary by a thousandth.
    """
    chance = random.Random(19)
    minute = 0
    for folder, cpu, disk in (("native", 1.0, 1.0), ("kvm-8.2", 0.93, 0.75)):
        (tmp_path / folder).mkdir()
        for at in range(RUNS):
            for name, text in (
                (f"sysbench-{at}.txt", sysbench(cpu * chance.gauss(1, 0.001))),
                (f"fio-{at}.json", fio(disk * chance.gauss(1, 0.001), minute)),
            ):
                file = tmp_path / folder / name
                file.write_text(text)
                wrote = (BEGAN + timedelta(minutes=minute)).timestamp()
                os.utime(file, (wrote, wrote))
                minute += 1
    return tmp_path


def sysbench(speed):
    """Return an output of sysbench, at a fraction of the speed."""
    printed = SYSBENCH.read_text()
    rate = re.search(r"events per second: +([\d.]+)", printed)[1]
    return printed.replace(rate, f"{float(rate) * speed:.2f}")


def fio(speed, minute):
    """Return an output of fio, whose numbers are consistent within a run."""
    report = json.loads(FIO.read_text())
    report["timestamp"] += 60 * minute
    read = report["jobs"][0]["read"]
    for name in ("total_ios", "bw", "io_kbytes", "bw_mean", "iops_mean", "iops"):
        read[name] = type(read[name])(read[name] * speed)
    read["io_bytes"] = read["total_ios"] * 4096
    read["bw_bytes"] = read["io_bytes"] * 1000 // read["runtime"]
    return json.dumps(report)


def test_student_gets_files_table_chart_and_citation(
    chromium, product, measured, hands
):
    with browser_site.window(chromium, product.url) as visit:
        page = sign_in(visit, product)
        page.get_by_role("link", name="New study").first.click()
        page.get_by_label("Title").fill("KVM on my desk")
        page.get_by_role("button", name="Create study").click()
        page.get_by_role("link", name="Upload results").click()
        for folder in ("native", "kvm-8.2"):
            page.locator("#upload-folder").set_input_files(measured / folder)
        expect(page.locator("[data-status]")).to_contain_text("40 recognized")
        native, kvm = (
            page.get_by_role("group", name=f"{name}/") for name in ("native", "kvm-8.2")
        )
        # The files are not from this machine; answered once, for both folders.
        expect(native.get_by_label("Host")).to_have_value("")
        native.get_by_label("Host").select_option("New machine…")
        native.get_by_label("Machine name").fill("My desk")
        page.get_by_label(
            "Use the files' dates for results without a start time"
        ).check()
        expect(kvm.get_by_label("Machine name")).to_have_value("My desk")
        page.get_by_role("button", name="Upload", exact=True).click()
        page.get_by_role("link", name="View comparison").click(timeout=COMPARED_MS)
        shown = page.locator("main table").first
        expect(shown).to_contain_text(re.compile(r"0\.9(29|30|31)"))
        expect(shown).to_contain_text(re.compile(r"0\.7(49|50|51)"))
        page.get_by_role("link", name="Summary").click()
        page.get_by_role("link", name="For a paper…").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="Download all (ZIP)").click()

        assert visit.errors == []
        with zipfile.ZipFile(download.value.path()) as files:
            kit = {name: files.read(name) for name in files.namelist()}
    table = kit["table.tex"].decode()
    # Both tools, each within a few thousandths of the values in the files.
    assert re.search(r"0\.9[23]\d", table)
    assert re.search(r"0\.7[45]\d", table)
    assert b"KVM on my desk" in kit["study.bib"]
    assert kit["chart-3.33in.pdf"].startswith(b"%PDF")
    assert b"1 session" in kit["methods.txt"]
    assert len(hands) <= 25, hands


def test_planner_gets_an_answer_in_three_clicks(chromium, product, hands):
    with browser_site.window(chromium, product.url) as visit:
        page = visit.open("/")
        menu = page.get_by_role("navigation", name="Main")
        menu.get_by_role("link", name="Compare across studies").click()

        answer = page.locator("[data-summary-text]")
        expect(answer).to_contain_text(re.compile(r"\d+.*%"))
        assert visit.errors == []
    assert len(hands) <= 3


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A separate Python with the client installed by `pip install`."""
    folder = tmp_path_factory.mktemp("venv")
    wheel = build.main(str(tmp_path_factory.mktemp("dist")))
    venv.create(folder, with_pip=False)
    made = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", made, "install", "--quiet"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    return made


def test_data_scientist_gets_all_data_in_three_lines(product, python):
    lines = [
        "import virtlab",
        f'cells = virtlab.read_cells("lmu-2010-xen", server="{product.url}")',
        f'samples = virtlab.read_samples("lmu-2010-xen", server="{product.url}")',
    ]
    command = (
        "print(len(cells), len(samples), 'mean' in cells[0], 'value' in samples[0])"
    )

    printed = subprocess.run(
        [python, "-c", "\n".join([*lines, command])],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout.split()

    with product.client("read-token") as client:
        expected = list(client.get_all("cells/", study="lmu-2010-xen"))
    assert len(lines) <= 3
    assert int(printed[0]) == len(expected) > 300
    assert int(printed[1]) >= int(printed[0])
    assert printed[2:] == ["True", "True"]
