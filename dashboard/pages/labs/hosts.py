"""The machines of a lab and their facts.

Facts parsed from pasted output fill the form; they are stored when the user saves it.
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
from benchmarks.parsing.machine_facts import MAX_CHARACTERS, MachineFacts, read_machine
from benchmarks.studies.systems import register_host, update_host
from benchmarks.text_validation import clean_text, normalize_whitespace
from dashboard.kit import formatting
from dashboard.kit.forms import (
    UNPROCESSABLE,
    ShortNameField,
    SingleLineField,
    add_error,
)
from dashboard.kit.viewers import viewer_of
from dashboard.pages.labs.lab_of_request import (
    LabAccess,
    editable_lab_or_404,
    lab_or_404,
)

MAX_FACTS = 100
SPARE_ROWS = 3
MAX_NAME_CHARACTERS = 100
MAX_FACT_CHARACTERS = 1_000
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)

HostFacts = dict[str, Any]


class HostForm(forms.Form):
    output = forms.CharField(
        label=gettext_lazy("Output of system commands"),
        required=False,
        max_length=MAX_CHARACTERS,
        strip=False,
        widget=forms.Textarea(
            attrs={"rows": 8, "spellcheck": "false", "class": "printed"}
        ),
        help_text=gettext_lazy(
            "Paste the output of lscpu, dmidecode, uname -a, systeminfo or esxcli "
            "hardware. You can paste several outputs one after another."
        ),
    )
    title = SingleLineField(
        label=gettext_lazy("Name"),
        required=False,
        max_length=300,
        help_text=gettext_lazy("Display name, such as Athlon 64 X2 4800+."),
    )
    slug = ShortNameField()


def new_host(request: HttpRequest, lab: str) -> HttpResponse:
    return _edit(request, editable_lab_or_404(request, lab), None)


def show_host(request: HttpRequest, lab: str, host: str) -> HttpResponse:
    access = lab_or_404(request, lab)
    viewer = viewer_of(request)
    machine = _host_or_404(request, access, host)
    systems = System.objects.visible_to(viewer).filter(host=machine)
    studies = Study.objects.visible_to(viewer).filter(cells__system__host=machine)
    context = {
        "access": access,
        "host": machine,
        "systems": systems.order_by("hypervisor", "pk"),
        "studies": studies.select_related("lab").distinct().order_by("-pk"),
    }
    return render(request, "labs/host.html", context)


def edit_host(request: HttpRequest, lab: str, host: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    return _edit(request, access, _host_or_404(request, access, host))


def _edit(request: HttpRequest, access: LabAccess, host: Host | None) -> HttpResponse:
    stored_facts = host.facts if host else {}
    facts, parsed, status = stored_facts, None, 200
    if request.method != "POST":
        initial = {"title": host.title, "slug": host.slug} if host else {}
        form = HostForm(initial=initial)
    elif request.POST.get("do") == "read":
        form, facts, parsed, status = _read(request)
    else:
        form, status = HostForm(request.POST), UNPROCESSABLE
        try:
            facts = posted_facts(request.POST) | _structured_facts(stored_facts)
            if form.is_valid():
                slug = _save(request, access, host, form.cleaned_data, facts)
                return redirect("dashboard:host", access.lab.slug, slug)
        except BenchmarksError as error:
            add_error(form, error)
            status = error.status
    nested = _structured_facts(stored_facts)
    flat = [(name, text) for name, text in facts.items() if name not in nested]
    if host:
        del form.fields["slug"]
    context = {
        "access": access,
        "form": form,
        "host": host,
        "rows": [*flat, *[("", "")] * SPARE_ROWS],
        "nested": sorted(nested),
        "read": parsed,
    }
    return render(request, "labs/host_form.html", context, status=status)


def _save(
    request: HttpRequest,
    access: LabAccess,
    host: Host | None,
    names: HostFacts,
    stated: HostFacts,
) -> str:
    title = names["title"]
    if host:
        update_host(host=host, title=title, facts=stated)
        messages.success(request, _("Facts saved."))
        return host.slug
    slug = names["slug"] or slugify(title)[:100].strip("-")
    if not slug:
        error = InvalidError("choice_required", _("Enter a name for the machine."))
        raise error.for_field("title")
    created, is_new = register_host(
        lab=access.lab, slug=slug, title=title, facts=stated
    )
    if is_new:
        messages.success(request, _("%(host)s was registered.") % {"host": created})
    else:
        messages.info(
            request, _("%(host)s was already registered.") % {"host": created}
        )
    return created.slug


def _host_or_404(request: HttpRequest, access: LabAccess, slug: str) -> Host:
    hosts = Host.objects.visible_to(viewer_of(request))
    return get_object_or_404(hosts, lab=access.lab, slug=slug)


def _read(request: HttpRequest) -> tuple[HostForm, HostFacts, MachineFacts | None, int]:
    """Parse pasted output; return form, all facts, parsed facts, and HTTP status.

    Entered facts replace parsed ones.
    """
    parsed = read_machine(request.POST.get("output", ""))
    try:
        entered = posted_facts(request.POST)
    except BenchmarksError as error:
        form = HostForm(request.POST)
        add_error(form, error)
        return form, dict(parsed.facts), None, UNPROCESSABLE
    title = request.POST.get("title", "").strip() or suggested_host_name(parsed.facts)
    texts = {
        "output": request.POST.get("output", ""),
        "title": title,
        "slug": request.POST.get("slug", "").strip() or slugify(title)[:100],
    }
    return HostForm(initial=texts), {**parsed.facts, **entered}, parsed, 200


def suggested_host_name(facts: Mapping[str, Any]) -> str:
    """Return the model of the machine or, if unknown, of its processor."""
    names = [str(facts.get(name, "")) for name in ("machine vendor", "machine")]
    return (" ".join(filter(None, names)) or str(facts.get("cpu model", "")))[:300]


def posted_facts(data: QueryDict) -> HostFacts:
    names, texts = data.getlist("fact-name"), data.getlist("fact-value")
    facts: HostFacts = {}
    for raw_name, text in list(zip(names, texts, strict=False))[:MAX_FACTS]:
        name, value = (
            clean_text(normalize_whitespace(part)) for part in (raw_name, text)
        )
        if not value:
            continue
        if not name:
            raise InvalidError(
                "choice_required",
                _("The fact with the value “%(value)s” has no name. Enter a name.")
                % {"value": value[:60]},
            )
        if len(name) > MAX_NAME_CHARACTERS or len(value) > MAX_FACT_CHARACTERS:
            raise InvalidError(
                "choice_required",
                _(
                    "“%(name)s” is too long. A name can have %(name_characters)s "
                    "characters, a value %(value_characters)s."
                )
                % {
                    "name": name[:60],
                    "name_characters": MAX_NAME_CHARACTERS,
                    "value_characters": formatting.number(MAX_FACT_CHARACTERS, ",d"),
                },
            )
        if name in facts:
            raise InvalidError(
                "choice_required",
                _("The fact “%(name)s” is listed twice. Remove one of them.")
                % {"name": name},
            )
        facts[name] = int(value) if _WHOLE.fullmatch(value) else value
    return facts


def _structured_facts(facts: HostFacts) -> HostFacts:
    """Return an agent's nested facts, such as disks, which the form cannot change."""
    return {name: fact for name, fact in facts.items() if isinstance(fact, dict | list)}
