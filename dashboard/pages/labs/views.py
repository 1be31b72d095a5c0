from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.labs.creation import create_lab, may_create_labs
from benchmarks.labs.lab_queries import (
    lab_agents,
    lab_audit_log,
    lab_hosts,
    lab_members,
    labs_with_counts,
)
from benchmarks.models import CustomTool
from benchmarks.studies.overview import study_cards
from dashboard.kit.forms import ShortNameField, SingleLineField, submit_form
from dashboard.kit.routes import (
    EDITORS_ONLY,
    MEMBERS_READ,
    REDIRECTED,
    action,
    form_page,
    member_page,
    page,
    route,
)
from dashboard.kit.url_parts import LAB_PATH, MEMBER_PATH
from dashboard.kit.viewers import required_user, signed_in_user, viewer_of
from dashboard.pages.labs import bundles, custom_tools, hosts, members, tokens, webhooks
from dashboard.pages.labs.lab_of_request import editable_lab_or_404, lab_or_404

HOST_PATH = f"{LAB_PATH}hosts/<slug:host>/"
CUSTOM_TOOL_PATH = f"{LAB_PATH}custom-tools/<slug:tool>/"


def list_labs(request: HttpRequest) -> HttpResponse:
    viewer = viewer_of(request)
    labs = list(labs_with_counts(viewer))
    own_labs = [lab for lab in labs if lab.pk in viewer.lab_ids]
    person = signed_in_user(request)
    may_create = person is not None and may_create_labs(person)
    if len(own_labs) == 1 and not may_create:
        return redirect("dashboard:lab", own_labs[0].slug)
    other_labs = [lab for lab in labs if lab not in own_labs]
    context = {"own_labs": own_labs, "labs": other_labs, "can_create": may_create}
    return render(request, "labs/labs.html", context)


class LabForm(forms.Form):
    name = SingleLineField(label=gettext_lazy("Name"), max_length=200)
    slug = ShortNameField(max_length=50)


def new_lab(request: HttpRequest) -> HttpResponse:
    person = required_user(request)
    if not may_create_labs(person):
        raise Http404("This installation lets others make labs.")
    form, status = LabForm(request.POST if request.method == "POST" else None), 200
    if request.method == "POST":
        lab, status = submit_form(form, create_lab, person=person)
        if lab:
            text = _("%(lab)s was created. You are its admin.")
            messages.success(request, text % {"lab": lab})
            return redirect("dashboard:members", lab.slug)
    return render(request, "labs/new_lab.html", {"form": form}, status=status)


def show_lab(request: HttpRequest, lab: str) -> HttpResponse:
    access = lab_or_404(request, lab)
    context = {
        "access": access,
        "cards": study_cards(viewer_of(request), lab=access.lab),
    }
    if access.role:
        context |= {
            "hosts": lab_hosts(access.lab),
            "agents": lab_agents(access.lab),
            "members": lab_members(access.lab),
        }
    else:  # members have a tab for custom tools instead
        tools = CustomTool.objects.visible_to(viewer_of(request))
        context["has_tools"] = tools.filter(lab=access.lab).exists()
    return render(request, "labs/lab.html", context)


def show_audit_log(request: HttpRequest, lab: str) -> HttpResponse:
    access = editable_lab_or_404(request, lab)
    context = {"access": access, "entries": lab_audit_log(access.lab)}
    return render(request, "labs/audit_log.html", context)


urlpatterns = [
    page("labs/", list_labs, "labs"),
    form_page("new-lab/", new_lab, "new-lab"),
    page(LAB_PATH, show_lab, "lab"),
    member_page(
        f"{LAB_PATH}audit-log/",
        show_audit_log,
        "audit-log",
        member_statuses=EDITORS_ONLY,
    ),
    form_page(f"{LAB_PATH}bundles/", bundles.import_bundles, "bundles"),
    form_page(f"{LAB_PATH}new-host/", hosts.new_host, "new-host"),
    page(HOST_PATH, hosts.show_host, "host"),
    form_page(f"{HOST_PATH}edit/", hosts.edit_host, "edit-host"),
    form_page(
        f"{LAB_PATH}members/",
        members.show_members,
        "members",
        member_statuses=MEMBERS_READ,
    ),
    action(
        f"{MEMBER_PATH}role/",
        members.change_role_view,
        "change-role",
        member_statuses=REDIRECTED,
    ),
    action(
        f"{MEMBER_PATH}remove/",
        members.remove_member_view,
        "remove-member",
        member_statuses=REDIRECTED,
    ),
    action(
        f"{LAB_PATH}members/second-factor/",
        members.require_second_factor_view,
        "require-second-factor",
        member_statuses=REDIRECTED,
    ),
    action(
        f"{LAB_PATH}invitations/<int:invitation_id>/withdraw/",
        members.withdraw_invitation_view,
        "withdraw-invitation",
        member_statuses=REDIRECTED,
    ),
    form_page(f"{LAB_PATH}tokens/", tokens.manage_tokens, "tokens"),
    action(
        f"{LAB_PATH}tokens/<slug:prefix>/revoke/",
        tokens.revoke_token_view,
        "revoke-token",
    ),
    form_page(f"{LAB_PATH}webhooks/", webhooks.manage_webhooks, "webhooks"),
    action(
        f"{LAB_PATH}webhooks/<int:webhook_id>/test/",
        webhooks.send_test_event,
        "test-webhook",
    ),
    action(
        f"{LAB_PATH}webhooks/<int:webhook_id>/delete/",
        webhooks.delete_webhook_view,
        "delete-webhook",
    ),
    page(f"{LAB_PATH}custom-tools/", custom_tools.list_custom_tools, "custom-tools"),
    form_page(
        f"{LAB_PATH}new-custom-tool/",
        custom_tools.declare_custom_tool,
        "new-custom-tool",
    ),
    page(CUSTOM_TOOL_PATH, custom_tools.show_custom_tool, "custom-tool"),
    form_page(
        f"{CUSTOM_TOOL_PATH}new-version/",
        custom_tools.new_custom_tool_version,
        "new-custom-tool-version",
    ),
    action(
        f"{CUSTOM_TOOL_PATH}retire/",
        custom_tools.retire_custom_tool,
        "retire-custom-tool",
    ),
    action(
        f"{CUSTOM_TOOL_PATH}delete/",
        custom_tools.delete_custom_tool,
        "delete-custom-tool",
    ),
    route("invitation/", members.accept_invitation_view, "invitation"),
]
