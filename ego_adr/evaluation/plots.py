"""Plots as inline SVG: no library in the browser, no file beside the report. Colours come from its stylesheet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

__all__ = ["Point", "bars", "scatter"]

_LEFT, _TOP, _RIGHT, _BOTTOM = 46, 14, 16, 40


@dataclass(frozen=True)
class Point:
    """A mark in a unit square, with its spans where they are known; ``series`` picks the colour."""

    name: str
    x: float
    y: float
    x_span: tuple[float, float] | None = None
    y_span: tuple[float, float] | None = None
    series: int | None = None


def scatter(
    points: Sequence[Point],
    *,
    x_title: str,
    y_title: str,
    label: str,
    iso_f1: bool = False,
    diagonal: bool = False,
    size: int = 320,
) -> Markup:
    """Points in a unit square, axes in percent.

    Points without a series are drawn as small grey diamonds (predictors that look at nothing).
    """
    inner = size - _LEFT - _RIGHT
    height = inner + _TOP + _BOTTOM

    def across(value: float) -> float:
        return _LEFT + inner * value

    def up(value: float) -> float:
        return _TOP + inner * (1 - value)

    parts = [_frame(size, height, label)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(_line(across(tick), up(0), across(tick), up(1), "grid"))
        parts.append(_line(across(0), up(tick), across(1), up(tick), "grid"))
        parts.append(_text(across(tick), up(0) + 15, f"{100 * tick:.0f}", "tick", "middle"))
        parts.append(_text(across(0) - 6, up(tick) + 4, f"{100 * tick:.0f}", "tick", "end"))
    if iso_f1:
        for f1 in (0.2, 0.4, 0.6, 0.8):
            lowest = f1 / (2 - f1)  # the recall that needs a precision of 1
            steps = [lowest + (1 - lowest) * i / 40 for i in range(41)]
            curve = " ".join(f"{across(x):.1f},{up(f1 * x / (2 * x - f1)):.1f}" for x in steps)
            parts.append(f'<polyline class="guide" points="{curve}"/>')
            parts.append(_text(across(1) - 4, up(lowest) - 3, f"F1 {100 * f1:.0f}", "tick", "end"))
    if diagonal:
        parts.append(_line(across(0), up(0), across(1), up(1), "guide"))
        parts.append(_text(across(0.78), up(0.72), "a guess", "tick", "start"))
    parts += [_mark(point, across, up) for point in sorted(points, key=lambda p: p.series is not None)]
    parts.append(_text(across(0.5), height - 6, x_title, "axis", "middle"))
    parts.append(
        f'<text class="axis" text-anchor="middle" transform="translate(12 {up(0.5):.0f}) rotate(-90)">'
        f"{escape(y_title)}</text>"
    )
    return Markup("".join([*parts, "</svg>"]))


def bars(groups: Sequence[tuple[str, Sequence[float | None]]], *, label: str, width: int = 560) -> Markup:
    """Horizontal bars in percent: one group a label, one bar a run, in the colours of the runs."""
    deep = max((len(values) for _, values in groups), default=1)
    bar, gap = (14 if deep < 3 else 10), 10
    left, right = 256, 44
    inner = width - left - right
    step = deep * bar + gap
    height = step * len(groups) + gap + 18
    parts = [_frame(width, height, label)]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = left + inner * tick
        parts.append(_line(x, gap / 2, x, height - 18, "grid"))
        parts.append(_text(x, height - 4, f"{100 * tick:.0f}", "tick", "middle"))
    for row, (name, values) in enumerate(groups):
        top = gap + row * step
        shown = name if len(name) <= 42 else f"{name[:41]}…"
        parts.append(_text(left - 8, top + deep * bar / 2 + 4, shown, "axis", "end"))
        for series, value in enumerate(values):
            y = top + series * bar
            shown = "–" if value is None else f"{100 * value:.1f}"
            parts.append(
                f'<rect class="s{series % 8}" x="{left}" y="{y + 1:.1f}" height="{bar - 2}" '
                f'width="{max(inner * (value or 0), 1):.1f}" rx="2"/>'
            )
            parts.append(_text(left + inner * (value or 0) + 5, y + bar / 2 + 3.5, shown, "tick", "start"))
    return Markup("".join([*parts, "</svg>"]))


# ------------------------------------------------------------------------------------------------- pieces


def _mark(point: Point, across: Callable[[float], float], up: Callable[[float], float]) -> str:
    x, y = across(point.x), up(point.y)
    tip = f"<title>{escape(point.name)}: {100 * point.x:.1f}, {100 * point.y:.1f}</title>"
    if point.series is None:
        path = f"M{x - 5:.1f} {y:.1f}L{x:.1f} {y - 5:.1f}L{x + 5:.1f} {y:.1f}L{x:.1f} {y + 5:.1f}Z"
        return f'<path class="blind" d="{path}">{tip}</path>'
    colour = f"s{point.series % 8}"
    cross = ""
    if point.x_span:
        cross += _line(across(point.x_span[0]), y, across(point.x_span[1]), y, f"{colour} span")
    if point.y_span:
        cross += _line(x, up(point.y_span[0]), x, up(point.y_span[1]), f"{colour} span")
    return f'{cross}<circle class="{colour}" cx="{x:.1f}" cy="{y:.1f}" r="5.5">{tip}</circle>'


def _frame(width: float, height: float, label: str) -> str:
    return f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" aria-label="{escape(label)}">'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
