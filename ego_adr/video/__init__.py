"""Videos and pictures as frames with times.

sampling.py   sample_frames, sample_clip: the way in
interval.py   what was asked for -> the stretch that is looked at (the rules)
choosing.py   times of pictures -> which of them are taken
pictures.py   lists of PIL images, arrays, frames
pool.py       open videos kept for the next clip
reader.py     one open video: length, pictures at times
decoding.py   seek, skip and decode exactly
packets.py    the demuxer: index, key pictures
opening.py    files, streams, and why one cannot be used
scaling.py    size, colour, orientation
"""

from ego_adr.video.pool import close_videos
from ego_adr.video.sampling import sample_clip, sample_frames

__all__ = ["close_videos", "sample_clip", "sample_frames"]
