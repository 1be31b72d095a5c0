"""GET /events/: events by study and kind."""

from benchmarks.collaboration.study_events import (
    notify_version_published,
    notify_version_withdrawn,
)


def test_events_are_listed_by_study_and_kind(anyone, reader, study, private_study):
    notify_version_published(study, 1, 7)
    notify_version_withdrawn(study, 1, 7)
    notify_version_published(private_study, 2, 8)

    def kinds(api, **query):
        found = api.get("events/", **query).json()["results"]
        return [(row["study"], row["kind"]) for row in found]

    assert kinds(anyone) == [("study", "published"), ("study", "withdrawn")]
    assert len(kinds(reader)) == 3
    assert kinds(reader, study="study", kind="withdrawn") == [("study", "withdrawn")]
    (event, _) = anyone.get("events/", study="study").json()["results"]
    assert event["message"] == "Version 1 was published"
    assert event["content"] == {"version": 7}
