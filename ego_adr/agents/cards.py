"""What our agents say of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

from ego_adr import __version__

if TYPE_CHECKING:
    from ego_adr.detector import EgoADR

__all__ = ["ask_for_key", "detector_card", "evaluator_card"]


def detector_card(url: str, detector: EgoADR) -> AgentCard:
    """The card of the agent under test."""
    labels = ", ".join(detector.taxonomy.names)
    return _card(
        url,
        name="Ego-ADR",
        description=(
            f"Tells whether a step of a written procedure was done right in first-person video ({detector.model.name}). "
            f"Multiple choice is answered with exactly one of: {labels}. Open-end questions are answered in a sentence."
        ),
        skill=AgentSkill(
            id="procedural-errors",
            name="Procedural errors in first-person video",
            description=(
                "Takes one text part with the tags <video_path>, <question>, <start_ts>, <end_ts>, or a data part with "
                "video_path, procedure, current_step or question, start_ts, end_ts."
            ),
            tags=["video", "procedure", "errors", "egocentric"],
        ),
    )


def evaluator_card(url: str) -> AgentCard:
    """The card of the evaluator."""
    return _card(
        url,
        name="EgoErrorVQA evaluator",
        description="Runs the EgoErrorVQA assessment against an agent and reports scores with intervals.",
        skill=AgentSkill(
            id="egoerrorvqa",
            name="EgoErrorVQA assessment",
            description=(
                "Takes text with <white_agent_url> and <eval_config>, or JSON with participants and config. Progress "
                "comes as task updates, the scores as an artifact (text and data)."
            ),
            tags=["evaluation", "video", "benchmark"],
        ),
    )


def ask_for_key(card: AgentCard) -> None:
    """Say on a card that its agent wants a bearer token."""
    scheme = HTTPAuthSecurityScheme(scheme="bearer", description="The key that the operator gave out.")
    card.security_schemes["key"].CopyFrom(SecurityScheme(http_auth_security_scheme=scheme))
    card.security_requirements.append(SecurityRequirement(schemes={"key": StringList()}))


def _card(url: str, *, name: str, description: str, skill: AgentSkill) -> AgentCard:
    return AgentCard(
        name=name,
        description=description,
        version=__version__,
        # one address for all; JSON-RPC first, and 0.3 clients find their `url` in it
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
            for binding in ("JSONRPC", "HTTP+JSON")
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["text/plain", "application/json"],
        default_output_modes=["text/plain", "application/json"],
        skills=[skill],
    )
