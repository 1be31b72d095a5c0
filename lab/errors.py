"""What can go wrong in a lab, as sentences."""


class LabError(Exception):
    """The lab cannot go on, or a system failed; the sentence says what to do."""
