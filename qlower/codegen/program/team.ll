; What the threads of a call do; team.py says why. `$threads`, `$runners` (the functions
; in @team_runners), `$entry` and `$serial` are filled in; @team_thread, which each thread
; begins with, calls @team_work in the default float environment.
;
; A thread that goes to sleep says so, then looks again; one that changes what it waits
; for looks afterwards who sleeps. All four are sequentially consistent, so at least one
; sees the other. A token too many wakes someone who looks and sleeps again. Only that
; there is a new nest is said in passing, and may be missed: others do the work then.
;
; Who waits looks 1,000 times in vain, some 2 microseconds, before it takes blocks of
; others, and 10,000 times, some 20 microseconds, before it goes to sleep. Who spins for
; longer uses up its share of a busy core and is not given one when there is work.

; Cores fetch cache lines in pairs: what one thread writes and others read has 128 bytes.
%counter = type { i64, [120 x i8] }
%semaphore = type [128 x i8]
%arguments = type { ptr, ptr, ptr, [104 x i8] }

%frame = type {
  %counter,              ; 0: how many runners may be run so far, -1 when all is over
  %counter,              ; 1: how many helpers sleep
  %counter,              ; 2: 1 while the first thread sleeps
  %semaphore,            ; 3: where helpers sleep
  %semaphore,            ; 4: where the first thread sleeps
  %arguments,            ; 5: the entry's
  [$threads x %counter], ; 6: how many blocks were taken of each thread's own
  [$threads x %counter]  ; 7: how many blocks each thread has run
}

declare void @GOMP_parallel(ptr, ptr, i32, i32)
declare i32 @omp_get_thread_num()
declare i32 @sem_init(ptr, i32, i32)
declare i32 @sem_post(ptr)
declare i32 @sem_wait(ptr)

; The model's function: all of it in a team of threads.
define i32 @$entry(ptr noalias nonnull %inputs, ptr noalias nonnull %outputs, ptr noalias nonnull %arena) nounwind #0 {
entry:
  %frame = alloca %frame, align 128
  %limit = getelementptr %frame, ptr %frame, i64 0, i32 0
  store i64 0, ptr %limit, align 8
  %sleepers = getelementptr %frame, ptr %frame, i64 0, i32 1
  store i64 0, ptr %sleepers, align 8
  %lead_sleeps = getelementptr %frame, ptr %frame, i64 0, i32 2
  store i64 0, ptr %lead_sleeps, align 8
  br label %next
next:
  %thread = phi i64 [ 0, %entry ], [ %after, %next ]
  %taken = getelementptr %frame, ptr %frame, i64 0, i32 6, i64 %thread
  store i64 0, ptr %taken, align 8
  %done = getelementptr %frame, ptr %frame, i64 0, i32 7, i64 %thread
  store i64 0, ptr %done, align 8
  %after = add i64 %thread, 1
  %is_another = icmp ult i64 %after, $threads
  br i1 %is_another, label %next, label %begin
begin:
  %helpers = getelementptr %frame, ptr %frame, i64 0, i32 3
  call i32 @sem_init(ptr %helpers, i32 0, i32 0)
  %lead = getelementptr %frame, ptr %frame, i64 0, i32 4
  call i32 @sem_init(ptr %lead, i32 0, i32 0)
  %inputs_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 0
  store ptr %inputs, ptr %inputs_at, align 8
  %outputs_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 1
  store ptr %outputs, ptr %outputs_at, align 8
  %arena_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 2
  store ptr %arena, ptr %arena_at, align 8
  call void @GOMP_parallel(ptr @team_thread, ptr %frame, i32 $threads, i32 0)
  ret i32 0
}

; What the first thread does: the model.
define internal void @team_lead(ptr %frame) nounwind #0 {
  %inputs_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 0
  %inputs = load ptr, ptr %inputs_at, align 8
  %outputs_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 1
  %outputs = load ptr, ptr %outputs_at, align 8
  %arena_at = getelementptr %frame, ptr %frame, i64 0, i32 5, i32 2
  %arena = load ptr, ptr %arena_at, align 8
  %r = call i32 @$serial(ptr %inputs, ptr %outputs, ptr %arena, ptr %frame)
  ret void
}

; Whether so many blocks of each thread have been run, by whomever.
define internal i1 @team_all_done(ptr %frame, i64 %limit) nounwind #0 {
entry:
  br label %next
next:
  %thread = phi i64 [ 0, %entry ], [ %after, %next ]
  %sum = phi i64 [ 0, %entry ], [ %more, %next ]
  %at = getelementptr %frame, ptr %frame, i64 0, i32 7, i64 %thread
  %done = load atomic i64, ptr %at seq_cst, align 8
  %more = add i64 %sum, %done
  %after = add i64 %thread, 1
  %is_another = icmp ult i64 %after, $threads
  br i1 %is_another, label %next, label %end
end:
  %all = mul i64 %limit, $threads
  %is_done = icmp eq i64 %more, %all
  ret i1 %is_done
}

; What each thread does: the first leads, the others help until all is over.
define internal void @team_work(ptr %frame) nounwind #0 {
entry:
  %number = call i32 @omp_get_thread_num()
  %thread = zext i32 %number to i64
  %is_first = icmp eq i64 %thread, 0
  br i1 %is_first, label %lead, label %help
lead:
  call void @team_lead(ptr %frame)
  ret void
help:
  %at = getelementptr %frame, ptr %frame, i64 0, i32 0
  %sleepers = getelementptr %frame, ptr %frame, i64 0, i32 1
  %bed = getelementptr %frame, ptr %frame, i64 0, i32 3
  br label %look
look:
  %idle = phi i64 [ 0, %help ], [ 0, %take ], [ %more_idle, %wait ],
                  [ %more_idle, %steal ], [ 0, %tired ], [ 0, %sleep ]
  %limit = load atomic i64, ptr %at acquire, align 8
  %is_over = icmp eq i64 %limit, -1
  br i1 %is_over, label %over, label %take
take:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 %thread, i64 %thread)
  br i1 %took, label %look, label %wait
wait:
  %more_idle = add i64 %idle, 1
  switch i64 %idle, label %look [ i64 1000, label %steal
                                  i64 10000, label %tired ]
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
}

; Run a block of another thread or one's own, if one is left.
define internal i1 @team_take(ptr %frame, i64 %limit, i64 %owner, i64 %thread) nounwind #0 {
entry:
  %taken = getelementptr %frame, ptr %frame, i64 0, i32 6, i64 %owner
  %number = load atomic i64, ptr %taken monotonic, align 8
  %is_left = icmp slt i64 %number, %limit
  br i1 %is_left, label %claim, label %none
claim:
  %after = add i64 %number, 1
  %claimed = cmpxchg ptr %taken, i64 %number, i64 %after acq_rel monotonic
  %won = extractvalue { i64, i1 } %claimed, 1
  br i1 %won, label %run, label %end
run:
  %at = getelementptr ptr, ptr @team_runners, i64 %number
  %runner = load ptr, ptr %at, align 8
  call void %runner(ptr %frame, i64 %number, i64 %owner)
  %count = getelementptr %frame, ptr %frame, i64 0, i32 7, i64 %thread
  %before = load atomic i64, ptr %count monotonic, align 8
  %more = add i64 %before, 1
  %is_first = icmp eq i64 %thread, 0
  br i1 %is_first, label %known, label %tell
known:
  store atomic i64 %more, ptr %count monotonic, align 8
  br label %end
tell:
  store atomic i64 %more, ptr %count seq_cst, align 8
  %lead_sleeps = getelementptr %frame, ptr %frame, i64 0, i32 2
  %sleeps = load atomic i64, ptr %lead_sleeps seq_cst, align 8
  %is_asleep = icmp ne i64 %sleeps, 0
  br i1 %is_asleep, label %wake, label %end
wake:
  store atomic i64 0, ptr %lead_sleeps seq_cst, align 8
  %bed = getelementptr %frame, ptr %frame, i64 0, i32 4
  call i32 @sem_post(ptr %bed)
  br label %end
end:
  ret i1 true
none:
  ret i1 false
}

; Run all that the others have not begun, the next thread's first.
define internal void @team_steal(ptr %frame, i64 %limit, i64 %thread) nounwind #0 {
entry:
  br label %next
next:
  %distance = phi i64 [ 1, %entry ], [ %further, %after ]
  %sum = add i64 %thread, %distance
  %owner = urem i64 %sum, $threads
  br label %take
take:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 %owner, i64 %thread)
  br i1 %took, label %take, label %after
after:
  %further = add i64 %distance, 1
  %is_another = icmp ult i64 %further, $threads
  br i1 %is_another, label %next, label %over
over:
  ret void
}

; Let the others run so many blocks each, or go (-1).
define internal void @team_let(ptr %frame, i64 %limit) nounwind #0 {
entry:
  %at = getelementptr %frame, ptr %frame, i64 0, i32 0
  %sleepers = getelementptr %frame, ptr %frame, i64 0, i32 1
  %is_end = icmp eq i64 %limit, -1
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
  %bed = getelementptr %frame, ptr %frame, i64 0, i32 3
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
}

; Run a nest with the others, who are dismissed after the last one.
define internal void @team_share(ptr %frame, i64 %limit) nounwind #0 {
entry:
  call void @team_let(ptr %frame, i64 %limit)
  br label %work
work:
  %took = call i1 @team_take(ptr %frame, i64 %limit, i64 0, i64 0)
  br i1 %took, label %work, label %rest
rest:
  %lead_sleeps = getelementptr %frame, ptr %frame, i64 0, i32 2
  %bed = getelementptr %frame, ptr %frame, i64 0, i32 4
  br label %look
look:
  %idle = phi i64 [ 0, %rest ], [ %more_idle, %wait ], [ %more_idle, %steal ],
                  [ 0, %sleep ]
  %is_done = call i1 @team_all_done(ptr %frame, i64 %limit)
  br i1 %is_done, label %over, label %wait
wait:
  %more_idle = add i64 %idle, 1
  switch i64 %idle, label %look [ i64 1000, label %steal
                                  i64 10000, label %tired ]
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
  %is_last = icmp eq i64 %limit, $runners
  br i1 %is_last, label %dismiss, label %end
dismiss:
  call void @team_let(ptr %frame, i64 -1)
  br label %end
end:
  ret void
}
