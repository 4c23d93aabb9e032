"""A team of threads for one call, through the OpenMP runtime's binary interface.

The threads are the runtime's, and it starts them once a call: `GOMP_parallel` with one
function, in which the first thread runs the model and the others help it. Where the
first comes to a nest that is cut into blocks it raises the number of blocks that may be
taken; all threads take them one by one, and the first goes on when all are done. So it
never waits for a thread that has not begun a block: one that sleeps, or whose core is
busy with something else.

GCC's libgomp, LLVM's libomp and Intel's libiomp5 all have these symbols of GCC's
interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qlower.codegen.blocks import Blocks
from qlower.codegen.llvm import I64, Function, Module, Value, constant

OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num")
"""What code for several threads calls of the runtime."""

LEAST_NANOSECONDS = 200_000.0
"""Estimated work of all cut nests of a call below which nobody is called to help: the
call can't end before all helpers have come and gone, and one that sleeps needs some 30
microseconds to wake up, or 100 where its core is busy."""

_SPINS = 10_000
"""How often to look in vain before going to sleep: some 20 microseconds. Who spins for
longer uses up its share of a busy core and is not given one when there is work."""

# the frame that all threads see; what several write has a cache line of its own
_TAKEN, _LIMIT, _DONE, _SLEEPERS, _LEAD_SLEEPS = range(0, 320, 64)
_HELPERS_SEMAPHORE, _LEAD_SEMAPHORE, _ARGUMENTS, _POINTERS = range(320, 576, 64)
_COUNTERS = (_TAKEN, _LIMIT, _DONE, _SLEEPERS, _LEAD_SLEEPS)
_FINISHED = -1


@dataclass
class Team:
    """The cut nests of a function `serial`, which `entry` calls in `threads` threads.

    `serial` takes the entry's three pointers and the frame. `runners` has a function
    for each block, in the order in which blocks are taken.
    """

    entry: str
    serial: str
    threads: int
    runners: list[str] = field(default_factory=list[str])
    nanoseconds: float = 0.0
    _pointers: int = 0

    def share(
        self,
        f: Function,
        name: str,
        blocks: Blocks,
        pointers: Sequence[Value],
        nanoseconds: float,
    ) -> None:
        """Run the blocks of a nest, in `serial`.

        Their functions take `pointers` and the block's first iteration.
        """
        frame = f.arguments[-1]
        first = _POINTERS + 8 * self._pointers
        for index, pointer in enumerate(pointers):
            f.store(pointer, f.at(frame, constant(I64, first + 8 * index)), 8)
        base = len(self.runners)
        f.module.functions += _runner(name, blocks, base, first, len(pointers))
        self.runners += [f"{name}_block"] * blocks.count
        self._pointers += len(pointers)
        self.nanoseconds += nanoseconds
        f.call_function("team_share", (frame, constant(I64, len(self.runners))))

    @property
    def is_worthwhile(self) -> bool:
        """Whether there is enough to do for more than one thread."""
        return bool(self.runners) and self.nanoseconds >= LEAST_NANOSECONDS

    def finish(self, module: Module) -> None:
        """Define `entry`, and what its threads do. `serial` has been written."""
        arguments = ("%inputs", "%outputs", "%arena")
        parameters = ", ".join(f"ptr noalias nonnull {a}" for a in arguments)
        size = _POINTERS + 8 * self._pointers
        body = [f"  %frame = alloca [{size} x i8], align 64"]
        for at in _COUNTERS:
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
            *self._lead(),
            _THREAD,
            _TAKE,
            _LET,
            _SHARE,
        ]
        table = ", ".join(f"ptr @{name}" for name in self.runners)
        count = len(self.runners)
        module.globals.append(
            f"@team_runners = internal constant [{count} x ptr] [{table}]"
        )
        module.declarations |= _DECLARATIONS

    def _lead(self) -> list[str]:
        """The first thread: the model, then the end of the others' work."""
        loads: list[str] = []
        for index in range(3):
            loads += [
                *_field(f"a{index}", _ARGUMENTS + 8 * index),
                f"  %p{index} = load ptr, ptr %a{index}, align 8",
            ]
        return [
            "define internal void @team_lead(ptr %frame) nounwind #0 {",
            *loads,
            f"  %r = call i32 @{self.serial}(ptr %p0, ptr %p1, ptr %p2, ptr %frame)",
            f"  call void @team_let(ptr %frame, i64 {_FINISHED})",
            "  ret void",
            "}",
        ]


def _field(name: str, at: int) -> list[str]:
    return [f"  %{name} = getelementptr i8, ptr %frame, i64 {at}"]


def _runner(name: str, blocks: Blocks, base: int, first: int, count: int) -> list[str]:
    """Runs one block of a nest; blocks are counted through all nests, from `base`."""
    loads: list[str] = []
    for index in range(count):
        loads += [
            *_field(f"a{index}", first + 8 * index),
            f"  %p{index} = load ptr, ptr %a{index}, align 8",
        ]
    regular, *other = blocks.functions(name)
    last = other[0] if other else regular
    pointers = ", ".join(f"ptr %p{index}" for index in range(count))
    return [
        f"define internal void @{name}_block(ptr %frame, i64 %number) nounwind #0 {{",
        *loads,
        f"  %block = sub i64 %number, {base}",
        f"  %start = mul i64 %block, {blocks.size}",
        f"  %is_last = icmp eq i64 %block, {blocks.count - 1}",
        f"  %code = select i1 %is_last, ptr @{last}, ptr @{regular}",
        f"  call void %code({pointers}, i64 %start)",
        "  ret void",
        "}",
    ]


_DECLARATIONS = {
    "GOMP_parallel": "declare void @GOMP_parallel(ptr, ptr, i32, i32)",
    "omp_get_thread_num": "declare i32 @omp_get_thread_num()",
    "sem_init": "declare i32 @sem_init(ptr, i32, i32)",
    "sem_post": "declare i32 @sem_post(ptr)",
    "sem_wait": "declare i32 @sem_wait(ptr)",
}

# A thread that goes to sleep says so, then looks again; one that changes what it waits
# for looks afterwards who sleeps. All four are sequentially consistent, so at least one
# sees the other. A token too many wakes someone who looks and sleeps again.

_THREAD = f"""\
define internal void @team_thread(ptr %frame) nounwind #0 {{
entry:
  %thread = call i32 @omp_get_thread_num()
  %is_first = icmp eq i32 %thread, 0
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
                  [ 0, %tired ], [ 0, %sleep ]
  %limit = load atomic i64, ptr %at acquire, align 8
  %is_over = icmp eq i64 %limit, {_FINISHED}
  br i1 %is_over, label %over, label %take
take:
  %took = call i1 @team_take(ptr %frame, i64 %limit)
  br i1 %took, label %look, label %wait
wait:
  %more_idle = add i64 %idle, 1
  %is_long = icmp ugt i64 %idle, {_SPINS}
  br i1 %is_long, label %tired, label %look
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

_TAKE = f"""\
define internal i1 @team_take(ptr %frame, i64 %limit) nounwind #0 {{
entry:
  %number = load atomic i64, ptr %frame monotonic, align 8
  %is_left = icmp slt i64 %number, %limit
  br i1 %is_left, label %claim, label %none
claim:
  %after = add i64 %number, 1
  %claimed = cmpxchg ptr %frame, i64 %number, i64 %after acq_rel monotonic
  %won = extractvalue {{ i64, i1 }} %claimed, 1
  br i1 %won, label %run, label %done
run:
  %at = getelementptr ptr, ptr @team_runners, i64 %number
  %runner = load ptr, ptr %at, align 8
  call void %runner(ptr %frame, i64 %number)
  %count = getelementptr i8, ptr %frame, i64 {_DONE}
  %before = atomicrmw add ptr %count, i64 1 seq_cst
  %lead_sleeps = getelementptr i8, ptr %frame, i64 {_LEAD_SLEEPS}
  %sleeps = load atomic i64, ptr %lead_sleeps seq_cst, align 8
  %is_asleep = icmp ne i64 %sleeps, 0
  br i1 %is_asleep, label %wake, label %done
wake:
  store atomic i64 0, ptr %lead_sleeps seq_cst, align 8
  %bed = getelementptr i8, ptr %frame, i64 {_LEAD_SEMAPHORE}
  call i32 @sem_post(ptr %bed)
  br label %done
done:
  ret i1 true
none:
  ret i1 false
}}"""

_LET = f"""\
define internal void @team_let(ptr %frame, i64 %limit) nounwind #0 {{
entry:
  %at = getelementptr i8, ptr %frame, i64 {_LIMIT}
  store atomic i64 %limit, ptr %at seq_cst, align 8
  %sleepers = getelementptr i8, ptr %frame, i64 {_SLEEPERS}
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

_SHARE = f"""\
define internal void @team_share(ptr %frame, i64 %limit) nounwind #0 {{
entry:
  call void @team_let(ptr %frame, i64 %limit)
  br label %work
work:
  %took = call i1 @team_take(ptr %frame, i64 %limit)
  br i1 %took, label %work, label %end
end:
  %count = getelementptr i8, ptr %frame, i64 {_DONE}
  %lead_sleeps = getelementptr i8, ptr %frame, i64 {_LEAD_SLEEPS}
  %bed = getelementptr i8, ptr %frame, i64 {_LEAD_SEMAPHORE}
  br label %look
look:
  %idle = phi i64 [ 0, %end ], [ %more_idle, %wait ], [ 0, %sleep ]
  %done = load atomic i64, ptr %count acquire, align 8
  %is_done = icmp eq i64 %done, %limit
  br i1 %is_done, label %over, label %wait
wait:
  %more_idle = add i64 %idle, 1
  %is_long = icmp ugt i64 %idle, {_SPINS}
  br i1 %is_long, label %tired, label %look
tired:
  store atomic i64 1, ptr %lead_sleeps seq_cst, align 8
  %again = load atomic i64, ptr %count seq_cst, align 8
  %is_late = icmp eq i64 %again, %limit
  br i1 %is_late, label %over, label %sleep
sleep:
  call i32 @sem_wait(ptr %bed)
  br label %look
over:
  ret void
}}"""
