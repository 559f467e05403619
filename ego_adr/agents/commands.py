"""The commands that start agents: arguments in, library calls, nothing else. Registered by `ego_adr.cli`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["add_agent_commands"]

Host = Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 for every address of the machine.")]
CardUrl = Annotated[
    str | None, typer.Option(help="The address that the card tells, where it is another one.")
]


def add_agent_commands(
    app: typer.Typer,
    report: Callable[[bool], AbstractContextManager[None]],
    note: Callable[[str], None],
    model_options: Callable[[list[str] | None], dict[str, Any]],
) -> None:
    """Register serve and assess.

    Args:
        report: the context that turns errors of ours into messages and exit codes (`ego_adr.console.report_errors`).
        note: shows a line to the person who started it (`ego_adr.console.note`).
        model_options: reads ``KEY=VALUE`` arguments (`ego_adr.cli_options.model_options`).
    """

    @app.command()
    def serve(
        video_root: Annotated[Path, typer.Option(help="The only folder whose videos are opened.")],
        model: Annotated[str, typer.Option("--model", "-m", help="As in `ego-adr detect`.")] = "tabletop",
        options: Annotated[
            list[str] | None,
            typer.Option("--model-option", "-M", metavar="KEY=VALUE", help="As in `ego-adr detect`."),
        ] = None,
        host: Host = "127.0.0.1",
        port: Annotated[int, typer.Option(help="Port to listen at.")] = 9010,
        card_url: CardUrl = None,
        route: Annotated[
            str, typer.Option("--route", "-r", help="auto | deep | shallow | single-pass | cot")
        ] = "auto",
        frames: Annotated[int, typer.Option(min=1, help="Pictures taken from a clip.")] = 8,
        waiting: Annotated[
            int, typer.Option(min=1, help="Questions that may wait; more are told: busy.")
        ] = 128,
        batch: Annotated[int, typer.Option(min=1, help="Questions answered together.")] = 8,
        max_video_gib: Annotated[float, typer.Option(help="Largest video file, in GiB.")] = 16.0,
        max_clip_seconds: Annotated[float, typer.Option(help="Longest clip, in seconds.")] = 4 * 3600.0,
        prompts: Annotated[
            Path | None, typer.Option(help="A folder that overrides single prompt files.")
        ] = None,
        taxonomy: Annotated[
            Path | None, typer.Option("--taxonomy", help="A taxonomy file of your own.")
        ] = None,
        cache: Annotated[bool, typer.Option(help="Keep and reuse the model's replies.")] = True,
    ) -> None:
        """Serve a model as an A2A agent that evaluators can question (0.3 and 1.x).

        Askers have to bring the key in EGO_ADR_SERVE_KEY (Authorization: Bearer KEY) where that variable is set.
        """
        from ego_adr import agents
        from ego_adr.agents.limits import Limits

        with report(False):
            note(
                f"serving {model} at http://{host}:{port}/ (videos below {video_root}){_askers(host)}; stop with Ctrl-C"
            )
            agents.serve(
                model,
                video_root=video_root,
                host=host,
                port=port,
                card_url=card_url,
                limits=Limits(
                    waiting=waiting, video_bytes=int(max_video_gib * (1 << 30)), clip_seconds=max_clip_seconds
                ),
                batch=batch,
                route=route,
                frames=frames,
                prompts=prompts,
                taxonomy=taxonomy,
                cache=cache,
                model_options=model_options(options),
            )

    @app.command()
    def assess(
        data: Annotated[
            Path, typer.Option(envvar="EGO_ADR_DATA", help="Folder of the published annotation files.")
        ],
        videos: Annotated[Path, typer.Option(help="Root of the videos.")],
        out: Annotated[Path, typer.Option("--out", "-o", help="Folder where runs are kept.")] = Path(
            "assessments"
        ),
        host: Host = "127.0.0.1",
        port: Annotated[int, typer.Option(help="Port to listen at.")] = 9009,
        card_url: CardUrl = None,
        judges: Annotated[
            list[str] | None,
            typer.Option("--judge", help="Open-end: a text model that scores answers; give two."),
        ] = None,
        timeout: Annotated[float, typer.Option(help="Seconds that an agent may take for an answer.")] = 300.0,
        concurrency: Annotated[int, typer.Option(min=1, help="Questions under way at once.")] = 4,
    ) -> None:
        """Serve the EgoErrorVQA evaluator as an A2A agent: send it an agent's address, get scores.

        Askers have to bring the key in EGO_ADR_SERVE_KEY (Authorization: Bearer KEY) where that variable is set.
        """
        from ego_adr import agents

        with report(False):
            note(f"evaluator at http://{host}:{port}/, runs in {out}{_askers(host)}; stop with Ctrl-C")
            agents.assess(
                data=data,
                videos=videos,
                out=out,
                host=host,
                port=port,
                card_url=card_url,
                judges=judges or (),
                timeout=timeout,
                concurrency=concurrency,
            )


def _askers(host: str) -> str:
    """Who is answered, where that is worth a word."""
    from ego_adr.agents.keys import SERVER_KEY, key_from

    if key_from(SERVER_KEY):
        return f", for those with the key in {SERVER_KEY}"
    if host in ("127.0.0.1", "localhost", "::1"):
        return ""
    return f", for everybody who can reach it (a key in {SERVER_KEY} would change that)"
