"""The machines of a lab and their facts.

Reading a pasted text stores nothing: the form comes back with the facts in it.
"""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.models import Host, Study, System
from benchmarks.parsing.machines import LIMIT, MachineFacts, read_machine
from benchmarks.studies.systems import register_host, update_host
from benchmarks.text import clean_text, collapse
from dashboard.kit.forms import (
    UNPROCESSABLE,
    LineField,
    ShortNameField,
    add_error,
)
from dashboard.kit.viewers import viewer_of
from dashboard.pages.labs.places import LabPlace, kept_lab_or_404, lab_or_404

MOST_FACTS = 100
SPARE_ROWS = 3
LONGEST = 1_000
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)

Facts = dict[str, Any]


class HostForm(forms.Form):
    """The name of a machine, and what its tools printed."""

    output = forms.CharField(
        label=gettext_lazy("What the machine says of itself"),
        required=False,
        max_length=LIMIT,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "class": "printed"}
        ),
        help_text=gettext_lazy(
            "Paste the output of lscpu, dmidecode, uname -a, systeminfo or esxcli "
            "hardware; also several of them, one after the other."
        ),
    )
    title = LineField(
        label=gettext_lazy("Name"),
        required=False,
        max_length=300,
        help_text=gettext_lazy("For people, like Athlon 64 X2 4800+."),
    )
    slug = ShortNameField()


def new_host(request: HttpRequest, lab: str) -> HttpResponse:
    """Show the form of a new machine; read what was pasted, or register it."""
    return _edit(request, kept_lab_or_404(request, lab), None)


def show_host(request: HttpRequest, lab: str, host: str) -> HttpResponse:
    """Show a machine: its facts, what was measured on it, and in which studies."""
    place = lab_or_404(request, lab)
    viewer = viewer_of(request)
    found = _host_or_404(request, place, host)
    systems = System.objects.visible_to(viewer).filter(host=found)
    studies = Study.objects.visible_to(viewer).filter(cells__system__host=found)
    context = {
        "place": place,
        "host": found,
        "systems": systems.order_by("hypervisor", "pk"),
        "studies": studies.select_related("lab").distinct().order_by("-pk"),
    }
    return render(request, "labs/host.html", context)


def change_host(request: HttpRequest, lab: str, host: str) -> HttpResponse:
    """Show a machine's facts in a form; read what was pasted, or store them."""
    place = kept_lab_or_404(request, lab)
    return _edit(request, place, _host_or_404(request, place, host))


def _edit(request: HttpRequest, place: LabPlace, host: Host | None) -> HttpResponse:
    stated = host.facts if host else {}
    facts, read, status = stated, None, 200
    if request.method != "POST":
        initial = {"title": host.title, "slug": host.slug} if host else {}
        form = HostForm(initial=initial)
    elif request.POST.get("do") == "read":
        form, facts, read, status = _read(request)
    else:
        form, status = HostForm(request.POST), UNPROCESSABLE
        try:
            facts = facts_sent(request.POST) | _nested(stated)
            if form.is_valid():
                slug = _save(request, place, host, form.cleaned_data, facts)
                return redirect("dashboard:host", place.lab.slug, slug)
        except BenchmarksError as error:
            add_error(form, error)
            status = error.status
    nested = _nested(stated)
    flat = [(name, text) for name, text in facts.items() if name not in nested]
    # The short name of a machine is permanent.
    if host:
        del form.fields["slug"]
    context = {
        "place": place,
        "form": form,
        "host": host,
        "rows": [*flat, *[("", "")] * SPARE_ROWS],
        "nested": sorted(nested),
        "read": read,
    }
    return render(request, "labs/host_form.html", context, status=status)


def _save(
    request: HttpRequest,
    place: LabPlace,
    host: Host | None,
    named: Facts,
    stated: Facts,
) -> str:
    """Register or change a machine; return its short name."""
    title = named["title"]
    if host:
        update_host(host=host, title=title, facts=stated)
        messages.success(request, _("The facts are stored."))
        return host.slug
    slug = named["slug"] or slugify(title)[:100].strip("-")
    if not slug:
        error = InvalidError("not_chosen", _("Give the machine a name."))
        raise error.at("title")
    made, is_new = register_host(lab=place.lab, slug=slug, title=title, facts=stated)
    if is_new:
        messages.success(request, _("%(host)s is registered.") % {"host": made})
    else:
        messages.info(request, _("%(host)s was registered already.") % {"host": made})
    return made.slug


def _host_or_404(request: HttpRequest, place: LabPlace, slug: str) -> Host:
    hosts = Host.objects.visible_to(viewer_of(request))
    return get_object_or_404(hosts, lab=place.lab, slug=slug)


def _read(request: HttpRequest) -> tuple[HostForm, Facts, MachineFacts | None, int]:
    """Return the form, its facts, the facts of the pasted text, and the status.

    Typed facts replace those of the pasted text.
    """
    found = read_machine(request.POST.get("output", ""))
    try:
        typed = facts_sent(request.POST)
    except BenchmarksError as error:
        form = HostForm(request.POST)
        add_error(form, error)
        return form, dict(found.facts), None, UNPROCESSABLE
    title = request.POST.get("title", "").strip() or machine_name(found.facts)
    texts = {
        "output": request.POST.get("output", ""),
        "title": title,
        "slug": request.POST.get("slug", "").strip() or slugify(title)[:100],
    }
    return HostForm(initial=texts), {**found.facts, **typed}, found, 200


def machine_name(facts: Mapping[str, Any]) -> str:
    """Return what people would call a machine: its model, else its processor."""
    named = [str(facts.get(name, "")) for name in ("machine vendor", "machine")]
    return (" ".join(filter(None, named)) or str(facts.get("cpu model", "")))[:300]


def facts_sent(sent: QueryDict) -> Facts:
    """Return the facts of the form; rows without a value are left out."""
    names, texts = sent.getlist("fact-name"), sent.getlist("fact-value")
    facts: Facts = {}
    for raw, text in list(zip(names, texts, strict=False))[:MOST_FACTS]:
        name, value = (clean_text(collapse(it)) for it in (raw, text))
        if not value:
            continue
        if not name:
            raise InvalidError(
                "not_chosen",
                _("Say what “%(value)s” is: it has no name.") % {"value": value[:60]},
            )
        if len(name) > 100 or len(value) > LONGEST:
            raise InvalidError(
                "not_chosen", _("“%(name)s” is too long.") % {"name": name[:60]}
            )
        if name in facts:
            raise InvalidError(
                "not_chosen",
                _("“%(name)s” is there twice. Keep one of the two.") % {"name": name},
            )
        facts[name] = int(value) if _WHOLE.fullmatch(value) else value
    return facts


def _nested(facts: Facts) -> Facts:
    """Return what an agent told by disk or interface: it stays as it is."""
    return {name: it for name, it in facts.items() if isinstance(it, dict | list)}
