"""The ``hf`` backend: any image-text-to-text, video or language model of transformers, loaded or to be loaded.

What goes in is made by the pure functions of `hf_messages` and `hf_pictures`, where it runs is chosen by
`hf_placement`, and what comes out is made by `hf_greedy` and `hf_scoring`; `hf_model` puts them together.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, get_args

from ego_adr.errors import InputError, ModelError, ModelNotFoundError
from ego_adr.models.failing import is_out_of_memory
from ego_adr.models.hf_fingerprint import checkpoint_fingerprint
from ego_adr.models.hf_inputs import InputBuilder
from ego_adr.models.hf_messages import ClipForm
from ego_adr.models.hf_model import TransformersModel
from ego_adr.models.hf_pictures import PixelLimits
from ego_adr.models.hf_placement import choose_attention, choose_device, choose_device_map, choose_dtype

__all__ = ["load_transformers", "wrap_transformers"]

log = logging.getLogger(__name__)

#: Bytes of weights from which on their loading shows how far it is.
BARS_FROM = 512 * 2**20


def load_transformers(
    name: str | PathLike[str],
    *,
    device: str | None = None,
    dtype: Any = None,
    attention: str | None = None,
    device_map: Any = None,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
    batch_size: int = 8,
    chat_template: str | None = None,
    prompt_form: str | None = None,
    template_options: Mapping[str, Any] | None = None,
    clip_form: ClipForm | None = None,
    revision: str | None = None,
    trust_remote_code: bool = False,
    gguf_file: str | None = None,
    model_options: Mapping[str, Any] | None = None,
) -> TransformersModel:
    """Load a checkpoint from a folder or from the model hub.

    Args:
        name: a folder, a ``.gguf`` file, or ``ORG/NAME`` on the hub (downloaded on first use, unless
            ``HF_HUB_OFFLINE`` is set).
        device: ``cuda``, ``cuda:1``, ``mps``, ``cpu``; None takes the best there is.
        dtype: ``bf16``, ``fp16``, ``fp32``; None takes bf16, fp16 on GPUs without it, fp32 on the CPU.
        attention: ``flash_attention_2``, ``sdpa``, ``eager``; None or ``auto`` takes flash-attn where it is
            installed and the GPU can, else sdpa, and says so in one line.
        device_map: accelerate's; None spreads over several GPUs when there are.
        min_pixels, max_pixels: of one picture, in place of the checkpoint's.
        batch_size: requests a batch.
        chat_template, prompt_form, template_options: how the model is asked, in place of the checkpoint's way
            (`ego_adr.models.hf_messages.render`).
        clip_form: ``video``, or ``timed images``: the pictures of a clip one by one with the time before each, as
            a server is sent them (to compare the two, or to get a server's answers in this process). None takes a
            video where the checkpoint has one, else images.
        revision, trust_remote_code, gguf_file: as in ``from_pretrained``.
        model_options: further arguments of the model's ``from_pretrained``, such as ``quantization_config``.

    Raises:
        ModelNotFoundError: no such folder or repository, or one that holds no checkpoint.
        ModelError: a checkpoint that cannot be loaded, or lacks weights.
        OutOfMemoryError: there is no room for its weights.
        InputError: an option that is not allowed.
    """
    import torch

    asked = _asked(min_pixels, max_pixels, chat_template, prompt_form, template_options, clip_form)
    shown = _shown(gguf_file or name)
    if fspath(name).endswith(".gguf") and Path(name).expanduser().is_file():
        gguf_file, name = Path(name).name, Path(name).expanduser().parent
    where = _place_of(fspath(name))
    # said outright, or a checkpoint with code of its own would ask at the terminal
    shared: dict[str, Any] = {
        "trust_remote_code": trust_remote_code,
        **({"revision": revision} if revision else {}),
    }
    files = {**shared, "gguf_file": gguf_file} if gguf_file else shared
    config = _config(where, files)
    chosen_device = choose_device(device)
    chosen_dtype = choose_dtype(dtype, chosen_device)
    chosen_attention, line = choose_attention(attention, chosen_device, dtype=chosen_dtype)
    if line:
        log.warning(line)
    gpus = torch.cuda.device_count() if chosen_device.type == "cuda" else 0
    placement = choose_device_map(device_map, chosen_device, pinned=device is not None, gpus=gpus)
    options: dict[str, Any] = {
        "dtype": chosen_dtype,
        "attn_implementation": chosen_attention,
        **({} if placement is None else {"device_map": placement}),
        **files,
        **(model_options or {}),
    }
    processor = _processor(where, config, files)
    with _progress(where):
        model = _model(where, config, options)
    folder = _folder_of(where, revision)
    mark = None
    if folder is not None:
        settings = {key: value for key, value in options.items() if key not in ("device_map", "revision")}
        mark = checkpoint_fingerprint(
            folder, {"options": settings, "asked": asked, "device": chosen_device.type}
        )
    return _assemble(model, processor, asked, shown, mark, folder, batch_size)


def wrap_transformers(
    model: Any,
    *,
    processor: Any = None,
    name: str | None = None,
    fingerprint: str | None = None,
    min_pixels: int | None = None,
    max_pixels: int | None = None,
    batch_size: int = 8,
    chat_template: str | None = None,
    prompt_form: str | None = None,
    template_options: Mapping[str, Any] | None = None,
    clip_form: ClipForm | None = None,
) -> TransformersModel:
    """Take a transformers model that is loaded already, as it is: where it is, in its dtype, with its attention.

    It is put into evaluation mode, and a tokenizer without a padding token gets one.

    Args:
        model: the model, or a pair of model and processor.
        processor: its processor, or its tokenizer for a language model; looked for where the model came from
            when it is not given.
        fingerprint: a text that changes whenever the weights do. Without it nothing is cached, because nobody
            can tell what has been done to a model in memory.

    Raises:
        ModelNotFoundError: no processor is given and none is found.
    """
    asked = _asked(min_pixels, max_pixels, chat_template, prompt_form, template_options, clip_form)
    if isinstance(model, tuple):
        model, processor = (*model, processor)[:2]
    came_from = getattr(model, "name_or_path", "") or ""
    if processor is None:
        if not came_from:
            raise ModelNotFoundError(
                f"a {type(model).__name__} came without its processor and does not know where it was loaded from: give "
                "load_model(model, processor=AutoProcessor.from_pretrained(...))."
            )
        processor = _processor(came_from, model.config, {})
    model.eval()
    shown = name or _shown(came_from or type(model).__name__)
    return _assemble(
        model, processor, asked, shown, fingerprint, Path(came_from) if came_from else None, batch_size
    )


def _asked(
    min_pixels: int | None,
    max_pixels: int | None,
    chat_template: str | None,
    prompt_form: str | None,
    template_options: Mapping[str, Any] | None,
    clip_form: ClipForm | None,
) -> dict[str, Any]:
    """How the caller wants the model to be asked, by the names of `InputBuilder`'s fields."""
    PixelLimits(min_pixels, max_pixels)  # refuses what is not allowed
    if clip_form not in (None, *get_args(ClipForm)):
        raise InputError(f"clip_form must be one of {', '.join(get_args(ClipForm))}, not {clip_form!r}.")
    return {
        "min_pixels": min_pixels,
        "max_pixels": max_pixels,
        "chat_template": chat_template,
        "prompt_form": prompt_form,
        "template_options": dict(template_options or {}),
        "clip_form": clip_form,
    }


def _assemble(
    model: Any,
    processor: Any,
    asked: Mapping[str, Any],
    name: str,
    fingerprint: str | None,
    folder: Path | None,
    batch_size: int,
) -> TransformersModel:
    tokenizer = getattr(processor, "tokenizer", processor)
    if tokenizer.pad_token_id is None:
        # batches need one; the mask hides it from the model
        tokenizer.pad_token = tokenizer.eos_token or tokenizer.unk_token
    builder = InputBuilder(
        processor=processor,
        model_type=str(getattr(model.config, "model_type", "")),
        class_name=type(model).__name__,
        **asked,
    )
    prompts = folder / "prompts" if folder is not None and (folder / "prompts").is_dir() else None
    return TransformersModel(
        model,
        builder,
        name=name,
        fingerprint=fingerprint,
        prompts=prompts,
        notice=_notice(folder),
        batch_size=batch_size,
    )


def _place_of(name: str) -> str:
    """A folder that exists, or a name that can be one on the hub."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not any((folder / file).is_file() for file in ("config.json", "adapter_config.json")) and not any(
            folder.glob("*.gguf")
        ):
            held = ", ".join(sorted(path.name for path in folder.iterdir())[:8]) or "nothing"
            raise ModelNotFoundError(f"{folder} is no checkpoint: it has no config.json; it holds {held}.")
        if not (folder / "config.json").is_file() and (folder / "adapter_config.json").is_file():
            raise ModelNotFoundError(
                f"{folder} is an adapter without its model: merge it into the model, save that, and give its folder."
            )
        return str(folder)
    looks_like_a_path = name.startswith((".", "~", "/")) or "\\" in name or name.count("/") > 1
    if looks_like_a_path or not name.strip("/"):
        raise ModelNotFoundError(
            f"there is no folder {name!r}. Give a checkpoint's folder, or hf:ORG/NAME for the hub."
        )
    return name


def _config(where: str, files: Mapping[str, Any]) -> Any:
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(where, **files)
    except OSError as exc:
        raise _load_error(where, exc) from exc
    except Exception as exc:
        # Any type: a checkpoint's own code may run here.
        raise ModelError(f"{where} cannot be loaded: {type(exc).__name__}: {exc}") from exc


def _processor(where: str, config: Any, files: Mapping[str, Any]) -> Any:
    from transformers import AutoProcessor, AutoTokenizer

    auto = AutoProcessor if _is_multimodal(config) else AutoTokenizer
    try:
        return auto.from_pretrained(where, **files)
    except ImportError as exc:
        raise ModelError(f"the processor of {where} needs a package that is missing: {exc}") from exc
    except Exception as exc:
        # Any type: each processor reads its own files, and broken ones break it in its own way.
        raise ModelError(f"the processor of {where} cannot be loaded: {type(exc).__name__}: {exc}") from exc


def _model(where: str, config: Any, options: Mapping[str, Any]) -> Any:
    auto = _auto_class(config)
    try:
        model, found = auto.from_pretrained(where, output_loading_info=True, **options)
    except Exception as exc:
        # Any type: weights can be broken in as many ways as there are formats.
        if is_out_of_memory(exc):
            from ego_adr.errors import OutOfMemoryError

            raise OutOfMemoryError(f"there is no room for the weights of {where}: {exc}") from exc
        if isinstance(exc, OSError):
            raise _load_error(where, exc) from exc
        raise ModelError(f"{where} cannot be loaded: {type(exc).__name__}: {exc}") from exc
    missing = sorted(found.get("missing_keys") or ())
    if missing:
        raise ModelError(
            f"{where} lacks {len(missing)} of the weights of {type(model).__name__} ({', '.join(missing[:3])} ...): "
            "what it says would be noise. Fetch the checkpoint again."
        )
    model.eval()
    return model


def _auto_class(config: Any) -> Any:
    import transformers

    for name in ("AutoModelForImageTextToText", "AutoModelForMultimodalLM", "AutoModelForCausalLM"):
        auto = getattr(transformers, name, None)
        brought = getattr(config, "auto_map", None) or {}  # classes that a checkpoint has its own code for
        if auto is not None and (type(config) in auto._model_mapping or name in brought):
            return auto
    raise ModelError(
        f"a model of type {config.model_type!r} neither answers in text nor sees pictures: it is none of transformers' "
        "image-text-to-text, multimodal or causal language models. Wrap it in a function f(frames, prompt) -> str."
    )


def _is_multimodal(config: Any) -> bool:
    return not _auto_class(config).__name__.endswith("CausalLM")


def _folder_of(where: str, revision: str | None) -> Path | None:
    """Where a checkpoint's files lie on this machine."""
    if Path(where).is_dir():
        return Path(where)
    from transformers.utils import cached_file

    try:
        found = cached_file(where, "config.json", local_files_only=True, revision=revision)
    except OSError:
        return None
    return Path(found).parent if found else None


@contextmanager
def _progress(where: str) -> Iterator[None]:
    """Bars while weights are fetched or read, except for checkpoints on this machine that take no time."""
    from transformers.utils import logging as shown

    folder = Path(where)
    small = folder.is_dir() and sum(p.stat().st_size for p in folder.iterdir() if p.is_file()) < BARS_FROM
    if not small or not shown.is_progress_bar_enabled():
        yield
        return
    shown.disable_progress_bar()
    try:
        yield
    finally:
        shown.enable_progress_bar()


def _load_error(where: str, exc: Exception) -> ModelError:
    if Path(where).is_dir():
        return ModelError(f"{where} cannot be loaded: {exc}")
    offline = os.environ.get("HF_HUB_OFFLINE", "").strip().casefold() in ("1", "true", "yes", "on")
    why = "HF_HUB_OFFLINE is set, so nothing is downloaded" if offline else str(exc).splitlines()[0]
    return ModelNotFoundError(
        f"hf:{where} is not on this machine: {why}. Check the name, fetch it first (hf download {where}), or give the "
        "folder of a checkpoint."
    )


def _shown(name: str | PathLike[str]) -> str:
    text = fspath(name)
    return Path(text).name if Path(text).expanduser().exists() else text


def _notice(folder: Path | None) -> str | None:
    """What a checkpoint says of itself in ``notice.txt``: a sentence that every result with it repeats."""
    path = None if folder is None else folder / "notice.txt"
    return " ".join(path.read_text(encoding="utf-8").split()) if path is not None and path.is_file() else None
