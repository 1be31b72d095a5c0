"""From what was uploaded to runs: the one way in for every raw output.

``read`` decodes the text, cuts a log into the outputs of its tools, finds out whose
they are, and lets the parsers of ``benchmarks/tools/`` read them. Nothing is stored.
"""

from benchmarks.parsing.locales import writes_comma
from benchmarks.parsing.reader import ReadRun, read

__all__ = ["ReadRun", "read", "writes_comma"]
