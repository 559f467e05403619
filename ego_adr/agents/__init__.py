"""A2A agents: the agent under test, the evaluator, and the client of other agents.

The only room that imports ``a2a``. `serve` and `assess` start servers; `load_agent` is the model behind names such
as ``a2a:http://host:port``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["assess", "load_agent", "serve"]

if TYPE_CHECKING:
    from ego_adr.agents.assessing import assess as assess
    from ego_adr.agents.client import load_agent as load_agent
    from ego_adr.agents.serving import serve as serve

_WHERE = {
    "assess": "ego_adr.agents.assessing",
    "load_agent": "ego_adr.agents.client",
    "serve": "ego_adr.agents.serving",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _WHERE:
        raise AttributeError(
            f"module 'ego_adr.agents' has no attribute {name!r}; it has {', '.join(__all__)}"
        )
    return getattr(import_module(_WHERE[name]), name)
