"""Files: what cannot be used and why, what is kept open, many threads."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ego_adr.errors import ClipRangeError, EgoADRWarning, InputError, VideoError
from ego_adr.types import Clip
from ego_adr.video import close_videos, pool, sample_clip, sample_frames

Array = NDArray[np.uint8]
Make = Callable[..., Path]
Numbers = Callable[[Array], int]


def numbers(path: Path, number_of: Numbers, start: float, end: float, n: int = 4) -> list[int]:
    return [number_of(frame.array) for frame in sample_frames(path, start, end, n)]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.mp4", None, "no such file"),
        ("empty.mp4", b"", "empty"),
        ("zeros.mp4", b"\0" * 1000, "cannot be read as a video"),
        ("notes.txt", b"Whisk the eggs.\n" * 50, "not a video|cannot be read"),
        ("recipe.md", b"# Omelette\n\n1. Whisk the eggs.\n", "cannot be read as a video"),
        ("words.mp4", b"Whisk the eggs.\n" * 50, "cannot be read as a video"),
        ("list.json", b'{"a": [1, 2]}', "cannot be read as a video"),
    ],
)
def test_what_is_no_video_is_an_error_that_names_the_file(
    name: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VideoError, match=words) as failed:
        sample_frames(path, 0, 1)
    assert str(path) in str(failed.value)


def test_a_folder_and_an_address_are_errors_that_say_so(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="folder"):
        sample_frames(tmp_path)
    with pytest.raises(VideoError, match="download"):
        sample_frames("https://example.org/a.mp4")
    with pytest.raises(VideoError, match="without 'file:'"):
        sample_frames(f"file://{tmp_path}/a.mp4")
    with pytest.raises(VideoError, match="'': there is no such file"):
        sample_frames("")


def test_the_content_of_a_video_is_no_path_and_is_not_printed(plain_video: Path) -> None:
    with pytest.raises(VideoError, match="are no path") as failed:
        sample_frames(plain_video.read_bytes())
    assert len(str(failed.value)) < 200


@pytest.mark.parametrize(
    "name",
    ["a:b.mp4", "http:clip.mp4", "100% done #1.mp4", "é & 'x' 手順.mp4", " lead.MP4", "%03d.mp4", "-i.mp4"],
)
def test_any_file_name_can_be_opened(
    name: str, plain_video: Path, tmp_path: Path, number_of: Numbers
) -> None:
    path = tmp_path / name
    shutil.copy(plain_video, path)
    assert numbers(path, number_of, 0, 2) == [7, 22, 37, 52]
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert [number_of(frame.array) for frame in sample_frames(name, 0, 2, 1)] == [30]
    finally:
        os.chdir(here)


@pytest.mark.parametrize("n", [0, -1, 2.5, "8", None, True])
def test_n_is_a_positive_whole_number(n: object, plain_video: Path) -> None:
    with pytest.raises(InputError, match="whole number"):
        sample_frames(plain_video, n=n)  # type: ignore[arg-type]
    if n is not None:
        with pytest.raises(InputError, match="longer_side"):
            sample_frames(plain_video, longer_side=n)  # type: ignore[arg-type]


def test_times_belong_to_pictures_and_not_to_a_file(plain_video: Path) -> None:
    with pytest.raises(InputError, match="times="):
        sample_frames(plain_video, times=[0.0])


def test_one_picture_of_a_clip_is_its_middle_and_a_thousand_are_all_there_are(
    plain_video: Path, number_of: Numbers
) -> None:
    assert numbers(plain_video, number_of, 0, 1, 1) == [15]
    with pytest.warns(EgoADRWarning, match="holds 60"):
        frames = sample_frames(plain_video, n=1000)
    assert [number_of(frame.array) for frame in frames] == list(range(60))
    assert (frames.start, frames.end, frames.duration, frames.distinct) == (0.0, 2.0, 2.0, 60)


def test_equal_ends_give_the_pictures_around_that_instant(plain_video: Path, number_of: Numbers) -> None:
    assert numbers(plain_video, number_of, 1.0, 1.0, 5) == [28, 29, 30, 31, 32]
    assert numbers(plain_video, number_of, 1.0, 1.0, 1) == [30]
    assert numbers(plain_video, number_of, 0, 0, 4) == [0, 1, 2, 3]
    assert numbers(plain_video, number_of, 1.99, 1.99, 4) == [56, 57, 58, 59]


def test_a_clip_shorter_than_a_picture_gives_the_one_that_is_shown(
    plain_video: Path, number_of: Numbers
) -> None:
    for start, end, number in ((1.01, 1.02, 30), (1.01, 1.01 + 1e-12, 30), (0.0, 1e-12, 0)):
        with pytest.warns(EgoADRWarning, match="holds 1"):
            assert numbers(plain_video, number_of, start, end) == [number]


def test_swapped_ends_give_the_clip_between_them(plain_video: Path, number_of: Numbers) -> None:
    with pytest.warns(EgoADRWarning, match="swapped"):
        assert numbers(plain_video, number_of, 1.5, 0.5) == [18, 26, 33, 41]


def test_warnings_are_kept_and_can_be_left_unsaid(plain_video: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frames = sample_clip(Clip(plain_video, 1, 60), 4, warn=False)
    assert len(frames.warnings) == 1
    assert "clamped" in frames.warnings[0]


def test_frames_keep_their_shape_and_are_never_enlarged(plain_video: Path) -> None:
    assert sample_frames(plain_video, n=1, longer_side=80)[0].array.shape == (48, 80, 3)
    assert sample_frames(plain_video, n=1, longer_side=33)[0].array.shape == (20, 33, 3)
    assert sample_frames(plain_video, n=1, longer_side=1)[0].array.shape == (1, 1, 3)
    assert sample_frames(plain_video, n=1, longer_side=1000)[0].array.shape == (96, 160, 3)
    array = sample_frames(plain_video, n=1)[0].array
    assert array.flags.writeable
    assert array.flags.c_contiguous


def test_a_file_that_breaks_off_gives_its_good_part_and_an_error_beyond(
    make_video: Make, number_of: Numbers
) -> None:
    flags = {
        "cut.mp4": "faststart",
        "cut-fragments.mp4": "frag_keyframe+empty_moov",
        "cut.mkv": "",
        "cut.ts": "",
    }
    for name, wanted in flags.items():
        path = make_video(name, 300, gop=30, container={"movflags": wanted} if wanted else {})
        share = 0.75 if name == "cut.mp4" else 0.5  # an MP4 that small is half index
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        found = sample_frames(path, 0.5, 2.5, 5)
        assert [number_of(frame.array) for frame in found] == [21, 33, 45, 57, 69], name
        with pytest.raises(ClipRangeError, match=r"breaks off|ends at") as failed:
            sample_frames(path, 8.0, 9.0)
        assert name in str(failed.value)


@pytest.mark.parametrize("damage", ["all", "keys", "halves"])
@pytest.mark.parametrize("codec", ["libx264", "mpeg4"])
def test_damage_in_the_middle_is_an_error_there_and_nowhere_else(
    codec: str, damage: str, make_video: Make, number_of: Numbers
) -> None:
    import av

    path = make_video("hole.mp4", 300, codec=codec, gop=30, container={"movflags": "faststart"})
    with av.open(str(path)) as container:
        spots = [
            (packet.pos, packet.size, packet.is_keyframe)
            for packet in container.demux(video=0)
            if packet.size
        ]
    content = bytearray(path.read_bytes())
    for position, size, is_key in spots[120:150]:
        if damage == "keys" and not is_key:
            continue
        sound = size // 2 if damage == "halves" else 0
        content[position + sound : position + size] = b"\xff" * (size - sound)
    path.write_bytes(content)
    assert numbers(path, number_of, 1.0, 3.0) == [37, 52, 67, 82]
    assert numbers(path, number_of, 6.0, 8.0) == [187, 202, 217, 232]
    with pytest.raises(VideoError, match=r"hole\.mp4: the picture at 4\.\d+ s cannot be decoded"):
        sample_frames(path, 4.1, 4.9, 4)


def test_a_file_that_changed_on_disk_is_opened_again(
    make_video: Make, tmp_path: Path, number_of: Numbers
) -> None:
    path = make_video("a.mp4", 60)
    assert numbers(path, number_of, 0, 2, 1) == [30]
    other = make_video("b.mp4", 90)
    os.replace(other, path)
    assert numbers(path, number_of, 0, 3, 1) == [45]
    assert len(pool._pool.idle) == 1


def test_few_videos_are_kept_open_and_all_can_be_closed(make_video: Make) -> None:
    for number in range(pool.MAX_OPEN + 2):
        sample_frames(make_video(f"{number}.mp4", 30), n=1)
    assert len(pool._pool.idle) == pool.MAX_OPEN
    close_videos()
    assert not pool._pool.idle


def test_a_video_whose_decoder_is_large_is_not_kept_open(
    make_video: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "MAX_BYTES", 1000)
    assert len(sample_frames(make_video("big.mp4", 30), n=2)) == 2
    assert not pool._pool.idle


def test_a_video_is_closed_when_something_went_wrong(plain_video: Path) -> None:
    with pytest.raises(ClipRangeError):
        sample_frames(plain_video, 60, 70)
    assert not pool._pool.idle


def test_many_threads_get_the_same_as_one(plain_video: Path, make_video: Make, number_of: Numbers) -> None:
    paths = [plain_video, make_video("long.mp4", 150, gop=150), make_video("stream.ts", 90, gop=45)]
    jobs = [(path, start / 10) for start in range(0, 10) for path in paths]
    alone = [numbers(path, number_of, start, start + 0.9) for path, start in jobs]
    with ThreadPoolExecutor(6) as workers:
        together = list(workers.map(lambda job: numbers(job[0], number_of, job[1], job[1] + 0.9), jobs))
    assert together == alone
    assert len(pool._pool.idle) <= pool.MAX_OPEN


def _in_child(path: Path, answer: object) -> None:
    answer.put([frame.time for frame in sample_frames(path, 0, 2, 3)])  # type: ignore[attr-defined]


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_use_what_its_parent_keeps_open(plain_video: Path) -> None:
    wanted = [frame.time for frame in sample_frames(plain_video, 0, 2, 3)]
    context = multiprocessing.get_context("fork")
    answer = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(plain_video, answer))
    child.start()
    child.join(30)
    alive = child.is_alive()
    if alive:
        child.kill()
        child.join()
    assert not alive
    assert child.exitcode == 0
    assert answer.get() == wanted
    assert [frame.time for frame in sample_frames(plain_video, 0, 2, 3)] == wanted
    child.close()


def test_large_pictures_are_scaled_before_they_are_kept(make_video: Make) -> None:
    if not Path("/proc/self/clear_refs").exists():
        pytest.skip("the peak of memory is read through /proc")
    path = make_video("large.mp4", 40, codec="mpeg4", size=(1920, 1080), gop=40)

    # a process of its own: what other tests left behind would hide or add megabytes
    script = """
import sys
from pathlib import Path
from ego_adr.video import sample_frames

def status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))

sample_frames(sys.argv[1], n=1, longer_side=448)
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
assert len(sample_frames(sys.argv[1], n=40, longer_side=448)) == 40
print((status("VmHWM") - before) / 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=120, check=True
    )
    assert float(done.stdout) < 125  # megabytes; the 40 pictures in full would be 249
