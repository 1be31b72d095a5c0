import io
from collections.abc import Mapping
from typing import IO, Any, ClassVar

from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http.multipartparser import MultiPartParser, MultiPartParserError
from django.utils.functional import cached_property
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.status import HTTP_200_OK, HTTP_202_ACCEPTED

from api.kit import body_limits
from api.kit.composite_fields import JSONObject, StrictSerializer, validate_document
from api.kit.errors import malformed_error, too_large_error
from api.kit.fields import (
    ERROR_MESSAGES,
    Boolean,
    Choice,
    ErrorMessages,
    Slug,
    StrictField,
    Text,
    WholeNumber,
)
from api.kit.output_serializer import OutputSerializer
from api.kit.strict_json import parse_json_object
from api.kit.views import ApiView
from api.systems import SystemField, SystemInput
from api.uploads import MAX_VMS
from benchmarks.errors import MalformedError, TooLargeError
from benchmarks.models.run import SCENARIOS
from benchmarks.parsing.start_times import time_zone
from benchmarks.uploads.archive_upload import (
    ArchiveContent,
    ArchiveFile,
    ArchiveFolder,
    ArchiveRequest,
    FileTimes,
    preview_archive,
    store_archive,
)

MAX_FOLDERS = 200
RUN_FIELDS = ("scenario", "vms", "load", "session")
EXAMPLE_METADATA = {
    "study": "kvm-on-my-desk",
    "system": {"host": "ws1", "guest_os": "Debian 12"},
    "systems": {"kvm": {"hypervisor_version": "8.2"}, "native": 17},
    "use_file_dates": True,
    "store": True,
}
EXAMPLE = OpenApiExample(
    "Two folders, native and kvm",
    value={"metadata": EXAMPLE_METADATA, "archive": "(the file, as it is)"},
    request_only=True,
    media_type="multipart/form-data",
)


class ArchiveFormParser(BaseParser):
    """Parser of a multipart form with `metadata` (JSON) and the file `archive`."""

    media_type = "multipart/form-data"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        assert parser_context is not None
        request = parser_context["request"]
        body = body_limits.read_body(stream, request)
        head = {"CONTENT_TYPE": media_type, "CONTENT_LENGTH": len(body)}
        handlers = request._request.upload_handlers
        try:
            form = MultiPartParser(head, io.BytesIO(body), handlers, "utf-8")
            texts, files = form.parse()
        except MultiPartParserError as error:
            raise malformed_error(f"The form cannot be read: {error}") from None
        except RequestDataTooBig:
            raise too_large_error("The text of the form is too long.") from None
        except SuspiciousOperation as error:
            raise malformed_error(f"The form cannot be read: {error}") from None
        known = ("metadata", "archive")
        unknown = [name for name in (*texts, *files) if name not in known]
        if unknown:
            wrong = {
                name[:100]: ["This is not a known field. Leave it out."]
                for name in unknown
            }
            problem = "The form has an unknown part."
            raise MalformedError("invalid", problem).with_fields(wrong)
        return {"metadata": texts.get("metadata"), "archive": files.get("archive")}


class PartialSystemInput(SystemInput):
    """The properties of a system that its folder name does not state."""

    host = Slug(required=False, help_text="The slug of a host of the lab.")
    hypervisor = Text(
        required=False, max_length=100, help_text='"native" is the machine itself.'
    )


class FolderSystemField(SystemField):
    @cached_property
    def description(self) -> SystemInput:
        return PartialSystemInput()


class FolderSystemsField(StrictField, serializers.DictField):
    child = FolderSystemField()
    expected = "an object"
    default_error_messages: ClassVar[ErrorMessages] = ERROR_MESSAGES

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict):
            self.reject(data)
        if len(data) > MAX_FOLDERS:
            raise serializers.ValidationError(f"Send at most {MAX_FOLDERS} folders.")
        return super().to_internal_value(data)


class ArchiveMetadataInput(StrictSerializer):
    """Instructions for reading an archive."""

    study = Slug(help_text="The slug of a study of the lab.")
    store = Boolean(
        required=False,
        help_text=(
            "Whether to store the runs; if false or left out, the response is a "
            "preview."
        ),
    )
    system = PartialSystemInput(
        required=False,
        help_text=(
            "Properties that hold for every folder that does not state them, such "
            "as the host."
        ),
    )
    systems = FolderSystemsField(
        required=False,
        help_text=(
            "The system of each folder: an id, or the properties that the folder "
            "name does not state. Files outside all folders belong to the folder "
            "`.`."
        ),
    )
    tool = Text(
        required=False,
        max_length=100,
        help_text="The tool of files whose output does not name it.",
    )
    locale = Text(
        required=False,
        max_length=200,
        help_text="The locale of all files, such as de_DE.",
    )
    use_file_dates = Boolean(
        required=False,
        help_text=(
            "Whether to use the date of the file as the start time of an output "
            "that prints none."
        ),
    )
    time_zone = Text(
        required=False,
        max_length=100,
        help_text=(
            "The time zone of the clocks that outputs print, such as Europe/Berlin."
        ),
    )
    scenario = Choice(
        choices=SCENARIOS,
        required=False,
        help_text="The scenario of all runs in the archive.",
    )
    vms = WholeNumber(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_VMS,
        help_text=(
            "The number of VMs that ran at the same time, for all runs in the archive."
        ),
    )
    load = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The other work on the machine, for all runs in the archive.",
    )
    session = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The name of the session, for all runs in the archive.",
    )
    platform = JSONObject(
        required=False,
        help_text=(
            "The fact `platform` of the agent that sends the archive. If it shows a "
            "guest, folders of a native system are refused until `confirmed` is "
            "`native`."
        ),
    )

    def validate_time_zone(self, name: str) -> str:
        if name and time_zone(name) is None:
            raise serializers.ValidationError(
                "Unknown time zone. Enter a name such as Europe/Berlin."
            )
        return name


class ArchiveFormInput(StrictSerializer):
    """A multipart form with an archive and the description of how to read it."""

    metadata = ArchiveMetadataInput(help_text="How to read the archive, as JSON.")
    archive = serializers.FileField(help_text="The archive: zip, tar or tar.gz.")


class ArchiveFolderSerializer(serializers.Serializer[ArchiveFolder]):
    """A folder of an archive and its system."""

    folder = serializers.CharField(source="name", help_text="The name of the folder.")
    result_file_count = serializers.IntegerField(
        help_text="The number of files in the folder that are results."
    )
    system_id = serializers.SerializerMethodField(
        help_text="The id of the folder's system; null if it is not registered."
    )
    system = serializers.SerializerMethodField(
        help_text=(
            "The description of a system that is not registered yet; null otherwise."
        )
    )
    missing_fields = serializers.ListField(
        child=serializers.CharField(),
        help_text="The fields that must be stated before the folder can be stored.",
    )
    sources = serializers.DictField(
        help_text=(
            "The source of each field of the description; `name` is the folder's name."
        )
    )
    matching_system_ids = serializers.ListField(
        child=serializers.IntegerField(),
        help_text=(
            "The ids of registered systems that match the description; send an id "
            "to use that system."
        ),
    )

    def get_system_id(self, folder: ArchiveFolder) -> int | None:
        return folder.system if isinstance(folder.system, int) else None

    def get_system(self, folder: ArchiveFolder) -> dict[str, Any] | None:
        return None if isinstance(folder.system, int) else dict(folder.system)


class ArchiveFileSerializer(OutputSerializer):
    """A file of an archive and what was done with it."""

    row_type = ArchiveFile
    columns = """
        name folder state result_count sample_count dated_result_count problem runs
    """
    descriptions = {
        "name": "The path of the file in the archive.",
        "folder": "The folder of the file; `.` outside all folders.",
        "result_count": "The number of results in the file.",
        "sample_count": "The number of samples in the file.",
    }

    state = serializers.ChoiceField(
        choices=["read", "stored", "already_stored", "description", "rejected"],
        help_text=(
            "`read`: a result (preview); `stored`: stored by this request; "
            "`already_stored`: stored before; `description`: it describes the "
            "system; `rejected`: not a result."
        ),
    )
    dated_result_count = serializers.IntegerField(
        help_text="The number of results with a start time."
    )
    problem = serializers.SerializerMethodField(
        help_text="Why the file was rejected; empty otherwise."
    )
    runs = serializers.SerializerMethodField(help_text="The ids of the stored runs.")

    def get_problem(self, file: ArchiveFile) -> str:
        return str(file.problem or "")

    def get_runs(self, file: ArchiveFile) -> list[int]:
        return [submission.run_id for submission in file.submissions]


class ArchiveSerializer(serializers.Serializer[ArchiveContent]):
    """The content of an archive."""

    stored = serializers.BooleanField(
        help_text="Whether the runs were stored; false for a preview."
    )
    folders = ArchiveFolderSerializer(
        many=True, help_text="The folders of the archive with their systems."
    )
    files = ArchiveFileSerializer(many=True, help_text="The files of the archive.")


class ArchivesView(ApiView):
    parser_classes = [ArchiveFormParser]

    @extend_schema(
        summary="Preview or import an archive of output files",
        description=(
            "Each folder named after a platform (`native`, `kvm-8.2`) is a "
            "system. Without `store` the response is a preview that shows the "
            "system of each folder and what is missing. Importing the same "
            "archive again changes nothing."
        ),
        request={"multipart/form-data": ArchiveFormInput},
        responses={200: ArchiveSerializer, 202: ArchiveSerializer},
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        form = request.data
        missing = [name for name in ("metadata", "archive") if not form[name]]
        if missing:
            wrong = {name: ["This is missing. Send it."] for name in missing}
            problem = "The form needs two parts: metadata and archive."
            raise MalformedError("invalid", problem).with_fields(wrong)
        try:
            metadata = validate_document(
                ArchiveMetadataInput, parse_json_object(form["metadata"].encode())
            )
        except (MalformedError, TooLargeError) as error:
            raise malformed_error(f"metadata: {error}") from None
        archive, options = form["archive"], _import_options(metadata)
        name = archive.name or "archive"
        if is_stored := metadata.get("store", False):
            result = store_archive(self.agent, name, archive, options)
        else:
            result = preview_archive(self.lab, name, archive, options)
        content = {
            "stored": is_stored,
            "folders": result.folders,
            "files": result.files,
        }
        return Response(
            self.serialize(ArchiveSerializer, content),
            status=HTTP_202_ACCEPTED if is_stored else HTTP_200_OK,
        )


def _import_options(metadata: Mapping[str, Any]) -> ArchiveRequest:
    return ArchiveRequest(
        study=metadata["study"],
        systems=metadata.get("systems", {}),
        common=metadata.get("system", {}),
        run={
            name: metadata[name]
            for name in RUN_FIELDS
            if metadata.get(name) not in (None, "")
        },
        platform=metadata.get("platform", {}),
        times=FileTimes(
            metadata.get("time_zone", ""), metadata.get("use_file_dates", False)
        ),
        tool=metadata.get("tool", ""),
        locale=metadata.get("locale", ""),
    )
