"""Networks of PyTorch by name, as people write them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from support.systems import torch_images as images
from support.systems import torch_sequences as sequences
from support.systems.torch_blocks import Real, nn, torch

NETWORKS: Mapping[str, Callable[[], Real]] = {
    "dscnn": images.dscnn,
    "resnet": images.resnet,
    "excited": images.excited,
    "inception": images.inception,
    "shuffle": images.shuffle,
    "unet nearest": lambda: images.unet(nn.Upsample(scale_factor=2)),
    "unet bilinear": lambda: images.unet(nn.Upsample(scale_factor=2, mode="bilinear")),
    "unet transposed": lambda: images.unet(nn.ConvTranspose2d(21, 21, 2, 2)),
    "pyramid": images.pyramid,
    "grouped": images.grouped,
    **{
        type(layer).__name__: lambda layer=layer: images.activated(layer)
        for layer in (
            *(nn.ELU(), nn.CELU(0.7), nn.SELU(), nn.Hardtanh(), nn.LeakyReLU(0.2)),
            *(nn.Sigmoid(), nn.Tanh(), nn.Hardsigmoid(), nn.ReLU6(), nn.SiLU()),
            *(nn.GELU(), nn.PReLU(19), nn.Mish(), nn.Softsign(), nn.Softplus()),
            *(nn.GroupNorm(19, 19), nn.InstanceNorm2d(19, affine=True)),
            nn.LayerNorm([19, 15, 17]),
        )
    },
    "attention pool": sequences.attention_pool,
    "softmax": sequences.classifier_softmax,
    "vit": lambda: Real(sequences.Vit(), ((1, 3, 24, 32),)),
    "bert": lambda: Real(sequences.Bert(), ((2, 11),), tokens=97),
    "gpt": lambda: Real(sequences.Gpt(), ((1, 10),), tokens=61),
    "mixer": sequences.mixer,
    "convnext": sequences.convnext,
    "yolo": images.yolo,
    "embedded": sequences.embedded,
    "volume": images.volume,
    "sound": sequences.sound,
    "lstm": lambda: sequences.recurrent(nn.LSTM),
    "gru": lambda: sequences.recurrent(nn.GRU),
    "captioned": sequences.captioned,
    "siamese": images.siamese,
    "padded": images.padded,
    "super resolution": images.super_resolution,
    "generator": images.generator,
    "contracted": sequences.contracted,
    "masked": sequences.masked,
    "autoencoder": sequences.autoencoder,
}


def network(name: str) -> Real:
    """The network of a name, whose weights depend on nothing else."""
    torch.manual_seed(0)
    made = NETWORKS[name]()
    made.module.eval()
    return made
