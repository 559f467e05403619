"""Was this step of the procedure done right? Ego-ADR over first-person video, around any video-language model.

Public names are loaded when they are first used: importing the package loads neither torch nor transformers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_WHERE = {
    "Clip": "ego_adr.types",
    "Detection": "ego_adr.types",
    "EgoADR": "ego_adr.detector",
    "EgoADRError": "ego_adr.errors",
    "EgoADRWarning": "ego_adr.errors",
    "Frame": "ego_adr.types",
    "ProcedureBank": "ego_adr.types",
    "PromptLibrary": "ego_adr.prompting",
    "Query": "ego_adr.types",
    "Reply": "ego_adr.types",
    "Request": "ego_adr.types",
    "ScriptedModel": "ego_adr.models.scripted",
    "Step": "ego_adr.types",
    "StepMatch": "ego_adr.types",
    "Taxonomy": "ego_adr.taxonomies",
    "classify_narration": "ego_adr.parsing",
    "load_model": "ego_adr.models.registry",
    "match_step": "ego_adr.procedure.matching",
    "parse_label": "ego_adr.parsing",
    "probe_model": "ego_adr.probe",
    "read_procedure": "ego_adr.procedure.bank",
    "sample_frames": "ego_adr.video",
}

__all__ = ["__version__", *sorted(_WHERE)]

if TYPE_CHECKING:
    from ego_adr.detector import EgoADR as EgoADR
    from ego_adr.errors import EgoADRError as EgoADRError
    from ego_adr.errors import EgoADRWarning as EgoADRWarning
    from ego_adr.models.registry import load_model as load_model
    from ego_adr.models.scripted import ScriptedModel as ScriptedModel
    from ego_adr.parsing import classify_narration as classify_narration
    from ego_adr.parsing import parse_label as parse_label
    from ego_adr.probe import probe_model as probe_model
    from ego_adr.procedure.bank import read_procedure as read_procedure
    from ego_adr.procedure.matching import match_step as match_step
    from ego_adr.prompting import PromptLibrary as PromptLibrary
    from ego_adr.taxonomies import Taxonomy as Taxonomy
    from ego_adr.types import Clip as Clip
    from ego_adr.types import Detection as Detection
    from ego_adr.types import Frame as Frame
    from ego_adr.types import ProcedureBank as ProcedureBank
    from ego_adr.types import Query as Query
    from ego_adr.types import Reply as Reply
    from ego_adr.types import Request as Request
    from ego_adr.types import Step as Step
    from ego_adr.types import StepMatch as StepMatch
    from ego_adr.video import sample_frames as sample_frames


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'ego_adr' has no attribute {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
