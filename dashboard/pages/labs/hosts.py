"""The machines of a lab: registered here, described by what they say of themselves.

Nothing is stored while a text is only read: the form comes back with the facts in it.
"""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.errors import BenchmarksError, InvalidError
from benchmarks.models import Host, Study, System
from benchmarks.parsing.machines import LIMIT, MachineFacts, read_machine
from benchmarks.studies.saving import register_host, update_host
from benchmarks.text import clean_text, collapse
from dashboard import wording
from dashboard.kit.forms import LineField, ShortNameField
from dashboard.kit.viewers import viewer_of
from dashboard.pages.labs.places import LabPlace, kept_lab_or_404, lab_or_404

MOST_FACTS = 100
SPARE_ROWS = 3
LONGEST = 1_000
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)

Facts = dict[str, Any]


class HostForm(forms.Form):
    """What a machine is called, and what it printed of itself."""

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
    place = kept_lab_or_404(request, lab)
    if request.method != "POST":
        return _form(request, place, HostForm(), {})
    if request.POST.get("do") == "read":
        return _read(request, place, HostForm(request.POST))
    form, stated, status = HostForm(request.POST), {}, 422
    try:
        stated = facts_sent(request.POST)
        if form.is_valid():
            title = form.cleaned_data["title"]
            slug = form.cleaned_data["slug"] or slugify(title)[:100].strip("-")
            if not slug:
                raise InvalidError("not_chosen", _("Give the machine a name.")).at(
                    "title"
                )
            host, is_new = register_host(
                lab=place.lab, slug=slug, title=title, facts=stated
            )
            _say_registered(request, host, is_new)
            return redirect("dashboard:host", place.lab.slug, host.slug)
    except BenchmarksError as error:
        field = error.field if error.field in form.fields else None
        form.add_error(field, wording.said(error.sentence))
        status = error.status
    return _form(request, place, form, stated, status=status)


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
    """State what was not stated of a machine, or wrongly."""
    place = kept_lab_or_404(request, lab)
    found = _host_or_404(request, place, host)
    if request.method != "POST":
        form = HostForm(initial={"title": found.title, "slug": found.slug})
        return _form(request, place, form, found.facts, host=found)
    if request.POST.get("do") == "read":
        return _read(request, place, HostForm(request.POST), host=found)
    form, stated, status = HostForm(request.POST), found.facts, 422
    try:
        stated = facts_sent(request.POST) | _nested(found.facts)
        if form.is_valid():
            title = form.cleaned_data["title"]
            update_host(host=found, title=title, facts=stated)
            messages.success(request, _("The facts are stored."))
            return redirect("dashboard:host", place.lab.slug, found.slug)
    except BenchmarksError as error:
        form.add_error(None, wording.said(error.sentence))
        status = error.status
    return _form(request, place, form, stated, status=status, host=found)


def _say_registered(request: HttpRequest, host: Host, is_new: bool) -> None:
    if is_new:
        messages.success(request, _("%(host)s is registered.") % {"host": host})
    else:
        messages.info(request, _("%(host)s was registered already.") % {"host": host})


def _host_or_404(request: HttpRequest, place: LabPlace, slug: str) -> Host:
    hosts = Host.objects.visible_to(viewer_of(request)).filter(lab=place.lab)
    host = hosts.filter(slug=slug).first()
    if host is None:
        raise Http404("There is no such host.")
    return host


def _read(
    request: HttpRequest, place: LabPlace, form: HostForm, host: Host | None = None
) -> HttpResponse:
    """Give the form back with the facts of the pasted text; typed ones stay."""
    found = read_machine(request.POST.get("output", ""))
    try:
        typed = facts_sent(request.POST)
    except BenchmarksError as error:
        form.add_error(None, wording.said(error.sentence))
        return _form(request, place, form, dict(found.facts), status=422, host=host)
    title = request.POST.get("title", "").strip() or machine_name(found.facts)
    texts = {
        "output": request.POST.get("output", ""),
        "title": title,
        "slug": request.POST.get("slug", "").strip() or slugify(title)[:100],
    }
    filled = HostForm(initial=texts)
    return _form(
        request, place, filled, {**found.facts, **typed}, read=found, host=host
    )


def machine_name(facts: Mapping[str, Any]) -> str:
    """Return what people would call a machine: its model, else its processor."""
    named = [str(facts.get(name, "")) for name in ("machine vendor", "machine")]
    return (" ".join(filter(None, named)) or str(facts.get("cpu model", "")))[:300]


def facts_sent(sent: QueryDict) -> Facts:
    """Return the facts of the form: names and values stand in the same order.

    Whole numbers are stored as such. A row without a value is left out.
    """
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


def _form(
    request: HttpRequest,
    place: LabPlace,
    form: HostForm,
    facts: Facts,
    *,
    status: int = 200,
    read: MachineFacts | None = None,
    host: Host | None = None,
) -> HttpResponse:
    nested = _nested(host.facts if host else {})
    flat = [(name, text) for name, text in facts.items() if name not in nested]
    # What may not change is not asked for.
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
