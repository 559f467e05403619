"""What is taken off a reply before it is read: thinking, markdown, and the many forms of one character."""

from __future__ import annotations

import functools
import re
import unicodedata

from ego_adr.vocabularies import English, english

__all__ = ["plain", "without_thinking"]

_CHARACTERS = str.maketrans(
    {
        "’": "'", "‘": "'", "ʼ": "'", "´": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"',
        "「": '"', "」": '"', "『": '"', "』": '"', "《": '"', "》": '"',
        "【": "[", "】": "]", "〔": "[", "〕": "]",
        "。": ". ", "、": ", ", "،": ", ", "؛": "; ", "؟": "? ", "।": ". ",
        "‐": "-", "‑": "-", "−": "-", "\u00a0": " ", "\u3000": " ", "\t": " ",
        "\u200b": None, "\u200c": None, "\u200d": None, "\ufeff": None, "\u2060": None, "\u00ad": None,
    }
)  # fmt: skip
_STRUCK = re.compile(r"~~.*?~~", re.DOTALL)
_EMPHASIS = re.compile(
    r"\*+(?=\S)|(?<=\S)\*+|`{1,2}(?!`)|(?<![A-Za-z0-9_])__?(?=\S)|(?<=\S)__?(?![A-Za-z0-9_])"
)
_SPECIAL = re.compile(
    r"<\|(?:im_start|im_end|end|endoftext|eot_id|return|assistant|start|eos|end_of_text)\|>(?:assistant\b)?|</s>|<s>|<eos>"
)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s*final\s*(?:<\|[^|>]*\|>)*?<\|message\|>", re.IGNORECASE)


def without_thinking(text: str) -> str | None:
    """A reply without the model's thinking; None when it is cut off before the thinking ends.

    Blocks may be opened and closed, only closed (the opening tag sat in the prompt) or only opened (cut).
    """
    if "<|channel|>" in text:
        finals = list(_FINAL_CHANNEL.finditer(text))
        if not finals:
            return None
        text = text[finals[-1].end() :]
    opening, closing = _thinking_tags(english())
    last = None
    for last in closing.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    if last is not None:
        text = text[last.end() :]
    cut = opening.search(text)
    if cut is not None:
        before = text[: cut.start()]
        if not before.strip():
            return None
        text = before
    return text


@functools.lru_cache(maxsize=2)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    bare = sorted((re.escape(name) for name in names if name.isascii()), key=len, reverse=True)
    odd = [name for name in names if not name.isascii()]
    openings = [
        rf"[<\[](?:{'|'.join(bare)})(?:\s[^>]*)?[>\]]",
        r"<\|begin_of_thought\|>",
        *map(re.escape, odd),
    ]
    closings = [rf"[<\[]/(?:{'|'.join(bare)})\s*[>\]]", r"<\|end_of_thought\|>"]
    closings += [re.escape(name[0] + "/" + name[1:]) for name in odd]
    return re.compile("|".join(openings), re.IGNORECASE), re.compile("|".join(closings), re.IGNORECASE)


def _thinking_tags(language: English) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return _patterns(language.names["thinking-tags"])


def plain(text: str, *, markdown: bool = True) -> str:
    """One form for characters that mean the same, and no markdown emphasis.

    Struck-out text goes; list marks, headings and code fences stay, they tell lines apart.
    """
    text = unicodedata.normalize("NFKC", text.translate(_CHARACTERS)).translate(_CHARACTERS)
    text = _SPECIAL.sub(" ", text).replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub(r"\n\s*\n", "\n\n", re.sub(r"[^\S\n]{3,}", "  ", text))
    if markdown:
        text = _STRUCK.sub(" ", text)
        text = re.sub(r"^(\s*)[*•·▪●◦‣]\s+", r"\1- ", text, flags=re.MULTILINE)
        text = _EMPHASIS.sub("", text)
    return text
