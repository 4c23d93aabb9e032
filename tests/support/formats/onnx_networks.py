"""Small networks of many kinds, for ONNX Runtime's quantization tool. Needs torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qlower.interp.values import Array

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


class Net(nn.Module):
    """Layers by name, and what is computed with them."""

    def __init__(self, forward: Callable[[Any, Any], Any], /, **layers: Any) -> None:
        super().__init__()
        for name, layer in layers.items():
            setattr(self, name, layer)
        self.body = forward

    def forward(self, x: Any) -> Any:
        return self.body(self, x)


@dataclass(frozen=True)
class Network:
    """A module, and the shape of its input."""

    module: Any
    shape: Sequence[int] = (1, 3, 24, 24)


def _conv(inputs: int, outputs: int, *more: Any, size: int = 3, **options: Any) -> Any:
    padded = {"padding": size // 2, **options}
    layers = [nn.Conv2d(inputs, outputs, size, **padded), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*layers, *(more or (nn.ReLU(),)))


def _classified(*layers: Any, channels: int = 16) -> Any:
    pool = nn.AdaptiveAvgPool2d(1)
    return nn.Sequential(*layers, pool, nn.Flatten(), nn.Linear(channels, 10))


def _depthwise(channels: int, outputs: int) -> Any:
    return nn.Sequential(
        _conv(channels, channels, groups=channels), _conv(channels, outputs, size=1)
    )


def _squeezed(net: Any, x: Any) -> Any:
    x = net.first(x)
    share = net.hard(net.up(net.relu(net.down(net.pool(x)))))
    return net.last(x * share)


def _upsampled(mode: str) -> Network:
    options = {} if mode == "nearest" else {"align_corners": False}
    up = nn.Upsample(scale_factor=2, mode=mode, **options)

    def forward(net: Any, x: Any) -> Any:
        near = net.first(x)
        far = net.up(net.middle(net.pool(near)))
        return net.last(torch.cat([near, far], 1))

    return Network(
        Net(
            forward,
            first=_conv(3, 8),
            pool=nn.MaxPool2d(2),
            middle=_conv(8, 8),
            up=up,
            last=nn.Conv2d(16, 4, 1),
        )
    )


def _detector(net: Any, x: Any) -> Any:
    near = net.first(x)
    pools = [near]
    for _ in range(3):
        pools.append(net.pool(pools[-1]))
    far = net.joined(torch.cat(pools, 1))
    heads = [net.head(far), net.head(net.up(far))]
    return torch.cat([torch.sigmoid(head).flatten(2) for head in heads], 2)


def _dilated(net: Any, x: Any) -> Any:
    size = x.shape[2:]
    parts = [net.narrow(x), net.wide(x), net.wider(x)]
    whole = nn.functional.interpolate(
        net.pooled(net.pool(x)), size=size, mode="bilinear", align_corners=False
    )
    return net.last(torch.cat([*parts, whole], 1))


def _sequence(kind: str, **options: Any) -> Network:
    layer = getattr(nn, kind)(12, 16, batch_first=True, **options)
    width = 32 if options.get("bidirectional") else 16

    def forward(net: Any, x: Any) -> Any:
        return net.last(net.layer(x)[0][:, -1])

    return Network(Net(forward, layer=layer, last=nn.Linear(width, 5)), (1, 9, 12))


def _characters(net: Any, x: Any) -> Any:
    rows = net.second(net.pool(net.first(x))).mean(2).transpose(1, 2)
    return net.last(net.layer(rows)[0]).log_softmax(-1)


def _normed(norm: Any) -> Network:
    return Network(
        _classified(nn.Conv2d(3, 16, 3), norm, nn.ReLU(), nn.Conv2d(16, 16, 3, 2))
    )


def _bent(activation: Any) -> Network:
    return Network(_classified(_conv(3, 16, activation), _conv(16, 16, activation)))


def _encoder() -> Network:
    layer = nn.TransformerEncoderLayer(
        32, 4, 64, dropout=0.0, activation="gelu", batch_first=True
    )

    def forward(net: Any, x: Any) -> Any:
        return net.last(net.layer(net.first(x)).mean(1))

    layers = {"first": nn.Linear(12, 32), "layer": layer, "last": nn.Linear(32, 5)}
    return Network(Net(forward, **layers), (1, 10, 12))


def _attention(net: Any, x: Any) -> Any:
    patches = net.patches(x).flatten(2).transpose(1, 2)
    patches = torch.cat([net.token.expand(x.shape[0], -1, -1), patches], 1)
    for layer, norm in ((net.one, net.norm1), (net.two, net.norm2)):
        batch, length, width = patches.shape
        parts = layer(norm(patches)).reshape(batch, length, 3, 4, width // 4)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        weights = (query @ key.transpose(-1, -2) * (width // 4) ** -0.5).softmax(-1)
        patches = patches + (weights @ value).transpose(1, 2).flatten(2)
    return net.last(patches[:, 0])


def _vision() -> Network:
    layers = {
        "patches": nn.Conv2d(3, 32, 8, 8),
        "one": nn.Linear(32, 96),
        "two": nn.Linear(32, 96),
        "norm1": nn.LayerNorm(32),
        "norm2": nn.LayerNorm(32),
        "last": nn.Linear(32, 5),
    }
    network = Net(_attention, **layers)
    network.token = nn.Parameter(torch.randn(1, 1, 32))
    return Network(network)


def _residual(net: Any, x: Any) -> Any:
    x = net.first(x)
    x = torch.relu(x + net.second(x))
    return net.last(x)


def _modern(net: Any, x: Any) -> Any:
    x = net.stem(x)
    rows = net.norm(net.wide(x).permute(0, 2, 3, 1))
    rows = net.down(nn.functional.gelu(net.up(rows)))
    return net.last(x + net.scale * rows.permute(0, 3, 1, 2))


def _convnext() -> Network:
    layers = {
        "stem": nn.Conv2d(3, 16, 4, 4),
        "wide": nn.Conv2d(16, 16, 7, padding=3, groups=16),
        "norm": nn.LayerNorm(16),
        "up": nn.Linear(16, 64),
        "down": nn.Linear(64, 16),
        "last": _classified(),
    }
    network = Net(_modern, **layers)
    network.scale = nn.Parameter(torch.rand(16, 1, 1))
    return Network(network)


def _networks() -> Mapping[str, Callable[[], Network]]:
    plain, relu = nn.Identity(), nn.ReLU()
    return {
        "dscnn": lambda: Network(
            _classified(_conv(3, 16), _depthwise(16, 16), _depthwise(16, 16))
        ),
        "residual": lambda: Network(
            Net(
                _residual,
                first=_conv(3, 16),
                second=_conv(16, 16, plain),
                last=_classified(),
            )
        ),
        "squeezed": lambda: Network(
            Net(
                _squeezed,
                first=_conv(3, 16, nn.Hardswish()),
                pool=nn.AdaptiveAvgPool2d(1),
                down=nn.Conv2d(16, 8, 1),
                relu=relu,
                up=nn.Conv2d(8, 16, 1),
                hard=nn.Hardsigmoid(),
                last=_classified(),
            )
        ),
        "unet nearest": lambda: _upsampled("nearest"),
        "unet linear": lambda: _upsampled("bilinear"),
        "unet transposed": lambda: Network(
            nn.Sequential(
                _conv(3, 8, stride=2), nn.ConvTranspose2d(8, 4, 2, 2), nn.Sigmoid()
            )
        ),
        "generator": lambda: Network(
            nn.Sequential(
                nn.ConvTranspose2d(12, 16, 4),
                nn.BatchNorm2d(16),
                relu,
                nn.ConvTranspose2d(16, 3, 4, 2, 1),
                nn.Tanh(),
            ),
            (1, 12, 1, 1),
        ),
        "detector": lambda: Network(
            Net(
                _detector,
                first=_conv(3, 8, nn.SiLU(), stride=2),
                pool=nn.MaxPool2d(5, 1, 2),
                joined=_conv(32, 8, nn.SiLU(), size=1),
                up=nn.Upsample(scale_factor=2),
                head=nn.Conv2d(8, 6, 1),
            )
        ),
        "dilated": lambda: Network(
            Net(
                _dilated,
                narrow=_conv(8, 4, size=1),
                wide=_conv(8, 4, padding=2, dilation=2),
                wider=_conv(8, 4, padding=4, dilation=4),
                pool=nn.AdaptiveAvgPool2d(1),
                pooled=_conv(8, 4, size=1),
                last=nn.Conv2d(16, 5, 1),
            ),
            (1, 8, 14, 14),
        ),
        "pixels": lambda: Network(
            nn.Sequential(
                _conv(3, 8, nn.Tanh()), nn.Conv2d(8, 12, 3), nn.PixelShuffle(2)
            )
        ),
        "lstm": lambda: _sequence("LSTM"),
        "lstm both ways": lambda: _sequence("LSTM", bidirectional=True),
        "gru": lambda: _sequence("GRU"),
        "characters": lambda: Network(
            Net(
                _characters,
                first=_conv(1, 8),
                pool=nn.MaxPool2d(2),
                second=_conv(8, 12),
                layer=nn.LSTM(12, 16, batch_first=True, bidirectional=True),
                last=nn.Linear(32, 11),
            ),
            (1, 1, 16, 32),
        ),
        "batches": lambda: _normed(nn.BatchNorm2d(16)),
        "instances": lambda: _normed(nn.InstanceNorm2d(16, affine=True)),
        "groups": lambda: _normed(nn.GroupNorm(4, 16)),
        "neighbours": lambda: _normed(nn.LocalResponseNorm(5)),
        **{
            type(layer).__name__.lower(): lambda layer=layer: _bent(layer)
            for layer in (nn.GELU(), nn.Mish(), nn.ELU(), nn.Softplus(), nn.PReLU(16))
        },
        "volume": lambda: Network(
            nn.Sequential(
                nn.Conv3d(1, 4, 3),
                relu,
                nn.MaxPool3d(2),
                nn.Flatten(),
                nn.Linear(144, 5),
            ),
            (1, 1, 8, 8, 10),
        ),
        "sound": lambda: Network(
            nn.Sequential(
                nn.Conv1d(4, 16, 5, dilation=2, padding=4),
                relu,
                nn.Conv1d(16, 16, 3, 2),
                relu,
                nn.AdaptiveAvgPool1d(1),
                nn.Flatten(),
                nn.Linear(16, 5),
            ),
            (1, 4, 40),
        ),
        "autoencoder": lambda: Network(
            nn.Sequential(
                nn.Linear(64, 16), relu, nn.Linear(16, 4), relu, nn.Linear(4, 64)
            ),
            (1, 64),
        ),
        "encoder": _encoder,
        "vision": _vision,
        "convnext": _convnext,
    }


NETWORKS = _networks()


def examples(network: Network, count: int) -> Iterator[dict[str, Array]]:
    for seed in range(count):
        random = np.random.default_rng(seed)
        yield {"input": random.normal(size=network.shape).astype(np.float32)}


def quantized(name: str, form: str, folder: Path) -> tuple[Network, Path]:
    """The network drawn from a seed, and its file in this form."""
    quantization: Any = import_module("onnxruntime.quantization")
    torch.manual_seed(0)
    network = NETWORKS[name]()
    real, prepared, path = (folder / f"{part}.onnx" for part in ("r", "p", "q"))
    torch.onnx.export(
        network.module.eval(),
        torch.zeros(tuple(network.shape)),
        str(real),
        opset_version=17,
        dynamo=False,
        input_names=["input"],
        output_names=["output"],
    )
    quantization.quant_pre_process(str(real), str(prepared), skip_symbolic_shape=True)
    signed = quantization.QuantType.QInt8
    if form == "dynamic":
        quantization.quantize_dynamic(str(prepared), str(path), weight_type=signed)
        return network, path

    class Reader(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self.examples = examples(network, 3)

        def get_next(self) -> dict[str, Array] | None:
            return next(self.examples, None)

    is_signed = form == "QDQ s8s8"
    layout = "QOperator" if form == "QOperator" else "QDQ"
    quantization.quantize_static(
        str(prepared),
        str(path),
        Reader(),
        quant_format=getattr(quantization.QuantFormat, layout),
        activation_type=signed if is_signed else quantization.QuantType.QUInt8,
        weight_type=signed,
        per_channel=form == "QDQ u8s8",
    )
    return network, path
