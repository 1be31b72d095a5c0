"""LaTeX tables and charts compiled by TeX, if installed: `make test-tex`.

Other tests parse the same output with `latex_reader.py`, without TeX.
"""

import re
import subprocess
from dataclasses import replace
from datetime import timedelta

import pytest

from benchmarks.comparison.comparison_table import comparison_table
from benchmarks.comparison.row_queries import comparison_rows, study_facets
from benchmarks.comparison.study_verdicts import study_verdicts
from benchmarks.studies import checking
from dashboard.charts.bars_and_lines import bar_chart
from dashboard.charts.matplotlib_renderer import render_chart_file
from dashboard.exports.citation import bibtex
from dashboard.exports.evidence_files import evidence_latex
from dashboard.exports.latex_tables import Tabular, latex_tables
from dashboard.exports.paper_files import paper_chart, paper_chart_data
from dashboard.kit.comparison_form import RELATIVE_PERFORMANCE
from dashboard.wording.verdicts import MEASURED_VALUE, OVERHEAD
from tests.comparison_rows import MEASURED, NATIVE
from tests.dashboard.charts.test_matplotlib_renderer import CHARTS
from tests.dashboard.exports.conftest import HOSTILE
from tests.dashboard.exports.test_citation import STUDY
from tests.dashboard.exports.test_evidence_files import LABS, Measured, records_of
from tests.dashboard.exports.test_evidence_files import SOURCE as EVIDENCE
from tests.dashboard.exports.test_latex_tables import SOURCE

SHOWN = (RELATIVE_PERFORMANCE, OVERHEAD, MEASURED_VALUE)
pytestmark = pytest.mark.tex

STUDIES = [
    "lmu-2010-xen",
    "lmu-2010-esxi",
    "heidelberg-2007-xen",
    "uoc-2012-kvm",
    "inqbus-2008-io",
]
# A thesis, and journals with one or two columns.
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
    """Compile a fragment within a document; return the log."""

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


# Every study in one document class, and the widest study in every class.
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("study", "kind"),
    [
        *((study, "two columns") for study in STUDIES),
        *(("lmu-2010-esxi", kind) for kind in CLASSES if kind != "two columns"),
    ],
)
def test_comparisons_compile_and_fit_the_page(load_study, typeset, study, kind):
    study = load_study(study)
    checking.check_due_studies(timedelta(0))
    rows = comparison_rows(
        study,
        systems=study_facets(study).systems,
        filters={},
        verdicts=study_verdicts(study),
    )
    table = comparison_table(rows)
    shown = (latex_tables(table, replace(SOURCE, quantity=show)) for show in SHOWN)

    log = typeset("\n".join(shown), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", CLASSES)
def test_paper_tables_and_charts_compile_and_fit(
    load_study, hostile, typeset, tmp_path, kind
):
    study = load_study("lmu-2010-xen")
    checking.check_due_studies(timedelta(0))
    rows = comparison_rows(
        study,
        systems=study_facets(study).systems,
        filters={},
        verdicts=study_verdicts(study),
    )
    table = comparison_table(rows)
    repeated = comparison_table([NATIVE, MEASURED])
    tables = [
        latex_tables(source, replace(SOURCE, quantity=show), Tabular(is_wide))
        for source in (table, repeated, hostile)
        for show in SHOWN
        for is_wide in (False, True)
    ]
    drawn = paper_chart_data(repeated, RELATIVE_PERFORMANCE)
    for inches in (3.33, 7):
        picture = render_chart_file(paper_chart(drawn), "pgf", width=inches * 72)
        (tmp_path / f"{inches}.pgf").write_bytes(picture)
    charts = [
        rf"\begin{{{each}}}\resizebox{{\linewidth}}{{!}}{{\input{{{inches}.pgf}}}}\end{{{each}}}"
        for each, inches in (("figure", "3.33"), ("figure*", "7"))
    ]
    # Many floats must not be postponed to the end.
    fragments = [rf"{table}\clearpage" for table in tables]

    log = typeset("\n".join([*fragments, *charts]), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kind", CLASSES)
def test_evidence_compiles_and_fits_the_page(typeset, kind):
    many = [Measured(f"Lab {at}", 0.5 + at / 200) for at in range(40)]
    hostile_labs = [Measured(name, 0.8) for name in HOSTILE]
    fragments = [
        evidence_latex(*records_of(*labs), EVIDENCE)
        for labs in (LABS, many, hostile_labs)
    ]

    log = typeset("\n".join(fragments), kind)

    assert re.findall(r"Overfull \\hbox.*", log) == []


def test_names_are_escaped_in_compiled_documents(hostile, typeset):
    log = typeset(latex_tables(hostile, SOURCE))

    assert "Output written on document.pdf" in log


def test_bibtex_reads_citations(tmp_path):
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
def test_charts_compile_with_special_characters(typeset, tmp_path, kind):
    charts = [*CHARTS.values()]
    for name in HOSTILE:
        bars = [(name, [1.0]), ("other", [2.0])]
        charts.append(bar_chart([name], bars, axis_title=name, mode="group"))
    lines = []
    for number, chart in enumerate(charts):
        (tmp_path / f"{number}.pgf").write_bytes(render_chart_file(chart, "pgf"))
        # Scaled to the column, as papers do.
        picture = rf"\resizebox{{\linewidth}}{{!}}{{\input{{{number}.pgf}}}}"
        lines.append(rf"\clearpage\noindent{picture}\par")

    log = typeset("\n".join(lines), kind)

    assert "Missing character" not in log
