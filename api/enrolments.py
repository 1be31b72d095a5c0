from typing import Any

from django.urls import reverse
from rest_framework import serializers
from rest_framework.response import Response

from api.kit.composite_fields import StrictSerializer
from api.kit.fields import Slug, Text
from api.kit.views import ApiView, ValidatedData, operation
from benchmarks.labs.enrolment import redeem_code


class EnrolmentInput(StrictSerializer):
    """An enrolment code of the page of a study."""

    code = Text(max_length=200, help_text="The code, which is valid for an hour.")
    agent = Slug(help_text="The name of the machine that gets a token.")


class EnrolmentSerializer(serializers.Serializer[Any]):
    """A token for uploads to a study."""

    token = serializers.CharField(help_text="The token, valid for 90 days.")
    lab = serializers.CharField(help_text="The slug of the lab.")
    study = serializers.CharField(help_text="The slug of the study.")
    hosts = serializers.ListField(
        child=serializers.CharField(), help_text="The registered machines of the lab."
    )
    comparison = serializers.CharField(help_text="The URL of the comparison.")


class EnrolmentsView(ApiView):
    permission_classes = []  # the code is the permission

    @operation(
        "Exchange an enrolment code for a token",
        EnrolmentInput,
        ("A machine", {"code": "WzEsMV0:1x:abc", "agent": "rack-7"}),
        response_serializers=EnrolmentSerializer,
        statuses=(201,),
    )
    def post(self, fields: ValidatedData) -> Response:
        """Exchange a code of a study's page for a token that may upload."""
        study, token, hosts = redeem_code(fields["code"], fields["agent"])
        path = reverse("dashboard:compare", args=[study.lab.slug, study.slug])
        answer = {
            "token": token,
            "lab": study.lab.slug,
            "study": study.slug,
            "hosts": hosts,
            "comparison": self.request.build_absolute_uri(path),
        }
        return Response(EnrolmentSerializer(answer).data, status=201)
