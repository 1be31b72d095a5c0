"""Comments: who writes, edits, removes; what was said before; what takes them away."""

import pytest
from django.contrib.auth import get_user_model

from benchmarks.errors import InvalidError, NotFoundError
from benchmarks.keeping.deletion import delete_account, delete_study, delete_uploads
from benchmarks.models import Cell, Comment, EarlierText, Membership, Run
from benchmarks.studies.saving import update_study
from benchmarks.together.comments import (
    NOBODY,
    Author,
    Thing,
    author_of,
    earlier_texts,
    edit_comment,
    find_comment,
    remove_comment,
    visible_comments,
    write_comment,
)
from benchmarks.viewer import ANYONE, Viewer


@pytest.fixture
def join():
    """Make a person of a lab, with a role."""

    def made(lab, name, role="viewer"):
        user = get_user_model().objects.create_user(name)
        Membership.objects.create(lab=lab, user=user, role=role)
        return author_of(user)

    return made


@pytest.fixture
def carol(person):
    return author_of(person)


@pytest.fixture
def comment(carol, study):
    return write_comment(author=carol, about=Thing(study), text="Too warm.")


def said_before(author, comment):
    earlier = earlier_texts(author, [comment])
    return [it.text for it in earlier.get(comment.pk, [])]


def test_an_edit_keeps_what_was_said(carol, comment):
    edited = edit_comment(comment=comment, author=carol, text="Much too warm.")
    again = edit_comment(comment=comment, author=carol, text="Much too warm.")

    assert edited.text == again.text == "Much too warm."
    assert edited.edited_at == again.edited_at
    assert said_before(carol, comment) == ["Too warm."]


def test_a_removal_keeps_what_was_said(carol, comment):
    edit_comment(comment=comment, author=carol, text="Hot.")
    removed = remove_comment(comment=comment, author=carol)
    again = remove_comment(comment=comment, author=carol)

    assert (removed.text, removed.removed_by) == ("", "carol")
    assert again.removed_at == removed.removed_at
    assert said_before(carol, comment) == ["Too warm.", "Hot."]
    with pytest.raises(InvalidError):
        edit_comment(comment=comment, author=carol, text="Back.")


def test_what_was_said_before_is_for_the_author_and_the_labs_admins(
    join, lab, other_lab, carol, comment
):
    edit_comment(comment=comment, author=carol, text="Hot.")

    assert said_before(join(lab, "ada", "admin"), comment) == ["Too warm."]
    assert said_before(join(lab, "max", "maintainer"), comment) == []
    assert said_before(join(other_lab, "eve", "admin"), comment) == []
    assert said_before(NOBODY, comment) == []


def test_an_admin_removes_and_never_edits(join, lab, comment):
    admin = join(lab, "ada", "admin")

    with pytest.raises(InvalidError, match="Only its author"):
        edit_comment(comment=comment, author=admin, text="I was wrong.")
    assert remove_comment(comment=comment, author=admin).removed_by == "ada"


@pytest.mark.parametrize("role", ["viewer", "maintainer", "admin"])
def test_another_lab_writes_and_removes_only_its_own(
    join, other_lab, study, comment, role
):
    eve = join(other_lab, "eve", role)

    own = write_comment(author=eve, about=Thing(study), text="Here 31 °C.")
    with pytest.raises(InvalidError):
        remove_comment(comment=comment, author=eve)

    assert own.lab_id == study.lab_id
    assert remove_comment(comment=own, author=eve).removed_at


def test_who_is_of_no_lab_writes_nothing(study):
    user = get_user_model().objects.create_user("zoe")

    with pytest.raises(InvalidError, match="members of a lab"):
        write_comment(author=author_of(user), about=Thing(study), text="Hello.")


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
def test_a_text_that_says_nothing_or_hides_something_is_refused(
    carol, study, text, error
):
    with pytest.raises(error):
        write_comment(author=carol, about=Thing(study), text=text)
    assert not Comment.objects.exists()


def test_it_is_seen_by_exactly_who_sees_the_study(
    carol, lab, other_lab, private_study, comment
):
    hidden = write_comment(author=carol, about=Thing(private_study), text="Psst.")
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


def test_the_name_outlives_the_account(join, lab, study):
    ada = join(lab, "ada")
    written = write_comment(author=ada, about=Thing(study), text="Mine.")

    delete_account(person=ada.person, who="test")

    written.refresh_from_db()
    assert (written.person, written.who, written.text) == (None, "ada", "Mine.")
    # A new account of the same name is somebody else.
    assert not author_of(get_user_model().objects.create_user("ada")).wrote(written)


def test_an_agent_writes_in_its_own_name(agent, study):
    alice = Author(agent=agent, lab_ids=frozenset({agent.lab_id}))

    written = write_comment(author=alice, about=Thing(study), text="Fan failed.")

    assert (written.who, written.person) == ("alice", None)
    assert edit_comment(comment=written, author=alice, text="Fan is back.").edited_at


def test_what_no_longer_is_read_leaves_its_comments_to_the_study(
    carol, submit, run_document
):
    submit(run_document())
    run, cell = Run.objects.get(), Cell.objects.get()
    for about in (Thing(run.study, run=run), Thing(run.study, cell=cell)):
        write_comment(author=carol, about=about, text="Of it.")

    # As a better reader does that no longer finds it.
    run.delete()
    cell.delete()

    left = Comment.objects.filter(run=None, cell=None, study=run.study)
    assert [it.text for it in left] == ["Of it.", "Of it."]


def test_what_is_deleted_takes_its_comments_along(
    carol, comment, lab, submit, run_document
):
    submit(run_document(), run_document(13.0, system={"hypervisor": "Xen"}))
    run = Run.objects.get(system__hypervisor="Xen")
    cell = Cell.objects.get(system=run.system)
    for about in (Thing(run.study, run=run), Thing(run.study, cell=cell)):
        written = write_comment(author=carol, about=about, text="Of it.")
        edit_comment(comment=written, author=carol, text="About it.")

    delete_uploads(lab=lab, runs=[run], who="test", reason="A mistake.")

    assert list(Comment.objects.all()) == [comment]
    assert not EarlierText.objects.exists()


@pytest.mark.parametrize("is_published", [False, True])
def test_a_deleted_study_keeps_no_comment(
    comment, study, submit, run_document, publish, is_published
):
    if is_published:
        submit(run_document())
        publish(study)

    delete_study(study=study, who="test", reason="A mistake.")

    assert not Comment.objects.exists()
