"""Paths from outside are opened below one folder, after every link has been followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ego_adr.agents.roots import PathRefusedError, check_root, video_below
from ego_adr.errors import InputError


def test_files_below_the_root_are_found_by_relative_and_absolute_paths(video_root: Path) -> None:
    wanted = video_root / "good" / "clip.mp4"
    for given in ("good/clip.mp4", str(wanted), "good/../good/clip.mp4", "./good//clip.mp4", "inside.mp4"):
        assert video_below(video_root, given, most_bytes=1 << 20) == wanted


@pytest.mark.parametrize(
    "given",
    [
        "../secret.mp4", "/etc/passwd", "link.mp4", "up/secret.mp4", "good/../../secret.mp4", "loop.mp4",
        "", "a\0b", "http://host/v.mp4", "file:///etc/passwd", "file://host/v.mp4", "file:///%65tc/passwd",
        "file:good/clip.mp4", "file://[", "~/v.mp4", "x" * 5000, "good/clip.mp4\n/etc/passwd",
        "/proc/self/environ", "../videos2/clip.mp4", "good", ".", "missing.mp4", "good/clip.mp4/more",
    ],
)  # fmt: skip
def test_everything_else_is_refused(video_root: Path, given: str) -> None:
    with pytest.raises(PathRefusedError):
        video_below(video_root, given, most_bytes=1 << 20)


def test_a_file_address_below_the_root_is_a_path(video_root: Path) -> None:
    wanted = video_root / "good" / "clip.mp4"
    for given in (wanted.as_uri(), f"file://localhost{wanted}", wanted.as_uri().replace("clip", "%63lip")):
        assert video_below(video_root, given, most_bytes=1 << 20) == wanted
    with pytest.raises(PathRefusedError):
        video_below(video_root, (video_root / "link.mp4").as_uri(), most_bytes=1 << 20)


def test_a_refusal_does_not_tell_what_is_outside(video_root: Path) -> None:
    told = set()
    for given in (
        "../secret.mp4",
        "../not-there.mp4",
        "/etc/passwd",
        "/etc/not-there",
        "up/secret.mp4",
        "link.mp4",
    ):
        with pytest.raises(PathRefusedError) as caught:
            video_below(video_root, given, most_bytes=1 << 20)
        told.add(str(caught.value))
    assert len(told) == 1


def test_devices_pipes_and_large_files_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    (tmp_path / "large.mp4").write_bytes(b"x" * 100)
    with pytest.raises(PathRefusedError, match="no file"):
        video_below(tmp_path.resolve(), "pipe.mp4", most_bytes=10)
    with pytest.raises(PathRefusedError, match="100 bytes"):
        video_below(tmp_path.resolve(), "large.mp4", most_bytes=10)


def test_the_root_must_be_a_folder_and_not_the_whole_machine(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for root in (tmp_path / "none", tmp_path / "file", Path("/")):
        with pytest.raises(InputError, match="--video-root"):
            check_root(root)
    (tmp_path / "other").symlink_to(tmp_path)
    assert check_root(tmp_path / "other") == tmp_path.resolve()
