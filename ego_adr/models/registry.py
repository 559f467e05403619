"""From a name or an object to a backend: the only place that knows which names there are.

Third parties add backends by an entry point of the group ``ego_adr.models``: its name is the scheme, its value a
function ``loader(name, **options)`` that is given the whole name (``mine:NAME``) and returns a `VideoLLM`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from ego_adr.errors import InputError, ModelError, ModelNotFoundError
from ego_adr.models.base import VideoLLM
from ego_adr.resources import checkpoint_folder, checkpoint_names

__all__ = ["ENTRY_POINT_GROUP", "load_model", "model_forms"]

ENTRY_POINT_GROUP = "ego_adr.models"

#: scheme -> the module and function that load it; imported when first used
_BUILT_IN = {
    "hf": ("ego_adr.models.hf", "load_transformers"),
    "openai": ("ego_adr.models.endpoint", "load_endpoint"),
    "http": ("ego_adr.models.endpoint", "load_endpoint"),
    "https": ("ego_adr.models.endpoint", "load_endpoint"),
}

#: what is said of a scheme that a part of this package would serve, were it installed
_ABSENT = {"a2a": "it comes with the a2a extra: pip install 'ego-adr[a2a]'"}


def load_model(model: Any, **options: Any) -> VideoLLM:
    """A backend for whatever names or is a model.

    Args:
        model: one of

            - a backend (anything with ``name`` and ``generate(requests)``), returned as it is;
            - a name: ``hf:ORG/NAME``, a checkpoint that ships with the package (``tabletop``), the path of a
              checkpoint's folder or of a ``.gguf`` file, ``openai:NAME``, ``http://host:port/v1#NAME``,
              ``a2a:http://host:port``, or a scheme that another package adds;
            - a loaded ``transformers`` model, alone (its processor is then looked for where it came from), with
              ``processor=``, or as a pair ``(model, processor)``;
            - a function ``f(frames, prompt) -> str``.
        options: passed to the loader (`ego_adr.models.hf.load_transformers` lists those of ``hf:``).

    Raises:
        ModelNotFoundError: no such model; the message lists the forms of names and the nearest ones.
        InputError: an option that the loader does not know, or options for a backend that is ready.
        ModelError: the checkpoint is there and cannot be loaded.
    """
    if isinstance(model, (str, PathLike)):
        return _load_named(fspath(model), options)
    if isinstance(model, bytes) or model is None:
        raise ModelNotFoundError(f"{model!r} is no model. {_forms_text()}")
    if _is_transformers(model) or (isinstance(model, tuple) and model and _is_transformers(model[0])):
        from ego_adr.models.hf import wrap_transformers

        return wrap_transformers(model, **options)
    if isinstance(model, type):
        raise ModelNotFoundError(f"{model.__name__} is a class: give an instance of it. {_forms_text()}")
    if isinstance(model, VideoLLM):
        if options:
            raise InputError(
                f"{model.name} is ready to use: the options {', '.join(sorted(options))} belong to loading a model by name."
            )
        return model
    if callable(model):
        from ego_adr.models.callable import CallableModel

        return _checked("a function", CallableModel, (model,), options)
    raise ModelNotFoundError(f"a {type(model).__name__} is no model. {_forms_text()}")


def model_forms() -> list[str]:
    """The forms that a model's name may have here, one a line: shown in messages and by ``ego-adr doctor``."""
    shipped = checkpoint_names()
    forms = [
        *shipped,
        "hf:ORG/NAME",
        "path/of/a/checkpoint",
        "openai:NAME",
        "http://host:port/v1#NAME",
    ]
    return forms + [f"{name}:..." for name in sorted(_entry_points())]


def _load_named(name: str, options: dict[str, Any]) -> VideoLLM:
    name = name.strip()
    if not name:
        raise ModelNotFoundError(f"the model's name is empty. {_forms_text()}")
    scheme = _scheme(name)
    if scheme in _BUILT_IN:
        module, function = _BUILT_IN[scheme]
        loader = getattr(import_module(module), function)
        given = name.partition(":")[2] if scheme == "hf" else name
        return _checked(name, loader, (given,), options)
    points = _entry_points()
    if scheme in points:
        return _load_from(points[scheme], name, options)
    folder = checkpoint_folder(name)
    given_path = Path(name).expanduser()
    if folder is None and (given_path.is_dir() or (given_path.suffix == ".gguf" and given_path.is_file())):
        folder = given_path
    if folder is not None:
        from ego_adr.models.hf import load_transformers

        return _checked(name, load_transformers, (folder,), options)
    raise ModelNotFoundError(f"no model {name!r}: {_why_not(name, scheme)} {_forms_text()}")


def _why_not(name: str, scheme: str) -> str:
    if scheme in _ABSENT:
        return f"the scheme {scheme!r} is not installed; {_ABSENT[scheme]}."
    known = [*checkpoint_names(), *_BUILT_IN, *_entry_points()]
    near = difflib.get_close_matches((scheme or name).casefold(), known, n=3, cutoff=0.6)
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if scheme:
        return f"there is no scheme {scheme!r}.{meant}"
    if re.fullmatch(r"[\w.-]+/[\w.-]+", name) and not name.startswith("."):
        return f"there is no folder of that name. If it lies on the model hub, say 'hf:{name}'.{meant}"
    return f"no checkpoint of that name ships with the package and there is no such folder.{meant}"


def _scheme(name: str) -> str:
    """What stands before the colon, where that can be a scheme: one letter is a drive."""
    found = re.match(r"([A-Za-z][\w.+-]+):", name)
    return found[1].casefold() if found else ""


def _entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _load_from(point: EntryPoint, name: str, options: dict[str, Any]) -> VideoLLM:
    try:
        loader = point.load()
    except ImportError as exc:
        hint = _ABSENT.get(point.name, "install what the package that adds it needs")
        raise ModelNotFoundError(
            f"the scheme {point.name!r} ({point.value}) cannot be loaded: {exc}; {hint}."
        ) from exc
    return _checked(name, loader, (name,), options)


def _checked(
    name: str, loader: Callable[..., Any], given: tuple[Any, ...], options: dict[str, Any]
) -> VideoLLM:
    _check_options(name, loader, options)
    found = loader(*given, **options)
    if not isinstance(found, VideoLLM):
        raise ModelError(
            f"the loader of {name!r} gave a {type(found).__name__}, which has no name and generate(requests): "
            "see ego_adr.models.base.VideoLLM."
        )
    return found


def _check_options(name: str, loader: Callable[..., Any], options: dict[str, Any]) -> None:
    import inspect

    try:
        parameters = inspect.signature(loader).parameters.values()
    except (TypeError, ValueError):
        return  # a loader without a signature checks its options itself
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    allowed = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    wrong = sorted(set(options) - set(allowed))
    if wrong:
        raise InputError(
            f"{name}: unknown option {', '.join(wrong)}; the options are {', '.join(allowed) or 'none'}."
        )


def _forms_text() -> str:
    return f"A model is one of: {'; '.join(model_forms())}; or an object with generate(requests), or f(frames, prompt)."


def _is_transformers(model: Any) -> bool:
    """Whether it is a loaded transformers model, without importing transformers to ask."""
    return any(cls.__name__ == "PreTrainedModel" for cls in type(model).__mro__)
