"""The client as users install it: a wheel in its own venv, against a live server."""

import json
import os
import re
import subprocess
import sys
import urllib.request
import venv
import zipfile
from datetime import timedelta
from functools import partial
from html import unescape

import pytest

from agents import client as agents_client
from benchmarks.labs.tokens import issue_token
from benchmarks.models import Agent, Host, Lab, Study
from benchmarks.studies import checking
from benchmarks.uploads import intake, processing
from client import build
from tests.dashboard import served_studies
from tests.upload_documents import network_run

pytestmark = pytest.mark.django_db

open_run = partial(network_run, host="alpha", study="open")
DUCKDB = ("duckdb==1.5.5", "duckdb-extension-httpfs==1.5.5")
PANDAS = "class DataFrame(list):\n    pass\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build.main(str(tmp_path_factory.mktemp("dist")))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python with only the wheel installed."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    made = str(folder / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", made, "install", "--quiet"]
    subprocess.run([*pip, "--no-index", str(wheel)], check=True)
    return made


@pytest.fixture(scope="module")
def site(django_db_setup, django_db_blocker):
    """Serve a public and a private study; return the address and the lab's token."""
    with served_studies.committed(django_db_blocker):
        lab = Lab.objects.create(slug="alpha-lab", name="Alpha lab")
        agent = Agent.objects.create(lab=lab, name="alice")
        Host.objects.create(lab=lab, slug="alpha")
        for slug, visibility in (("open", "public"), ("closed", "private")):
            Study.objects.create(
                lab=lab, slug=slug, title=slug.title(), visibility=visibility
            )
        xen = {"hypervisor": "Xen", "hypervisor_version": "3.3"}
        runs = [open_run(), open_run(26.0, system=xen)]
        intake.submit_runs(agent=agent, documents=runs)
        processing.process_due_uploads()
        checking.check_due_studies(timedelta(0))
        _, token = issue_token(agent=agent, can_upload=True, can_read=True)
        with served_studies.served() as address:
            yield address, token


@pytest.fixture
def evaluate(python, site):
    """Return the value of an expression evaluated with the client."""
    address, token = site

    def ask(expression, token=token, **environment):
        program = f"import json, virtlab\nprint(json.dumps({expression}, default=str))"
        variables = {"VIRTLAB_SERVER": address, "VIRTLAB_TOKEN": token, **environment}
        done = subprocess.run(
            [python, "-c", program],
            env={"PATH": os.environ["PATH"], **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


@pytest.fixture(scope="module")
def lines(site):
    """Return the lines of the data page that install the client and read a study."""
    with urllib.request.urlopen(f"{site[0]}/data/?study=alpha-lab/open") as page:
        found = re.findall(
            'aria-label="([^"]+)"><code>(.*?)</code>', page.read().decode()
        )
    return {name: unescape(line) for name, line in found}


def test_client_is_installed_from_the_server_and_reads_in_one_line(lines, tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    made = str(tmp_path / "venv" / "bin" / "python")
    program, *arguments = lines["Installation of the client"].split()
    assert program == "pip"
    pip = [sys.executable, "-m", "pip", "--python", made, *arguments]
    subprocess.run([*pip, "--no-index"], check=True)

    line = f"{lines['Python']}; print(len(cells))"

    assert subprocess.check_output([made, "-c", line], text=True) == "2\n"


def test_pandas_reads_in_one_line(lines):
    line = f"{lines['pandas']}; print(len(cells))"

    assert subprocess.check_output([sys.executable, "-c", line], text=True) == "2\n"


@pytest.mark.readers
def test_r_reads_in_one_line(lines):
    line = f"{lines['R']}; cat(nrow(cells), mean(cells$mean))"

    shown = subprocess.check_output(["Rscript", "--vanilla", "-e", line], text=True)
    assert shown == "2 39.485"


@pytest.mark.readers
def test_duckdb_reads_in_one_line(lines, tmp_path):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path)]
    subprocess.run([*pip, *DUCKDB], check=True)
    program = f"""if True:
        import duckdb, pathlib
        # DuckDB would download this extension by itself.
        (extension,) = pathlib.Path({str(tmp_path)!r}).rglob("httpfs.duckdb_extension")
        duckdb.sql(f"INSTALL '{{extension}}'")
        duckdb.sql({lines["DuckDB"]!r})
        print(duckdb.sql("SELECT count(*), sum(mean) FROM cells").fetchall())
    """

    shown = subprocess.check_output(
        [sys.executable, "-c", program],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(tmp_path),
            "HOME": str(tmp_path),
        },
        text=True,
    )

    assert shown == "[(2, 78.97)]\n"


def test_wheel_contains_the_agents_client(wheel):
    with zipfile.ZipFile(wheel) as opened:
        own = opened.read("virtlab/client.py")

    with open(agents_client.__file__, "rb") as file:
        assert own == file.read()


def test_same_sources_give_the_same_bytes(wheel):
    assert build.wheel(wheel.name.split("-")[1]) == wheel.read_bytes()


def test_all_cells_are_one_line_of_code(evaluate):
    cells = evaluate('virtlab.read_cells("open")', token="")

    assert sorted(cell["mean"] for cell in cells) == [26.0, 52.97]
    assert {cell["unit"] for cell in cells} == {"MB/s"}
    assert all("parameters.operation" in cell for cell in cells)


def test_filters_are_those_of_the_api(evaluate):
    assert evaluate('virtlab.read_cells("open", scenario="parallel")') == []


def test_every_table_is_one_line_of_code(evaluate):
    for table, n in (("systems", 2), ("runs", 2), ("samples", 2), ("cells", 2)):
        assert len(evaluate(f'virtlab.read_{table}("open")')) == n, table
        assert len(evaluate(f"virtlab.read_{table}(hypervisor='Xen')")) == 1, table

    (sample,) = evaluate('virtlab.read_samples("open", hypervisor="Xen")')
    assert (sample["value"], sample["parameters.operation"]) == (26.0, "write")


def test_refusal_has_the_servers_message(python, site):
    program = """if True:
        import virtlab
        try:
            virtlab.read_cells("closed")
        except virtlab.RefusedError as error:
            print(error)
    """
    done = subprocess.run(
        [python, "-c", program],
        env={"PATH": os.environ["PATH"], "VIRTLAB_SERVER": site[0]},
        capture_output=True,
        text=True,
    )

    assert "HTTP 404" in done.stdout, done.stderr
    assert 'No study "closed" found' in done.stdout


def test_pandas_tables_have_types_and_the_same_numbers(wheel, site):
    program = """if True:
        import virtlab
        samples = virtlab.read_samples("open").set_index("run_id")
        cells = virtlab.read_cells("open").set_index("hypervisor")
        print(samples["value"].dtype, samples["is_derived"].dtype, len(samples))
        print(cells.loc["Xen", "mean"], list(cells["parameters.operation"].unique()))
    """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            "PATH": os.environ["PATH"],
            "VIRTLAB_SERVER": site[0],
            "PYTHONPATH": str(wheel),
        },
        capture_output=True,
        text=True,
    )

    assert done.stdout.splitlines() == ["float64 bool 2", "26.0 ['write']"], done.stderr


def test_verdicts_are_next_to_their_ratios(evaluate):
    rows = {
        row["hypervisor"]: row for row in evaluate('virtlab.read_comparisons("open")')
    }

    assert rows["Xen"]["relative_performance"] == pytest.approx(26.0 / 52.97)
    assert rows["native"]["verdict"] == "baseline"


def test_tables_are_data_frames_with_pandas(evaluate, tmp_path):
    (tmp_path / "pandas.py").write_text(PANDAS)

    kind = 'type(virtlab.read_cells("open")).__name__'

    assert evaluate(kind, PYTHONPATH=str(tmp_path)) == "DataFrame"
    assert evaluate(kind) == "list"


def test_private_data_need_a_token(evaluate):
    names = '[study["study"] for study in virtlab.read_studies()]'

    assert sorted(evaluate(names)) == ["closed", "open"]
    assert evaluate(names, token="") == ["open"]


def test_upload_is_stored_once_and_awaited(evaluate):
    run = open_run(study="closed", key="6f1f6a5e-3b1c-4f0e-9a51-0c2d3e4f5a6b")

    assert evaluate(f"virtlab.upload([{run!r}] * 2)") == 2
    processing.process_due_uploads()
    assert evaluate('virtlab.wait("open", timeout_s=60)')["runs"] == 2
    assert len(evaluate('virtlab.read_runs("closed")')) == 1
