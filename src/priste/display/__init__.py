"""Objects as HTML for notebooks, as pictures, and as rows of frames.

It imports the packages whose objects it shows; they reach it through :mod:`priste.late_parts`. A
new kind of object is one function for each of ``facts``, ``picture`` and ``rows``, as far as it has
them.
"""

from priste.display.notebook_html import html
from priste.display.object_pictures import picture, plot
from priste.display.object_rows import frame, rows

__all__ = ["frame", "html", "picture", "plot", "rows"]
