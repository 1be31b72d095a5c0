"""A chart as a part of a page."""

from typing import Any

from django import template
from django.utils.safestring import SafeString, mark_safe

from dashboard.charts import plotly
from dashboard.charts.chart import Chart
from dashboard.charts.outlines import Outline, outline
from dashboard.charts.sketch import sketch
from dashboard.kit.document import Figure

register = template.Library()


@register.filter
def picture(drawn: Figure | Outline) -> SafeString:
    """Return a light picture as it is: `charts.sketch` escaped every name."""
    if isinstance(drawn, Outline):
        return mark_safe(drawn.picture)
    return mark_safe(sketch(drawn.chart, drawn.alt))


@register.filter
def embedded_picture(chart: Chart, alt: str) -> SafeString:
    """Return a light picture of a chart that stands alone."""
    return mark_safe(sketch(chart, alt))


@register.filter
def outlined(chart: Outline | Chart) -> Outline:
    """Return what a chart takes of its page; of one that comes later it is known."""
    return chart if isinstance(chart, Outline) else outline(chart)


@register.filter
def on_screen(chart: Chart) -> dict[str, Any]:
    """Return what the page draws the chart from."""
    return plotly.figure(chart)
