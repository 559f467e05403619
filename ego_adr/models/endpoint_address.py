"""From a model's name to the address of its server. Keys have no place in either."""

from __future__ import annotations

import os
from urllib.parse import urlsplit, urlunsplit

from ego_adr.errors import InputError
from ego_adr.models.endpoint_wire import OPENAI_URL

__all__ = ["parse_address"]


def parse_address(name: str) -> tuple[str, str, str, bool]:
    """(base address, model, variable of the key, whether it goes by the short name) of a model's name."""
    if name.casefold().startswith("openai:"):
        model = name.partition(":")[2].strip()
        if not model:
            raise InputError("openai: needs the name of a model: openai:NAME.")
        base = os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI_URL
        return _checked_address(base)[0], model, "OPENAI_API_KEY", True
    base, model = _checked_address(name)
    return base, model, "OPENAI_API_KEY" if base == OPENAI_URL else "EGO_ADR_API_KEY", False


def _checked_address(text: str) -> tuple[str, str]:
    parts = urlsplit(text.strip())
    try:
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise InputError(
            f"the address of a model cannot be read: {exc}. It looks like http://host:port/v1#NAME."
        ) from exc
    if parts.scheme.casefold() not in ("http", "https") or not host:
        raise InputError(
            "the address of a model looks like http://host:port/v1#NAME; this one has no scheme or no host."
        )
    if parts.username or parts.password or parts.query:
        raise InputError(
            f"the address of {host} holds a name, password or query. Keys are read from the environment alone: set "
            "EGO_ADR_API_KEY (or name another variable with key_variable) and leave them out of the address."
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return urlunsplit((parts.scheme.casefold(), parts.netloc, path, "", "")), parts.fragment
