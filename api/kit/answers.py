"""What answers have in common."""

from typing import Any

from rest_framework import serializers
from rest_framework.reverse import reverse


class Answer(serializers.Serializer[Any]):
    """A row with the address where it can be read again."""

    address = ""

    def place(self, row: Any) -> dict[str, Any]:
        """What stands for the row in its address."""
        return {"pk": row.pk}

    def get_url(self, row: Any) -> str:
        return reverse(
            self.address, kwargs=self.place(row), request=self.context.get("request")
        )
