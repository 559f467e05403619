"""Pictures of a recording and of a procedure's order: for the terminal (rich), as SVG, and as DOT."""

from __future__ import annotations

from ego_adr.timeline.graph import graph_dot, graph_svg, graph_table
from ego_adr.timeline.recording import timeline_svg, timeline_table

__all__ = ["graph_dot", "graph_svg", "graph_table", "timeline_svg", "timeline_table"]
