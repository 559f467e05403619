"""The few pieces of SVG that the pictures are made of. Everything is escaped; nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape

__all__ = ["COLOURS", "clock", "curve", "document", "hover", "line", "rectangle", "text", "wrapped"]

#: Told apart without green against red, and readable on white.
COLOURS = {
    "ink": "#1f2933",
    "faint": "#9aa5b1",
    "grid": "#e4e7eb",
    "paper": "#ffffff",
    "right": "#3a7ca5",
    "order": "#c8553d",
    "extra": "#e0a030",
    "redone": "#7d5ba6",
    "missing": "#c8553d",
}

#: Characters that XML 1.0 does not allow, and lone surrogates.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


def _clean(words: str) -> str:
    return escape(_FORBIDDEN.sub("?", words), quote=True)


def document(width: float, height: float, parts: list[str], *, title: str) -> str:
    """A whole SVG file, with a title for readers who hear it."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="Helvetica, Arial, sans-serif" font-size="12">\n'
        f"<title>{_clean(title)}</title>\n"
        f"<defs>{''.join(_tip(name) for name in ('order', 'faint'))}</defs>\n"
        f'<rect width="100%" height="100%" fill="{COLOURS["paper"]}"/>\n{body}\n</svg>\n'
    )


def _tip(name: str) -> str:
    """An arrow head; one a colour, because many viewers cannot take the colour of the line."""
    return (
        f'<marker id="tip-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{COLOURS[name]}"/></marker>'
    )


def rectangle(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    line: str = "none",
    dashed: bool = False,
    inside: str = "",
) -> str:
    """A box with round corners; ``inside`` holds further SVG, such as `hover`."""
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" fill="{fill}" '
        f'stroke="{line}"{dash}>{inside}</rect>'
    )


def text(
    x: float,
    y: float,
    words: str,
    *,
    colour: str = COLOURS["ink"],
    anchor: str = "start",
    size: int = 12,
    bold: bool = False,
) -> str:
    """One line of text with its baseline at y."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}" font-size="{size}"{weight}>{_clean(words)}</text>'


def curve(
    points: Sequence[tuple[float, float]],
    *,
    colour: str,
    arrow: bool = False,
    dashed: bool = False,
    inside: str = "",
) -> str:
    """A path of cubic curves: a start, then three points a piece (two handles and an end).

    Args:
        colour: a name of `COLOURS`; arrows come in ``order`` and ``faint``.
    """
    drawn = [f"{x:.1f} {y:.1f}" for x, y in points]
    pieces = "".join(f" C{' '.join(drawn[i : i + 3])}" for i in range(1, len(drawn), 3))
    tip = f' marker-end="url(#tip-{colour})"' if arrow else ""
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    look = f'fill="none" stroke="{COLOURS[colour]}" stroke-width="1.5"{dash}{tip}'
    return f'<path d="M{drawn[0]}{pieces}" {look}>{inside}</path>'


def line(x0: float, y0: float, x1: float, y1: float, *, colour: str) -> str:
    """A straight line."""
    return f'<path d="M{x0:.1f} {y0:.1f} L{x1:.1f} {y1:.1f}" stroke="{COLOURS[colour]}"/>'


def hover(words: str) -> str:
    """What a pointer that rests on a shape is told."""
    return f"<title>{_clean(words)}</title>"


def wrapped(words: str, width: int, lines: int) -> list[str]:
    """Text cut into at most so many lines of so many characters."""
    found = textwrap.wrap(" ".join(words.split()), width, max_lines=lines, placeholder=" …")
    return found or [""]


def clock(seconds: float) -> str:
    """1:05 for 65 s, 1:00:00 for an hour."""
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
