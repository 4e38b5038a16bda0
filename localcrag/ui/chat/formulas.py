r"""A LaTeX formula as MathML, made only of the elements and attributes that are listed here.

latex2mathml alone would let an address (href), a style, and in \text any HTML pass.
"""

from __future__ import annotations

import latex2mathml.converter
from lxml import etree
from markupsafe import Markup, escape

LONGEST = 1000
"""Characters; each level of a formula is one of recursion."""
_ELEMENTS = frozenset(
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mmultiscripts "
    "mprescripts none mtable mtr mtd mstyle mpadded mphantom menclose merror semantics".split()
)
_ATTRIBUTES = frozenset(
    "display mathvariant stretchy fence separator lspace rspace minsize maxsize largeop movablelimits accent width "
    "height depth voffset linethickness columnalign rowspacing columnspacing columnlines rowlines displaystyle "
    "scriptlevel notation mathsize".split()
)


def mathml(formula: str, *, block: bool) -> Markup:
    """Return a formula as MathML; as it is written where it cannot be read."""
    source = formula.strip()
    if len(source) <= LONGEST and (made := _converted(source, "block" if block else "inline")) is not None:
        return made
    return Markup("<code>{}</code>").format(escape(source))


def _converted(source: str, display: str) -> Markup | None:
    # Neither may begin a tag or a reference within \text; within a table & parts the columns.
    safe = source.replace("<", r"\lt ").replace(">", r"\gt ")
    try:
        root = etree.fromstring(latex2mathml.converter.convert(safe, display=display))
    except Exception:  # noqa: BLE001 - a dozen kinds of its own for what is no formula; RecursionError; no XML
        return None
    for element in root.iter():
        if not isinstance(element.tag, str) or etree.QName(element).localname not in _ELEMENTS:
            return None
        for name in set(element.attrib) - _ATTRIBUTES:
            del element.attrib[name]
    return Markup(etree.tostring(root, encoding="unicode"))  # noqa: S704 - made of the lists above
