"""Networks on tokens, sounds and rows, of sizes that fit no vector."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from support.systems.torch_blocks import IMAGE, Net, Real, nn, torch

F = torch.nn.functional


def attention_pool() -> Real:
    """A softmax between quantized layers."""
    layers = {
        "conv": nn.Conv2d(3, 10, 3, stride=3),
        "score": nn.Conv2d(10, 1, 1),
        "soft": nn.Softmax(dim=-1),
        "out": nn.Linear(10, 4),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.conv(x).flatten(2)
        weights = net.soft(x.mean(1, keepdim=True))
        return net.out((x * weights).mean(-1))

    return Real(Net(forward, layers), IMAGE)


def classifier_softmax() -> Real:
    body = nn.Sequential(
        *(nn.Linear(31, 45), nn.ReLU(), nn.Linear(45, 13), nn.Softmax(dim=1))
    )
    return Real(body, ((4, 31),))


class Attention(nn.Module):
    """Multi-head attention by hand."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any) -> Any:
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * self.scale
        x = scores.softmax(dim=-1) @ v
        return self.proj(x.transpose(1, 2).reshape(b, n, c))


class Layer(nn.Module):
    """A layer of a transformer, norms first."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Any) -> Any:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Vit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 36, 8, 8)
        self.cls = nn.Parameter(torch.randn(1, 1, 36))
        self.pos = nn.Parameter(torch.randn(1, 13, 36) * 0.1)
        self.layers = nn.Sequential(Layer(36, 3), Layer(36, 3))
        self.norm, self.head = nn.LayerNorm(36), nn.Linear(36, 10)

    def forward(self, x: Any) -> Any:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.shape[0], -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.layers(x))[:, 0])


class Bert(nn.Module):
    """Token, position, an encoder of PyTorch's own, a pooled answer."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(97, 24), nn.Embedding(11, 24)
        self.norm = nn.LayerNorm(24)
        self.encoder = nn.TransformerEncoderLayer(
            24, 2, 40, 0.0, "gelu", batch_first=True
        )
        self.pool, self.answer = nn.Linear(24, 24), nn.Linear(24, 3)

    def forward(self, ids: Any) -> Any:
        places = torch.arange(ids.shape[1])
        x = self.norm(self.token(ids) + self.place(places))
        return self.answer(torch.tanh(self.pool(self.encoder(x)[:, 0])))


class Gpt(nn.Module):
    """Causal attention by the fused operator, tied weights."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Embedding(61, 32)
        self.norm, self.last = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)
        self.head = nn.Linear(32, 61, bias=False)

    def forward(self, ids: Any) -> Any:
        x = self.token(ids)
        b, n, c = x.shape
        q, k, v = self.qkv(self.norm(x)).split(c, dim=2)
        q, k, v = (t.view(b, n, 4, 8).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(b, n, c))
        return self.head(self.last(x))


def mixer() -> Real:
    layers = {
        "patch": nn.Conv2d(3, 20, 6, 6),
        "norm": nn.LayerNorm(20),
        "tokens": nn.Sequential(nn.Linear(16, 24), nn.GELU(), nn.Linear(24, 16)),
        "channels": nn.Sequential(nn.Linear(20, 41), nn.SiLU(), nn.Linear(41, 20)),
        "head": nn.Linear(20, 7),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.patch(x).flatten(2).transpose(1, 2)
        x = x + net.tokens(net.norm(x).transpose(1, 2)).transpose(1, 2)
        x = x + net.channels(x)
        return net.head(x.mean(dim=1))

    return Real(Net(forward, layers), ((1, 3, 24, 24),))


def convnext() -> Real:
    layers = {
        "stem": nn.Conv2d(3, 16, 4, 4),
        "depthwise": nn.Conv2d(16, 16, 7, padding=3, groups=16),
        "norm": nn.LayerNorm(16, eps=1e-6),
        "wide": nn.Linear(16, 50),
        "act": nn.GELU(approximate="tanh"),
        "narrow": nn.Linear(50, 16),
        "head": nn.Linear(16, 9),
    }

    def forward(net: Any, x: Any) -> Any:
        x = net.stem(x)
        y = net.depthwise(x).permute(0, 2, 3, 1)
        y = net.narrow(net.act(net.wide(net.norm(y)))).permute(0, 3, 1, 2)
        return net.head((x + y).mean([-2, -1]))

    return Real(Net(forward, layers), ((2, 3, 28, 28),))


def embedded() -> Real:
    """Bags of words: an average of embeddings."""
    layers = {
        "table": nn.Embedding(83, 27),
        "hidden": nn.Linear(27, 35),
        "out": nn.Linear(35, 4),
    }

    def forward(net: Any, x: Any) -> Any:
        return net.out(torch.relu(net.hidden(net.table(x).mean(1))))

    return Real(Net(forward, layers), ((3, 9),), tokens=83)


def sound() -> Real:
    """One-dimensional, causal by padding on the left, gated."""
    layers = {
        "first": nn.Conv1d(5, 16, 3),
        "second": nn.Conv1d(16, 24, 3, dilation=2, groups=2),
        "norm": nn.BatchNorm1d(12),
        "out": nn.Conv1d(12, 6, 1),
    }

    def forward(net: Any, x: Any) -> Any:
        x = F.relu(net.first(F.pad(x, (2, 0))))
        x = F.glu(net.second(F.pad(x, (4, 0))), dim=1)
        return net.out(net.norm(x)).mean(-1)

    return Real(Net(forward, layers), ((2, 5, 40),))


def recurrent(kind: Any) -> Real:
    layers = {"rnn": kind(14, 23, batch_first=True), "out": nn.Linear(23, 6)}

    def forward(net: Any, x: Any) -> Any:
        steps, _ = net.rnn(x)
        return net.out(steps[:, -1])

    return Real(Net(forward, layers), ((2, 7, 14),))


def captioned() -> Real:
    """An encoder of images whose features an LSTM reads, column by column."""
    layers = {
        "conv": nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU()),
        "rnn": nn.GRU(60, 17, bidirectional=True, batch_first=True),
        "out": nn.Linear(34, 11),
    }

    def forward(net: Any, x: Any) -> Any:
        x = F.max_pool2d(net.conv(x), 2)
        b, c, h, w = x.shape
        x = x.permute(0, 3, 1, 2).reshape(b, w, c * h)
        return net.out(net.rnn(x)[0]).log_softmax(-1)

    return Real(Net(forward, layers), ((1, 1, 10, 24),))


def contracted() -> Real:
    """Bilinear pooling by einsum."""
    layers = {
        "a": nn.Conv2d(3, 7, 3, stride=2),
        "b": nn.Conv2d(3, 5, 3, stride=2),
        "out": nn.Linear(35, 6),
    }

    def forward(net: Any, x: Any) -> Any:
        a, b = net.a(x).flatten(2), net.b(x).flatten(2)
        return net.out(torch.einsum("bin,bjn->bij", a, b).reshape(x.shape[0], -1))

    return Real(Net(forward, layers), ((2, 3, 12, 13),))


def masked() -> Real:
    """Padding tokens, masked out of the attention and of the mean."""
    layers = {
        "table": nn.Embedding(40, 20, padding_idx=0),
        "score": nn.Linear(20, 1),
        "out": nn.Linear(20, 5),
    }

    def forward(net: Any, ids: Any) -> Any:
        x, keep = net.table(ids), ids != 0
        scores = net.score(x).squeeze(-1).masked_fill(~keep, -1e4)
        return net.out((x * scores.softmax(-1).unsqueeze(-1)).sum(1))

    return Real(Net(forward, layers), ((2, 8),), tokens=40)


def autoencoder() -> Real:
    """The anomaly detector of MLPerf Tiny."""
    widths, layers = (64, 37, 37, 8, 37, 37), []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU()]
    return Real(nn.Sequential(*layers, nn.Linear(37, 64)), ((5, 64),))
