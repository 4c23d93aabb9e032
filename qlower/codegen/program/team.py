"""A team of threads for one call, through the OpenMP runtime's binary interface.

The threads are the runtime's, and it starts them once a call: `GOMP_parallel` with one
function, in which the first thread runs the model and the others help it. Where the
first comes to a nest that is cut into blocks it says so; each thread then runs blocks
of its own, always the same part of a nest, for these read what it wrote before and
what its cache holds. It costs up to a microsecond until another core sees what one has
written, so nothing that several threads write is touched on the way.

Who has no blocks left and waits for a while takes those of others. So the first thread
never waits for one that has not begun a block: one that sleeps, or whose core is busy
with something else.

GCC's libgomp, LLVM's libomp and Intel's libiomp5 all have these symbols of GCC's
interface.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from qlower.codegen.llvm.text import I64, Function, Module, constant
from qlower.codegen.nests.blocks import Blocks

OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num")
"""What code for several threads calls of the runtime."""

LEAST_SAVED_NANOSECONDS = 15_000.0
"""What helpers have to save of a call, by estimate, or they aren't called: it begins
and ends with all of them, which takes some microseconds while they are awake, and 30 to
100 if they sleep."""

_SHARING_NANOSECONDS = 1_000.0
"""Until others have seen that there is a nest, and the first thread that it is done."""

_PATIENCE = 1_000
"""How often to look in vain before taking blocks of others: some 2 microseconds."""

_SPINS = 10_000
"""How often to look in vain before going to sleep: some 20 microseconds. Who spins for
longer uses up its share of a busy core and is not given one when there is work."""

_LINE = 128
"""Bytes: cores fetch cache lines in pairs."""

# the frame that all threads see, what one writes and others read has lines of its own;
# behind it each thread's number of blocks that were taken of its own, then each one's
# number of blocks that it has run
_LIMIT, _SLEEPERS, _LEAD_SLEEPS = range(0, 3 * _LINE, _LINE)
_HELPERS_SEMAPHORE, _LEAD_SEMAPHORE, _ARGUMENTS, _TAKEN = range(
    3 * _LINE, 7 * _LINE, _LINE
)
_FINISHED = -1


def is_worthwhile(nanoseconds: Iterable[float], threads: int) -> bool:
    """Whether kernels that are cut, of so much work each, are enough for a team."""
    saved = [n * (1 - 1 / threads) - _SHARING_NANOSECONDS for n in nanoseconds]
    return bool(saved) and sum(saved) >= LEAST_SAVED_NANOSECONDS


INPUTS, OUTPUTS, ARENA = range(3)
"""The entry's arguments: arrays of pointers, and memory for all between them."""


@dataclass(frozen=True)
class Place:
    """Where the entry's arguments say that a buffer is: in the arena, or where their
    array of pointers says. `offset` is the buffer's in bytes, or its pointer's."""

    argument: int
    offset: int


@dataclass
class Team:
    """The cut nests of a function `serial`, which `entry` calls in `threads` threads.

    `serial` takes the entry's three pointers and the frame. `runners` has a function
    for each block that a thread owns, in the order in which it takes them.
    """

    entry: str
    serial: str
    threads: int
    runners: list[str] = field(default_factory=list[str])

    def share(
        self,
        f: Function,
        name: str,
        blocks: Blocks,
        functions: Sequence[str],
        places: Sequence[Place],
    ) -> None:
        """Run the blocks of a nest, in `serial`.

        Each has a function, of pointers to `places` and the block's first iteration.
        """
        base = len(self.runners)
        table = ", ".join(f"ptr @{function}" for function in functions)
        f.module.globals.append(
            f"@{name}_blocks = internal constant [{blocks.count} x ptr] [{table}]"
        )
        f.module.functions += _runner(name, blocks, base, places)
        self.runners += [f"{name}_block"] * blocks.per_thread
        limit = constant(I64, len(self.runners))
        f.call_function("team_share", (f.arguments[-1], limit))

    def finish(self, module: Module) -> None:
        """Define `entry`, and what its threads do. `serial` has been written."""
        arguments = ("%inputs", "%outputs", "%arena")
        parameters = ", ".join(f"ptr noalias nonnull {a}" for a in arguments)
        done = _TAKEN + self.threads * _LINE
        size = done + self.threads * _LINE
        counters = [_LIMIT, _SLEEPERS, _LEAD_SLEEPS, *range(_TAKEN, size, _LINE)]
        body = [f"  %frame = alloca [{size} x i8], align {_LINE}"]
        for at in counters:
            body += [*_field(f"c{at}", at), f"  store i64 0, ptr %c{at}, align 8"]
        for at in (_HELPERS_SEMAPHORE, _LEAD_SEMAPHORE):
            body += [
                *_field(f"s{at}", at),
                f"  call i32 @sem_init(ptr %s{at}, i32 0, i32 0)",
            ]
        for index, argument in enumerate(arguments):
            at = _ARGUMENTS + 8 * index
            body += [
                *_field(f"a{index}", at),
                f"  store ptr {argument}, ptr %a{index}, align 8",
            ]
        module.functions += [
            f"define i32 @{self.entry}({parameters}) nounwind #0 {{",
            *body,
            "  call void @GOMP_parallel(ptr @team_thread, ptr %frame, "
            f"i32 {self.threads}, i32 0)",
            "  ret i32 0",
            "}",
            _lead(self.serial),
            *_all_done(self.threads, done),
            _THREAD,
            _take(done),
            _steal(self.threads),
            _LET,
            _share(len(self.runners)),
        ]
        table = ", ".join(f"ptr @{name}" for name in self.runners)
        count = len(self.runners)
        module.globals.append(
            f"@team_runners = internal constant [{count} x ptr] [{table}]"
        )
        module.declarations |= _DECLARATIONS


def _field(name: str, at: int) -> list[str]:
    return [f"  %{name} = getelementptr i8, ptr %frame, i64 {at}"]


def _runner(name: str, blocks: Blocks, base: int, places: Sequence[Place]) -> list[str]:
    """Runs one block of a nest: the one that thread `owner` has when it takes its
    `number`-th of all nests; the nest's first has number `base`."""
    loads: list[str] = []
    for index, place in enumerate(places):
        loads += [
            *_field(f"f{index}", _ARGUMENTS + 8 * place.argument),
            f"  %a{index} = load ptr, ptr %f{index}, align 8",
            f"  %b{index} = getelementptr i8, ptr %a{index}, i64 {place.offset}",
        ]
        if place.argument != ARENA:
            loads.append(f"  %p{index} = load ptr, ptr %b{index}, align 8")
    pointers = ", ".join(
        f"ptr %{'p' if place.argument != ARENA else 'b'}{index}"
        for index, place in enumerate(places)
    )
    return [
        f"define internal void @{name}_block(ptr %frame, i64 %number, i64 %owner) "
        "nounwind #0 {",
        f"  %turn = sub i64 %number, {base}",
        f"  %before = mul i64 %owner, {blocks.per_thread}",
        "  %block = add i64 %before, %turn",
        f"  %is_block = icmp ult i64 %block, {blocks.count}",
        "  br i1 %is_block, label %run, label %none",
        "run:",
        *loads,
        f"  %start = mul i64 %block, {blocks.size}",
        f"  %at = getelementptr ptr, ptr @{name}_blocks, i64 %block",
        "  %code = load ptr, ptr %at, align 8",
        f"  call void %code({pointers}, i64 %start)",
        "  ret void",
        "none:",
        "  ret void",
        "}",
    ]


def _lead(serial: str) -> str:
    """What the first thread does: the model."""
    lines = ["define internal void @team_lead(ptr %frame) nounwind #0 {"]
    for index in (INPUTS, OUTPUTS, ARENA):
        lines += [
            *_field(f"a{index}", _ARGUMENTS + 8 * index),
            f"  %p{index} = load ptr, ptr %a{index}, align 8",
        ]
    call = f"  %r = call i32 @{serial}(ptr %p0, ptr %p1, ptr %p2, ptr %frame)"
    return "\n".join([*lines, call, "  ret void", "}"])


_DECLARATIONS = {
    "GOMP_parallel": "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
    "omp_get_thread_num": "declare i32 @omp_get_thread_num()",
    "sem_init": "declare i32 @sem_init(ptr, i32, i32)",
    "sem_post": "declare i32 @sem_post(ptr)",
    "sem_wait": "declare i32 @sem_wait(ptr)",
}

# A thread that goes to sleep says so, then looks again; one that changes what it waits
# for looks afterwards who sleeps. All four are sequentially consistent, so at least one
# sees the other. A token too many wakes someone who looks and sleeps again. Only that
# there is a new nest is said in passing, and may be missed: others do the work then.

_THREAD = f"""\
define internal void @team_thread(ptr %frame) nounwind #0 {{
entry:
  %number = call i32 @omp_get_thread_num()
  %thread = zext i32 %number to i64
  %is_first = icmp eq i64 %thread, 0
  br i1 %is_first, label %lead, label %help
lead:
  call void @team_lead(ptr %frame)
  ret void
help:
  %at = getelementptr i8, ptr %frame, i64 {_LIMIT}
  %sleepers = getelementptr i8, ptr %frame, i64 {_SLEEPERS}
  %bed = getelementptr i8, ptr %frame, i64 {_HELPERS_SEMAPHORE}
  br label %look
look:
  %idle = phi i64 [ 0, %help ], [ 0, %take ], [ %more_idle, %wait ],
                  [ %more_idle, %steal ], [ 0, %tired ], [ 0, %sleep ]
  %limit = load atomic i64, ptr %at acquire, align 8
  %is_over = icmp eq i64 %limit, {_FINISHED}
  br i1 %is_over, label %over, label %take
take:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 %thread, i64 %thread)
  br i1 %took, label %look, label %wait
wait:
  %more_idle = add i64 %idle, 1
  switch i64 %idle, label %look [ i64 {_PATIENCE}, label %steal
                                  i64 {_SPINS}, label %tired ]
steal:
  call void @team_steal(ptr %frame, i64 %limit, i64 %thread)
  br label %look
tired:
  %others = atomicrmw add ptr %sleepers, i64 1 seq_cst
  %again = load atomic i64, ptr %at seq_cst, align 8
  %is_same = icmp eq i64 %again, %limit
  br i1 %is_same, label %sleep, label %look
sleep:
  call i32 @sem_wait(ptr %bed)
  br label %look
over:
  ret void
}}"""


def _take(done: int) -> str:
    """Run a block of another thread or one's own, if one is left."""
    return f"""\
define internal i1 @team_take(ptr %frame, i64 %limit, i64 %owner, i64 %thread)
    nounwind #0 {{
entry:
  %owners_line = mul i64 %owner, {_LINE}
  %owners = getelementptr i8, ptr %frame, i64 %owners_line
  %taken = getelementptr i8, ptr %owners, i64 {_TAKEN}
  %number = load atomic i64, ptr %taken monotonic, align 8
  %is_left = icmp slt i64 %number, %limit
  br i1 %is_left, label %claim, label %none
claim:
  %after = add i64 %number, 1
  %claimed = cmpxchg ptr %taken, i64 %number, i64 %after acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %claimed, 1
  br i1 %won, label %run, label %end
run:
  %at = getelementptr ptr, ptr @team_runners, i64 %number
  %runner = load ptr, ptr %at, align 8
  call void %runner(ptr %frame, i64 %number, i64 %owner)
  %line = mul i64 %thread, {_LINE}
  %mine = getelementptr i8, ptr %frame, i64 %line
  %count = getelementptr i8, ptr %mine, i64 {done}
  %before = load atomic i64, ptr %count monotonic, align 8
  %more = add i64 %before, 1
  %is_first = icmp eq i64 %thread, 0
  br i1 %is_first, label %known, label %tell
known:
  store atomic i64 %more, ptr %count monotonic, align 8
  br label %end
tell:
  store atomic i64 %more, ptr %count seq_cst, align 8
  %lead_sleeps = getelementptr i8, ptr %frame, i64 {_LEAD_SLEEPS}
  %sleeps = load atomic i64, ptr %lead_sleeps seq_cst, align 8
  %is_asleep = icmp ne i64 %sleeps, 0
  br i1 %is_asleep, label %wake, label %end
wake:
  store atomic i64 0, ptr %lead_sleeps seq_cst, align 8
  %bed = getelementptr i8, ptr %frame, i64 {_LEAD_SEMAPHORE}
  call i32 @sem_post(ptr %bed)
  br label %end
end:
  ret i1 true
none:
  ret i1 false
}}"""


def _steal(threads: int) -> str:
    """Run all that the others have not begun, the next thread's first."""
    return f"""\
define internal void @team_steal(ptr %frame, i64 %limit, i64 %thread) nounwind #0 {{
entry:
  br label %next
next:
  %distance = phi i64 [ 1, %entry ], [ %further, %after ]
  %sum = add i64 %thread, %distance
  %owner = urem i64 %sum, {threads}
  br label %take
take:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 %owner, i64 %thread)
  br i1 %took, label %take, label %after
after:
  %further = add i64 %distance, 1
  %is_another = icmp ult i64 %further, {threads}
  br i1 %is_another, label %next, label %over
over:
  ret void
}}"""


def _all_done(threads: int, done: int) -> list[str]:
    """Whether so many blocks of each thread have been run, by whomever."""
    body: list[str] = []
    total = "0"
    for thread in range(threads):
        body += [
            *_field(f"c{thread}", done + thread * _LINE),
            f"  %n{thread} = load atomic i64, ptr %c{thread} seq_cst, align 8",
            f"  %sum{thread} = add i64 {total}, %n{thread}",
        ]
        total = f"%sum{thread}"
    return [
        "define internal i1 @team_all_done(ptr %frame, i64 %limit) nounwind #0 {",
        *body,
        f"  %all = mul i64 %limit, {threads}",
        f"  %is_done = icmp eq i64 {total}, %all",
        "  ret i1 %is_done",
        "}",
    ]


_LET = f"""\
define internal void @team_let(ptr %frame, i64 %limit) nounwind #0 {{
entry:
  %at = getelementptr i8, ptr %frame, i64 {_LIMIT}
  %sleepers = getelementptr i8, ptr %frame, i64 {_SLEEPERS}
  %is_end = icmp eq i64 %limit, {_FINISHED}
  br i1 %is_end, label %firmly, label %quickly
firmly:
  store atomic i64 %limit, ptr %at seq_cst, align 8
  br label %look
quickly:
  store atomic i64 %limit, ptr %at release, align 8
  br label %look
look:
  %asleep = load atomic i64, ptr %sleepers seq_cst, align 8
  %any = icmp ne i64 %asleep, 0
  br i1 %any, label %wake, label %over
wake:
  %count = atomicrmw xchg ptr %sleepers, i64 0 seq_cst
  %bed = getelementptr i8, ptr %frame, i64 {_HELPERS_SEMAPHORE}
  br label %next
next:
  %left = phi i64 [ %count, %wake ], [ %fewer, %post ]
  %is_left = icmp ne i64 %left, 0
  br i1 %is_left, label %post, label %over
post:
  call i32 @sem_post(ptr %bed)
  %fewer = sub i64 %left, 1
  br label %next
over:
  ret void
}}"""


def _share(count: int) -> str:
    """Run a nest with the others, who are dismissed after the last of `count`."""
    return f"""\
define internal void @team_share(ptr %frame, i64 %limit) nounwind #0 {{
entry:
  call void @team_let(ptr %frame, i64 %limit)
  br label %work
work:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 0, i64 0)
  br i1 %took, label %work, label %rest
rest:
  %lead_sleeps = getelementptr i8, ptr %frame, i64 {_LEAD_SLEEPS}
  %bed = getelementptr i8, ptr %frame, i64 {_LEAD_SEMAPHORE}
  br label %look
look:
  %idle = phi i64 [ 0, %rest ], [ %more_idle, %wait ], [ %more_idle, %steal ],
                  [ 0, %sleep ]
  %is_done = call i1 @team_all_done(ptr %frame, i64 %limit)
  br i1 %is_done, label %over, label %wait
wait:
  %more_idle = add i64 %idle, 1
  switch i64 %idle, label %look [ i64 {_PATIENCE}, label %steal
                                  i64 {_SPINS}, label %tired ]
steal:
  call void @team_steal(ptr %frame, i64 %limit, i64 0)
  br label %look
tired:
  store atomic i64 1, ptr %lead_sleeps seq_cst, align 8
  %is_late = call i1 @team_all_done(ptr %frame, i64 %limit)
  br i1 %is_late, label %over, label %sleep
sleep:
  call i32 @sem_wait(ptr %bed)
  br label %look
over:
  %is_last = icmp eq i64 %limit, {count}
  br i1 %is_last, label %dismiss, label %end
dismiss:
  call void @team_let(ptr %frame, i64 {_FINISHED})
  br label %end
end:
  ret void
}}"""
