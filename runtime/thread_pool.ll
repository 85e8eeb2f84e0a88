; A pool of worker threads: fork-join regions of numbered tiles, which any thread claims one at a time.
;
; The state of a pool, 512 bytes at a 64-byte boundary:
;     0  ticket    i64   generation << 40 | tiles << 20 | next tile; claiming a tile adds 1
;    64  wake      i32   counts publications; what sleepers wait for
;    68  sleepers  i32   how many workers sleep
;   128  finished  i64   tiles of this generation that were run
;   192  function  ptr   (context, tile) -> void
;   200  context   ptr
;   256  busy      i32   1 while a region runs: a second one, of another caller, then runs on its caller alone
;   260  process   i32   the process that made the workers: after a fork there are none, and the caller runs all tiles
;   264  workers   i64   how many there are
;   272  threads   ptr   their pthread_t
;   280  stop      i32   1 when they are to end
;   284  mxcsr     i32   their floating point state, or -1 for that of a new thread
;
; Why one word holds generation, size and position: a worker that claims a tile by compare-and-swap knows then that the
; function and context it read before belong to that tile. A region is over when all its tiles were run; workers that
; sleep or were never scheduled are not waited for.

define internal void @relay.pool.tiles(ptr %pool) {
entry:
  %functionp = getelementptr i8, ptr %pool, i64 192
  %contextp = getelementptr i8, ptr %pool, i64 200
  %finishedp = getelementptr i8, ptr %pool, i64 128
  br label %look
look:
  %ticket = load atomic i64, ptr %pool acquire, align 8
  %next = and i64 %ticket, 1048575
  %shifted = lshr i64 %ticket, 20
  %tiles = and i64 %shifted, 1048575
  %open = icmp ult i64 %next, %tiles
  br i1 %open, label %claim, label %done
claim:
  %function = load atomic ptr, ptr %functionp monotonic, align 8
  %context = load atomic ptr, ptr %contextp monotonic, align 8
  %after = add i64 %ticket, 1
  %pair = cmpxchg ptr %pool, i64 %ticket, i64 %after acq_rel acquire
  %won = extractvalue { i64, i1 } %pair, 1
  br i1 %won, label %run, label %look
run:
  call void %function(ptr %context, i64 %next)
  %old = atomicrmw add ptr %finishedp, i64 1 release
  br label %look
done:
  ret void
}

define internal i1 @relay.pool.open(ptr %pool) {
  %ticket = load atomic i64, ptr %pool seq_cst, align 8
  %next = and i64 %ticket, 1048575
  %shifted = lshr i64 %ticket, 20
  %tiles = and i64 %shifted, 1048575
  %open = icmp ult i64 %next, %tiles
  ret i1 %open
}

define internal ptr @relay.pool.worker(ptr %pool) {
entry:
  %wakep = getelementptr i8, ptr %pool, i64 64
  %sleepersp = getelementptr i8, ptr %pool, i64 68
  %stopp = getelementptr i8, ptr %pool, i64 280
  %mxcsrp = getelementptr i8, ptr %pool, i64 284
  %mxcsr = load i32, ptr %mxcsrp
  %keep = icmp eq i32 %mxcsr, -1
  br i1 %keep, label %wait, label %set
set:
  call void @relay.set_float_state(ptr %mxcsrp)
  br label %wait
wait:
  br label %spin
spin:
  %count = phi i32 [ 0, %wait ], [ %count1, %pause ]
  %stop = load atomic i32, ptr %stopp acquire, align 4
  %ending = icmp ne i32 %stop, 0
  br i1 %ending, label %end, label %look
look:
  %open = call i1 @relay.pool.open(ptr %pool)
  br i1 %open, label %work, label %idle
work:
  call void @relay.pool.tiles(ptr %pool)
  br label %wait
idle:
  %tired = icmp ugt i32 %count, @SPINS@
  br i1 %tired, label %sleep, label %pause
pause:
  call void @relay.pause()
  %count1 = add i32 %count, 1
  br label %spin
sleep:
  %seen = load atomic i32, ptr %wakep seq_cst, align 4
  %s0 = atomicrmw add ptr %sleepersp, i32 1 seq_cst
  %open2 = call i1 @relay.pool.open(ptr %pool)
  %stop2 = load atomic i32, ptr %stopp seq_cst, align 4
  %ending2 = icmp ne i32 %stop2, 0
  %skip = or i1 %open2, %ending2
  br i1 %skip, label %awake, label %futex
futex:
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %wakep, i64 128, i32 %seen, ptr null, ptr null, i64 0)
  br label %awake
awake:
  %s1 = atomicrmw sub ptr %sleepersp, i32 1 seq_cst
  br label %wait
end:
  ret ptr null
}

define internal void @relay.pool.wake(ptr %pool) {
entry:
  %wakep = getelementptr i8, ptr %pool, i64 64
  %sleepersp = getelementptr i8, ptr %pool, i64 68
  %w = atomicrmw add ptr %wakep, i32 1 seq_cst
  %sleepers = load atomic i32, ptr %sleepersp seq_cst, align 4
  %any = icmp ne i32 %sleepers, 0
  br i1 %any, label %call, label %done
call:
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %wakep, i64 129, i32 2147483647, ptr null, ptr null, i64 0)
  br label %done
done:
  ret void
}

; Runs function(context, tile) for every tile, on the workers and this thread; `tiles` is less than 2^20.
define internal void @relay.pool.run(ptr %pool, ptr %function, ptr %context, i64 %tiles) {
entry:
  %workersp = getelementptr i8, ptr %pool, i64 264
  %processp = getelementptr i8, ptr %pool, i64 260
  %busyp = getelementptr i8, ptr %pool, i64 256
  %workers = load i64, ptr %workersp
  %alone = icmp eq i64 %workers, 0
  %few = icmp ult i64 %tiles, 2
  %serial0 = or i1 %alone, %few
  br i1 %serial0, label %serial, label %same
same:
  %process = load i32, ptr %processp
  %now = call i32 @getpid()
  %forked = icmp ne i32 %process, %now
  br i1 %forked, label %serial, label %lock
lock:
  %taken = atomicrmw xchg ptr %busyp, i32 1 acquire
  %held = icmp ne i32 %taken, 0
  br i1 %held, label %serial, label %publish
publish:
  %finishedp = getelementptr i8, ptr %pool, i64 128
  %functionp = getelementptr i8, ptr %pool, i64 192
  %contextp = getelementptr i8, ptr %pool, i64 200
  store atomic ptr %function, ptr %functionp monotonic, align 8
  store atomic ptr %context, ptr %contextp monotonic, align 8
  store atomic i64 0, ptr %finishedp monotonic, align 8
  %old = load atomic i64, ptr %pool monotonic, align 8
  %generation = lshr i64 %old, 40
  %generation1 = add i64 %generation, 1
  %high = shl i64 %generation1, 40
  %middle = shl i64 %tiles, 20
  %ticket = or i64 %high, %middle
  store atomic i64 %ticket, ptr %pool seq_cst, align 8
  call void @relay.pool.wake(ptr %pool)
  call void @relay.pool.tiles(ptr %pool)
  br label %join
join:
  %waited = phi i32 [ 0, %publish ], [ %waited1, %pause ], [ 0, %yield ]
  %finished = load atomic i64, ptr %finishedp acquire, align 8
  %all = icmp eq i64 %finished, %tiles
  br i1 %all, label %release, label %wait
wait:
  %long = icmp ugt i32 %waited, 1000
  br i1 %long, label %yield, label %pause
pause:
  call void @relay.pause()
  %waited1 = add i32 %waited, 1
  br label %join
yield:
  ; With more threads than processors, the thread that holds the last tile may need this one's.
  %y = call i32 @sched_yield()
  br label %join
release:
  store atomic i32 0, ptr %busyp release, align 4
  ret void
serial:
  br label %next
next:
  %tile = phi i64 [ 0, %serial ], [ %tile1, %body ]
  %more = icmp ult i64 %tile, %tiles
  br i1 %more, label %body, label %done
body:
  call void %function(ptr %context, i64 %tile)
  %tile1 = add i64 %tile, 1
  br label %next
done:
  ret void
}

; Starts up to `wanted` workers in a pool of zeros, whose field `mxcsr` is set; how many started is in `workers`.
define internal void @relay.pool.start(ptr %pool, i64 %wanted) {
entry:
  %processp = getelementptr i8, ptr %pool, i64 260
  %workersp = getelementptr i8, ptr %pool, i64 264
  %threadsp = getelementptr i8, ptr %pool, i64 272
  %process = call i32 @getpid()
  store i32 %process, ptr %processp
  %none = icmp slt i64 %wanted, 1
  br i1 %none, label %done, label %make
make:
  %threads = call ptr @calloc(i64 %wanted, i64 8)
  store ptr %threads, ptr %threadsp
  %failed = icmp eq ptr %threads, null
  br i1 %failed, label %done, label %next
next:
  %i = phi i64 [ 0, %make ], [ %i1, %started ]
  %more = icmp slt i64 %i, %wanted
  br i1 %more, label %create, label %done
create:
  %slot = getelementptr i64, ptr %threads, i64 %i
  %error = call i32 @pthread_create(ptr %slot, ptr null, ptr @relay.pool.worker, ptr %pool)
  %bad = icmp ne i32 %error, 0
  br i1 %bad, label %done, label %started
started:
  %i1 = add i64 %i, 1
  store i64 %i1, ptr %workersp
  br label %next
done:
  ret void
}

; Ends the workers, unless this process is a fork of the one that made them.
define internal void @relay.pool.stop(ptr %pool) {
entry:
  %processp = getelementptr i8, ptr %pool, i64 260
  %workersp = getelementptr i8, ptr %pool, i64 264
  %threadsp = getelementptr i8, ptr %pool, i64 272
  %stopp = getelementptr i8, ptr %pool, i64 280
  %threads = load ptr, ptr %threadsp
  %workers = load i64, ptr %workersp
  %process = load i32, ptr %processp
  %now = call i32 @getpid()
  %forked = icmp ne i32 %process, %now
  br i1 %forked, label %free, label %stop
stop:
  store atomic i32 1, ptr %stopp seq_cst, align 4
  call void @relay.pool.wake(ptr %pool)
  br label %next
next:
  %i = phi i64 [ 0, %stop ], [ %i1, %join ]
  %more = icmp slt i64 %i, %workers
  br i1 %more, label %join, label %free
join:
  %slot = getelementptr i64, ptr %threads, i64 %i
  %thread = load i64, ptr %slot
  %r = call i32 @pthread_join(i64 %thread, ptr null)
  %i1 = add i64 %i, 1
  br label %next
free:
  call void @free(ptr %threads)
  ret void
}
