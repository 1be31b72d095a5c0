from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from benchmarks.collaboration.saved_views import (
    can_be_saved,
    find_view,
    may_change_view,
    save_view,
    update_view,
    visible_views,
)
from benchmarks.models import Lab, SavedView
from dashboard.kit.forms import SingleLineField, outcome_message, submit_form
from dashboard.kit.routes import action, form_page
from dashboard.kit.viewers import (
    current_page_url,
    query_params,
    required_user,
    viewer_of,
)


class SavedViewForm(forms.Form):
    name = SingleLineField(label=gettext_lazy("Name"), max_length=100)
    lab = forms.ModelChoiceField(
        Lab.objects.none(),
        label=gettext_lazy("Visible to"),
        required=False,
        to_field_name="slug",
        empty_label=gettext_lazy("Only me"),
        help_text=gettext_lazy("Members of the selected lab can see the view."),
    )
    path = SingleLineField(max_length=4_000, widget=forms.HiddenInput)

    def __init__(self, request: HttpRequest, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        labs = Lab.objects.filter(pk__in=viewer_of(request).lab_ids)
        self.fields["lab"].queryset = labs.order_by("name")  # type: ignore[attr-defined]  # of a choice


def show_saved_views(request: HttpRequest) -> HttpResponse:
    person, status = required_user(request), 200
    if request.method == "POST":
        form = SavedViewForm(request, request.POST)

        def save(**fields: Any) -> SavedView:
            return save_view(person=person, **fields)

        view, status = submit_form(form, save)
        if view:
            messages.success(request, _("Saved %(name)s.") % {"name": view.name})
            return redirect("dashboard:saved-views")
    else:
        name = query_params(request).get("name", "").strip()[:100]
        initial = {"path": _page_to_save(request), "name": name}
        form = SavedViewForm(request, initial=initial)
    views = visible_views(viewer_of(request), person)
    shown = [(view, may_change_view(view, person)) for view in views]
    context = {"views": shown, "form": form}
    return render(request, "saved_views/saved_views.html", context, status=status)


def _page_to_save(request: HttpRequest) -> str:
    """Return the URL of the page to save, or "".

    Prefer the referrer: scripts may have changed the page's URL.
    """
    origin = urlsplit(request.headers.get("Referer", ""))
    if origin.netloc == request.get_host():
        address = origin._replace(scheme="", netloc="", fragment="").geturl()
        if can_be_saved(address):
            return address
    address = query_params(request).get("path", "")
    return address if can_be_saved(address) else ""


def _changeable_view(request: HttpRequest, view_id: int) -> SavedView:
    person = required_user(request)
    view = find_view(viewer_of(request), view_id, person)
    if not may_change_view(view, person):
        raise Http404("It is not yours to change.")
    return view


def rename_saved_view(request: HttpRequest, view_id: int) -> HttpResponse:
    view = _changeable_view(request, view_id)
    name = request.POST.get("name", "")
    with outcome_message(request, _("Renamed to %(name)s.") % {"name": name}):
        update_view(view=view, name=name, person=required_user(request))
    return redirect("dashboard:saved-views")


def delete_saved_view(request: HttpRequest, view_id: int) -> HttpResponse:
    view = _changeable_view(request, view_id)
    view.delete()
    messages.success(request, _("Deleted %(name)s.") % {"name": view.name})
    return redirect(current_page_url(request))


urlpatterns = [
    form_page(
        "saved-views/",
        show_saved_views,
        "saved-views",
        example_urls=("?path=/compare/",),
    ),
    action("saved-views/<int:view_id>/rename/", rename_saved_view, "rename-view"),
    action("saved-views/<int:view_id>/delete/", delete_saved_view, "delete-view"),
]
