from typing import Any, Dict, NamedTuple

Evidence = Dict[str, Any]


class DetectedLayer(NamedTuple):
    layer: str
    reason: str

    @property
    def is_xen(self) -> bool:
        return self.layer.startswith("xen-")
