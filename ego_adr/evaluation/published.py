"""The figures that papers/002 published (tables 4 to 6), to stand below one's own runs. They are data: published.yaml."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ego_adr.errors import ResourceError

__all__ = ["Published", "PublishedRow", "PublishedTable", "published_figures"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedRow(_Value):
    """One row of a table, in percent; None where the paper gives no figure.

    Attributes:
        method: as the paper calls it; ``Ego-ADR (...)`` for its own.
        frames: pictures a clip.
        tp: errors found with their type (a count).
        labels: accuracy over the rows of each of the table's labels, in their order.
    """

    method: str
    frames: int | None = None
    accuracy: float | None = Field(None, ge=0, le=100)
    precision: float = Field(ge=0, le=100)
    recall: float = Field(ge=0, le=100)
    f1: float = Field(ge=0, le=100)
    tp: int | None = None
    labels: tuple[float, ...] = ()


class PublishedTable(_Value):
    """One table.

    Attributes:
        number: in the paper.
        labels: ids of the labels that its rows have an accuracy for.
    """

    number: int
    title: str
    labels: tuple[str, ...] = ()
    figures: tuple[PublishedRow, ...]

    @model_validator(mode="after")
    def _as_many_labels(self) -> PublishedTable:
        for row in self.figures:
            if row.labels and len(row.labels) != len(self.labels):
                raise ValueError(f"{row.method} has {len(row.labels)} labels, the table {len(self.labels)}")
        return self


class Published(_Value):
    """All of it.

    Attributes:
        source: whose figures these are.
        rows: of the benchmark that they were measured on, all its data sets together.
    """

    source: str
    rows: int
    tables: tuple[PublishedTable, ...]


@cache
def published_figures() -> Published:
    """The figures as they were published.

    Raises:
        ResourceError: when the package's file of them is gone or broken.
    """
    path = Path(__file__).with_name("published.yaml")
    try:
        return Published.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, ValidationError) as exc:
        raise ResourceError(
            f"the published figures {path} cannot be read: {exc}. Reinstall ego-adr."
        ) from exc
