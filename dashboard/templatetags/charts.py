"""A chart as a part of a page."""

from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from dashboard.charts import plotly
from dashboard.charts.chart import Chart
from dashboard.charts.sketch import sketch

register = template.Library()


@register.filter
def picture(chart: Chart, alt: str) -> SafeString:
    """Return a chart as SVG, for pages without script."""
    return mark_safe(sketch(chart, alt))  # which escapes every text


@register.filter
def on_screen(chart: Chart) -> dict[str, Any]:
    return plotly.figure(chart)
