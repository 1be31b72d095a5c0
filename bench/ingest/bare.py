"""What a bare Django does with an upload: the bound, and the naive control.

The bound: a token looked up, the document validated by msgspec, a run with its text
inserted and its samples copied, in one committed transaction; nothing else is known of
them. The control: the same stored by stock nested serializers of REST framework, a
sample at a time. `gunicorn bench.ingest.bare:application` serves both.
"""

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
    ROOT_URLCONF="bench.ingest.bare",
    DATABASES={
        "default": dj_database_url.parse(
            os.environ["BARE_DATABASE_URL"], conn_max_age=600
        )
    },
    INSTALLED_APPS=["rest_framework"],
    USE_TZ=True,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None},
    # `config.buffering` asks for it.
    UPLOAD_LIMIT_BYTES=8 * 1024 * 1024,
)
django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402  # settings come first
from django.db import connection, models, transaction  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework import serializers  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


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


def bound(request: HttpRequest) -> HttpResponse:
    """Store one run as cheaply as Django can."""
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


class NaiveRun(models.Model):
    key = models.UUIDField(unique=True)
    study = models.CharField(max_length=100)
    tool = models.CharField(max_length=100)
    system = models.JSONField()

    class Meta:
        app_label = "bare"


class NaiveSample(models.Model):
    run = models.ForeignKey(NaiveRun, models.CASCADE, related_name="samples")
    metric = models.CharField(max_length=100)
    parameters = models.JSONField(default=dict)
    value = models.FloatField()
    unit = models.CharField(max_length=20, blank=True)
    repetition = models.IntegerField(default=1)

    class Meta:
        app_label = "bare"


class NaiveSampleSerializer(serializers.ModelSerializer[NaiveSample]):
    class Meta:
        model = NaiveSample
        exclude = ("run",)


class NaiveRunSerializer(serializers.ModelSerializer[NaiveRun]):
    samples = NaiveSampleSerializer(many=True)

    class Meta:
        model = NaiveRun
        fields = "__all__"

    def create(self, validated_data: dict[str, Any]) -> NaiveRun:
        samples = validated_data.pop("samples")
        run: NaiveRun = NaiveRun._default_manager.create(**validated_data)
        for sample in samples:
            NaiveSample._default_manager.create(run=run, **sample)
        return run


class NaiveView(APIView):
    def post(self, request: Request) -> Response:
        digest = hashlib.sha256(request.headers["Authorization"][6:].encode())
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT lab FROM bare_token WHERE digest = %s", [digest.hexdigest()]
            )
            if cursor.fetchone() is None:
                return Response(status=401)
            run = NaiveRunSerializer(data=request.data)
            run.is_valid(raise_exception=True)
            run.save()
        return Response({"id": run.data["id"]}, status=202)


def prepare(secret: str) -> None:
    """Make the tables of both, and the one token."""
    digest = hashlib.sha256(secret.encode()).hexdigest()
    with connection.cursor() as cursor, connection.schema_editor() as editor:
        cursor.execute(CREATE)
        cursor.execute("INSERT INTO bare_token VALUES (%s, 1)", [digest])
        editor.create_model(NaiveRun)
        editor.create_model(NaiveSample)


urlpatterns = [path("bound/", bound), path("naive/", NaiveView.as_view())]
application = get_wsgi_application()
