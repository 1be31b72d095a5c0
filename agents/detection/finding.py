"""One layer and what it rests on."""

from typing import NamedTuple


class Finding(NamedTuple):
    """A layer's name and the sentence that says why it is believed."""

    layer: str
    ground: str

    @property
    def is_xen(self) -> bool:
        return self.layer.startswith("xen-")
