from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.collaboration.study_events import visible_events
from benchmarks.collaboration.subscriptions import (
    end_digest,
    follow,
    followed_studies,
    has_feed_token,
    issue_feed_token,
    person_for_feed_token,
    revoke_feed_tokens,
    start_digest,
)
from benchmarks.evidence.subjects import find_machine, visible_effects
from benchmarks.hypervisor_names import canonical_hypervisor
from benchmarks.labs.member_sign_in_methods import verified_address
from benchmarks.models import Digest, Event, Follow, Lab
from benchmarks.studies.lookup import find_study
from benchmarks.text_validation import replace_forbidden
from benchmarks.viewer import Viewer
from dashboard import wording
from dashboard.kit.forms import outcome_message
from dashboard.kit.routes import action, member_page, page
from dashboard.kit.viewers import (
    query_params,
    required_user,
    signed_in_user,
    viewer_for,
)

MAX_FEED_ENTRIES: Final = 100
FEED_SUBJECTS: Final = ("lab", "study", "hypervisor", "work", "machine")
EVENT_PAGES: Final = {Event.Kind.FLAGS: "flags", Event.Kind.RUNS: "runs"}


def show_feed(request: HttpRequest) -> HttpResponse:
    query = query_params(request)
    secret = query.get("token", "")
    viewer = viewer_for(
        person_for_feed_token(secret) if secret else signed_in_user(request)
    )
    study = find_study(viewer, query["study"]) if query.get("study") else None
    events = visible_events(viewer)
    if study:
        events = events.filter(study=study)
    elif query.get("lab"):
        events = events.filter(study__lab__slug=query["lab"])
    elif measured := _measured_filters(viewer, query):
        effects = visible_effects(viewer, **measured)
        events = events.filter(study__in=effects.values("study"))
    feed_query = urlencode({key: query[key] for key in FEED_SUBJECTS if query.get(key)})
    page = f"{reverse('dashboard:feed')}{'?' if feed_query else ''}{feed_query}"
    named = (query[key] for key in FEED_SUBJECTS if query.get(key))
    subject = study.title if study else next(named, _("all studies"))
    feed = Atom1Feed(
        title=replace_forbidden(f"Virtlab: {subject}"),
        link=request.build_absolute_uri("/"),
        description="",
        # The URL must not contain the secret, because feed readers display it.
        feed_url=request.build_absolute_uri(page),
        language=request.LANGUAGE_CODE,
    )
    for event in events.order_by("-pk")[:MAX_FEED_ENTRIES]:
        url = request.build_absolute_uri(_event_url(event))
        message = replace_forbidden(wording.translate_text(event.message))
        feed.add_item(
            title=f"{replace_forbidden(event.study.title)}: {message}",
            link=url,
            description=message,
            author_name=replace_forbidden(event.study.lab.name),
            pubdate=event.occurred_at,
            updateddate=event.occurred_at,
            categories=[event.kind],
            unique_id=request.build_absolute_uri(f"/feed.atom#event-{event.pk}"),
        )
    is_private = bool(viewer.lab_ids)
    caching = "private, no-store" if is_private else "public, max-age=300"
    return HttpResponse(
        feed.writeString("utf-8"),
        content_type="application/atom+xml; charset=utf-8",
        headers={"Cache-Control": caching, "Vary": "Cookie"},
    )


def _measured_filters(viewer: Viewer, query: Mapping[str, str]) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if query.get("hypervisor"):
        filters["hypervisor"] = canonical_hypervisor(query["hypervisor"])
    if query.get("work"):
        filters["work_class"] = query["work"]
    if query.get("machine"):
        machine = find_machine(viewer, query["machine"])
        filters["host__in"] = machine.hosts if machine else ()
    return filters


def _event_url(event: Event) -> str:
    if event.kind in (Event.Kind.PUBLISHED, Event.Kind.WITHDRAWN):
        return reverse("dashboard:version", args=[event.content["version"]])
    name = EVENT_PAGES.get(Event.Kind(event.kind), "compare")
    study = event.study
    return reverse(f"dashboard:{name}", args=[study.lab.slug, study.slug])


def show_subscriptions(request: HttpRequest) -> HttpResponse:
    return _page(request)


def create_feed_url(request: HttpRequest) -> HttpResponse:
    secret = issue_feed_token(required_user(request))
    response = _page(request, secret)
    response["Cache-Control"] = "no-store"
    return response


def revoke_feed_url(request: HttpRequest) -> HttpResponse:
    revoke_feed_tokens(required_user(request))
    messages.success(request, _("The secret URL of your feed was revoked."))
    return redirect("dashboard:subscriptions")


def set_digest(request: HttpRequest) -> HttpResponse:
    if settings.MAIL_SERVER is None:
        raise Http404("This server sends no mail.")
    person, frequency = required_user(request), request.POST.get("frequency", "")
    if frequency in Digest.Frequency.values:
        start_digest(person, frequency, "labs" in request.POST)
        messages.success(request, _("Email notifications are now on."))
    else:
        end_digest(person.pk)
        messages.success(request, _("Email notifications are now off."))
    return redirect("dashboard:subscriptions")


def follow_study(request: HttpRequest) -> HttpResponse:
    person = required_user(request)
    name = request.POST.get("study", "").strip().replace("\0", "")
    with outcome_message(request):
        study = find_study(viewer_for(person), name)
        follow(person, study)
        messages.success(
            request, _("You now follow %(study)s.") % {"study": study.title}
        )
    return redirect("dashboard:subscriptions")


def unfollow_study(request: HttpRequest, pk: int) -> HttpResponse:
    Follow.objects.filter(person=required_user(request), pk=pk).delete()
    return redirect("dashboard:subscriptions")


def _page(request: HttpRequest, secret: str = "") -> HttpResponse:
    person = required_user(request)
    feed = request.build_absolute_uri(reverse("dashboard:feed"))
    labs = Lab.objects.filter(pk__in=viewer_for(person).lab_ids).order_by("name")
    context = {
        "public": feed,
        "secret": f"{feed}?{urlencode({'token': secret})}" if secret else "",
        "labs": labs,
        "lab_query": "&lab=",
        "has_address": has_feed_token(person),
        "sends_mail": settings.MAIL_SERVER is not None,
        "mailed_to": verified_address(person) if settings.MAIL_SERVER else "",
        "digest": Digest.objects.filter(person=person).first(),
        "followed": followed_studies(person) if settings.MAIL_SERVER else (),
        "study_query": query_params(request).get("study", "")[:151],
    }
    return render(request, "subscriptions/subscriptions.html", context)


urlpatterns = [
    page("feed.atom", show_feed, "feed", kind="file", query_count_urls=("/feed.atom",)),
    member_page("subscriptions/", show_subscriptions, "subscriptions"),
    action("subscriptions/feed-url/", create_feed_url, "new-feed-url"),
    action("subscriptions/digest/", set_digest, "set-digest"),
    action("subscriptions/follow/", follow_study, "follow-study"),
    action(
        "subscriptions/<int:pk>/unfollow/",
        unfollow_study,
        "unfollow-study",
        is_private=False,
    ),
    action("subscriptions/feed-url/revoke/", revoke_feed_url, "revoke-feed-url"),
]
