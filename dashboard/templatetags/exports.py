"""The files of a comparison, offered where it is seen."""

from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse

from benchmarks.models import Study

register = template.Library()

FORMS = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"))


@register.inclusion_tag("kit/_export.html", takes_context=True)
def export_links(context: RequestContext, study: Study) -> dict[str, Any]:
    """Offer the comparison of the present query in every form."""
    place = [study.lab.slug, study.slug]
    return {
        "files": [
            (reverse("dashboard:export", args=[*place, form]), form, name)
            for form, name in FORMS
        ],
        "paper": reverse("dashboard:paper", args=place),
        "query": context.request.GET.urlencode(),
    }
