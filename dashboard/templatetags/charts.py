"""A chart as a part of a page."""

from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from dashboard.charts import plotly
from dashboard.charts.chart import Chart
from dashboard.charts.outlines import Outline, outline
from dashboard.kit.document import Chart as ReportChart

register = template.Library()


@register.filter
def picture(chart: ReportChart | Outline) -> SafeString:
    """Return the chart's SVG as it is: `charts.vector.pen` escaped every name."""
    return mark_safe(chart.picture if isinstance(chart, Outline) else chart.svg)


@register.filter
def outlined(chart: Outline | Chart) -> Outline:
    """Return what a chart takes of its page; of one that comes later it is known."""
    return chart if isinstance(chart, Outline) else outline(chart)


@register.filter
def on_screen(chart: Chart) -> dict[str, Any]:
    """Return what the page draws the chart from."""
    return plotly.figure(chart)
