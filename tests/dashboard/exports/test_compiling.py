"""LaTeX tables and charts in a real TeX: `make test-tex`, where there is one.

The other tests read the same text with `tex.py`, everywhere.
"""

import re
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from benchmarks.comparing.rows import comparison_rows, facets
from benchmarks.comparing.table import comparison_table
from benchmarks.comparing.verdicts import study_verdicts
from benchmarks.studies import checking
from dashboard.charts.bars import bar_chart
from dashboard.charts.paper import paper
from dashboard.exports.citation import bibtex
from dashboard.exports.evidence import evidence_latex
from dashboard.exports.latex import Tabular, latex
from dashboard.exports.paper_files import chart_of, chart_values
from dashboard.kit.selections import SPEED
from dashboard.wording.verdicts import OVERHEAD, VALUE
from tests.comparison_rows import MEASURED, NATIVE
from tests.dashboard.charts.test_paper import CHARTS
from tests.dashboard.exports.conftest import HOSTILE
from tests.dashboard.exports.test_citation import STUDY
from tests.dashboard.exports.test_evidence import LABS, Measured, stated
from tests.dashboard.exports.test_evidence import SOURCE as EVIDENCE
from tests.dashboard.exports.test_latex import SOURCE

SHOWN = (SPEED, OVERHEAD, VALUE)
pytestmark = pytest.mark.tex

STUDIES = [
    "lmu-2010-xen",
    "lmu-2010-esxi",
    "heidelberg-2007-xen",
    "uoc-2012-kvm",
    "inqbus-2008-io",
]
# A student's thesis, then journals: one column and two.
CLASSES = {
    "article": r"\documentclass{article}",
    "thesis": r"\documentclass[12pt,a4paper]{article}",
    "two columns": r"\documentclass[twocolumn]{article}",
    "IEEE": r"\documentclass{IEEEtran}",
    "ACM": r"\documentclass[sigconf,nonacm]{acmart}",
}
DOCUMENT = r"""%s
\usepackage[T1]{fontenc}
\usepackage{textcomp,array,tabularray,pgf}
\UseTblrLibrary{booktabs,siunitx}
\title{A study}\author{An author}
\begin{document}
\maketitle
\input{table.tex}
\end{document}
"""


@pytest.fixture
def typeset(tmp_path):
    """Put a fragment into a document, compile it, and return what TeX said."""

    def compiled(fragment, kind="article"):
        (tmp_path / "table.tex").write_text(fragment, encoding="utf-8")
        (tmp_path / "document.tex").write_text(DOCUMENT % CLASSES[kind])
        command = ["pdflatex", "-halt-on-error", "-no-shell-escape", "document.tex"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, timeout=600, check=False
        )
        log = done.stdout.decode("latin-1")
        assert done.returncode == 0, log[-3000:]
        assert (tmp_path / "document.pdf").read_bytes().startswith(b"%PDF")
        return log

    return compiled


# Every study in one class, and the widest of them in every class.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("study", "kind"),
    [
        *((study, "two columns") for study in STUDIES),
        *(("lmu-2010-esxi", kind) for kind in CLASSES if kind != "two columns"),
    ],
)
def test_each_studys_comparison_compiles_and_fits_its_page(
    load_study, typeset, study, kind
):
    study = load_study(study)
    checking.check_due_studies(timedelta(0))
    rows = comparison_rows(
        study,
        systems=facets(study).systems,
        filters={},
        verdicts=study_verdicts(study),
    )
    table = comparison_table(rows)
    shown = (latex(table, replace(SOURCE, show=show)) for show in SHOWN)

    log = typeset("\n".join(shown), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_papers_tables_and_charts_compile_and_fit(
    load_study, hostile, typeset, tmp_path, kind
):
    study = load_study("lmu-2010-xen")
    checking.check_due_studies(timedelta(0))
    rows = comparison_rows(
        study,
        systems=facets(study).systems,
        filters={},
        verdicts=study_verdicts(study),
    )
    table = comparison_table(rows)
    repeated = comparison_table([NATIVE, MEASURED])
    tables = [
        latex(each, replace(SOURCE, show=show), Tabular(is_wide))
        for each in (table, repeated, hostile)
        for show in SHOWN
        for is_wide in (False, True)
    ]
    drawn = chart_values(repeated, SPEED)
    for inches in (3.33, 7):
        picture = paper(chart_of(drawn), "pgf", width=inches * 72)
        (tmp_path / f"{inches}.pgf").write_bytes(picture)
    charts = [
        rf"\begin{{{each}}}\resizebox{{\linewidth}}{{!}}{{\input{{{inches}.pgf}}}}\end{{{each}}}"
        for each, inches in (("figure", "3.33"), ("figure*", "7"))
    ]
    # Many floats: none waits for the end.
    fragments = [rf"{each}\clearpage" for each in tables]

    log = typeset("\n".join([*fragments, *charts]), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", CLASSES)
def test_evidence_compiles_and_fits_its_page(typeset, kind):
    many = [Measured(f"Lab {at}", 0.5 + at / 200) for at in range(40)]
    hostile_labs = [Measured(name, 0.8) for name in HOSTILE]
    fragments = [
        evidence_latex(*stated(*labs), EVIDENCE) for labs in (LABS, many, hostile_labs)
    ]

    log = typeset("\n".join(fragments), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


def test_names_that_would_be_commands_compile_as_names(hostile, typeset):
    log = typeset(latex(hostile, SOURCE))

    assert "Output written on document.pdf" in log


def test_a_citation_is_read_by_bibtex(tmp_path):
    (tmp_path / "study.bib").write_text(bibtex(STUDY), encoding="utf-8")
    wanted = "\\bibstyle{plain}\n\\bibdata{study}\n\\citation{*}\n"
    (tmp_path / "document.aux").write_text(wanted)

    said = subprocess.run(
        ["bibtex", "document"], cwd=tmp_path, capture_output=True, check=False
    )

    assert said.returncode == 0, said.stdout.decode("latin-1")
    assert (tmp_path / "document.bbl").read_text(encoding="utf-8").strip()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", ["article", "IEEE", "ACM"])
def test_charts_compile_whatever_is_named_in_them(typeset, tmp_path, kind):
    charts = [*CHARTS.values()]
    for name in HOSTILE:
        bars = [(name, [1.0]), ("other", [2.0])]
        charts.append(bar_chart([name], bars, axis_title=name, mode="group"))
    lines = []
    for number, chart in enumerate(charts):
        (tmp_path / f"{number}.pgf").write_bytes(paper(chart, "pgf"))
        # As wide as a column: what a paper does with a figure of any size.
        picture = rf"\resizebox{{\linewidth}}{{!}}{{\input{{{number}.pgf}}}}"
        lines.append(rf"\clearpage\noindent{picture}\par")

    log = typeset("\n".join(lines), kind)

    assert "Missing character" not in log
