"""A chart of a report as a part of its page."""

from django import template
from django.utils.safestring import SafeString, mark_safe

from dashboard.kit.document import Chart

register = template.Library()


@register.filter
def picture(chart: Chart) -> SafeString:
    """Return the chart's SVG as it is: `charts.vector.pen` escaped every name."""
    return mark_safe(chart.svg)
