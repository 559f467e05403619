"""Which a2a-sdk is installed, said before anything of it is imported."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from ego_adr.errors import ResourceError

__all__ = ["WANTED", "require_sdk"]

WANTED = "a2a-sdk[http-server]>=1.3,<2"


def require_sdk() -> None:
    """Make sure that the SDK this room is written for is there; it speaks to 0.3 clients and servers too.

    Raises:
        ResourceError: it is missing or of another range; one line that names the range and the command.
    """
    remedy = f"ego-adr needs {WANTED} (it speaks to 0.3 and 1.x agents alike): pip install 'ego-adr[a2a]'"
    try:
        found = version("a2a-sdk")
    except PackageNotFoundError:
        raise ResourceError(f"a2a-sdk is not installed; {remedy}") from None
    parts = re.match(r"(\d+)\.(\d+)", found)
    if parts is None or not (1, 3) <= (int(parts[1]), int(parts[2])) < (2, 0):
        raise ResourceError(f"a2a-sdk {found} is installed; {remedy}")
    for name in ("starlette", "uvicorn", "httpx"):
        try:
            version(name)
        except PackageNotFoundError:
            raise ResourceError(f"{name} is not installed; {remedy}") from None
