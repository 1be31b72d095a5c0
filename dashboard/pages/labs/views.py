"""The pages of a lab: what everybody sees, and what its people see."""

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.labs.making import make_lab, may_make_labs
from benchmarks.labs.pages import (
    lab_agents,
    lab_audit_log,
    lab_hosts,
    lab_members,
    labs_with_counts,
)
from benchmarks.models import OwnTool
from benchmarks.studies.lists import overview
from dashboard.kit.addresses import LAB, MEMBER
from dashboard.kit.forms import LineField, ShortNameField, submit
from dashboard.kit.routes import (
    KEEP,
    READ,
    REDIRECT,
    action,
    form_page,
    member_page,
    page,
    route,
)
from dashboard.kit.viewers import (
    person_of,
    signed_in_person,
    viewer_of,
)
from dashboard.pages.labs import hosts, members, own_tools, tokens, webhooks
from dashboard.pages.labs.places import kept_lab_or_404, lab_or_404

HOST = f"{LAB}hosts/<slug:host>/"
TOOL = f"{LAB}tools/<slug:tool>/"


def list_labs(request: HttpRequest) -> HttpResponse:
    """Show the labs; redirect a member of a single one to it.

    Users who may make labs stay: this page links to the form.
    """
    viewer = viewer_of(request)
    labs = list(labs_with_counts(viewer))
    own = [lab for lab in labs if lab.pk in viewer.lab_ids]
    person = person_of(request)
    is_maker = person is not None and may_make_labs(person)
    if len(own) == 1 and not is_maker:
        return redirect("dashboard:lab", own[0].slug)
    others = [lab for lab in labs if lab not in own]
    context = {"own_labs": own, "labs": others, "may_make": is_maker}
    return render(request, "labs/labs.html", context)


class LabForm(forms.Form):
    name = LineField(label=gettext_lazy("Name"), max_length=200)
    slug = ShortNameField(max_length=50)


def new_lab(request: HttpRequest) -> HttpResponse:
    """Show the form of a new lab; make it, with its maker as the first admin."""
    person = signed_in_person(request)
    if not may_make_labs(person):
        raise Http404("This installation lets others make labs.")
    form, status = LabForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST":
        lab, status = submit(form, make_lab, person=person)
        if lab:
            text = _("%(lab)s is created. You are its admin.")
            messages.success(request, text % {"lab": lab})
            return redirect("dashboard:members", lab.slug)
    return render(request, "labs/new_lab.html", {"form": form}, status=status)


def show_lab(request: HttpRequest, lab: str) -> HttpResponse:
    """Show a lab's studies; to its own people also machines, agents and members."""
    place = lab_or_404(request, lab)
    context = {"place": place, "cards": overview(viewer_of(request), lab=place.lab)}
    if place.role:
        context |= {
            "hosts": lab_hosts(place.lab),
            "agents": lab_agents(place.lab),
            "members": lab_members(place.lab),
        }
    else:  # its own people have the tab
        tools = OwnTool.objects.visible_to(viewer_of(request))
        context["has_tools"] = tools.filter(lab=place.lab).exists()
    return render(request, "labs/lab.html", context)


def show_audit_log(request: HttpRequest, lab: str) -> HttpResponse:
    """Show who did what to a lab's people, tokens, flags and past results."""
    place = kept_lab_or_404(request, lab)
    context = {"place": place, "entries": lab_audit_log(place.lab)}
    return render(request, "labs/audit_log.html", context)


urlpatterns = [
    page("labs/", list_labs, "labs"),
    form_page("new-lab/", new_lab, "new-lab"),
    page(LAB, show_lab, "lab"),
    member_page(f"{LAB}audit-log/", show_audit_log, "audit-log", own=KEEP),
    form_page(f"{LAB}bundles/", tokens.import_bundles, "bundles"),
    form_page(f"{LAB}new-host/", hosts.new_host, "new-host"),
    page(HOST, hosts.show_host, "host"),
    form_page(f"{HOST}facts/", hosts.change_host, "change-host"),
    form_page(f"{LAB}members/", members.keep_members, "members", own=READ),
    action(f"{MEMBER}role/", members.give_role, "give-role", own=REDIRECT),
    action(f"{MEMBER}remove/", members.remove, "remove-member", own=REDIRECT),
    action(
        f"{LAB}members/second-factor/",
        members.demand_second_factor,
        "demand-second-factor",
        own=REDIRECT,
    ),
    action(
        f"{LAB}invitations/<int:invitation_id>/withdraw/",
        members.withdraw,
        "withdraw-invitation",
        own=REDIRECT,
    ),
    form_page(f"{LAB}tokens/", tokens.keep_tokens, "tokens"),
    action(f"{LAB}tokens/<slug:prefix>/revoke/", tokens.revoke, "revoke-token"),
    form_page(f"{LAB}webhooks/", webhooks.keep_webhooks, "webhooks"),
    action(f"{LAB}webhooks/<int:webhook_id>/test/", webhooks.test, "test-webhook"),
    action(
        f"{LAB}webhooks/<int:webhook_id>/delete/", webhooks.delete, "delete-webhook"
    ),
    page(f"{LAB}tools/", own_tools.list_tools, "own-tools"),
    form_page(f"{LAB}declare-tool/", own_tools.declare, "declare-tool"),
    page(TOOL, own_tools.show_tool, "own-tool"),
    form_page(f"{TOOL}change/", own_tools.change, "change-tool"),
    action(f"{TOOL}retire/", own_tools.retire, "retire-tool"),
    action(f"{TOOL}delete/", own_tools.delete, "delete-tool"),
    route("invitation/", members.answer_invitation, "invitation"),
]
