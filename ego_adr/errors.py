"""What can go wrong, as one tree.

    EgoADRError
    ├── InputError            what the caller gave cannot be used as it is
    │   ├── VideoError        a file that cannot be opened, holds no pictures, or breaks while it is read
    │   │   └── ClipRangeError    times that do not lie in the video, or are no times
    │   ├── ProcedureError    a procedure or step bank that cannot be read or fails its checks
    │   ├── TaxonomyError     a taxonomy file that fails its checks
    │   │   └── LabelError    a name that is no label of the taxonomy
    │   ├── PromptError       a prompt file, or the variables that a prompt was given
    │   └── DataError         benchmark rows, predictions or logs
    ├── ModelError            the model, not the sample
    │   ├── ModelNotFoundError    no such model, checkpoint, scheme or backend
    │   ├── TextOnlyUnsupportedError   the model cannot be asked without pictures
    │   ├── OutOfMemoryError  the accelerator's or the machine's memory is spent
    │   ├── ServerError       an endpoint that refuses, fails or does not answer
    │   └── ScriptExhaustedError  a ScriptedModel was asked more than it was told to answer
    └── ResourceError         a file of the package itself is missing

Every message says what came, what is allowed and what to do. Foreign exceptions are wrapped once, at the
boundary where they arise, with ``raise ... from exc``. ``EgoADRWarning`` is the class of every warning.
"""

from __future__ import annotations

__all__ = [
    "ClipRangeError",
    "DataError",
    "EgoADRError",
    "EgoADRWarning",
    "InputError",
    "LabelError",
    "ModelError",
    "ModelNotFoundError",
    "OutOfMemoryError",
    "ProcedureError",
    "PromptError",
    "ResourceError",
    "ScriptExhaustedError",
    "ServerError",
    "TaxonomyError",
    "TextOnlyUnsupportedError",
    "VideoError",
]


class EgoADRError(Exception):
    """Root of the tree. ``cause`` is the short word a failed sample is counted under."""

    cause: str = "error"


class InputError(EgoADRError):
    """What the caller gave cannot be used as it is."""

    cause = "input"


class VideoError(InputError):
    """A video that cannot be opened, holds no pictures, or breaks while it is read."""

    cause = "video"


class ClipRangeError(VideoError):
    """Times that do not lie in the video, or are no times at all."""

    cause = "clip range"


class ProcedureError(InputError):
    """A procedure or step bank that cannot be read or fails its checks."""

    cause = "procedure"


class TaxonomyError(InputError):
    """A taxonomy file that fails its checks."""

    cause = "taxonomy"


class LabelError(TaxonomyError):
    """A name that is no label of the taxonomy."""

    cause = "label"


class PromptError(InputError):
    """A prompt file, or the variables that a prompt was given."""

    cause = "prompt"


class DataError(InputError):
    """Benchmark rows, predictions or logs that cannot be read."""

    cause = "data"


class ModelError(EgoADRError):
    """The model failed, not the sample."""

    cause = "model"


class ModelNotFoundError(ModelError):
    """No such model, checkpoint, scheme or backend."""

    cause = "model not found"


class TextOnlyUnsupportedError(ModelError):
    """The model cannot be asked without pictures."""

    cause = "no text-only input"


class OutOfMemoryError(ModelError):
    """The memory of the accelerator or of the machine is spent."""

    cause = "out of memory"


class ServerError(ModelError):
    """An endpoint that refuses, fails or does not answer."""

    cause = "server"


class ScriptExhaustedError(ModelError):
    """A scripted model was asked more often than it was told to answer."""

    cause = "script exhausted"


class ResourceError(EgoADRError):
    """A file of the package itself is missing: the installation is broken."""

    cause = "installation"


class EgoADRWarning(UserWarning):
    """Something was read in a way the caller may not expect; the text says how. Kept in results too."""
