"""Networks on images as people write them, of sizes that fit no vector."""

from __future__ import annotations

from typing import Any

from support.systems.torch_blocks import IMAGE, Net, Pair, Real, block, nn, norm, torch

F = torch.nn.functional


def dscnn() -> Real:
    """Keyword spotting of ten MFCCs."""
    layers = [block(1, 43, (10, 4), stride=2, padding=(5, 1))]
    for _ in range(3):
        layers += [block(43, 43, padding=1, groups=43), block(43, 43, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(43, 12)]
    return Real(nn.Sequential(*layers, nn.Dropout(0.4), *head), ((1, 1, 49, 10),))


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1, self.bn2 = norm(outputs), norm(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride > 1:
            shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, norm(outputs))

    def forward(self, x: Any) -> Any:
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


def resnet() -> Real:
    stem = [block(3, 18, 7, stride=2, padding=3), nn.MaxPool2d(3, 2, 1)]
    body = [Residual(18, 18, 1), Residual(18, 35, 2), Residual(35, 50, 2)]
    head = [nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(50, 17)]
    return Real(nn.Sequential(*stem, *body, *head), ((2, 3, 67, 61),))


def excited() -> Real:
    """Squeeze and excitation, hard-swish."""
    layers = {
        "stem": nn.Sequential(nn.Conv2d(3, 22, 3, 2, 1), norm(22), nn.Hardswish()),
        "squeeze": nn.Conv2d(22, 6, 1),
        "relu": nn.ReLU(),
        "excite": nn.Conv2d(6, 22, 1),
        "gate": nn.Hardsigmoid(),
        "project": nn.Conv2d(22, 9, 1),
        "classifier": nn.Linear(9, 10),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        scale = net.relu(net.squeeze(F.adaptive_avg_pool2d(x, 1)))
        x = net.project(net.gate(net.excite(scale)) * x)
        return net.classifier(x.mean([2, 3]))

    return Real(Net(forward, layers), IMAGE)


def inception() -> Real:
    layers = {
        "stem": block(3, 13, stride=2),
        "one": block(13, 7, 1),
        "three": nn.Sequential(block(13, 5, 1), block(5, 9, 3, padding=1)),
        "five": nn.Sequential(block(13, 4, 1), block(4, 6, 5, padding=2)),
        "pool": nn.Sequential(nn.MaxPool2d(3, 1, 1), block(13, 3, 1)),
        "fc": nn.Linear(25, 8),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        x = torch.cat([net.one(x), net.three(x), net.five(x), net.pool(x)], 1)
        x = F.max_pool2d(x, 2, ceil_mode=True)
        x = F.adaptive_avg_pool2d(x, (1, 1))
        return net.fc(torch.flatten(x, 1))

    return Real(Net(forward, layers), IMAGE)


def shuffle() -> Real:
    """Two branches whose channels are interleaved."""
    layers = {
        "stem": block(3, 20, stride=2, padding=1),
        "branch": nn.Sequential(
            block(10, 10, 1),
            nn.Sequential(nn.Conv2d(10, 10, 3, 1, 1, groups=10), norm(10)),
            block(10, 10, 1),
        ),
        "fc": nn.Linear(20, 6),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        a, b = x.chunk(2, dim=1)
        x = torch.cat((a, net.branch(b)), dim=1)
        n, c, h, w = x.size()
        x = x.view(n, 2, c // 2, h, w)
        x = torch.transpose(x, 1, 2).contiguous()
        return net.fc(x.view(n, -1, h, w).mean([2, 3]))

    return Real(Net(forward, layers), IMAGE)


def unet(up: Any) -> Real:
    layers = {
        "down1": block(3, 12, padding=1),
        "down2": block(12, 21, padding=1),
        "up": up,
        "merge": block(33, 12, padding=1),
        "out": nn.Conv2d(12, 2, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        left = net.down1(x)
        x = net.up(net.down2(F.max_pool2d(left, 2)))
        return net.out(net.merge(torch.cat([x, left], dim=1)))

    return Real(Net(forward, layers), ((1, 3, 26, 30),))


def pyramid() -> Real:
    """Dilated branches, whose pooled one is enlarged again."""
    layers = {
        "stem": block(3, 14, stride=2, padding=1),
        **{f"d{d}": block(14, 6, padding=d, dilation=d) for d in (1, 2, 5)},
        "pooled": block(14, 6, 1),
        "out": nn.Conv2d(24, 5, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        y = net.stem(x)
        pooled = net.pooled(F.adaptive_avg_pool2d(y, 1))
        pooled = F.interpolate(pooled, size=y.shape[-2:], mode="nearest")
        y = net.out(torch.cat([net.d1(y), net.d2(y), net.d5(y), pooled], 1))
        return F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)

    return Real(Net(forward, layers), IMAGE)


def grouped() -> Real:
    """Groups, unequal kernels and strides, padded averages."""
    body = nn.Sequential(
        nn.ReflectionPad2d(1),
        nn.Conv2d(3, 24, (3, 5), stride=(2, 1)),
        nn.ReLU(),
        nn.Conv2d(24, 36, 3, groups=4, padding=(0, 2)),
        nn.ReLU6(),
        nn.AvgPool2d(3, stride=2, padding=1),
        nn.Conv2d(36, 9, 1, groups=3, bias=False),
        nn.AvgPool2d(2, ceil_mode=True, count_include_pad=False),
        nn.Flatten(),
        nn.LazyLinear(7),
    )
    body(torch.zeros(1, 3, 20, 18))
    return Real(body, ((1, 3, 20, 18),))


def activated(layer: Any) -> Real:
    """A function between two convolutions."""
    body = nn.Sequential(
        nn.Conv2d(3, 19, 3, padding=1),
        layer,
        nn.Conv2d(19, 11, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d((2, 3)),
        nn.Flatten(),
        nn.Linear(66, 5),
    )
    return Real(body, ((1, 3, 15, 17),))


def yolo() -> Real:
    """A head of SiLU blocks, parts of the channels, two outputs."""

    def silu(inputs: int, outputs: int, kernel: int, stride: int = 1) -> Any:
        own = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        return nn.Sequential(own, norm(outputs), nn.SiLU(inplace=True))

    layers = {
        "stem": silu(3, 16, 3, 2),
        "split": silu(16, 16, 1),
        "inner": silu(8, 8, 3),
        "join": silu(24, 22, 1),
        "boxes": nn.Conv2d(22, 8, 1),
        "classes": nn.Conv2d(22, 5, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        a, b = net.split(net.stem(x)).split((8, 8), 1)
        x = net.join(torch.cat((a, b, b + net.inner(b)), 1))
        scores = net.classes(x).sigmoid()
        return net.boxes(x).flatten(2), scores.flatten(2)

    return Real(Net(forward, layers), IMAGE)


def volume() -> Real:
    body = nn.Sequential(
        *(nn.Conv3d(2, 9, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2)),
        *(nn.Conv3d(9, 12, (1, 3, 3)), nn.ReLU(), nn.AdaptiveAvgPool3d(1)),
        *(nn.Flatten(), nn.Linear(12, 3)),
    )
    return Real(body, ((1, 2, 8, 11, 10),))


def siamese() -> Real:
    """Two inputs through the same layers, their distance and their sum."""
    layers = {"conv": nn.Conv2d(3, 15, 3, stride=2), "fc": nn.Linear(15, 12)}

    def forward(net: Any, x: Any, y: Any) -> Any:
        a, b = (net["fc"](F.relu(net["conv"](t)).mean((2, 3))) for t in (x, y))
        return torch.abs(a - b), a + b

    return Real(Pair(forward, layers), ((2, 3, 14, 12), (2, 3, 14, 12)))


def padded() -> Real:
    """Zero and constant padding, differences, quotients, clamps."""
    layers = {
        "first": nn.Conv2d(3, 12, 3),
        "second": nn.Conv2d(12, 12, 3),
        "last": nn.Conv2d(12, 4, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        y = net.first(F.pad(x, (1, 1, 1, 1)))
        z = net.second(F.pad(y, (1, 1, 1, 1), value=0.0))
        y = torch.clamp(y - z, -2, 2)
        return net.last(y / (1 + z * z))

    return Real(Net(forward, layers), IMAGE)


def super_resolution() -> Real:
    body = nn.Sequential(
        *(nn.Conv2d(1, 25, 5, padding=2), nn.Tanh(), nn.Conv2d(25, 16, 3, padding=1)),
        *(nn.ReLU(), nn.Conv2d(16, 9, 3, padding=1), nn.PixelShuffle(3)),
    )
    return Real(body, ((1, 1, 13, 11),))


def generator() -> Real:
    """From a row of numbers to an image."""
    layers = {
        "fc": nn.Linear(16, 16 * 12),
        "up1": nn.ConvTranspose2d(16, 16, 4, 2, 1, bias=False),
        "norm": norm(16),
        "up2": nn.ConvTranspose2d(16, 16, 3, 2, 1),
        "last": nn.Conv2d(16, 3, 3, padding=1),
    }

    def forward(net: Any, z: Any) -> Any:
        x = net.fc(z).view(-1, 16, 3, 4)
        x = F.relu(net.norm(net.up1(x)))
        return torch.tanh(net.last(F.leaky_relu(net.up2(x), 0.2)))

    return Real(Net(forward, layers), ((2, 16),))
