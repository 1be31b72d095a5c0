"""The notebooks of client/notebooks/, run against a running product."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from client import build

pytestmark = pytest.mark.product

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "client" / "notebooks"


def test_python_notebook_runs(product, tmp_path, monkeypatch):
    wheel = build.main(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(wheel))
    monkeypatch.setenv("VIRTLAB_SERVER", product.url)
    # A kernel of this Python, whichever others are installed.
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    about = {"argv": command, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(about))
    notebook = nbformat.read(NOTEBOOKS / "python.ipynb", as_version=4)

    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()

    texts = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream"
    ]
    assert "cells recomputed" in "".join(texts)


def test_r_notebook_runs_or_is_reported(product, capsys):
    notebook = nbformat.read(NOTEBOOKS / "r.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) == 3
    rscript = shutil.which("Rscript")
    if rscript is None:
        with capsys.disabled():
            print(
                "\nWARNING: client/notebooks/r.ipynb WAS NOT RUN: there is no R here "
                "(Debian: apt-get install r-base-core)"
            )
        return

    done = subprocess.run(
        [rscript, "--vanilla", "-e", "\n".join(cells)],
        env={"PATH": "/usr/bin:/bin", "VIRTLAB_SERVER": product.url},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert "cells recomputed" in done.stdout
