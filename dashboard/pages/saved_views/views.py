"""Saved views: those one has, a new one, and away with one."""

from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.models import Lab
from benchmarks.together.saved_views import (
    can_be_saved,
    find_view,
    may_change_view,
    save_view,
    visible_views,
)
from dashboard.kit.forms import LineField, submit
from dashboard.kit.routes import action, form_page
from dashboard.kit.viewers import (
    page_of,
    query_of,
    signed_in_person,
    viewer_of,
)


class ViewForm(forms.Form):
    """A name, whose it is, and the address."""

    name = LineField(label=gettext_lazy("Name"), max_length=100)
    lab = forms.ModelChoiceField(
        Lab.objects.none(),
        label=gettext_lazy("Whose it is"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("Mine alone"),
        help_text=gettext_lazy("The members of a lab see what is shared with it."),
    )
    address = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=4_000,
        help_text=gettext_lazy("From its first slash on, with all that was chosen."),
    )

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        labs = Lab.objects.filter(pk__in=viewer_of(request).lab_ids)
        self.fields["lab"].queryset = labs.order_by("name")  # type: ignore[attr-defined]  # of a choice


def show_views(request: HttpRequest) -> HttpResponse:
    """Show the user's views and the form of a new one; save it."""
    person, status = signed_in_person(request), 200
    if request.method == "POST":
        form = ViewForm(request, request.POST)
        view, status = submit(form, save_view, person=person)
        if view:
            messages.success(request, _("%(name)s is saved.") % {"name": view.name})
            return redirect("dashboard:saved-views")
    else:
        form = ViewForm(request, initial={"address": _address_of(request)})
    views = visible_views(viewer_of(request), person)
    shown = [(view, may_change_view(view, person)) for view in views]
    context = {"views": shown, "form": form}
    return render(request, "saved_views/saved_views.html", context, status=status)


def _address_of(request: HttpRequest) -> str:
    """Return the address to save: the referring page, because scripts change it."""
    origin = urlsplit(request.headers.get("Referer", ""))
    if origin.netloc == request.get_host():
        address = origin._replace(scheme="", netloc="", fragment="").geturl()
        if can_be_saved(address):
            return address
    address = query_of(request).get("address", "")
    return address if can_be_saved(address) else ""


def delete_view(request: HttpRequest, view_id: int) -> HttpResponse:
    """Delete a view of one's own, or as a keeper of the lab that shares it."""
    person = signed_in_person(request)
    view = find_view(viewer_of(request), view_id, person)
    if not may_change_view(view, person):
        raise Http404("It is not yours to delete.")
    view.delete()
    messages.success(request, _("%(name)s is deleted.") % {"name": view.name})
    return redirect(page_of(request))


urlpatterns = [
    form_page(
        "saved-views/", show_views, "saved-views", walked=("?address=/compare/",)
    ),
    action("saved-views/<int:view_id>/delete/", delete_view, "delete-view"),
]
