"""The real thing: Qwen2.5-VL-7B-Instruct on a GPU (24 GB do for 8 frames in bf16).

    pip install 'ego-adr[flash-attn]'        # flash-attn is optional; sdpa is taken without it
    python examples/real_model.py VIDEO --procedure FILE --action TEXT [--start S --end S]

The weights (16 GB) come from the model hub on first use. Nothing else here is special: any other model name goes
the same way, and `--dry-run` says what would be loaded without loading it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ego_adr import EgoADR, load_model

MODEL = "hf:Qwen/Qwen2.5-VL-7B-Instruct"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("video", type=Path, nargs="?")
    parser.add_argument("--procedure", type=Path)
    parser.add_argument("--action")
    parser.add_argument("--start")
    parser.add_argument("--end")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--routes", default="auto,single-pass,cot", help="compared one after another")
    parser.add_argument("--dry-run", action="store_true", help="say what is there, load nothing")
    arguments = parser.parse_args()
    if arguments.dry_run:
        from ego_adr.doctor import examine

        print(json.dumps({"model": arguments.model, **examine()}, indent=2))
        return
    if not (arguments.video and arguments.procedure and arguments.action):
        parser.error("VIDEO, --procedure and --action are needed (or --dry-run)")
    model = load_model(arguments.model)
    for route in arguments.routes.split(","):
        detection = EgoADR(model, route=route).detect(
            arguments.video, arguments.procedure, arguments.action, start=arguments.start, end=arguments.end
        )
        seconds = sum(use.seconds for use in detection.stages)
        print(f"{route:<12} {detection.route:<12} {detection.label or detection.status:<36} {seconds:6.2f} s")


if __name__ == "__main__":
    main()
