"""Comments: permissions, revisions, and deletion with their target."""

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from benchmarks.collaboration import comments
from benchmarks.collaboration.comments import (
    ANONYMOUS_AUTHOR,
    Author,
    CommentTarget,
    author_of,
    edit_comment,
    find_comment,
    remove_comment,
    revisions_of_comments,
    visible_comments,
    write_comment,
)
from benchmarks.errors import InvalidError, NotFoundError, RateLimitError
from benchmarks.maintenance.deletion import delete_account, delete_study, delete_uploads
from benchmarks.models import Cell, Comment, CommentRevision, Membership, Run
from benchmarks.studies.saving import update_study
from benchmarks.viewer import ANYONE, Viewer


@pytest.fixture
def join():
    """Create a member of a lab with a role."""

    def create_author(lab, name, role="viewer"):
        user = get_user_model().objects.create_user(name)
        Membership.objects.create(lab=lab, user=user, role=role)
        return author_of(user)

    return create_author


@pytest.fixture
def carol(person):
    return author_of(person)


@pytest.fixture
def comment(carol, study):
    return write_comment(author=carol, target=CommentTarget(study), text="Too warm.")


def earlier_texts(author, comment):
    earlier = revisions_of_comments(author, [comment])
    return [item.text for item in earlier.get(comment.pk, [])]


def test_comments_and_edits_of_an_author_are_limited(carol, study, monkeypatch):
    monkeypatch.setattr(comments, "MAX_PER_AUTHOR", 3)
    about = CommentTarget(study)
    first = write_comment(author=carol, target=about, text="1")
    write_comment(author=carol, target=about, text="2")
    edit_comment(comment=first, author=carol, text="1b")

    with pytest.raises(RateLimitError, match="at most 3 comments"):
        write_comment(author=carol, target=about, text="3")
    with pytest.raises(RateLimitError):
        edit_comment(comment=first, author=carol, text="1c")

    Comment.objects.update(written_at=timezone.now() - comments.WINDOW)
    CommentRevision.objects.update(replaced_at=timezone.now() - comments.WINDOW)
    write_comment(author=carol, target=about, text="4")


def test_other_labs_cannot_crowd_out_the_comments_of_the_lab(
    carol, join, other_lab, study, monkeypatch
):
    monkeypatch.setattr(comments, "MAX_FROM_OTHER_LABS", 2)
    about = CommentTarget(study)
    for name in ("eve", "mallory"):
        write_comment(author=join(other_lab, name), target=about, text="Spam")

    with pytest.raises(RateLimitError, match="Other labs have already written 2"):
        write_comment(author=join(other_lab, "oscar"), target=about, text="Spam")
    assert write_comment(author=carol, target=about, text="Enough.")


def test_closed_comments_are_only_for_the_lab(carol, join, other_lab, study):
    eve, about = join(other_lab, "eve"), CommentTarget(study)
    early = write_comment(author=eve, target=about, text="Early.")
    update_study(study=study, comments_closed=True)

    with pytest.raises(InvalidError, match="has closed its comments"):
        write_comment(author=eve, target=about, text="Late.")
    with pytest.raises(InvalidError, match="has closed its comments"):
        edit_comment(comment=early, author=eve, text="Changed.")
    assert write_comment(author=carol, target=about, text="Noted.")
    assert remove_comment(comment=early, author=eve).removed_at


def test_edit_keeps_the_earlier_text(carol, comment):
    edited = edit_comment(comment=comment, author=carol, text="Much too warm.")
    repeated = edit_comment(comment=comment, author=carol, text="Much too warm.")

    assert edited.text == repeated.text == "Much too warm."
    assert edited.edited_at == repeated.edited_at
    assert earlier_texts(carol, comment) == ["Too warm."]


def test_removal_keeps_the_earlier_text(carol, comment):
    edit_comment(comment=comment, author=carol, text="Hot.")
    removed = remove_comment(comment=comment, author=carol)
    repeated = remove_comment(comment=comment, author=carol)

    assert (removed.text, removed.removed_by) == ("", "carol")
    assert repeated.removed_at == removed.removed_at
    assert earlier_texts(carol, comment) == ["Too warm.", "Hot."]
    with pytest.raises(InvalidError):
        edit_comment(comment=comment, author=carol, text="Back.")


def test_earlier_texts_are_visible_to_author_and_admins(
    join, lab, other_lab, carol, comment
):
    edit_comment(comment=comment, author=carol, text="Hot.")

    assert earlier_texts(join(lab, "ada", "admin"), comment) == ["Too warm."]
    assert earlier_texts(join(lab, "max", "maintainer"), comment) == []
    assert earlier_texts(join(other_lab, "eve", "admin"), comment) == []
    assert earlier_texts(ANONYMOUS_AUTHOR, comment) == []


def test_admin_can_remove_but_not_edit(join, lab, comment):
    admin = join(lab, "ada", "admin")

    with pytest.raises(InvalidError, match="Only the author"):
        edit_comment(comment=comment, author=admin, text="I was wrong.")
    assert remove_comment(comment=comment, author=admin).removed_by == "ada"


@pytest.mark.parametrize("role", ["viewer", "maintainer", "admin"])
def test_other_labs_can_remove_only_their_own_comments(
    join, other_lab, study, comment, role
):
    eve = join(other_lab, "eve", role)

    own = write_comment(author=eve, target=CommentTarget(study), text="Here 31 °C.")
    with pytest.raises(InvalidError):
        remove_comment(comment=comment, author=eve)

    assert own.lab_id == study.lab_id
    assert remove_comment(comment=own, author=eve).removed_at


def test_people_without_lab_cannot_comment(study):
    user = get_user_model().objects.create_user("zoe")

    with pytest.raises(InvalidError, match="members of a lab"):
        write_comment(
            author=author_of(user), target=CommentTarget(study), text="Hello."
        )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", InvalidError),
        (" \r\n ", InvalidError),
        ("x" * 10_001, InvalidError),
        ("a\u202eb", InvalidError),
        ("a\0b", InvalidError),
    ],
)
def test_empty_text_or_hidden_characters_are_rejected(carol, study, text, error):
    with pytest.raises(error):
        write_comment(author=carol, target=CommentTarget(study), text=text)
    assert not Comment.objects.exists()


def test_comment_is_visible_with_the_study(
    carol, lab, other_lab, private_study, comment
):
    hidden = write_comment(
        author=carol, target=CommentTarget(private_study), text="Psst."
    )
    own, other = Viewer(frozenset({lab.pk})), Viewer(frozenset({other_lab.pk}))

    assert list(visible_comments(own)) == [comment, hidden]
    assert list(visible_comments(ANYONE)) == [comment]
    with pytest.raises(NotFoundError):
        find_comment(other, hidden.pk)
    update_study(study=private_study, visibility="shared", shared_with=["beta-lab"])
    assert find_comment(other, hidden.pk) == hidden
    update_study(study=private_study, visibility="private")
    with pytest.raises(NotFoundError):
        find_comment(other, hidden.pk)


def test_name_is_kept_after_account_deletion(join, lab, study):
    ada = join(lab, "ada")
    written = write_comment(author=ada, target=CommentTarget(study), text="Mine.")

    delete_account(person=ada.person, actor="test")

    written.refresh_from_db()
    assert (written.person, written.author, written.text) == (None, "ada", "Mine.")
    # A new account with the same name is a different person.
    assert not author_of(get_user_model().objects.create_user("ada")).is_author_of(
        written
    )


def test_agent_can_comment(agent, study):
    alice = Author(agent=agent, lab_ids=frozenset({agent.lab_id}))

    written = write_comment(
        author=alice, target=CommentTarget(study), text="Fan failed."
    )

    assert (written.author, written.person) == ("alice", None)
    assert edit_comment(comment=written, author=alice, text="Fan is back.").edited_at


def test_comments_on_vanished_runs_move_to_the_study(carol, submit, run_document):
    submit(run_document())
    run, cell = Run.objects.get(), Cell.objects.get()
    for about in (
        CommentTarget(run.study, run=run),
        CommentTarget(run.study, cell=cell),
    ):
        write_comment(author=carol, target=about, text="Of it.")

    # As reparsing does with runs that are no longer found.
    run.delete()
    cell.delete()

    left = Comment.objects.filter(run=None, cell=None, study=run.study)
    assert [item.text for item in left] == ["Of it.", "Of it."]


def test_comments_are_deleted_with_their_run(carol, comment, lab, submit, run_document):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    run = Run.objects.get(system__hypervisor="Xen")
    cell = Cell.objects.get(system=run.system)
    for about in (
        CommentTarget(run.study, run=run),
        CommentTarget(run.study, cell=cell),
    ):
        written = write_comment(author=carol, target=about, text="Of it.")
        edit_comment(comment=written, author=carol, text="About it.")

    delete_uploads(lab=lab, runs=[run], actor="test", reason="A mistake.")

    assert list(Comment.objects.all()) == [comment]
    assert not CommentRevision.objects.exists()


@pytest.mark.parametrize("is_published", [False, True])
def test_comments_are_deleted_with_their_study(
    comment, study, submit, run_document, publish, is_published
):
    if is_published:
        submit(run_document())
        publish(study)

    delete_study(study=study, actor="test", reason="A mistake.")

    assert not Comment.objects.exists()
