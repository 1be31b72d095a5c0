"""Comments on the pages of studies, cells and runs."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.collaboration.comments import CommentTarget, author_of, write_comment
from benchmarks.models import Comment, Membership, Run

STUDY = "/studies/alpha-lab/study/"
EVIL = "<script>alert(1)</script> https://example.org/?a=1&b=<b>"


@pytest.fixture
def places(pair):
    """Return pages with comments, with the fields that their forms send."""
    run = Run.objects.first().pk
    return {
        "study": (STUDY, {}),
        "cell": (f"{STUDY}cells/{pair.pk}/", {"cell": pair.pk}),
        "run": (f"/runs/{run}/", {"run": run}),
    }


def write(client, text="It was warm.", **about):
    return client.post(f"{STUDY}comments/", {"text": text, **about})


@pytest.mark.parametrize("thing", ["study", "cell", "run"])
def test_comment_is_shown_on_page_of_target(client, text, person, places, thing):
    address, about = places[thing]
    assert "new-comment" not in text(address)
    client.force_login(person)
    assert "new-comment" in text(address)

    answer = write(client, EVIL, **about)

    comment = Comment.objects.get()
    assert answer["Location"] == f"{address}#comment-{comment.pk}"
    client.logout()
    page = text(address)
    assert f'id="comment-{comment.pk}"' in page
    assert "<script>alert(1)" not in page
    assert 'href="https://example.org/?a=1&amp;b=' in page
    assert "nofollow" in page


def test_study_page_links_to_comments_on_parts(client, text, person, places):
    client.force_login(person)
    for _, about in places.values():
        write(client, **about)

    page = text(STUDY)

    for comment in Comment.objects.exclude(cell=None, run=None):
        assert f"#comment-{comment.pk}" in page


def test_author_may_edit_and_admin_may_delete(client, text, person, other_lab, study):
    comment = write_comment(
        author=author_of(person), target=CommentTarget(study), text="Warm."
    )
    edit, remove = f"/comments/{comment.pk}/edit/", f"/comments/{comment.pk}/remove/"
    eve = get_user_model().objects.create_user("eve")
    Membership.objects.create(lab=other_lab, user=eve, role="admin")

    client.force_login(eve)
    page = text(STUDY)
    assert edit not in page
    assert remove not in page
    for address in (edit, remove):
        client.post(address, {"text": "Cold."})
    comment.refresh_from_db()
    assert comment.text == "Warm."

    client.force_login(person)
    page = text(STUDY)
    assert edit in page
    client.post(edit, {"text": "Hot."})
    client.post(remove)
    assert "Hot." in text(STUDY)
    client.force_login(eve)
    page = text(STUDY)
    assert "removed by carol" in page
    assert "Hot." not in page


def test_error_is_shown_at_form(client, person, study):
    client.force_login(person)

    answer = client.post(
        f"{STUDY}comments/",
        {"text": " "},
        headers={"Referer": f"http://testserver{STUDY}"},
        follow=True,
    )

    assert answer.redirect_chain == [(STUDY, 302)]
    assert "comment is empty" in answer.content.decode()


def test_invisible_target_is_rejected(client, person, study, other_lab):
    eve = get_user_model().objects.create_user("eve")
    Membership.objects.create(lab=other_lab, user=eve, role="admin")
    client.force_login(eve)

    assert write(client, run=999_999).status_code == 404
    assert write(client, cell=999_999).status_code == 404
    hidden = client.post("/studies/alpha-lab/secret-study/comments/", {"text": "x"})
    assert hidden.status_code == 404


def test_long_thread_shows_newest(client, text, person, study):
    Comment.objects.bulk_create(
        Comment(study=study, lab=study.lab, person=person, text=f"Number {n}.")
        for n in range(22)
    )

    page = text(STUDY)

    assert "Number 21." in page
    assert "Number 1." not in page
    assert page.index("Number 2.") < page.index("Number 21.")


def test_page_of_a_study_stays_small_with_many_long_comments(text, person, study):
    author, about = author_of(person), CommentTarget(study)
    for number in range(28):
        long = f"{number} " + "x" * (9_900 if number > 20 else 1)
        write_comment(author=author, target=about, text=long)

    page = text(STUDY)
    first = page.partition("comments_before=")[2].partition("#")[0]
    older = text(f"{STUDY}?comments_before={first}")

    assert page.count('class="comment"') == 6
    assert len(page) < 150_000
    assert older.count('class="comment"') == 20
    assert text(f"{STUDY}?comments_before=x").count('class="comment"') == 6


def test_form_is_hidden_where_comments_are_closed(client, text, person, study):
    study.comments_closed = True
    study.save()
    client.force_login(get_user_model().objects.create_user("eve"))
    assert "new-comment" not in text(STUDY)
    client.force_login(person)
    assert "new-comment" in text(STUDY)
