"""Atom feeds of what happens in studies, and the secret address of one's own."""

from typing import Final

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.feedgenerator import Atom1Feed
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from benchmarks.labs.sign_ins import verified_address
from benchmarks.models import Digest, Event, Follow, Lab
from benchmarks.studies.lookup import find_study
from benchmarks.together.digests import (
    ask_for_digest,
    end_digest,
    feed_reader,
    follow,
    followed,
    has_feed_token,
    issue_feed_token,
    revoke_feed_tokens,
)
from benchmarks.together.events import visible_events
from dashboard import wording
from dashboard.kit.forms import outcome_message
from dashboard.kit.routes import action, member_page, page
from dashboard.kit.viewers import (
    person_of,
    query_of,
    signed_in_person,
    viewer_named,
)

MOST_ENTRIES: Final = 100
PLACES: Final = {Event.Kind.FLAGS: "flags", Event.Kind.RUNS: "runs"}


def show_feed(request: HttpRequest) -> HttpResponse:
    """Return the events of a study, of a lab, or of all visible studies."""
    query = query_of(request)
    secret = query.get("token", "")
    viewer = viewer_named(feed_reader(secret) if secret else person_of(request))
    study = find_study(viewer, query["study"]) if query.get("study") else None
    events = visible_events(viewer)
    if study:
        events = events.filter(study=study)
    elif query.get("lab"):
        events = events.filter(study__lab__slug=query["lab"])
    own = urlencode({key: query[key] for key in ("lab", "study") if query.get(key)})
    page = f"{reverse('dashboard:feed')}{'?' if own else ''}{own}"
    subject = study.title if study else query.get("lab") or _("all studies")
    feed = Atom1Feed(
        title=f"Virtlab: {subject}",
        link=request.build_absolute_uri("/"),
        description="",
        # Without the secret: readers show where a feed is from.
        feed_url=request.build_absolute_uri(page),
        language=request.LANGUAGE_CODE,
    )
    for event in events.order_by("-pk")[:MOST_ENTRIES]:
        place = request.build_absolute_uri(_place_of(event))
        feed.add_item(
            title=f"{event.study.title}: {wording.said(event.sentence)}",
            link=place,
            description=wording.said(event.sentence),
            author_name=event.study.lab.name,
            pubdate=event.at,
            updateddate=event.at,
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


def _place_of(event: Event) -> str:
    if event.kind in (Event.Kind.PUBLISHED, Event.Kind.WITHDRAWN):
        return reverse("dashboard:version", args=[event.content["version"]])
    name = PLACES.get(Event.Kind(event.kind), "compare")
    study = event.study
    return reverse(f"dashboard:{name}", args=[study.lab.slug, study.slug])


def show_subscriptions(request: HttpRequest) -> HttpResponse:
    return _page(request)


def new_address(request: HttpRequest) -> HttpResponse:
    """Make the secret address of somebody's feeds, and show it this once."""
    secret = issue_feed_token(signed_in_person(request))
    answer = _page(request, secret)
    answer["Cache-Control"] = "no-store"
    return answer


def revoke_address(request: HttpRequest) -> HttpResponse:
    revoke_feed_tokens(signed_in_person(request))
    messages.success(request, _("The address of your feeds is no longer valid."))
    return redirect("dashboard:subscriptions")


def choose_digest(request: HttpRequest) -> HttpResponse:
    """Tell somebody by mail, or no longer."""
    if settings.EMAIL is None:
        raise Http404("This server sends no mail.")
    person, every = signed_in_person(request), request.POST.get("every", "")
    if every in Digest.Every.values:
        ask_for_digest(person, every, "labs" in request.POST)
        messages.success(request, _("You are told by mail from now on."))
    else:
        end_digest(person.pk)
        messages.success(request, _("You are told nothing more by mail."))
    return redirect("dashboard:subscriptions")


def follow_study(request: HttpRequest) -> HttpResponse:
    person = signed_in_person(request)
    name = request.POST.get("study", "").strip().replace("\0", "")
    with outcome_message(request):
        study = find_study(viewer_named(person), name)
        follow(person, study)
        messages.success(request, _("You follow %(study)s.") % {"study": study.title})
    return redirect("dashboard:subscriptions")


def unfollow_study(request: HttpRequest, pk: int) -> HttpResponse:
    Follow.objects.filter(person=signed_in_person(request), pk=pk).delete()
    return redirect("dashboard:subscriptions")


def _page(request: HttpRequest, secret: str = "") -> HttpResponse:
    person = signed_in_person(request)
    feed = request.build_absolute_uri(reverse("dashboard:feed"))
    labs = Lab.objects.filter(pk__in=viewer_named(person).lab_ids).order_by("name")
    context = {
        "public": feed,
        "secret": f"{feed}?{urlencode({'token': secret})}" if secret else "",
        "labs": labs,
        "lab_query": "&lab=",
        "has_address": has_feed_token(person),
        "sends_mail": settings.EMAIL is not None,
        "mailed_to": verified_address(person) if settings.EMAIL else "",
        "digest": Digest.objects.filter(person=person).first(),
        "followed": followed(person) if settings.EMAIL else (),
        "asked_study": query_of(request).get("study", "")[:151],
    }
    return render(request, "feeds/subscriptions.html", context)


urlpatterns = [
    page("feed.atom", show_feed, "feed", kind="file", counted=("/feed.atom",)),
    member_page("subscriptions/", show_subscriptions, "subscriptions"),
    action("subscriptions/address/", new_address, "new-feed-address"),
    action("subscriptions/digest/", choose_digest, "choose-digest"),
    action("subscriptions/follow/", follow_study, "follow-study"),
    action(
        "subscriptions/<int:pk>/unfollow/",
        unfollow_study,
        "unfollow-study",
        is_private=False,
    ),
    action("subscriptions/revoke/", revoke_address, "revoke-feed-address"),
]
