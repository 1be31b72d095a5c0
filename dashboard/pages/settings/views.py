"""Effects of settings of hypervisors and guests, over all studies."""

import json
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from benchmarks.comparison.setting_effects import (
    OptionEffects,
    effects_by_option,
    setting_effects,
)
from dashboard.exports.chart_files import attachment_response
from dashboard.exports.comparison_records import csv_text
from dashboard.kit.routes import page
from dashboard.kit.viewers import viewer_of
from dashboard.pages.settings.setting_pages import (
    RECORD_FIELDS,
    effect_records,
    option_of_slug,
    option_page,
    settings_page,
)

FORMATS: Final = {"csv": "CSV", "json": "JSON"}


def show_settings(request: HttpRequest) -> HttpResponse:
    options = effects_by_option(setting_effects(viewer_of(request)))
    files = [
        (reverse("dashboard:settings-file", args=[form]), form, name)
        for form, name in FORMATS.items()
    ]
    context = {"page": settings_page(options), "files": files}
    return render(request, "settings/settings.html", context)


def show_setting(request: HttpRequest, option: str) -> HttpResponse:
    measured = _measured(request)
    found = option_of_slug(option, measured)
    if found is None:
        raise Http404(_("No study has varied a setting of this name."))
    if found.slug != option:
        return redirect("dashboard:setting", found.slug)
    files = [
        (reverse("dashboard:setting-file", args=[option, form]), form, name)
        for form, name in FORMATS.items()
    ]
    context = {
        "page": option_page(found, measured.get(option)),
        "files": files if option in measured else (),
    }
    return render(request, "settings/setting.html", context)


def export_settings(request: HttpRequest, form: str) -> HttpResponse:
    return _file(form, "settings", list(_measured(request).values()))


def export_setting(request: HttpRequest, option: str, form: str) -> HttpResponse:
    measured = _measured(request)
    if option not in measured:
        raise Http404(_("No study has varied a setting of this name."))
    return _file(form, f"setting-{option}", [measured[option]])


def _file(form: str, name: str, options: list[OptionEffects]) -> HttpResponse:
    if form not in FORMATS:
        raise Http404(_("Unknown file format."))
    records: list[dict[str, Any]] = [
        record for option in options for record in effect_records(option)
    ]
    text = (
        csv_text(RECORD_FIELDS, records)
        if form == "csv"
        else json.dumps({"effects": records}, ensure_ascii=False, indent=1) + "\n"
    )
    return attachment_response(name, form, text)


def _measured(request: HttpRequest) -> dict[str, OptionEffects]:
    options = effects_by_option(setting_effects(viewer_of(request)))
    return {option.option.slug: option for option in options}


urlpatterns = [
    page("settings/", show_settings, "settings"),
    page("settings.<slug:form>", export_settings, "settings-file", kind="file"),
    page(
        "settings/<slug:option>/",
        show_setting,
        "setting",
        example_urls=("/settings/hw-virt/", "/settings/ksm/"),
        is_private=False,
    ),
    page(
        "settings/<slug:option>.<slug:form>",
        export_setting,
        "setting-file",
        kind="file",
        is_private=False,
    ),
]
