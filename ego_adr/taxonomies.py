"""Labels as data: what they are called, what they mean, and which words speak of them (``taxonomy/``)."""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ego_adr.errors import DataError, LabelError, TaxonomyError
from ego_adr.reading import read_text, yaml_value
from ego_adr.resources import taxonomy_folder
from ego_adr.vocabularies import Phrases

__all__ = ["Label", "Taxonomy", "default_taxonomy", "label_key", "load_taxonomy"]

DEFAULT = "procedural-errors.yaml"


def label_key(text: str) -> str:
    """The form in which names are compared: case, spaces, underscores, hyphens and marks do not count."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("&", " and ")
    return " ".join(re.findall(r"[^\W_]+", plain))


class Label(BaseModel):
    """One verdict that a step can get.

    Attributes:
        id: short name for files and options.
        name: display name, used in prompts and results.
        is_error: False for the one label that says the step was done right.
        definition: what it means, in a sentence that a prompt can hold.
        examples: short cases.
        aliases: other names. Those of several words are found in running text too.
        common_word: the name is also an everyday word; in running text it is no verdict.
        statements: phrases that give this verdict in a reply without naming it.
        vocabulary: phrases of a narration that speak of this label (shallow route).
        repairs: phrases of a narration that tell of a mistake being put right; after another label's phrase
            they make it this label.
        repairable: whether such a repair changes this label.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")
    name: str = Field(min_length=1)
    is_error: bool = True
    definition: str = Field(min_length=1)
    examples: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    common_word: bool = False
    statements: Phrases = ()
    vocabulary: Phrases = ()
    repairs: Phrases = ()
    repairable: bool = True


class Taxonomy(BaseModel):
    """The labels of a task, in the order in which they are shown.

    Attributes:
        name: shown in results.
        labels: two or more; exactly one has ``is_error`` False.
        narration_priority: ids of labels; where a narration speaks of several, the first of these leads.
            Labels left out follow in their own order.
        source_tags: data set -> its own tag -> id of the label it means.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    description: str = ""
    labels: tuple[Label, ...] = Field(min_length=2)
    narration_priority: tuple[str, ...] = ()
    source_tags: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)

    @classmethod
    def load(cls, path: str | PathLike[str] | None = None) -> Taxonomy:
        """Read and check a taxonomy file (YAML or JSON); None reads the one that comes with the package.

        Raises:
            TaxonomyError: when the file cannot be read or breaks a rule; the message names every rule broken.
        """
        return default_taxonomy() if path is None else _read(Path(path))

    @classmethod
    def from_data(cls, data: Any, *, source: str = "the taxonomy") -> Taxonomy:
        """Check what a file holds, or what a program made. ``source`` is named in errors.

        Raises:
            TaxonomyError: as `load`.
        """
        if not isinstance(data, Mapping):
            raise TaxonomyError(
                f"{source} holds {type(data).__name__}; expected a mapping with 'name' and 'labels' "
                "(taxonomy/procedural-errors.yaml is an example)."
            )
        try:
            taxonomy = cls.model_validate(data)
        except ValidationError as exc:
            problems = [f"{_place(e['loc'], data)}: {e['msg']}" for e in exc.errors()]
        else:
            problems = taxonomy._problems()
            if not problems:
                return taxonomy
        listed = "".join(f"\n  - {problem}" for problem in problems)
        raise TaxonomyError(f"{source} is no taxonomy; {len(problems)} to put right:{listed}")

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Display names, in order."""
        return tuple(label.name for label in self.labels)

    @functools.cached_property
    def correct(self) -> Label:
        """The label that says the step was done right."""
        return next(label for label in self.labels if not label.is_error)

    @functools.cached_property
    def errors(self) -> tuple[Label, ...]:
        """The other labels, in order."""
        return tuple(label for label in self.labels if label.is_error)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Changes whenever anything in the taxonomy does: 64 hexadecimal digits."""
        return hashlib.sha256(self.model_dump_json().encode("utf-8")).hexdigest()

    def find(self, text: str) -> Label | None:
        """The label that a text names by id, name, alias or a source data set's tag, or None.

        Case, spaces, underscores, hyphens and punctuation do not count. The whole text must be the name.
        """
        return self._index.get(label_key(text))

    def require(self, text: str) -> Label:
        """As `find`.

        Raises:
            LabelError: when the text names no label; the message lists the labels.
        """
        label = self.find(text)
        if label is None:
            raise LabelError(
                f"{text!r} is not a label of {self.name}; the labels are {', '.join(self.names)}. "
                "If it is another name of one of them, add it to the taxonomy file as an alias."
            )
        return label

    def tag_to_label(self, dataset: str, tag: str) -> Label:
        """The label that a source data set's own tag means.

        Raises:
            LabelError: for a data set or tag not in ``source_tags``; the message lists what is.
        """
        sets = {label_key(name): tags for name, tags in self.source_tags.items()}
        tags = sets.get(label_key(dataset))
        if tags is None:
            raise LabelError(
                f"{self.name} has no tags of a data set {dataset!r}; it has those of "
                f"{', '.join(self.source_tags) or 'none'}. Add them under source_tags."
            )
        known = {label_key(name): label for name, label in tags.items()}
        found = known.get(label_key(tag))
        if found is None:
            raise LabelError(
                f"{tag!r} is not a tag of {dataset} in {self.name}; the tags are {', '.join(tags)}. "
                "Add it under source_tags with the label it means."
            )
        return self.require(found)

    @functools.cached_property
    def _index(self) -> dict[str, Label]:
        by_id = {label.id: label for label in self.labels}
        index: dict[str, Label] = {}
        for label in self.labels:
            index.update({label_key(name): label for name in (label.id, label.name, *label.aliases)})
        # a tag that two data sets use for different labels is no name of either
        meant: dict[str, set[str]] = {}
        for tags in self.source_tags.values():
            for tag, target in tags.items():
                meant.setdefault(label_key(tag), set()).add(target)
        for key, targets in meant.items():
            if len(targets) == 1:
                index.setdefault(key, by_id[next(iter(targets))])
        return index

    def _problems(self) -> list[str]:
        """Rules that only the whole file can break."""
        found = []
        ids = [label.id for label in self.labels]
        found += [f"labels: the id {name!r} is used {n} times" for name, n in Counter(ids).items() if n > 1]
        right = [label.name for label in self.labels if not label.is_error]
        if len(right) != 1:
            found.append(
                f"labels: exactly one needs 'is_error: false' (the step was done right); "
                f"{len(right)} have it{': ' + ', '.join(right) if right else ''}"
            )
        owners: dict[str, str] = {}
        for label in self.labels:
            for name in dict.fromkeys((label.id, label.name, *label.aliases)):
                key = label_key(name)
                if not key:
                    found.append(f"label {label.id!r}: the name or alias {name!r} holds no letter or digit")
                elif owners.setdefault(key, label.id) != label.id:
                    found.append(f"label {label.id!r}: {name!r} is already a name of label {owners[key]!r}")
        known = f"the ids are {', '.join(dict.fromkeys(ids))}"
        found += [
            f"narration_priority: {name!r} is no label; {known}"
            for name in self.narration_priority
            if name not in ids
        ]
        found += [
            f"source_tags: {dataset}: {tag!r} means {target!r}, which is no label; {known}"
            for dataset, tags in self.source_tags.items()
            for tag, target in tags.items()
            if target not in ids
        ]
        return found


def load_taxonomy(path: str | PathLike[str] | None = None) -> Taxonomy:
    """`Taxonomy.load` as a function."""
    return Taxonomy.load(path)


def default_taxonomy() -> Taxonomy:
    """The nine labels of papers/002, section 4.1, read once."""
    return _read_default(taxonomy_folder() / DEFAULT)


@functools.lru_cache(maxsize=2)
def _read_default(path: Path) -> Taxonomy:
    return _read(path)


def _read(path: Path) -> Taxonomy:
    if not path.exists():
        raise TaxonomyError(f"there is no taxonomy file {path}.")
    try:
        data = yaml_value(read_text(path), str(path))
    except DataError as exc:
        raise TaxonomyError(str(exc)) from exc
    return Taxonomy.from_data(data, source=str(path))


def _place(location: tuple[int | str, ...], data: Mapping[str, Any]) -> str:
    """Where in the file, by the id of the label rather than its number."""
    parts: list[str] = [str(part) for part in location]
    if len(location) > 1 and location[0] == "labels" and isinstance(location[1], int):
        labels = data.get("labels")
        label = labels[location[1]] if isinstance(labels, (list, tuple)) else None
        name = label.get("id") if isinstance(label, Mapping) else None
        parts[:2] = [f"label {name!r}" if name else f"labels[{location[1]}]"]
    return ".".join(parts) or "file"
