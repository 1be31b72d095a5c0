"""/comments/: what people and agents write about studies, cells and runs."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.fields import Text, TrueOrFalse, WholeNumber
from api.kit.outputs import OutputSerializer
from api.kit.queries import ListQuery, WholeParameter, study_parameter
from api.kit.schema import ErrorSerializer
from api.kit.shapes import StrictSerializer
from api.kit.views import AddressedRow, ApiView, Fields, ListView, operation
from benchmarks.models import Comment, EarlierText, Token
from benchmarks.studies.lookup import find_study
from benchmarks.together.comments import (
    MOST_LETTERS,
    Author,
    Thing,
    author_of,
    earlier_texts,
    edit_comment,
    find_cell,
    find_comment,
    remove_comment,
    visible_comments,
    write_comment,
)
from benchmarks.uploads.runs import find_run

ABOUT = ("study", "cell", "run")
EXAMPLE = (
    "About a run",
    {"run": 17, "text": "The room was at 31 °C: https://example.org/log"},
)
EDITED = ("Said otherwise", {"text": "The room was at 30 °C."})
REMOVED = ("Removed", {"removed": True})


class CommentInput(StrictSerializer):
    """A text about one thing: a study, a cell or a run."""

    study = study_parameter()
    cell = WholeNumber(required=False, help_text="A cell's id.")
    run = WholeNumber(required=False, help_text="A run's id.")
    text = Text(multiline=True, max_length=MOST_LETTERS, help_text="Plain text.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in ABOUT) != 1:
            raise serializers.ValidationError("Send one of study, cell and run.")
        return attrs


class CommentChange(StrictSerializer):
    """Another text, or ``removed``: one of both."""

    text = Text(multiline=True, max_length=MOST_LETTERS, required=False)
    removed = TrueOrFalse(required=False, help_text="Only true: it cannot come back.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1 or attrs.get("removed") is False:
            raise serializers.ValidationError('Send "text", or "removed": true.')
        return attrs


class EarlierTextSerializer(OutputSerializer):
    row_type = EarlierText
    columns = "text written_at replaced_at replaced_by"


class CommentSerializer(AddressedRow):
    """A comment; ``text`` is empty once it was removed.

    ``earlier`` is what it said before, for its author and for admins of the study's lab
    who have signed in; for others it is empty.
    """

    address = "api:comment"

    row_type = Comment
    columns = """
        study=study.slug lab=study.lab.slug cell=cell_id run=run_id who text written_at
        edited_at removed_at
    """

    text = serializers.CharField(allow_blank=True)
    removed_by = serializers.CharField(allow_blank=True)
    earlier = serializers.SerializerMethodField()

    @extend_schema_field(EarlierTextSerializer(many=True))
    def get_earlier(self, comment: Comment) -> Any:
        known: dict[int, list[EarlierText]] = self.context["earlier"]
        return EarlierTextSerializer(known.get(comment.pk, []), many=True).data


class CommentQuery(ListQuery):
    study = study_parameter()
    cell = WholeParameter(required=False, help_text="A cell's id.")
    run = WholeParameter(required=False, help_text="A run's id.")


class AuthorsView(ApiView):
    """A view that knows who asks as somebody who writes comments."""

    @property
    def author(self) -> Author:
        """Who asks, as the author of comments."""
        token = self.request.auth
        if isinstance(token, Token):
            return Author(agent=token.agent, lab_ids=frozenset({token.lab_id}))
        user = self.request.user
        return author_of(user if user.is_authenticated else None)

    def said(self, comment: Comment) -> Any:
        earlier = earlier_texts(self.author, [comment])
        return self.shown(CommentSerializer, comment, earlier=earlier)


class CommentView(AuthorsView):
    """One comment; its author edits or removes it."""

    summary = "Read a comment"
    serializer_class = CommentSerializer

    def get(self, request: Request, pk: int) -> Response:
        return Response(self.said(find_comment(self.viewer, pk)))

    @operation(
        "Edit or remove a comment of the token's agent", CommentChange, EDITED, REMOVED
    )
    def patch(self, change: Fields, pk: int) -> Response:
        comment = find_comment(self.lab_viewer, pk)
        if "text" in change:
            edit_comment(comment=comment, author=self.author, text=change["text"])
        else:
            remove_comment(comment=comment, author=self.author)
        return Response(self.said(find_comment(self.lab_viewer, pk)))


class CommentsView(AuthorsView, ListView):
    """Comments on everything that may be seen; ``POST`` writes one."""

    query_class = CommentQuery
    summary = "List comments"
    serializer_class = CommentSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_comments(self.viewer)

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        return {"earlier": earlier_texts(self.author, page)}

    @operation(
        "Write a comment",
        CommentInput,
        EXAMPLE,
        answers={201: CommentSerializer, 404: ErrorSerializer},
    )
    def post(self, given: Fields) -> Response:
        if "study" in given:
            about = Thing(find_study(self.lab_viewer, given["study"]))
        elif "cell" in given:
            about = find_cell(self.lab_viewer, given["cell"])
        else:
            run = find_run(self.lab_viewer, given["run"])
            about = Thing(run.study, run=run)
        comment = write_comment(author=self.author, about=about, text=given["text"])
        earlier = earlier_texts(self.author, [comment])
        return self.created_or_known(
            CommentSerializer, comment, created=True, earlier=earlier
        )
