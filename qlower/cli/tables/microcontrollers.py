"""Models on a Cortex-M4, next to what is recorded of CMSIS-NN and published of others.

CMSIS-NN (commit 99f736a6, arm-none-eabi-gcc 12.2.1, the better of -O2 and -O3) was
called as TensorFlow Lite for Microcontrollers does, and counted under QEMU by the same
model of cycles; its RAM is that of TFLM's plan of tensors, with its scratch, without
TFLM's own structures. Published cycles are MHz by inferences a second on
NUCLEO-L4R5ZI at 120 MHz, of MLPerf Tiny's closed division: microTVM with CMSIS-NN
(v1.0), and the fastest (ST Edge AI, v1.2 and v1.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qlower.bench.emulated import KernelCount
from qlower.packages.memory import Memory
from qlower.tables.table import Column, Table


@dataclass(frozen=True)
class Peers:
    """Figures of others for a model: CMSIS-NN's instructions, modelled cycles, bytes of
    flash and of arena; published millions of cycles, where there are any."""

    instructions: int
    cycles: int
    flash: int
    arena: int
    measured: float | None = None
    best: float | None = None


PEERS: Mapping[str, Peers] = {
    "3c002613d1b2475e": Peers(29_873_456, 36_678_183, 106_624, 49_728, 46.7, 19.8),
    "aeea436800704fce": Peers(7_697_654, 9_302_947, 56_982, 16_000, 12.0, 5.2),
    "597a384c8c2c8a12": Peers(24_107_628, 29_510_965, 272_928, 64_512, 36.1, 10.7),
    "87cf24194ef93d1d": Peers(580_504, 737_219, 282_000, 768, 1.03, 0.58),
    "dfd1a2bec6f17029": Peers(48_363_688, 59_656_797, 532_176, 161_472),
    "d9189be2e376eba8": Peers(22_924_331, 27_852_547, 264_944, 55_296),
    "d3620e52e3f1e069": Peers(18_129_391, 23_780_809, 51_128, 39_040),
    "09e5e2a9dfb2d8ed": Peers(1_494_047, 2_043_527, 35_224, 5_968),
    "505ee4fae7fa46ab": Peers(2_716, 3_789, 9_615, 32),
}
"""By the first 16 digits of the SHA-256 of the model's file: MLPerf Tiny's ResNet8,
DS-CNN, MobileNetV1 and autoencoder, MCUNet's visual wake words, person_detect,
micro_kws_m, micro_speech and hello_world."""


@dataclass(frozen=True)
class ModelCount:
    """A model's totals; `sha256` is that of its file."""

    name: str
    sha256: str
    kernels: Sequence[KernelCount]
    memory: Memory

    @property
    def instructions(self) -> int:
        """Instructions of an inference."""
        return sum(kernel.instructions for kernel in self.kernels)

    @property
    def products(self) -> int:
        """Products that are computed."""
        return sum(kernel.products for kernel in self.kernels)

    @property
    def cycles(self) -> int | None:
        """Modelled cycles, where there is a model."""
        cycles = [kernel.cycles for kernel in self.kernels]
        return sum(one or 0 for one in cycles) if None not in cycles else None

    @property
    def flash(self) -> int:
        """Bytes of code and constants."""
        return (self.memory.code or 0) + (self.memory.constants or 0)

    @property
    def ram(self) -> int:
        """Bytes of arena, inputs, outputs and state."""
        memory = self.memory
        return memory.arena + memory.inputs + memory.outputs + memory.state

    @property
    def peers(self) -> Peers | None:
        """The published figures of other systems for the same file."""
        return PEERS.get(self.sha256[:16])


def model_table(models: Sequence[ModelCount], *, cpu: str) -> Table[ModelCount]:
    """A line a model; on a Cortex-M4 with the figures of others for the same file."""
    columns: list[Column[ModelCount]] = [
        Column("model", "model", lambda m: m.name, least=12),
        Column("MAC", "products", lambda m: m.products),
        Column("instructions", "instructions", lambda m: m.instructions),
        Column("cycles", "cycles", lambda m: m.cycles),
        Column("flash", "flash", lambda m: m.flash),
        Column("RAM", "ram", lambda m: m.ram),
        Column("stack", "stack", lambda m: m.memory.stack.bytes),
    ]
    notes = ["RAM is that of arena, inputs and outputs."]
    if cpu == "cortex-m4" and any(model.peers for model in models):
        columns += [
            _of_peers("CMSIS-NN: instructions", "instructions"),
            _of_peers("cycles", "cycles"),
            _of_peers("flash", "flash"),
            _of_peers("RAM", "arena"),
            _of_peers("on a board, M cycles: CMSIS-NN", "measured"),
            _of_peers("the best", "best"),
        ]
        notes += [
            "CMSIS-NN's columns were recorded (99f736a6, gcc 12.2.1) by the same model "
            "of cycles, which gives 0.71 to 0.82 of the published times of its code.",
            "On a board: MLPerf Tiny's closed division, NUCLEO-L4R5ZI at 120 MHz.",
        ]
    return Table("models", models, columns, notes=notes)


def _of_peers(title: str, name: str) -> Column[ModelCount]:
    def value(model: ModelCount) -> int | float | None:
        return None if model.peers is None else getattr(model.peers, name)

    return Column(title, f"peers_{name}", value)
