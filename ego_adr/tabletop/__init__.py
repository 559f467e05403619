"""The tabletop world: rendered first-person clips whose labels are known, and nothing like real video.

A hand moves large coloured blocks on a table. `language` holds every word and sentence, `world` what moves
when, `render` the pixels and the video files, `episodes` whole recordings with planted errors. Nothing here
imports torch.
"""
