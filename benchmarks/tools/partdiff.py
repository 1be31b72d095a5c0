"""partdiff: a partial differential equation solved by Gauss-Seidel or Jacobi.

One result row::

    Calculation time:       0.082096 s
"""

from benchmarks.tools.base import Metric, Tool

TOOL = Tool(
    slug="partdiff",
    title="partdiff",
    homepage="https://github.com/parcio/partdiff",
    metrics=(Metric(name="time", unit="s", better="lower", component="CPU"),),
    aliases=("partdiff-seq", "partdiff-par"),
)
