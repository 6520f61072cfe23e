"""Pages from templates: one frame for all, self-contained, everything escaped but our drawings.

A page asks nothing of the network, and its Content-Security-Policy forbids it to.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from priste.extras import need

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


_OWN = "priste.report"


@cache
def _environment(package: str) -> Environment:
    need("cli", "Writing a page", "jinja2")
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    from priste.results.wording import odds, percent

    places = dict.fromkeys((package, _OWN))  # the frame is ours
    made = Environment(
        loader=ChoiceLoader([PackageLoader(place) for place in places]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(odds=odds, percent=percent)
    return made


def page(template: str, *, package: str = _OWN, **values: Any) -> str:
    """Return a page as text: a pure function of its template and values.

    The template is one of the package named, which may build on the frame of this one.
    """
    return _environment(package).get_template(template).render(values)


def script(name: str) -> tuple[Markup, str]:
    """Return a script of ours and the source that a Content-Security-Policy allows for it only."""
    from base64 import b64encode
    from hashlib import sha256
    from importlib.resources import files

    from markupsafe import Markup

    text = files(_OWN).joinpath("templates", name).read_text(encoding="utf-8")
    digest = b64encode(sha256(text.encode()).digest()).decode()
    return Markup(text), f"'sha256-{digest}'"


def drawn(svg: str) -> Markup:
    """Mark a picture that was drawn here as what may stand in a page unescaped."""
    from markupsafe import Markup

    return Markup(svg)
