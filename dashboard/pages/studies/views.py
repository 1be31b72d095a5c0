"""Make a study; change its settings: what it is, who sees it, how it is judged."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext as _

from benchmarks.errors import BenchmarksError
from benchmarks.labs.pages import labs_with_counts
from benchmarks.models import Lab, Membership
from benchmarks.studies.saving import save_study, update_study
from dashboard.kit.addresses import STUDY
from dashboard.kit.forms import UNPROCESSABLE
from dashboard.kit.routes import UPLOAD, form_page
from dashboard.kit.viewers import (
    kept_study_or_404,
    query_of,
    signed_in_person,
    viewer_of,
)
from dashboard.pages.studies.form import LICENCES, StudyForm


def new_study(request: HttpRequest) -> HttpResponse:
    """Show the form of a new study; make it and redirect to it."""
    wanted = query_of(request).get("lab", "")
    labs = _kept_labs(request)
    named = [lab for lab in labs if lab.slug == wanted]
    if wanted and not named:
        places = Membership.objects.filter(user=signed_in_person(request))
        if not places.filter(lab__slug=wanted).exists():
            raise Http404("There is no such lab, or it is not yours.")
    if not labs or (wanted and not named):
        return render(request, "studies/no_lab.html", status=403)
    lab, person = (named or labs)[0], signed_in_person(request)
    sent = request.POST if request.method == "POST" else None
    form = StudyForm(lab, _known_labs(request), sent, author=person.get_full_name())
    status = 200
    if sent is not None:
        status = UNPROCESSABLE
        try:
            if form.is_valid():
                stated = form.values()
                slug = stated.pop("slug") or slugify(stated["title"])[:100].strip("-")
                study, is_new = save_study(lab=lab, slug=slug or "study", **stated)
                if is_new:
                    text = _("The study is created. Upload what was measured.")
                    messages.success(request, text)
                else:
                    messages.info(request, _("This study was there already."))
                return redirect("dashboard:study", lab.slug, study.slug)
        except BenchmarksError as error:
            form.add_service_error(error)
            status = error.status
    context = {"labs": labs, "lab": lab, "form": form, "licences": LICENCES}
    return render(request, "studies/new.html", context, status=status)


def change_settings(request: HttpRequest, lab: str, slug: str) -> HttpResponse:
    """Show the settings of a study; change them."""
    study = kept_study_or_404(request, lab, slug)
    sent = request.POST if request.method == "POST" else None
    form = StudyForm(study.lab, _known_labs(request), sent, study)
    status = 200
    if sent is not None:
        status = UNPROCESSABLE
        try:
            if form.is_valid():
                who = request.user.get_username()
                update_study(study=study, who=who, **form.values())
                messages.success(request, _("The settings are stored."))
                return redirect("dashboard:study", lab, slug)
        except BenchmarksError as error:
            form.add_service_error(error)
            status = error.status
        # The page shows what is stored, beside what was typed.
        study.refresh_from_db()
    context = {"study": study, "form": form, "licences": LICENCES}
    return render(request, "studies/settings.html", context, status=status)


def _kept_labs(request: HttpRequest) -> list[Lab]:
    """Return the labs that the user may add a study to."""
    person = signed_in_person(request)
    kept = Membership.objects.filter(user=person, role__in=Membership.KEEPERS)
    return list(Lab.objects.filter(memberships__in=kept).order_by("name"))


def _known_labs(request: HttpRequest) -> Any:
    """Return the labs that a study can be shared with: those the user may know of."""
    return labs_with_counts(viewer_of(request))


urlpatterns = [
    form_page("studies/new/", new_study, "new-study", own=UPLOAD, is_private=True),
    form_page(f"{STUDY}settings/", change_settings, "study-settings"),
]
