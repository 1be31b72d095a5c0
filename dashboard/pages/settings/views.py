from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from benchmarks.comparison.setting_effects import (
    OptionEffects,
    effects_by_option,
    setting_effects,
)
from dashboard.exports.record_files import record_file, record_file_links
from dashboard.kit.page_cache import PageContent, ViewResult, cached_page
from dashboard.kit.routes import page
from dashboard.kit.viewers import viewer_of
from dashboard.pages.settings.setting_pages import (
    RECORD_FIELDS,
    effect_records,
    option_of_slug,
    option_page,
    settings_page,
)


@cached_page
def show_settings(request: HttpRequest) -> PageContent:
    context = {
        "page": settings_page(list(_measured(request).values())),
        "files": record_file_links("settings-file"),
    }
    return PageContent("settings/settings.html", context)


@cached_page
def show_setting(request: HttpRequest, option: str) -> ViewResult:
    # Other names of an option do not need the effects.
    named = option_of_slug(option, {})
    if named and named.slug != option:
        return redirect("dashboard:setting", named.slug)
    measured = _measured(request)
    found = option_of_slug(option, measured)
    if found is None:
        raise Http404(_("No study has varied a setting of this name."))
    context = {
        "page": option_page(found, measured.get(option)),
        "files": record_file_links("setting-file", option)
        if option in measured
        else (),
    }
    return PageContent("settings/setting.html", context)


def export_settings(request: HttpRequest, form: str) -> HttpResponse:
    return _file(form, "settings", _measured(request).values())


def export_setting(request: HttpRequest, option: str, form: str) -> HttpResponse:
    measured = _measured(request)
    if option not in measured:
        raise Http404(_("No study has varied a setting of this name."))
    return _file(form, f"setting-{option}", [measured[option]])


def _file(form: str, name: str, options: Iterable[OptionEffects]) -> HttpResponse:
    records = (record for option in options for record in effect_records(option))
    return record_file(name, form, RECORD_FIELDS, "effects", records)


def _measured(request: HttpRequest) -> dict[str, OptionEffects]:
    options = effects_by_option(setting_effects(viewer_of(request)))
    return {option.option.slug: option for option in options}


urlpatterns = [
    page("settings/", show_settings, "settings", query_count_urls=("/settings/",)),
    page("settings.<slug:form>", export_settings, "settings-file", kind="file"),
    page(
        "settings/<slug:option>/",
        show_setting,
        "setting",
        example_urls=("/settings/hw-virt/", "/settings/ksm/"),
        is_private=False,
        query_count_urls=("/settings/hugepages/",),
    ),
    page(
        "settings/<slug:option>.<slug:form>",
        export_setting,
        "setting-file",
        kind="file",
        is_private=False,
    ),
]
