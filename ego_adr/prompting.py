"""Prompts are documents: Markdown files with a small header, filled in strictly.

A prompt file begins with a YAML header between two ``---`` lines::

    ---
    purpose: which step of the procedure does an action name?
    variables: [steps, action]
    max_tokens: 16
    ---
    The steps are: ...

``variables`` are the names that the body may use. A library call offers every variable of its stage; a file
may use any of them, and nothing else. A name that the stage does not offer, or that the body uses without
declaring it, is a `PromptError` that lists both sides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ego_adr.errors import DataError, PromptError
from ego_adr.reading import read_text, yaml_value
from ego_adr.resources import prompts_folder

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["PromptFile", "PromptLibrary", "RenderedPrompt"]

DEFAULT_MAX_TOKENS = 256


@dataclass(frozen=True)
class RenderedPrompt:
    """A prompt ready to send: its text, the limit of the reply in tokens, and the file it came from."""

    text: str
    max_tokens: int
    name: str


@dataclass(frozen=True)
class PromptFile:
    """One prompt file, read and checked.

    Attributes:
        name: ``<route or stage>/<name>``, without the ending.
        path: where it lies.
        purpose: what it is for, in a sentence.
        variables: names the body may use.
        max_tokens: limit of the reply in tokens.
        body: the template itself.
    """

    name: str
    path: Path
    purpose: str
    variables: tuple[str, ...]
    max_tokens: int
    body: str


class PromptLibrary:
    """The prompts of the package, with single files overridden from other folders.

    Args:
        *overrides: folders that hold files of the same relative names; the first folder that has a file
            wins, the package's own comes last. None entries are skipped.

    Raises:
        PromptError: when a folder is missing or holds a prompt that the package does not know.
    """

    def __init__(self, *overrides: str | PathLike[str] | None) -> None:
        self._base = prompts_folder()
        self._folders = [*(Path(folder) for folder in overrides if folder is not None), self._base]
        known = self.known_files()
        for folder in self._folders[:-1]:
            if not folder.is_dir():
                raise PromptError(
                    f"the prompt folder {str(folder)!r} does not exist. Give a folder with files such as deep/match.md."
                )
            found = {
                path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.suffix in _ENDINGS
            }
            strange = sorted(found - known)
            if strange:
                raise PromptError(
                    f"{str(folder)!r} holds {', '.join(strange)}, which no stage asks for; the files that can be "
                    f"overridden are {', '.join(sorted(known))}. Rename or remove it."
                )
        self._files: dict[str, PromptFile] = {}
        self._templates: dict[str, Template] = {}
        self._environment: Environment | None = None

    def known_files(self) -> set[str]:
        """Relative names of the prompt files of the package."""
        return {
            path.relative_to(self._base).as_posix()
            for path in self._base.rglob("*")
            if path.suffix in _ENDINGS
        }

    def find(self, relative: str) -> Path:
        """The file that counts for a relative name such as ``deep/match.md``.

        Raises:
            PromptError: when neither an override nor the package has it.
        """
        for folder in self._folders:
            path = folder / relative
            if path.is_file():
                return path
        raise PromptError(f"no prompt file {relative!r}; there are {', '.join(sorted(self.known_files()))}.")

    def file(self, name: str) -> PromptFile:
        """The prompt of that name (``deep/match``), read and checked once."""
        if name not in self._files:
            self._files[name] = _read(name, self.find(f"{name}.md"))
        return self._files[name]

    def fingerprint(self, name: str) -> str:
        """A hash of the prompt file, header included."""
        return hashlib.sha256(self.file(name).path.read_bytes()).hexdigest()[:16]

    def render(self, name: str, /, **offered: Any) -> RenderedPrompt:
        """Fill a prompt in.

        Args:
            name: ``<route or stage>/<name>``.
            **offered: every variable the stage knows; the file may use a part of them.

        Raises:
            PromptError: when the file declares a variable that is not offered, or uses one it does not
                declare.
        """
        from jinja2 import TemplateError

        prompt = self.file(name)
        missing = [variable for variable in prompt.variables if variable not in offered]
        if missing:
            raise PromptError(
                f"{prompt.path} declares {', '.join(missing)}, which this stage does not offer; it offers "
                f"{', '.join(sorted(offered))}. Correct the header's variables."
            )
        given: Mapping[str, Any] = {variable: offered[variable] for variable in prompt.variables}
        try:
            text = self._template(prompt).render(given)
        except TemplateError as exc:
            raise PromptError(
                f"{prompt.path} could not be filled in: {exc}. It was given {', '.join(given)}."
            ) from exc
        return RenderedPrompt(text=text.strip(), max_tokens=prompt.max_tokens, name=name)

    def _template(self, prompt: PromptFile) -> Template:
        if prompt.name in self._templates:
            return self._templates[prompt.name]
        from jinja2 import StrictUndefined, TemplateSyntaxError, meta
        from jinja2.sandbox import SandboxedEnvironment

        if self._environment is None:
            self._environment = SandboxedEnvironment(
                undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
            )
        try:
            used = meta.find_undeclared_variables(self._environment.parse(prompt.body))
        except TemplateSyntaxError as exc:
            raise PromptError(f"{prompt.path}, line {exc.lineno} of the body: {exc.message}.") from exc
        undeclared = sorted(used - set(prompt.variables))
        if undeclared:
            raise PromptError(
                f"{prompt.path} uses {', '.join(undeclared)} but declares {', '.join(prompt.variables) or 'nothing'}. "
                "Add the name to the header's variables, or take it out of the body."
            )
        self._templates[prompt.name] = self._environment.from_string(prompt.body)
        return self._templates[prompt.name]


_ENDINGS = {".md", ".yaml"}
_HEADER_KEYS = {"purpose", "variables", "max_tokens"}


def _read(name: str, path: Path) -> PromptFile:
    try:
        lines = read_text(path).splitlines()
    except DataError as exc:
        raise PromptError(str(exc)) from exc
    closing = next((i for i, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
    if not lines or lines[0].strip() != "---" or closing is None:
        raise PromptError(
            f"{path} has no header: begin it with '---', purpose, variables, max_tokens and '---'."
        )
    try:
        header = yaml_value("\n".join(lines[1:closing]), str(path)) or {}
    except DataError as exc:
        raise PromptError(f"the header of {path} is not YAML: {exc.__cause__}.") from exc
    if not isinstance(header, dict) or set(header) - _HEADER_KEYS or "purpose" not in header:
        got = ", ".join(map(str, header)) if isinstance(header, dict) else type(header).__name__
        raise PromptError(
            f"the header of {path} holds {got}; allowed are purpose (needed), variables, max_tokens."
        )
    variables = header.get("variables") or []
    if not isinstance(variables, list) or not all(isinstance(v, str) and v.isidentifier() for v in variables):
        raise PromptError(f"'variables' of {path} must be a list of names, not {variables!r}.")
    limit = header.get("max_tokens", DEFAULT_MAX_TOKENS)
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise PromptError(f"'max_tokens' of {path} must be a whole number from 1, not {limit!r}.")
    body = "\n".join(lines[closing + 1 :])
    if not body.strip():
        raise PromptError(f"{path} has a header but no text.")
    return PromptFile(name, path, str(header["purpose"]).strip(), tuple(variables), limit, body)
