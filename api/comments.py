from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from api.kit.composite_fields import StrictSerializer
from api.kit.fields import Boolean, Text, WholeNumber
from api.kit.output_serializer import OutputSerializer
from api.kit.query_parameters import IntegerParameter, ListQuery, study_parameter
from api.kit.schema import ErrorSerializer
from api.kit.views import (
    ApiView,
    ListView,
    ResourceSerializer,
    ValidatedData,
    operation,
)
from benchmarks.collaboration.comments import (
    MAX_COMMENT_LENGTH,
    Author,
    CommentTarget,
    author_of,
    edit_comment,
    find_cell_target,
    find_comment,
    remove_comment,
    revisions_of_comments,
    visible_comments,
    write_comment,
)
from benchmarks.models import Comment, CommentRevision, Token
from benchmarks.studies.lookup import find_study
from benchmarks.uploads.run_queries import find_run

SUBJECTS = ("study", "cell", "run")
EXAMPLE = (
    "About a run",
    {"run": 17, "text": "The room was at 31 °C: https://example.org/log"},
)
EXAMPLE_EDIT = ("Replace the text", {"text": "The room was at 30 °C."})
EXAMPLE_REMOVAL = ("Remove the comment", {"removed": True})


class CommentInput(StrictSerializer):
    """A comment on exactly one study, result or run."""

    study = study_parameter()
    cell = WholeNumber(required=False, help_text="The id of a result.")
    run = WholeNumber(required=False, help_text="The id of a run.")
    text = Text(
        multiline=True,
        max_length=MAX_COMMENT_LENGTH,
        help_text="The comment as plain text.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in SUBJECTS) != 1:
            raise serializers.ValidationError(
                "Send exactly one of study, cell and run."
            )
        return attrs


class CommentChange(StrictSerializer):
    """A new text, or the removal of the comment."""

    text = Text(
        multiline=True,
        max_length=MAX_COMMENT_LENGTH,
        required=False,
        help_text="The new text of the comment.",
    )
    removed = Boolean(required=False, help_text="True removes the comment permanently.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if len(attrs) != 1 or attrs.get("removed") is False:
            raise serializers.ValidationError('Send either "text" or "removed": true.')
        return attrs


class CommentRevisionSerializer(OutputSerializer):
    """An earlier text of a comment."""

    row_type = CommentRevision
    columns = "text written_at replaced_at replaced_by"
    descriptions = {
        "text": "The earlier text.",
        "written_at": "When it was written.",
        "replaced_at": "When it was replaced or removed.",
        "replaced_by": "The name of the person or agent that replaced it.",
    }


class CommentSerializer(ResourceSerializer):
    """A comment on a study, a result or a run."""

    url_name = "api:comment"

    row_type = Comment
    columns = """
        study=study.slug lab=study.lab.slug cell=cell_id run=run_id author text
        written_at edited_at removed_at
    """
    descriptions = {
        "study": "The slug of the study that the comment belongs to.",
        "cell": "The id of the result; null if the comment is not about a result.",
        "run": "The id of the run; null if the comment is not about a run.",
        "author": "The name of the author.",
        "written_at": "When the comment was written.",
        "edited_at": "When the comment was last edited; null if never.",
        "removed_at": "When the comment was removed; null if it was not.",
    }

    text = serializers.CharField(
        allow_blank=True, help_text="The text; empty after removal."
    )
    removed_by = serializers.CharField(
        allow_blank=True,
        help_text=(
            "The name of the person or agent that removed it; empty if it was not "
            "removed."
        ),
    )
    revisions = serializers.SerializerMethodField(
        help_text=(
            "Earlier texts, shown to the author and to signed-in admins of the "
            "study's lab only."
        )
    )

    @extend_schema_field(CommentRevisionSerializer(many=True))
    def get_revisions(self, comment: Comment) -> Any:
        revisions: dict[int, list[CommentRevision]] = self.context["revisions"]
        return CommentRevisionSerializer(revisions.get(comment.pk, []), many=True).data


class CommentQuery(ListQuery):
    study = study_parameter()
    cell = IntegerParameter(required=False, help_text="The id of a result.")
    run = IntegerParameter(required=False, help_text="The id of a run.")


class CommentAuthorView(ApiView):
    @property
    def author(self) -> Author:
        token = self.request.auth
        if isinstance(token, Token):
            return Author(agent=token.agent, lab_ids=frozenset({token.lab_id}))
        user = self.request.user
        return author_of(user if user.is_authenticated else None)

    def comment_response(self, comment: Comment) -> Any:
        revisions = revisions_of_comments(self.author, [comment])
        return self.serialize(CommentSerializer, comment, revisions=revisions)


class CommentView(CommentAuthorView):
    """Returns a comment on a visible study, result or run."""

    summary = "Read a comment"
    serializer_class = CommentSerializer

    def get(self, request: Request, pk: int) -> Response:
        return Response(self.comment_response(find_comment(self.viewer, pk)))

    @operation(
        "Edit or remove a comment",
        CommentChange,
        EXAMPLE_EDIT,
        EXAMPLE_REMOVAL,
    )
    def patch(self, body: ValidatedData, pk: int) -> Response:
        """Replace the text of a comment, or remove the comment permanently.

        Only a token of the author can do this.
        """
        comment = find_comment(self.lab_viewer, pk)
        if "text" in body:
            edit_comment(comment=comment, author=self.author, text=body["text"])
        else:
            remove_comment(comment=comment, author=self.author)
        return Response(self.comment_response(find_comment(self.lab_viewer, pk)))


class CommentsView(CommentAuthorView, ListView):
    """Lists the comments on visible studies, results and runs."""

    query_class = CommentQuery
    summary = "List comments"
    serializer_class = CommentSerializer

    def get_queryset(self) -> QuerySet[Any]:
        return visible_comments(self.viewer)

    def page_context(self, page: list[Any]) -> dict[str, Any]:
        return {"revisions": revisions_of_comments(self.author, page)}

    @operation(
        "Write a comment",
        CommentInput,
        EXAMPLE,
        response_serializers={
            201: CommentSerializer,
            404: OpenApiResponse(
                ErrorSerializer,
                "The study, result or run does not exist, or the lab of the token "
                "cannot see it.",
            ),
        },
    )
    def post(self, body: ValidatedData) -> Response:
        """Comment on a study, a result or a run that the lab of the token can see."""
        if "study" in body:
            about = CommentTarget(find_study(self.lab_viewer, body["study"]))
        elif "cell" in body:
            about = find_cell_target(self.lab_viewer, body["cell"])
        else:
            run = find_run(self.lab_viewer, body["run"])
            about = CommentTarget(run.study, run=run)
        comment = write_comment(author=self.author, target=about, text=body["text"])
        revisions = revisions_of_comments(self.author, [comment])
        return self.created_response(
            CommentSerializer, comment, created=True, revisions=revisions
        )
