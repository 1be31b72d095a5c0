"""Every file for a paper, and all of them in one archive."""

import zipfile
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final, Literal

from dashboard.exports.paper.chart import WIDTHS, chart_of

ChartForm = Literal["pdf", "svg", "pgf"]
CHART_FORMS: Final[tuple[ChartForm, ...]] = ("pdf", "svg", "pgf")
POINTS_AN_INCH: Final = 72
# The same numbers are the same archive.
LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
EXAMPLE: Final = r"""\documentclass[twocolumn]{article}
% IEEEtran, acmart: the same. Each file says which packages it needs.
\usepackage[T1]{fontenc}
\usepackage{textcomp,array,booktabs,siunitx,graphicx,pgf,url}
\begin{document}
\input{methods}
\input{table}
%s\nocite{*}
\bibliographystyle{plain}
\bibliography{study}
\end{document}
"""
EXAMPLE_FIGURE: Final = r"""\begin{figure}[htbp]\centering
\includegraphics[width=\columnwidth]{chart-3.33in.pdf}% or \input{chart-3.33in.pgf}
\caption{Relative performance of the systems of the table.}
\end{figure}
"""


def drawn_chart(values: Mapping[str, Any], form: ChartForm, inches: str) -> bytes:
    """Return a chart as a file. For workers alone: it imports matplotlib."""
    from dashboard.charts.paper import paper

    return paper(chart_of(values), form, width=float(inches) * POINTS_AN_INCH)


def archive(texts: Mapping[str, str], values: Mapping[str, Any] | None) -> bytes:
    """Return all files of a paper as a zip. For workers alone."""
    files = {name: text.encode() for name, text in texts.items()}
    figure = ""
    if values:
        figure = EXAMPLE_FIGURE
        for inches in WIDTHS:
            for form in CHART_FORMS:
                name = f"chart-{inches}in.{form}"
                files[name] = drawn_chart(values, form, inches)
    files["example.tex"] = EXAMPLE.replace("%s", figure).encode()
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, each in sorted(files.items()):
            packed.writestr(zipfile.ZipInfo(name, LONG_AGO), each, zipfile.ZIP_DEFLATED)
    return content.getvalue()
