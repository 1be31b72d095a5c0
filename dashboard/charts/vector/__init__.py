"""Charts as SVG, for paper and for the report's page. PURE: values in, text out.

One ink, the reader's own (``currentColor``): what differs has another mark, tone or
label, so nothing is lost on a black-and-white printer or in the dark.
"""
