"""Names that the cell's charts take, until they are neutral as well."""

from dashboard.charts.chart import SYMBOLS
from dashboard.charts.plotly import plain

__all__ = ["SYMBOLS", "plain"]
