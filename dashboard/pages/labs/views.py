"""The pages of a lab: what everybody sees, and what its people see."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from benchmarks.errors import BenchmarksError
from benchmarks.labs.making import make_lab, may_make_labs
from benchmarks.labs.pages import (
    lab_agents,
    lab_audit_log,
    lab_hosts,
    lab_members,
    labs_with_counts,
)
from benchmarks.studies.lists import overview
from dashboard import wording
from dashboard.kit.addresses import LAB, MEMBER
from dashboard.kit.viewers import (
    person_of,
    signed_in,
    signed_in_person,
    viewer_of,
)
from dashboard.pages.labs import bundles, hosts, members, own_tools, tokens, webhooks
from dashboard.pages.labs.forms import LabForm
from dashboard.pages.labs.places import kept_lab_or_404, lab_or_404

HOST = f"{LAB}hosts/<slug:host>/"
TOOL = f"{LAB}tools/<slug:tool>/"


@require_safe
def list_labs(request: HttpRequest) -> HttpResponse:
    """Show the labs there are; lead a member of a single one to it.

    Whoever may make labs stays: the way to a new one is here.
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


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_lab(request: HttpRequest) -> HttpResponse:
    """Show the form of a new lab; make it, with its maker as the first admin."""
    person = signed_in_person(request)
    if not may_make_labs(person):
        raise Http404("This installation lets others make labs.")
    form = LabForm(request.POST if request.method == "POST" else None)
    status = 422 if form.is_bound else 200
    if form.is_bound and form.is_valid():
        try:
            lab = make_lab(person=person, **form.cleaned_data)
            messages.success(
                request, _("%(lab)s is created. You are its admin.") % {"lab": lab}
            )
            return redirect("dashboard:members", lab.slug)
        except BenchmarksError as error:
            field = error.field if error.field in form.fields else None
            form.add_error(field, wording.said(error.sentence))
            status = error.status
    return render(request, "labs/new_lab.html", {"form": form}, status=status)


@require_safe
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
        context["has_tools"] = own_tools.is_any_seen(request, place)
    return render(request, "labs/lab.html", context)


@require_safe
@signed_in
def show_audit_log(request: HttpRequest, lab: str) -> HttpResponse:
    """Show who did what to a lab's people, tokens, flags and past results."""
    place = kept_lab_or_404(request, lab)
    context = {"place": place, "entries": lab_audit_log(place.lab)}
    return render(request, "labs/audit_log.html", context)


urlpatterns = [
    path("labs/", list_labs, name="labs"),
    path("new-lab/", new_lab, name="new-lab"),
    path(LAB, show_lab, name="lab"),
    path(f"{LAB}audit-log/", show_audit_log, name="audit-log"),
    path(f"{LAB}bundles/", bundles.import_bundles, name="bundles"),
    path(f"{LAB}new-host/", hosts.new_host, name="new-host"),
    path(HOST, hosts.show_host, name="host"),
    path(f"{HOST}facts/", hosts.change_host, name="change-host"),
    path(f"{LAB}members/", members.keep_members, name="members"),
    path(f"{MEMBER}role/", members.give_role, name="give-role"),
    path(f"{MEMBER}remove/", members.remove, name="remove-member"),
    path(
        f"{LAB}members/second-factor/",
        members.demand_second_factor,
        name="demand-second-factor",
    ),
    path(
        f"{LAB}invitations/<int:invitation_id>/withdraw/",
        members.withdraw,
        name="withdraw-invitation",
    ),
    path(f"{LAB}tokens/", tokens.keep_tokens, name="tokens"),
    path(f"{LAB}tokens/<slug:prefix>/revoke/", tokens.revoke, name="revoke-token"),
    path(f"{LAB}webhooks/", webhooks.keep_webhooks, name="webhooks"),
    path(f"{LAB}webhooks/<int:webhook_id>/test/", webhooks.test, name="test-webhook"),
    path(
        f"{LAB}webhooks/<int:webhook_id>/delete/",
        webhooks.delete,
        name="delete-webhook",
    ),
    path(f"{LAB}tools/", own_tools.list_tools, name="own-tools"),
    path(f"{LAB}declare-tool/", own_tools.declare, name="declare-tool"),
    path(TOOL, own_tools.show_tool, name="own-tool"),
    path(f"{TOOL}change/", own_tools.change, name="change-tool"),
    path(f"{TOOL}retire/", own_tools.retire, name="retire-tool"),
    path(f"{TOOL}delete/", own_tools.delete, name="delete-tool"),
    path("invitation/", members.answer_invitation, name="invitation"),
]
