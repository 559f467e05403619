"""Muon: momentum whose update is made orthogonal, for the two-dimensional matrices of the layers.

The method is Keller Jordan's (https://kellerjordan.github.io/posts/muon). Matrices of one shape are
stacked, so that the iteration is a few batched products in half precision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def orthogonalise(stack: Tensor, rounds: int = 5) -> Tensor:
    """Drives the singular values of each matrix of (count, rows, columns) towards one."""
    a, b, c = COEFFICIENTS
    x = stack.bfloat16()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(rounds):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if tall else x).float()


class Muon(torch.optim.Optimizer):  # type: ignore[misc]
    """Nesterov momentum, orthogonalised, with decoupled weight decay."""

    def __init__(
        self, params: Iterable[Tensor], lr: float, momentum: float = 0.95, decay: float = 0.02
    ) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum, "decay": decay})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: None = None) -> None:  # noqa: ARG002
        """One update of every matrix that has a gradient."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    shapes[p.shape].append(p)
            for shape, params in shapes.items():
                updates = []
                for p in params:
                    state = self.state[p]
                    held = state.setdefault("momentum", torch.zeros_like(p))
                    held.lerp_(p.grad, 1 - group["momentum"])
                    updates.append(p.grad.lerp(held, group["momentum"]))
                scale = max(1.0, shape[0] / shape[1]) ** 0.5
                for p, update in zip(params, orthogonalise(torch.stack(updates)), strict=True):
                    p.mul_(1 - group["lr"] * group["decay"])
                    p.add_(update, alpha=-group["lr"] * scale)
