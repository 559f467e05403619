"""A client on a2a-sdk 0.3: sends the text of standard input in one of three ways and prints what came back as JSON.

Usage: old_client.py URL WAY, where WAY is ``client`` (the class that early evaluators use), ``factory``, or ``rest`` (the
factory over HTTP+JSON).
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
import warnings

warnings.simplefilter("ignore")

import httpx  # noqa: E402
from a2a.client import A2ACardResolver, A2AClient, ClientConfig, ClientFactory  # noqa: E402
from a2a.types import (  # noqa: E402
    Message,
    MessageSendParams,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TextPart,
    TransportProtocol,
)


def texts(parts: list[Part]) -> list[str]:
    return [part.root.text for part in parts if part.root.kind == "text"]


def told(result: Message | Task) -> dict[str, object]:
    if isinstance(result, Message):
        return {"kind": "message", "texts": texts(result.parts)}
    status = result.status.message
    artifacts = [text for artifact in result.artifacts or [] for text in texts(artifact.parts)]
    return {
        "kind": "task",
        "state": result.status.state.value,
        "texts": artifacts or (texts(status.parts) if status else []),
        "data": [
            part.root.data
            for artifact in result.artifacts or []
            for part in artifact.parts
            if part.root.kind == "data"
        ],
    }


async def main(url: str, way: str, text: str) -> None:
    async with httpx.AsyncClient(timeout=120, trust_env=False) as http:
        card = await A2ACardResolver(httpx_client=http, base_url=url).get_agent_card()
        message = Message(role=Role.user, parts=[Part(TextPart(text=text))], message_id=uuid.uuid4().hex)
        if way == "client":
            request = SendMessageRequest(id=uuid.uuid4().hex, params=MessageSendParams(message=message))
            response = (await A2AClient(httpx_client=http, agent_card=card).send_message(request)).root
            error = getattr(response, "error", None)
            found = {"kind": "error", "message": error.message} if error else told(response.result)
        else:
            transports = [TransportProtocol.http_json if way == "rest" else TransportProtocol.jsonrpc]
            config = ClientConfig(
                httpx_client=http,
                streaming=card.capabilities.streaming or False,
                supported_transports=transports,
            )
            client = ClientFactory(config)
            found = {"kind": "nothing"}
            updates = 0
            async for event in client.create(card).send_message(message):
                updates += 1
                found = told(event if isinstance(event, Message) else event[0])
            found["updates"] = updates
    print(json.dumps(found))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.stdin.read()))
