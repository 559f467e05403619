"""Every kind of file gives exactly the picture that is shown at each instant. The tests make the files."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ego_adr.errors import VideoError
from ego_adr.video import sample_frames
from ego_adr.video.choosing import spread_instants

Array = NDArray[np.uint8]
Make = Callable[..., Path]
Numbers = Callable[[Array], int]

QUIET = {"x265-params": "log-level=none"}
FAST_VP9 = {"deadline": "realtime", "cpu-used": "8", "lag-in-frames": "16", "auto-alt-ref": "1"}
MILLISECOND = Fraction(1, 1000)
#: 30, then 10, then 5 pictures a second, in milliseconds.
UNEVEN = [*range(0, 1000, 33), *range(1000, 3000, 100), *range(3000, 7000, 200), *range(7000, 8000, 33)]

KINDS: dict[str, dict[str, Any]] = {
    "long-gop.mp4": {"gop": 250},
    "all-key.mp4": {"gop": 1},
    "open-gop.mp4": {"gop": 24, "options": {"x264-params": "open-gop=1:bframes=3:b-pyramid=normal:scenecut=0"}},
    "open-gop.mkv": {"gop": 24, "options": {"x264-params": "open-gop=1:bframes=3:scenecut=0"}},
    "open-gop.ts": {"gop": 24, "options": {"x264-params": "open-gop=1:bframes=3:scenecut=0"}},
    "intra-refresh.mp4": {"gop": 60, "options": {"x264-params": "intra-refresh=1"}},
    "interlaced.mp4": {"gop": 60, "options": {"x264-params": "interlaced=1:tff=1"}},
    "interlaced.ts": {"gop": 60, "options": {"x264-params": "interlaced=1:tff=1"}},
    "no-b-pictures.mp4": {"gop": 60, "options": {"tune": "zerolatency"}},
    "hevc.mp4": {"codec": "libx265", "gop": 60, "options": QUIET},
    "hevc-ten-bit.mkv": {"codec": "libx265", "gop": 60, "pix_fmt": "yuv420p10le", "options": QUIET},
    "hevc-temporal-layers.mp4": {
        "codec": "libx265", "gop": 60, "options": {"x265-params": "log-level=none:temporal-layers=3:b-adapt=0:bframes=7"},
    },
    "vp8.webm": {"codec": "libvpx", "gop": 60, "options": FAST_VP9 | {"b": "1M"}},
    "vp9.webm": {"codec": "libvpx-vp9", "gop": 60, "options": FAST_VP9},
    "59.94.mp4": {"rate": Fraction(60000, 1001), "gop": 250},
    "23.976.mkv": {"rate": Fraction(24000, 1001), "gop": 100},
    "variable.mp4": {"ticks": UNEVEN, "time_base": MILLISECOND, "gop": 30},
    "variable-hevc.mp4": {"codec": "libx265", "ticks": UNEVEN, "time_base": MILLISECOND, "gop": 30, "options": QUIET},
    "variable.webm": {"codec": "libvpx-vp9", "ticks": UNEVEN, "time_base": MILLISECOND, "gop": 30, "options": FAST_VP9},
    "fragmented.mp4": {"gop": 30, "container": {"movflags": "frag_keyframe+empty_moov"}},
    "faststart.mp4": {"gop": 30, "container": {"movflags": "faststart"}},
    "stream.ts": {"gop": 250},
    "live.mkv": {"gop": 50, "container": {"live": "1"}},
    "film.flv": {"gop": 60},
    "divx.avi": {"codec": "mpeg4", "gop": 30, "options": {"bf": "2"}},
    "motion-jpeg.avi": {"codec": "mjpeg", "pix_fmt": "yuvj420p"},
    "mpeg2.ts": {"codec": "mpeg2video", "gop": 15, "options": {"bf": "2"}},
    "program-stream.mpg": {"codec": "mpeg2video", "gop": 12, "options": {"bf": "2"}},
    "disc.vob": {"codec": "mpeg2video", "gop": 12, "options": {"bf": "2"}},
    "mpeg1.mpg": {"codec": "mpeg1video", "gop": 12},
    "prores.mov": {"codec": "prores_ks", "pix_fmt": "yuv422p10le"},
    "ffv1-ten-bit.mkv": {"codec": "ffv1", "pix_fmt": "yuv422p10le"},
    "gray.mkv": {"codec": "ffv1", "pix_fmt": "gray"},
    "gray-16.mkv": {"codec": "ffv1", "pix_fmt": "gray16le"},
    "alpha.mov": {"codec": "png", "pix_fmt": "rgba"},
    "moving.gif": {"codec": "gif", "pix_fmt": "rgb8", "rate": 10},
    "sound-is-longer.mkv": {"sound": 6.0},
    "sound-is-longer.ts": {"sound": 6.0},
    "sound-comes-first.mp4": {"sound": 2.0, "sound_first": True},
    "picture-starts-late.mp4": {"ticks": range(20, 80), "time_base": Fraction(1, 30), "sound": 4.0},
    "picture-starts-late.mkv": {"ticks": range(600, 2400, 30), "time_base": MILLISECOND, "sound": 4.0},
    "picture-starts-late.ts": {"ticks": range(20, 80), "time_base": Fraction(1, 30), "sound": 4.0},
}  # fmt: skip


def seconds(count: int, kind: dict[str, Any]) -> list[float]:
    """When each picture is shown, after the first."""
    base = kind.get("time_base") or 1 / Fraction(kind.get("rate", 30))
    ticks = kind.get("ticks") or range(count)
    return [float((tick - ticks[0]) * base) for tick in ticks]


@pytest.mark.parametrize("name", KINDS)
def test_the_picture_that_is_shown_at_each_instant_is_given(
    name: str, make_video: Make, number_of: Numbers
) -> None:
    kind = KINDS[name]
    count = len(kind.get("ticks", range(150 if kind.get("gop", 0) > 30 else 60)))
    path = make_video(name, count, **kind)
    shown = seconds(count, kind)
    whole = shown[-1]
    # Half a millisecond aside of every picture's beginning, so that rounding in the file decides nothing.
    for start, end, n in [
        (None, None, 8),
        (0.1 * whole, 0.3 * whole, 5),
        (0.35 * whole, 0.95 * whole, 7),
        (0.5, 0.6, 1),
    ]:
        frames = sample_frames(path, start, end, n)
        assert len(frames) == n
        for frame in frames:
            number = number_of(frame.array)
            assert frame.time == pytest.approx(shown[number], abs=0.002)
        if "variable" in name:
            continue
        for frame, instant in zip(
            frames, spread_instants(frames.start or 0, frames.end or 0, n), strict=True
        ):
            place = bisect.bisect_right(shown, instant + 0.001) - 1
            assert abs(number_of(frame.array) - place) <= 1


def test_a_slow_stretch_of_a_variable_rate_is_sampled_by_time(make_video: Make, number_of: Numbers) -> None:
    path = make_video("uneven.mp4", len(UNEVEN), ticks=UNEVEN, time_base=MILLISECOND, gop=250)
    frames = sample_frames(path, 0, 8, 16)
    for frame, instant in zip(frames, spread_instants(0, 8, 16), strict=True):
        shown = bisect.bisect_right(UNEVEN, 1000 * instant) - 1
        assert number_of(frame.array) == shown
        assert frame.time == pytest.approx(UNEVEN[shown] / 1000, abs=0.002)


def test_no_picture_comes_twice_while_there_are_others(make_video: Make, number_of: Numbers) -> None:
    path = make_video("uneven.mp4", len(UNEVEN), ticks=UNEVEN, time_base=MILLISECOND, gop=250)
    numbers = [number_of(frame.array) for frame in sample_frames(path, 0, 8, 48)]
    assert len(numbers) == 48
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(("angle", "upright"), [(90, (160, 96)), (180, (96, 160)), (-90, (160, 96))])
def test_the_display_matrix_is_applied(
    angle: int, upright: tuple[int, int], make_video: Make, painted: Callable[..., Array]
) -> None:
    path = make_video("turned.mp4", 30, rotation=angle)
    frame = sample_frames(path, 0.5, 0.6, 1)[0]
    assert frame.array.shape[:2] == upright
    stored = painted(round(frame.time * 30))
    wanted = np.rot90(stored, angle // 90).astype(int)
    assert np.abs(frame.array.astype(int) - wanted).mean() < 12


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [((-1, 0, 0, 1), np.fliplr), ((1, 0, 0, -1), np.flipud), ((0, 1, 1, 0), lambda a: a.transpose(1, 0, 2))],
    ids=["left-right", "upside-down", "transposed"],
)
def test_a_mirroring_display_matrix_is_applied(
    matrix: tuple[int, int, int, int],
    wanted: Callable[[Array], Array],
    make_video: Make,
    painted: Callable[..., Array],
) -> None:
    a, b, c, d = (value << 16 for value in matrix)

    def mirror(_: Any, stream: Any) -> None:
        stream.set_display_matrix([a, b, 0, c, d, 0, 0, 0, 1 << 30])

    frame = sample_frames(make_video("mirrored.mp4", 30, prepare=mirror), 0.5, 0.6, 1)[0]
    stored = painted(round(frame.time * 30))
    assert np.abs(frame.array.astype(int) - wanted(stored).astype(int)).mean() < 12


def test_a_turned_picture_is_scaled_by_its_longer_side(make_video: Make) -> None:
    path = make_video("turned.mp4", 30, rotation=90)
    assert sample_frames(path, n=1, longer_side=80)[0].array.shape == (80, 48, 3)


@pytest.mark.parametrize("matrix", ["ITU709", "ITU601"])
@pytest.mark.parametrize("span", ["MPEG", "JPEG"])
def test_colours_come_back_whatever_matrix_and_range_the_file_names(
    matrix: str, span: str, tmp_path: Path
) -> None:
    import av

    colours = np.zeros((96, 160, 3), dtype=np.uint8)
    colours[:, :80], colours[:, 80:] = (200, 30, 60), 255
    path = tmp_path / "colour.mkv"
    with av.open(str(path), "w") as out:
        stream: Any = out.add_stream("ffv1", rate=30)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv444p"
        stream.codec_context.colorspace = {"ITU709": 1, "ITU601": 6}[matrix]
        stream.codec_context.color_range = {"MPEG": 1, "JPEG": 2}[span]
        for number in range(3):
            frame = av.VideoFrame.from_ndarray(colours).reformat(
                format="yuv444p", dst_colorspace=matrix, dst_color_range=span
            )
            frame.pts, frame.time_base = number, Fraction(1, 30)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    found = sample_frames(path, n=1)[0].array.astype(int)
    assert np.abs(found - colours).max() <= 4


def test_an_odd_width_has_no_stray_columns(make_video: Make, painted: Callable[..., Array]) -> None:
    path = make_video("odd.mkv", 5, codec="ffv1", pix_fmt="yuv444p", size=(161, 97))
    frame = sample_frames(path, n=1)[0]
    wanted = painted(round(frame.time * 30), 161, 97).astype(int)
    assert frame.array.shape == (97, 161, 3)
    assert np.abs(frame.array.astype(int) - wanted).mean() < 3


def test_ten_bits_become_eight_without_wrapping(make_video: Make) -> None:
    ramp = np.repeat(np.tile(np.arange(160, dtype=np.uint8)[None, :, None] + 60, (96, 1, 1)), 3, axis=2)
    for codec, pix_fmt in [
        ("ffv1", "yuv422p10le"),
        ("ffv1", "gray16le"),
        ("ffv1", "gray10le"),
        ("ffv1", "yuv420p16le"),
    ]:
        path = make_video(f"{pix_fmt}.mkv", 3, codec=codec, pix_fmt=pix_fmt, picture=lambda *_: ramp)
        found = sample_frames(path, n=1)[0].array.astype(int)
        assert np.abs(found - ramp).max() <= 4, pix_fmt


def test_one_picture_is_a_video_too(make_video: Make, number_of: Numbers) -> None:
    path = make_video("one.mp4", 1)
    with pytest.warns(match="holds 1"):
        frames = sample_frames(path)
    assert [number_of(frame.array) for frame in frames] == [0]
    assert len(sample_frames(path, n=1)) == 1


def test_cover_art_is_no_video(make_video: Make, tmp_path: Path, number_of: Numbers) -> None:
    import av
    from av.stream import Disposition

    def cover(out: Any, stream: Any) -> None:
        art = out.add_stream("mjpeg", rate=1)
        art.width, art.height, art.pix_fmt = 320, 320, "yuvj420p"
        art.disposition = Disposition.attached_pic
        frame = av.VideoFrame(320, 320, "yuvj420p")
        frame.pts = 0
        out.mux(art.encode(frame))
        out.mux(art.encode(None))

    path = make_video("with-cover.mp4", 30, prepare=cover)
    with av.open(str(path)) as container:
        assert len(container.streams.video) == 2
    frames = sample_frames(path, n=3)
    assert [frame.array.shape for frame in frames] == [(96, 160, 3)] * 3
    assert [number_of(frame.array) for frame in frames] == [5, 15, 25]


def test_times_that_avi_cannot_hold_are_refused_not_guessed(make_video: Make) -> None:
    with pytest.raises(VideoError, match="ffmpeg"):
        sample_frames(make_video("reordered.avi", 30))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("raw.h264", {}),
        ("raw.mjpeg", {"codec": "mjpeg", "pix_fmt": "yuvj420p"}),
        ("raw.m2v", {"codec": "mpeg2video"}),
    ],
)
def test_pictures_without_times_are_refused_with_a_remedy(
    name: str, kind: dict[str, Any], make_video: Make
) -> None:
    with pytest.raises(VideoError, match=r"no times.*-framerate"):
        sample_frames(make_video(name, 30, **kind))


def test_streams_that_were_joined_end_to_end_are_one_video(
    make_video: Make, number_of: Numbers, painted: Callable[..., Array]
) -> None:
    def part(first: int) -> Path:
        return make_video(
            f"{first}.ts", 60, picture=lambda number, *size: painted(number + first, *size), gop=30
        )

    parts = [part(first) for first in (0, 60, 120)]
    joined = parts[0].with_name("joined.ts")
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    whole = sample_frames(joined, n=6)
    assert whole.duration == pytest.approx(6.0, abs=0.01)
    assert [number_of(frame.array) for frame in whole] == [15, 45, 75, 105, 135, 165]
    for start in (0.5, 2.5, 4.5, 0.5):
        frames = sample_frames(joined, start, start + 1, 3)
        assert [number_of(frame.array) for frame in frames] == [
            round(30 * start) + step for step in (5, 15, 25)
        ]
