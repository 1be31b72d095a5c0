"""A bare Django application that only stores uploads, as an upper bound."""

import hashlib
import os
from typing import Any

import dj_database_url
import django
import msgspec
from django.conf import settings

settings.configure(
    SECRET_KEY="bare",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="devtools.minimal_upload_app",
    DATABASES={
        "default": dj_database_url.parse(
            os.environ["BARE_DATABASE_URL"], conn_max_age=600
        )
    },
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    # Read by `config.gunicorn_worker`.
    UPLOAD_LIMIT_BYTES=8 * 1024 * 1024,
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402  # after the settings
from django.db import connection, transaction  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402


class BareSample(msgspec.Struct, forbid_unknown_fields=True):
    metric: str
    value: float
    unit: str
    parameters: dict[str, str | float | bool] = {}
    repetition: int = 1


class BareRun(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    study: str
    system: dict[str, Any]
    tool: str
    samples: list[BareSample]


DECODER = msgspec.json.Decoder(BareRun)
CREATE = """
    CREATE TABLE bare_token (digest text PRIMARY KEY, lab integer);
    CREATE TABLE bare_run (
        id bigserial PRIMARY KEY, lab integer, key uuid UNIQUE, study text, tool text,
        body text
    );
    CREATE TABLE bare_sample (
        run_id bigint REFERENCES bare_run, sequence integer, metric text,
        parameters text, repetition integer, value float8, unit text,
        PRIMARY KEY (run_id, sequence)
    );
"""
COPY = (
    "COPY bare_sample (run_id, sequence, metric, parameters, repetition, value, unit) "
    "FROM STDIN"
)


def store_run(request: HttpRequest) -> HttpResponse:
    secret = request.headers["Authorization"].removeprefix("Token ")
    body = request.body
    run = DECODER.decode(body)
    with transaction.atomic(), connection.cursor() as cursor:
        digest = hashlib.sha256(secret.encode()).hexdigest()
        cursor.execute("SELECT lab FROM bare_token WHERE digest = %s", [digest])
        [lab] = cursor.fetchone()
        cursor.execute(
            "INSERT INTO bare_run (lab, key, study, tool, body) "
            "VALUES (%s, %s, %s, %s, %s) RETURNING id",
            [lab, run.key, run.study, run.tool, body.decode()],
        )
        [run_id] = cursor.fetchone()
        with cursor.copy(COPY) as copy:
            for sequence, sample in enumerate(run.samples):
                parameters = msgspec.json.encode(sample.parameters).decode()
                row = (run_id, sequence, sample.metric, parameters)
                copy.write_row((*row, sample.repetition, sample.value, sample.unit))
    return JsonResponse({"id": run_id}, status=202)


def create_tables(secret: str) -> None:
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with connection.cursor() as cursor:
        cursor.execute(CREATE)
        cursor.execute("INSERT INTO bare_token VALUES (%s, 1)", [digest])


urlpatterns = [path("bound/", store_run)]
application = get_wsgi_application()
