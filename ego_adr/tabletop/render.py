"""Pixels of the tabletop world: frames as arrays, and whole clips as H.264 files.

Drawing is done with PIL at a multiple of the final size. `frames` draws any times of a scene; `write_video`
a file that any player opens. numpy, PIL and av are imported when first needed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.tabletop.language import Block
from ego_adr.tabletop.world import WIDTH, Moment, Point, Scene

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RGB = tuple[int, int, int]
PAINT: dict[str, RGB] = {
    "red": (214, 38, 36),
    "green": (46, 176, 62),
    "blue": (38, 84, 222),
    "yellow": (240, 212, 40),
    "purple": (158, 54, 196),
    "white": (240, 240, 238),
}
TABLES: tuple[RGB, ...] = (
    (122, 88, 58),
    (92, 92, 97),
    (64, 80, 78),
    (146, 118, 92),
    (80, 66, 72),
    (104, 110, 96),
)
SKINS: tuple[RGB, ...] = ((232, 184, 150), (205, 150, 112), (160, 108, 76), (112, 74, 52))
FILE_SIZE = 224
"""Width and height of the video files in pixels."""
FLOOR = 0.76
"""Height in the view, from the top, of the line on which the blocks stand."""


class View:
    """Table, light and camera of one clip: everything that varies without changing what happens."""

    def __init__(self, seed: int, size: int) -> None:
        rng = random.Random(seed)
        self.size = size
        zoom = rng.uniform(0.94, 1.0)
        self.unit = size / WIDTH * zoom
        self.left = size * (1 - zoom) * rng.uniform(0.2, 0.8)
        self.floor = size * (FLOOR + rng.uniform(-0.04, 0.04))
        self.light = tuple(
            rng.uniform(0.88, 1.08) * warm for warm in (rng.uniform(0.97, 1.03), 1.0, rng.uniform(0.95, 1.03))
        )
        self.table = self.lit(_jitter(rng, rng.choice(TABLES), 14))
        self.wall = self.lit(_jitter(rng, rng.choice(TABLES), 30))
        self.horizon = size * rng.uniform(0.18, 0.46)
        self.skin = self.lit(_jitter(rng, rng.choice(SKINS), 8))
        self.sleeve = self.lit(_jitter(rng, rng.choice(TABLES), 40))
        self.arm_from = rng.choice((-1, 1)) * rng.uniform(0.1, 0.4) + 0.5
        self.sway = (rng.uniform(0, 0.05), rng.uniform(2, 7), rng.uniform(0, 6.3), rng.uniform(0, 6.3))
        self.noise = rng.uniform(0, 5)
        self.shadow = rng.uniform(0.6, 0.85)

    def lit(self, colour: RGB, factor: float = 1.0) -> RGB:
        """`colour` under this clip's light."""
        r, g, b = (max(0, min(255, round(c * s * factor))) for c, s in zip(colour, self.light, strict=True))
        return (r, g, b)

    def xy(self, point: Point, time: float) -> Point:
        """Pixel coordinates of a point given in block widths; the camera sways a little, as on a head."""
        reach, speed, px, py = self.sway
        dx = reach * math.sin(speed * time + px)
        dy = reach * math.sin(speed * time + py)
        return (self.left + (point[0] + dx) * self.unit, self.floor - (point[1] + dy) * self.unit)


def _jitter(rng: random.Random, colour: RGB, by: int) -> RGB:
    shift = rng.randint(-by, by)
    r, g, b = (max(0, min(255, c + shift + rng.randint(-by // 3, by // 3))) for c in colour)
    return (r, g, b)


def draw(scene: Scene, time: float, view: View) -> Any:
    """One PIL image of `scene` at `time` (0 to 1), `view.size` pixels wide and high."""
    from PIL import Image, ImageDraw

    moment = scene.at(time)
    image = Image.new("RGB", (view.size, view.size), view.table)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, view.size, view.horizon), fill=view.wall)
    _arm(pen, view, moment, time)
    for place, block in list(zip(moment.places, scene.blocks, strict=True))[1:]:
        _block(pen, view, block, view.xy(place, time))
    if moment.broken > 0:
        _pieces(pen, view, scene.blocks[0], moment, time)
    else:
        _block(pen, view, scene.blocks[0], view.xy(moment.places[0], time))
    _fist(pen, view, moment, time)
    return image


def _arm(pen: Any, view: View, moment: Moment, time: float) -> None:
    x, y = view.xy(moment.hand, time)
    y -= view.unit * 0.9
    root = (view.size * view.arm_from, view.size * 1.15)
    pen.line((*root, x, y), fill=view.sleeve, width=max(2, round(view.unit * 0.42)))
    half = ((root[0] + x) / 2, (root[1] + y) / 2)
    pen.line((*half, x, y), fill=view.skin, width=max(2, round(view.unit * 0.34)))


def _fist(pen: Any, view: View, moment: Moment, time: float) -> None:
    x, y = view.xy(moment.hand, time)
    r = view.unit * 0.32
    top = y - view.unit * (1.0 if moment.held else 1.15)
    pen.ellipse((x - r * 1.25, top - r * 0.8, x + r * 1.25, top + r * 0.7), fill=view.skin)
    for dx in (-0.85, 0.0, 0.85):
        fx = x + dx * r
        pen.line((fx, top, fx, top + r * 1.05), fill=view.skin, width=max(1, round(view.unit * 0.11)))


def _block(pen: Any, view: View, block: Block, foot: Point) -> None:
    """A block whose bottom centre is at `foot`."""
    u = view.unit
    x, y = foot
    half = u * 0.49
    paint = PAINT[block.colour]
    main, dark, bright = view.lit(paint), view.lit(paint, 0.62), view.lit(paint, 1.25)
    shade = tuple(round(c * view.shadow) for c in view.table)
    pen.ellipse((x - half * 1.05, y - u * 0.1, x + half * 1.05, y + u * 0.1), fill=shade)
    if block.shape == "cube":
        pen.rectangle((x - half, y - u * 0.94, x + half, y), fill=main, outline=dark)
        pen.rectangle((x - half, y - u * 0.94, x + half, y - u * 0.78), fill=bright)
    elif block.shape == "ball":
        pen.ellipse((x - half, y - u * 0.97, x + half, y), fill=main, outline=dark)
        pen.ellipse((x - half * 0.5, y - u * 0.82, x - half * 0.1, y - u * 0.6), fill=bright)
    elif block.shape == "cone":
        pen.polygon(((x - half, y), (x, y - u * 0.98), (x + half, y)), fill=main, outline=dark)
        pen.polygon(((x + half * 0.35, y), (x, y - u * 0.98), (x + half, y)), fill=dark)
    else:
        pen.ellipse((x - half, y - u * 0.97, x + half, y), fill=main, outline=dark)
        pen.ellipse((x - half * 0.5, y - u * 0.73, x + half * 0.5, y - u * 0.24), fill=dark)
        pen.ellipse((x - half * 0.42, y - u * 0.7, x + half * 0.42, y - u * 0.28), fill=view.table)


def _pieces(pen: Any, view: View, block: Block, moment: Moment, time: float) -> None:
    """What is left of a broken block: four splinters that fly apart."""
    u = view.unit
    paint = PAINT[block.colour]
    spread = moment.broken
    x0, y0 = moment.places[0]
    for index, (dx, dy) in enumerate(((-0.62, 0.05), (-0.2, 0.3), (0.25, 0.0), (0.66, 0.2))):
        height = y0 + 0.35 * (1 - spread) + dy * (1 - 0.7 * spread)
        x, y = view.xy((x0 + dx * (0.4 + 0.75 * spread), height), time)
        r = u * (0.2 if index % 2 else 0.25)
        tone = view.lit(paint, (1.0, 0.75, 1.15, 0.85)[index])
        pen.polygon(
            ((x - r, y), (x - r * 0.4, y - r * 1.5), (x + r, y - r * 0.9), (x + r * 0.7, y)), fill=tone
        )


def frames(scene: Scene, times: Sequence[float], size: int, *, scale: int = 2) -> NDArray[np.uint8]:
    """Draws `scene` at `times` (0 to 1): an array of shape (len(times), size, size, 3)."""
    import numpy as np

    view = View(scene.look, size * scale)
    noise = np.random.default_rng(scene.look)
    out = np.empty((len(times), size, size, 3), np.uint8)
    for index, time in enumerate(times):
        image = draw(scene, time, view)
        out[index] = np.asarray(image.reduce(scale) if scale > 1 else image)
    if view.noise > 1:
        grain = noise.integers(-round(view.noise), round(view.noise) + 1, (size, size, 1), dtype=np.int16)
        out = np.clip(out.astype(np.int16) + grain, 0, 255).astype(np.uint8)
    return out


def write_video(
    scenes: Sequence[Scene], path: Path, *, fps: int = 10, variable: bool = False, seed: int = 0
) -> list[Point]:
    """Writes `scenes` one after the other as one H.264 file and returns each one's (start, end) in seconds.

    With `variable` the gaps between frames vary between half and one and a half of 1 / `fps`.
    """
    import av

    rng = random.Random(seed)
    tick = 1000
    spans: list[Point] = []
    clock = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "20", "preset": "veryfast"})
        stream.width = stream.height = FILE_SIZE
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, tick)
        stream.codec_context.time_base = Fraction(1, tick)
        for scene in scenes:
            begin = clock
            end = begin + round(scene.seconds * tick)
            stamps = []
            while clock < end:
                stamps.append(clock)
                gap = tick / fps * (rng.uniform(0.5, 1.5) if variable else 1.0)
                clock += max(1, round(gap))
            clock = end
            times = [(stamp - begin) / (end - begin) for stamp in stamps]
            for stamp, array in zip(stamps, frames(scene, times, FILE_SIZE, scale=1), strict=True):
                frame = av.VideoFrame.from_ndarray(array, format="rgb24")
                frame.pts = stamp
                frame.time_base = Fraction(1, tick)
                container.mux(stream.encode(frame))
            spans.append((begin / tick, end / tick))
        container.mux(stream.encode())
    return spans
