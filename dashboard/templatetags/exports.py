"""What leaves the site, offered where it is seen."""

from typing import Any

from django import template
from django.template import RequestContext
from django.urls import reverse

from benchmarks.models import Campaign

register = template.Library()

FORMS = (("csv", "CSV"), ("json", "JSON"), ("tex", "LaTeX"))


@register.inclusion_tag("kit/_export.html", takes_context=True)
def take_along(context: RequestContext, campaign: Campaign) -> dict[str, Any]:
    """Offer the comparison of the present query in every form."""
    place = [campaign.lab.slug, campaign.slug]
    return {
        "files": [
            (reverse("dashboard:export", args=[*place, form]), form, name)
            for form, name in FORMS
        ],
        "query": context.request.GET.urlencode(),
    }
