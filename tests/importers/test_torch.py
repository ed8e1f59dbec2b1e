"""`from_torch` and `.pt2` files: every operator of the table."""

import pytest
import torch
from torch import nn

from torch_modules import Function, assert_same, mask, t
from tropicell import from_torch
from tropicell.errors import ModelImportError
from tropicell.importers.operators import spellings
from tropicell.importers.torch import handlers as torch_handlers
from tropicell.importers.torch.graph import from_exported
from tropicell.importers.torch.importer import from_pt2

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

aten = torch.ops.aten

index = torch.tensor([2, 0])
interpolate = nn.functional.interpolate


def reduced(into, x, how, itself):
    return into.scatter_reduce(1, torch.tensor([[2, 0, 2, 0]]), x, how, include_self=itself)


# One case for every spelling of the table: the operator itself, and the shape of one batch.
CASES = {
    "linear": (lambda x: aten.linear(x, t(4, 3), t(4)), (1, 3)),
    "addmm": (lambda x: aten.addmm(t(4), x, t(3, 4), beta=0.5, alpha=2), (1, 3)),
    "baddbmm": (lambda x: aten.baddbmm(t(1, 2, 4), x, t(1, 3, 4)), (1, 2, 3)),
    "addmv": (lambda x: aten.addmv(t(4), t(4, 3), x, beta=0.5, alpha=2), (3,)),
    "lerp": (lambda x: aten.lerp(x, x.relu(), t(3)) + aten.lerp(t(3), x, 0.3), (1, 3)),
    "matmul": (lambda x: aten.matmul(t(5, 2), aten.matmul(x, t(3, 4))), (1, 2, 3)),
    "mm": (lambda x: aten.mm(x, t(3, 4)), (1, 3)),
    "bmm": (lambda x: aten.bmm(t(1, 5, 2), x), (1, 2, 3)),
    "mv": (lambda x: aten.mv(x, t(3)), (1, 3)),
    "dot": (lambda x: aten.dot(x, t(3)), (3,)),
    "conv1d": (lambda x: aten.conv1d(x, t(4, 2, 3), t(4), [2], [1]), (1, 2, 7)),
    "conv2d": (
        lambda x: aten.conv2d(x, t(4, 1, 3, 2), t(4), [2, 1], [1, 0], [1, 2], 2),
        (1, 2, 6, 5),
    ),
    "conv3d": (lambda x: aten.conv3d(x, t(2, 1, 2, 2, 2)), (1, 1, 3, 3, 3)),
    "convolution": (
        lambda x: aten.convolution(x, t(2, 3, 3), t(3), [2], [1], [1], True, [1], 1),
        (1, 2, 4),
    ),
    "conv_transpose1d": (
        lambda x: aten.conv_transpose1d(x, t(2, 3, 3), t(3), [2], [1], [1]),
        (1, 2, 4),
    ),
    "conv_transpose2d": (
        lambda x: aten.conv_transpose2d(x, t(4, 1, 2, 3), None, [1, 2], [0, 1], [0, 1], 2, [1, 2]),
        (1, 4, 3, 3),
    ),
    "conv_transpose3d": (lambda x: aten.conv_transpose3d(x, t(1, 2, 2, 2, 2)), (1, 1, 2, 2, 2)),
    "batch_norm": (
        lambda x: aten.batch_norm(x, t(2), t(2), t(2), t(2).abs(), False, 0.1, 1e-3, False),
        (1, 2, 3),
    ),
    "_native_batch_norm_legit_no_training": (
        lambda x: aten._native_batch_norm_legit_no_training(
            x, t(2), t(2), t(2), t(2).abs(), 0.1, 1e-3
        )[0],
        (1, 2, 3),
    ),
    "instance_norm": (
        lambda x: aten.instance_norm(x, t(2), t(2), t(2), t(2).abs(), False, 0.1, 1e-3, False),
        (1, 2, 3),
    ),
    "pow": (lambda x: aten.pow(aten.pow(x, 1), torch.ones(2, 1)), (1, 3)),
    "avg_pool1d": (lambda x: aten.avg_pool1d(x, [3], [2], [1], True, True), (1, 2, 6)),
    "avg_pool2d": (lambda x: aten.avg_pool2d(x, [2, 3], [2, 2], [1, 1], True, False), (1, 2, 5, 6)),
    "avg_pool3d": (
        lambda x: aten.avg_pool3d(x, [2, 2, 2], [1], [0], False, True, 3),
        (1, 1, 3, 3, 3),
    ),
    "adaptive_avg_pool1d": (lambda x: aten.adaptive_avg_pool1d(x, [3]), (1, 2, 7)),
    "adaptive_avg_pool2d": (lambda x: aten.adaptive_avg_pool2d(x, [2, 3]), (1, 2, 5, 4)),
    "adaptive_avg_pool3d": (lambda x: aten.adaptive_avg_pool3d(x, [1, 2, 2]), (1, 1, 3, 3, 3)),
    "_adaptive_avg_pool2d": (lambda x: aten._adaptive_avg_pool2d(x, [2, 2]), (1, 2, 5, 4)),
    "_adaptive_avg_pool3d": (lambda x: aten._adaptive_avg_pool3d(x, [1, 2, 2]), (1, 1, 3, 3, 3)),
    "mean": (lambda x: x.mean((1, -1)), (1, 2, 3, 2)),
    "sum": (lambda x: x.sum(-1, keepdim=True), (1, 2, 3)),
    "diff": (lambda x: x.diff(n=2, dim=-1, prepend=t(1, 1), append=x.relu()), (1, 3)),
    "cumsum": (lambda x: aten.cumsum(x, 1), (1, 4, 2)),
    "add": (lambda x: aten.add(x, t(2, 1), alpha=3) + 1.5, (1, 1, 3)),
    "sub": (lambda x: aten.sub(t(3), x, alpha=2), (1, 3)),
    "subtract": (lambda x: aten.subtract(x, t(3)), (1, 3)),
    "rsub": (lambda x: aten.rsub(x, 2.5), (1, 3)),
    "mul": (lambda x: t(3) * x * 2, (1, 3)),
    "multiply": (lambda x: aten.multiply(x, t(3)), (1, 3)),
    "div": (lambda x: x / t(3), (1, 3)),
    "divide": (lambda x: aten.divide(x, t(3)), (1, 3)),
    "true_divide": (lambda x: aten.true_divide(x, t(3)), (1, 3)),
    "neg": (lambda x: -x, (1, 3)),
    "view": (lambda x: aten.view(x, [1, -1, 2]), (1, 2, 3)),
    "reshape": (lambda x: aten.reshape(x, [-1]), (1, 2, 3)),
    "_unsafe_view": (lambda x: aten._unsafe_view(x, [3, 2]), (1, 2, 3)),
    "flatten": (lambda x: aten.flatten(x, 1), (1, 2, 3)),
    "unflatten": (lambda x: aten.unflatten(x, 1, [2, -1]), (1, 6)),
    "ravel": (aten.ravel, (1, 2, 3)),
    "permute": (lambda x: aten.permute(x, [0, 2, 1]), (1, 2, 3)),
    "transpose": (lambda x: aten.transpose(x, -1, 1), (1, 2, 3)),
    "t": (lambda x: aten.t(x) * t(3, 1), (1, 3)),
    "numpy_T": (aten.numpy_T, (1, 3)),
    "swapaxes": (lambda x: aten.swapaxes(x, 1, 2), (1, 2, 3)),
    "movedim": (lambda x: aten.movedim(x, [1], [2]), (1, 2, 3)),
    "squeeze": (lambda x: x.squeeze(1).squeeze() + x.squeeze((1, 3)), (1, 1, 3, 1)),
    "unsqueeze": (lambda x: x.unsqueeze(-1), (1, 3)),
    "expand": (lambda x: x.expand(-1, 4, 3), (1, 1, 3)),
    "expand_as": (lambda x: aten.expand_as(x, t(1, 4, 3)), (1, 1, 3)),
    "repeat": (lambda x: x.repeat(1, 2, 2), (1, 3, 1)),
    "broadcast_to": (lambda x: aten.broadcast_to(x, [1, 4, 3]), (1, 1, 3)),
    "cat": (lambda x: torch.cat([x, t(1, 2), x], 1), (1, 3)),
    "concat": (lambda x: aten.concat([x, x], 1), (1, 3)),
    "stack": (lambda x: torch.stack([x, t(1, 3)], -1), (1, 3)),
    "split": (lambda x: sum(p.sum() * (i + 1) for i, p in enumerate(x.split(2, 1))), (1, 5)),
    "split_with_sizes": (lambda x: aten.split_with_sizes(x, [1, 3, 1], 1)[1], (1, 5)),
    "chunk": (lambda x: aten.chunk(x, 2, 1)[1], (1, 5)),
    "unbind": (lambda x: aten.unbind(x, 1)[2] * 2, (1, 3)),
    "slice": (lambda x: x[:, 1::2], (1, 6)),
    "narrow": (lambda x: aten.narrow(x, 1, 1, 2), (1, 4)),
    "select": (lambda x: x[:, -1], (1, 4)),
    "index": (lambda x: x[:, index, :][:, :, index], (1, 3, 3)),
    "index_select": (lambda x: aten.index_select(x, 1, index), (1, 3)),
    "masked_select": (lambda x: x.masked_select(torch.arange(3) != 1), (1, 3)),
    "gather": (lambda x: aten.gather(x, 1, torch.tensor([[[0], [2], [0]]])), (1, 3, 2)),
    "flip": (lambda x: x.flip(1), (1, 4)),
    "roll": (lambda x: x.roll(1, 1), (1, 4)),
    "copy": (lambda x: aten.copy(x, t(3)) + x, (1, 3)),
    "slice_scatter": (lambda x: aten.slice_scatter(x, t(1, 2), 1, 0, 2), (1, 3)),
    "select_scatter": (lambda x: aten.select_scatter(x.relu(), x[:, 0], 1, 2), (1, 3)),
    "constant_pad_nd": (lambda x: aten.constant_pad_nd(x, [1, -1, 2, 0], 0.5), (1, 2, 3)),
    "pad": (lambda x: aten.pad(x, [1, 2], "circular"), (1, 2, 3)),
    "reflection_pad1d": (lambda x: aten.reflection_pad1d(x, [1, 2]), (1, 2, 4)),
    "reflection_pad2d": (lambda x: aten.reflection_pad2d(x, [1, 1, 0, 2]), (1, 1, 3, 3)),
    "replication_pad1d": (lambda x: aten.replication_pad1d(x, [1, 2]), (1, 2, 4)),
    "replication_pad2d": (lambda x: aten.replication_pad2d(x, [1, 1, 0, 2]), (1, 1, 3, 3)),
    "where": (lambda x: torch.where(mask(3), x, t(3)), (1, 3)),
    "masked_fill": (lambda x: x.masked_fill(mask(3), 2.0), (1, 3)),
    "clone": (lambda x: x.clone(), (1, 3)),
    "contiguous": (lambda x: aten.contiguous(x) + 1, (1, 3)),
    "alias": (lambda x: aten.alias(x) + 1, (1, 3)),
    "detach": (lambda x: aten.detach(x) + 1, (1, 3)),
    "lift_fresh_copy": (lambda x: aten.lift_fresh_copy(x) + 1, (1, 3)),
    "dropout": (lambda x: nn.functional.dropout(x, 0.5, False), (1, 3)),
    "feature_dropout": (lambda x: nn.functional.dropout2d(x, 0.5, False), (1, 3, 2, 2)),
    "alpha_dropout": (lambda x: nn.functional.alpha_dropout(x, 0.5, False), (1, 3)),
    "_to_copy": (lambda x: aten._to_copy(x, dtype=torch.float64), (1, 3)),
    "to": (lambda x: aten.to(x, torch.float64, False, True) + 1, (1, 3)),
    "type_as": (lambda x: aten.type_as(x, t(1)) + 1, (1, 3)),
    "relu": (lambda x: x.relu(), (1, 3)),
    "leaky_relu": (lambda x: nn.functional.leaky_relu(x, 0.3), (1, 3)),
    "rrelu": (lambda x: nn.functional.rrelu(x, 0.1, 0.3, False), (1, 3)),
    "prelu": (lambda x: aten.prelu(x, t(2)), (1, 2, 3)),
    "_prelu_kernel": (lambda x: aten._prelu_kernel(x, t(1, 2, 1)), (1, 2, 3)),
    "relu6": (nn.functional.relu6, (1, 3)),
    "hardtanh": (lambda x: nn.functional.hardtanh(x, -0.5, 2), (1, 3)),
    "clamp": (lambda x: x.clamp(t(3) - 1, t(3) + 1).clamp(-2, 2).clamp(max=x - 0.1), (1, 3)),
    "clip": (lambda x: aten.clip(x, None, 0.5), (1, 3)),
    "clamp_min": (lambda x: x.clamp_min(-0.5), (1, 3)),
    "clamp_max": (lambda x: x.clamp_max(0.5), (1, 3)),
    "threshold": (lambda x: nn.functional.threshold(x, 0.25, 0.25), (1, 3)),
    "abs": (lambda x: x.abs(), (1, 3)),
    "hardsigmoid": (nn.functional.hardsigmoid, (1, 3)),
    "softshrink": (lambda x: nn.functional.softshrink(x, 0.3), (1, 3)),
    "maximum": (lambda x: torch.maximum(x, x.flip(1)).maximum(t(3)), (1, 3)),
    "minimum": (lambda x: torch.minimum(t(3), torch.minimum(x, x.flip(1))), (1, 3)),
    "max": (lambda x: torch.max(x, 1)[0] + torch.max(x) + torch.max(x, -x), (1, 5)),
    "min": (lambda x: torch.min(x, 1)[0] + torch.min(x) + torch.min(x, -x), (1, 5)),
    "max_pool1d": (lambda x: aten.max_pool1d(x, [3], [2], [1]), (1, 2, 6)),
    "max_pool2d": (lambda x: nn.functional.max_pool2d(x, 3, 2, 1, 1, ceil_mode=True), (1, 1, 6, 6)),
    "max_pool3d": (lambda x: aten.max_pool3d(x, [2, 2, 2]), (1, 1, 3, 3, 3)),
    "max_pool2d_with_indices": (
        lambda x: aten.max_pool2d_with_indices(x, [2, 2], [1, 1], [1, 0], [1, 2])[0],
        (1, 1, 4, 4),
    ),
    "max_pool1d_with_indices": (lambda x: aten.max_pool1d_with_indices(x, [2])[0], (1, 1, 4)),
    "max_pool3d_with_indices": (
        lambda x: aten.max_pool3d_with_indices(x, [2, 2, 2])[0],
        (1, 1, 3, 3, 3),
    ),
    "adaptive_max_pool1d": (lambda x: aten.adaptive_max_pool1d(x, [3])[0], (1, 2, 5)),
    "adaptive_max_pool2d": (lambda x: aten.adaptive_max_pool2d(x, [2, 1])[0], (1, 1, 5, 3)),
    "adaptive_max_pool3d": (lambda x: aten.adaptive_max_pool3d(x, [1, 1, 2])[0], (1, 1, 2, 2, 3)),
    "amax": (lambda x: x.amax((1, 2)), (1, 2, 3)),
    "amin": (lambda x: x.amin(2, keepdim=True), (1, 2, 3)),
    "isnan": (lambda x: torch.where(x.isnan(), 1.0, x), (1, 3)),
    "isinf": (lambda x: x.masked_fill(x.isinf(), 1.0), (1, 3)),
    "isfinite": (lambda x: torch.where(x.isfinite(), x, 1.0), (1, 3)),
    "zeros_like": (lambda x: x + torch.zeros_like(x), (1, 3)),
    "ones_like": (lambda x: x + torch.ones_like(x), (1, 3)),
    "full_like": (lambda x: x + torch.full_like(x, 2.5), (1, 3)),
    "empty_like": (lambda x: aten.copy(torch.empty_like(x), x) + 1, (1, 3)),
    "new_empty": (lambda x: aten.copy(x.new_empty(1, 3), x) + 1, (1, 3)),
    "new_zeros": (lambda x: torch.cat([x, x.new_zeros(1, 2)], 1), (1, 3)),
    "new_ones": (lambda x: torch.cat([x, x.new_ones(1, 2)], 1), (1, 3)),
    "new_full": (lambda x: torch.cat([x, x.new_full((1, 2), 1.5)], 1), (1, 3)),
    "einsum": (lambda x: aten.einsum("bij,kj,...i->bki", [x, t(4, 3), t(2)]), (1, 2, 3)),
    "upsample_nearest1d": (lambda x: interpolate(x, scale_factor=1.7), (1, 2, 4)),
    "upsample_nearest2d": (lambda x: interpolate(x, scale_factor=2), (1, 2, 3, 2)),
    "upsample_nearest3d": (lambda x: interpolate(x, size=(3, 4, 2)), (1, 1, 2, 2, 2)),
    "_upsample_nearest_exact1d": (
        lambda x: interpolate(x, size=7, mode="nearest-exact"),
        (1, 1, 4),
    ),
    "_upsample_nearest_exact2d": (
        lambda x: interpolate(x, scale_factor=1.5, mode="nearest-exact"),
        (1, 1, 4, 3),
    ),
    "_upsample_nearest_exact3d": (
        lambda x: interpolate(x, size=(3, 3, 3), mode="nearest-exact"),
        (1, 1, 2, 2, 2),
    ),
    "upsample_linear1d": (lambda x: interpolate(x, size=7, mode="linear"), (1, 2, 4)),
    "upsample_bilinear2d": (
        lambda x: interpolate(x, scale_factor=2, mode="bilinear", align_corners=True),
        (1, 2, 3, 2),
    ),
    "upsample_trilinear3d": (
        lambda x: interpolate(x, size=(3, 4, 2), mode="trilinear"),
        (1, 1, 2, 2, 2),
    ),
    "upsample_bicubic2d": (
        lambda x: interpolate(x, scale_factor=1.6, mode="bicubic"),
        (1, 1, 4, 3),
    ),
    "_upsample_bilinear2d_aa": (
        lambda x: interpolate(x, size=(2, 3), mode="bilinear", antialias=True),
        (1, 1, 5, 4),
    ),
    "_upsample_bicubic2d_aa": (
        lambda x: interpolate(x, size=(2, 3), mode="bicubic", antialias=True),
        (1, 1, 5, 4),
    ),
    "index_add": (lambda x: aten.index_add(x, 1, index, t(1, 2) + x[:, :2], alpha=2), (1, 3)),
    "scatter_add": (
        lambda x: aten.scatter_add(t(1, 3), 1, torch.tensor([[2, 0, 2]]), x[:, :3]),
        (1, 4),
    ),
    "scatter_reduce": (
        lambda x: torch.cat(
            [
                *(reduced(x[:, 1:], x, how, True) for how in ("amax", "amin", "sum", "mean")),
                *(reduced(t(1, 3), x, how, False) for how in ("amax", "amin", "sum", "mean")),
                *(reduced(x[:, 1:], x, how, False) for how in ("amax", "mean")),
                torch.full_like(x[:, 1:], -torch.inf).scatter_reduce(
                    1, torch.tensor([[2, 0, 1, 0]]), x, "amax"
                ),
            ],
            1,
        ),
        (1, 4),
    ),
    "scatter": (
        lambda x: aten.scatter(aten.scatter(x, 0, index, x[1:]), 0, index[:1], 2.5),
        (3,),
    ),
    "index_copy": (lambda x: aten.index_copy(x, 1, index, x[:, 1:] * 2), (1, 3)),
    "index_fill": (lambda x: aten.index_fill(x, 1, index, 0.5), (1, 3)),
    "index_put": (
        lambda x: aten.index_put(
            aten.index_put(x, [None, index], x[:, 1:] + 1), [None, index], t(1, 2), True
        ),
        (1, 3),
    ),
    "rot90": (lambda x: aten.rot90(x, 1, [1, 2]), (1, 2, 3)),
    "pixel_shuffle": (lambda x: aten.pixel_shuffle(x, 2), (1, 8, 2, 3)),
    "pixel_unshuffle": (lambda x: aten.pixel_unshuffle(x, 2), (1, 2, 4, 2)),
    "channel_shuffle": (lambda x: aten.channel_shuffle(x, 2), (1, 4, 2, 2)),
    "native_channel_shuffle": (lambda x: aten.native_channel_shuffle(x, 2), (1, 4, 2, 2)),
    "unfold": (lambda x: aten.unfold(x, 1, 3, 2) + 1, (1, 7)),
    "col2im": (lambda x: aten.col2im(x, [3, 4], [2, 2], [1, 1], [1, 0], [1, 2]), (1, 8, 8)),
    "im2col": (lambda x: aten.im2col(x, [2, 2], [1, 1], [1, 0], [1, 2]), (1, 2, 3, 4)),
    "tril": (lambda x: aten.tril(x, 1), (1, 3, 3)),
    "triu": (aten.triu, (1, 3, 3)),
    "diagonal": (lambda x: aten.diagonal(x, 0, 1, 2) + 1, (1, 3, 3)),
    "repeat_interleave": (
        lambda x: aten.repeat_interleave(x, torch.tensor([1, 0, 3]), 1, output_size=4),
        (1, 3),
    ),
    "tile": (lambda x: aten.tile(x, [2, 2]), (1, 3)),
    "reflection_pad3d": (
        lambda x: aten.reflection_pad3d(x, [1, 0, 1, 1, 0, 1]),
        (1, 1, 2, 2, 2),
    ),
    "replication_pad3d": (
        lambda x: aten.replication_pad3d(x, [1, 0, 1, 1, 0, 1]),
        (1, 1, 2, 2, 2),
    ),
    "nan_to_num": (lambda x: aten.nan_to_num(x) * 2, (1, 3)),
    "positive": (lambda x: aten.positive(x) * 2, (1, 3)),
    "fmax": (lambda x: aten.fmax(x, x.flip(1)), (1, 3)),
    "fmin": (lambda x: aten.fmin(x, x.flip(1)), (1, 3)),
    "aminmax": (lambda x: torch.cat(aten.aminmax(x, dim=1)), (1, 4)),
    "cummax": (lambda x: aten.cummax(x, 1)[0], (1, 5)),
    "cummin": (lambda x: aten.cummin(x, 1)[0], (1, 5, 2)),
    "sort": (lambda x: x.sort(1)[0] - x.sort(1, descending=True)[0] * 3, (1, 7, 2)),
    "msort": (aten.msort, (5,)),
    "topk": (lambda x: x.topk(2, 1)[0] + x.topk(2, 1, largest=False)[0] * 3, (1, 6)),
    "median": (lambda x: x.median() + x.median(0)[0] * 2, (6,)),
    "nanmedian": (lambda x: x.nanmedian(1)[0], (1, 5)),
    "kthvalue": (lambda x: aten.kthvalue(x, 3, 1, True)[0], (1, 5)),
    "linalg_vector_norm": (
        lambda x: torch.linalg.vector_norm(x, 1, 2) + torch.linalg.vector_norm(x, torch.inf, 2),
        (1, 2, 3),
    ),
    "norm": (lambda x: aten.norm(x, 1) + aten.norm(x, -torch.inf, [0], True), (3,)),
    "cdist": (
        lambda x: torch.cdist(x, t(2, 3), 1.0) + torch.cdist(x, t(2, 3), torch.inf),
        (1, 4, 3),
    ),
    "gt": (lambda x: torch.where(x > 0, x, 0.1 * x), (1, 3)),
    "ge": (lambda x: (x @ t(3, 3) >= x[:, :1]) * (x @ t(3, 3) - x[:, :1]), (1, 3)),
    "lt": (lambda x: x.masked_fill(x < 0.5, 0.5), (1, 3)),
    "le": (lambda x: (x + 1).masked_fill(x + 1 <= 0, 0.0), (1, 3)),
    "greater": (lambda x: torch.where(aten.greater(x, 0), x, 0.0), (1, 3)),
    "greater_equal": (lambda x: torch.where(aten.greater_equal(x, 0), x, 0.0), (1, 3)),
    "less": (lambda x: torch.where(aten.less(x, 0), x, 0.0), (1, 3)),
    "less_equal": (lambda x: torch.where(aten.less_equal(t(3), x), t(3), x), (1, 3)),
    "logical_not": (lambda x: torch.where(torch.logical_not(x > 0), x, -x), (1, 3)),
    "bitwise_not": (lambda x: torch.where(~(x > 0), x, -x), (1, 3)),
    "_assert_tensor_metadata": (lambda x: x.to(torch.float64) + x, (1, 3)),
}


def test_every_spelling_has_a_handler_and_a_case():
    assert torch_handlers.registry.missing() == set()
    assert set(CASES) == spellings("torch")


@pytest.mark.parametrize("spelling", CASES)
def test_operator(spelling, rng, tmp_path):
    function, shape = CASES[spelling]
    module = Function(function)
    assert_same(from_torch(module, torch.zeros(shape)), module, shape, rng)
    program = torch.export.export(module, (torch.zeros(shape, dtype=torch.float64),))
    # the case must really contain the operator: undecomposed graphs are what .pt2 files hold
    assert spelling in {call.name for call in from_exported(program).calls}
    torch.export.save(program, tmp_path / "m.pt2")
    assert_same(from_pt2(tmp_path / "m.pt2"), module, shape, rng)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x * (x > 0).float(), (1, 3)),
        (lambda x: (x > 0).to(x.dtype) * x + (x <= 0).double() * x * 0.1, (1, 3)),
        (lambda x: x @ torch.linalg.inv(t(3, 3) + 3 * torch.eye(3)), (1, 3)),
        (lambda x: x.relu() @ torch.matrix_exp(t(3, 3)), (1, 3)),
        (lambda x: x @ torch.linalg.qr(t(3, 3))[0], (1, 3)),
    ],
    ids=["a mask as floats", "two masks", "inverse", "matrix_exp", "qr"],
)
def test_masks_and_constants_that_a_forward_makes(function, shape, rng):
    module = Function(function)
    assert_same(from_torch(module, torch.zeros(shape)), module, shape, rng)


def test_an_output_of_a_file_that_is_given_twice(tmp_path):
    program = torch.export.export(Function(lambda x: 2 * (x.relu(),)), (torch.zeros(1, 2),))
    torch.export.save(program, tmp_path / "m.pt2")
    assert from_pt2(tmp_path / "m.pt2").n_outputs == 4


def test_a_file_of_a_module_that_writes_to_parts_of_tensors(tmp_path):
    def overwrite(x):
        y = x.clone()
        y[:, 0] = x[:, 1].relu()
        return y

    module = Function(overwrite)
    program = torch.export.export(module, (torch.zeros(1, 2, dtype=torch.float64),))
    torch.export.save(program, tmp_path / "m.pt2")
    with pytest.raises(ModelImportError, match="run_decompositions"):
        from_pt2(tmp_path / "m.pt2")
    torch.export.save(program.run_decompositions({}), tmp_path / "m.pt2")
    assert from_pt2(tmp_path / "m.pt2") == from_torch(module, (1, 2))


def test_a_sum_in_float32_is_compared_as_such():
    network = from_torch(Function(lambda x: x.sum(1, dtype=torch.float32)), torch.zeros(1, 3))
    assert network([1.0, 2.0, 4.0]).tolist() == [7.0]
