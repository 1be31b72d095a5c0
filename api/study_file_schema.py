"""The format of study files, from which their JSON Schema is generated."""

from typing import Any, Final

from api.custom_tools import CustomToolInput
from api.hosts import HostInput
from api.kit.composite_fields import ListOf, StrictSerializer
from api.kit.fields import Choice, Text, WholeNumber
from api.kit.schema import openapi_document
from api.power import PowerChunkInput
from api.studies import StudyInput
from api.systems import SystemInput
from api.uploads import RunInput
from benchmarks.parsing.study_file import FORMAT, VERSION

MAX_ENTRIES: Final = 1_000_000
MAX_LEFT_OUT: Final = 20
REFERENCE: Final = "#/components/schemas/"
ROOT: Final = "StudyFileRequest"
RUN: Final = "StudyFileRun"


class StudyFileStudyInput(StudyInput):
    """The properties of a study, without who can see it."""

    visibility = None  # type: ignore[assignment]
    shared_with = None  # type: ignore[assignment]


class StudyFileRunInput(RunInput):
    """An upload of one execution of a tool: its samples, or the output of the tool."""

    study = None  # type: ignore[assignment]
    system = SystemInput(  # type: ignore[assignment]  # always described
        help_text="The system on which the tool ran."
    )


class SystemReferenceInput(StrictSerializer):
    """A system that is compared with another reference than the rest of the study."""

    system = SystemInput(help_text="The system.")
    reference = SystemInput(help_text="The system that replaces its native baseline.")


class StudyFileInput(StrictSerializer):
    """A study with its machines, tools and runs."""

    format = Choice(choices=[FORMAT], help_text="The name of this format.")
    version = WholeNumber(
        min_value=1, max_value=VERSION, help_text="The version of this format."
    )
    producer = Text(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="The program that wrote the file.",
    )
    left_out = ListOf(
        required=False,
        child=Text(max_length=500),
        max_length=MAX_LEFT_OUT,
        help_text="What the study has and the file has not, as sentences.",
    )
    study = StudyFileStudyInput(help_text="The study.")
    reference_system = SystemInput(
        required=False,
        help_text="The system that replaces a native baseline, if there is one.",
    )
    system_references = ListOf(
        required=False,
        child=SystemReferenceInput(),
        max_length=MAX_ENTRIES,
        help_text="Systems with another reference.",
    )
    tools = ListOf(
        required=False,
        child=CustomToolInput(),
        max_length=MAX_ENTRIES,
        help_text="Tools of runs that Virtlab does not include.",
    )
    hosts = ListOf(
        required=False,
        child=HostInput(),
        max_length=MAX_ENTRIES,
        help_text="The machines that systems name.",
    )
    power = ListOf(
        required=False,
        child=PowerChunkInput(),
        max_length=MAX_ENTRIES,
        help_text="Parts of the logs of power meters.",
    )
    runs = ListOf(
        required=False,
        child=StudyFileRunInput(),
        max_length=MAX_ENTRIES,
        help_text="The runs in the order of their upload.",
    )


def study_file_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of study files."""
    components = openapi_document()["components"]["schemas"]
    definitions: dict[str, Any] = {}
    waiting = [ROOT]
    while waiting:
        name = waiting.pop()
        if _plain(name) not in definitions:
            definitions[_plain(name)] = _json_schema(components[name], waiting)
    root = definitions.pop(_plain(ROOT))
    # The two kinds of runs, which OpenAPI does not show.
    definitions[RUN]["oneOf"] = [
        {"required": ["samples", "tool"]},
        {"required": ["output"]},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{FORMAT}:{VERSION}",
        "title": f"Virtlab study file, version {VERSION}",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _plain(name: str) -> str:
    return name.removesuffix("Request")


def _json_schema(node: Any, references: list[str]) -> Any:
    """Convert a schema of OpenAPI 3.0; add the components that it names."""
    if isinstance(node, list):
        return [_json_schema(item, references) for item in node]
    if not isinstance(node, dict):
        return node
    schema = {name: _json_schema(value, references) for name, value in node.items()}
    if isinstance(reference := schema.get("$ref"), str):
        name = reference.removeprefix(REFERENCE)
        references.append(name)
        schema["$ref"] = f"#/$defs/{_plain(name)}"
    if schema.pop("nullable", False):
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            values = [value for value in schema["enum"] if value is not None]
            schema["enum"] = [*values, None]
    return schema
