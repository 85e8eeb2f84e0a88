; The heap of a run: counted objects, and the stack that the program runs on.
;
; The state of a heap, 4224 bytes at a 64-byte boundary, then the scratch memory of kernels:
;     0  limit     ptr   the stack pointer may not go below
;     8  weights   ptr
;    16  scratch   ptr
;    24  next      ptr   free memory of the newest chunk, and its end
;    32  end       ptr
;    40  chunks    ptr   the list of all chunks; each starts with the pointer to the next one
;    48  live      i64   objects that are not freed
;    56  saved     ptr   the caller's stack pointer while the program runs
;    64  big       i64   the size of the next chunk
;    72  stack     ptr   the mapping of the stack, and its size
;    80  size      i64
;    88  inputs    ptr   the caller's arrays
;    96  outputs   ptr
;   104  bytes     i64   the size of all chunks together
;   112  left      i64   objects that were alive when the last run ended well: cycles through references
;   128  lists     256 x ptr   freed memory by size class; the second word of each piece points at the next one
;  2176  arguments 256 x i64   arguments of the next call that registers have no place for
;
; An object is a 16-byte header and words:
;     0  count     i64   owners; the next object to be freed, while objects are being freed
;     8  tag       i16
;    10            i8
;    11  class     i8    the size class of its memory
;    12  words     i32   how many words are values, which it owns
;    16  ...             the words of a record; of a tensor the pointer to its elements, which are at 64 if it owns them
; A word with the low bit set is an immediate value and owns nothing.

; The memory of a size class: class 1 to 32 holds 16 bytes each, from 33 on 64 bytes each up to 1 KiB, then four
; classes to each power of two.
define internal ptr @relay.heap.alloc(ptr %heap, i64 %class, i64 %size) alwaysinline {
entry:
  %scaled = shl i64 %class, 3
  %offset = add i64 %scaled, 128
  %list = getelementptr i8, ptr %heap, i64 %offset
  %head = load ptr, ptr %list
  %livep = getelementptr i8, ptr %heap, i64 48
  %live = load i64, ptr %livep
  %live1 = add i64 %live, 1
  store i64 %live1, ptr %livep
  %empty = icmp eq ptr %head, null
  br i1 %empty, label %more, label %take
take:
  %nextp = getelementptr i8, ptr %head, i64 8
  %next = load ptr, ptr %nextp
  store ptr %next, ptr %list
  br label %done
more:
  %new = call ptr @relay.heap.refill(ptr %heap, i64 %class, i64 %size)
  br label %done
done:
  %object = phi ptr [ %head, %take ], [ %new, %more ]
  ret ptr %object
}

define internal ptr @relay.heap.refill(ptr %heap, i64 %class, i64 %size) noinline {
entry:
  %nextp = getelementptr i8, ptr %heap, i64 24
  %endp = getelementptr i8, ptr %heap, i64 32
  %next = load ptr, ptr %nextp
  %end = load ptr, ptr %endp
  %from = ptrtoint ptr %next to i64
  %to = ptrtoint ptr %end to i64
  %small = icmp ule i64 %class, 32
  %mask = select i1 %small, i64 15, i64 63
  %padded = add i64 %from, %mask
  %inverse = xor i64 %mask, -1
  %start = and i64 %padded, %inverse
  %after = add i64 %start, %size
  %fits = icmp ule i64 %after, %to
  br i1 %fits, label %bump, label %chunk
bump:
  %object = inttoptr i64 %start to ptr
  %rest = inttoptr i64 %after to ptr
  store ptr %rest, ptr %nextp
  ret ptr %object
chunk:
  %bigp = getelementptr i8, ptr %heap, i64 64
  %big = load i64, ptr %bigp
  %quarter = lshr i64 %big, 2
  %own = icmp ugt i64 %size, %quarter
  %bytes = select i1 %own, i64 %size, i64 %big
  %padded1 = add i64 %bytes, 127
  %total = and i64 %padded1, -64
  %memory = call ptr @aligned_alloc(i64 64, i64 %total)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %out, label %link
out:
  call void @relay.heap.fail(ptr %heap, i32 1)
  unreachable
link:
  %chunksp = getelementptr i8, ptr %heap, i64 40
  %chunks = load ptr, ptr %chunksp
  store ptr %chunks, ptr %memory
  store ptr %memory, ptr %chunksp
  %bytesp = getelementptr i8, ptr %heap, i64 104
  %sofar = load i64, ptr %bytesp
  %sum = add i64 %sofar, %total
  store i64 %sum, ptr %bytesp
  %first = getelementptr i8, ptr %memory, i64 64
  br i1 %own, label %alone, label %shared
alone:
  ret ptr %first
shared:
  %used = getelementptr i8, ptr %first, i64 %size
  store ptr %used, ptr %nextp
  %limit = getelementptr i8, ptr %memory, i64 %total
  store ptr %limit, ptr %endp
  %most = icmp uge i64 %big, 8388608
  %double = shl i64 %big, 1
  %grown = select i1 %most, i64 %big, i64 %double
  store i64 %grown, ptr %bigp
  ret ptr %first
}

; Memory without an owner goes to the list of its class.
define internal void @relay.heap.put(ptr %heap, ptr %object) alwaysinline {
  %classp = getelementptr i8, ptr %object, i64 11
  %class8 = load i8, ptr %classp
  %class = zext i8 %class8 to i64
  %scaled = shl i64 %class, 3
  %offset = add i64 %scaled, 128
  %list = getelementptr i8, ptr %heap, i64 %offset
  %head = load ptr, ptr %list
  %nextp = getelementptr i8, ptr %object, i64 8
  store ptr %head, ptr %nextp
  store ptr %object, ptr %list
  %livep = getelementptr i8, ptr %heap, i64 48
  %live = load i64, ptr %livep
  %live1 = sub i64 %live, 1
  store i64 %live1, ptr %livep
  ret void
}

define internal void @relay.heap.free(ptr %heap, ptr %token) alwaysinline {
entry:
  %none = icmp eq ptr %token, null
  br i1 %none, label %done, label %put
put:
  call void @relay.heap.put(ptr %heap, ptr %token)
  br label %done
done:
  ret void
}

; The memory of a dead object, or new memory where there is none.
define internal ptr @relay.heap.reuse(ptr %heap, ptr %token, i64 %class, i64 %size) alwaysinline {
entry:
  %none = icmp eq ptr %token, null
  br i1 %none, label %new, label %done
new:
  %fresh = call ptr @relay.heap.alloc(ptr %heap, i64 %class, i64 %size)
  br label %done
done:
  %object = phi ptr [ %token, %entry ], [ %fresh, %new ]
  ret ptr %object
}

; The tensor itself where it has no other owner and holds its elements, else another one in its place. The other owners
; keep it alive while the kernel reads it.
define internal ptr @relay.heap.reuse_tensor(ptr %heap, ptr %tensor, i64 %class, i64 %size) alwaysinline {
entry:
  %count = load i64, ptr %tensor
  %alone = icmp eq i64 %count, 1
  %datap = getelementptr i8, ptr %tensor, i64 16
  %data = load ptr, ptr %datap
  %inside = getelementptr i8, ptr %tensor, i64 64
  %holds = icmp eq ptr %data, %inside
  %same = and i1 %alone, %holds
  br i1 %same, label %done, label %new
new:
  %fresh = call ptr @relay.heap.alloc(ptr %heap, i64 %class, i64 %size)
  br label %done
done:
  %object = phi ptr [ %tensor, %entry ], [ %fresh, %new ]
  ret ptr %object
}

; Releases a tensor that another object took the place of.
define internal void @relay.heap.release_other(ptr %heap, ptr %old, ptr %made) alwaysinline {
entry:
  %same = icmp eq ptr %old, %made
  br i1 %same, label %done, label %drop
drop:
  call void @relay.heap.release(ptr %heap, ptr %old)
  br label %done
done:
  ret void
}

define internal void @relay.heap.retain(ptr %object) alwaysinline {
entry:
  %word = ptrtoint ptr %object to i64
  %bit = and i64 %word, 1
  %immediate = icmp ne i64 %bit, 0
  br i1 %immediate, label %done, label %count
count:
  %old = load i64, ptr %object
  %new = add i64 %old, 1
  store i64 %new, ptr %object
  br label %done
done:
  ret void
}

define internal void @relay.heap.release(ptr %heap, ptr %object) alwaysinline {
entry:
  %word = ptrtoint ptr %object to i64
  %bit = and i64 %word, 1
  %immediate = icmp ne i64 %bit, 0
  br i1 %immediate, label %done, label %count
count:
  %old = load i64, ptr %object
  %last = icmp eq i64 %old, 1
  br i1 %last, label %destroy, label %less
destroy:
  call void @relay.heap.destroy(ptr %heap, ptr %object)
  br label %done
less:
  %new = sub i64 %old, 1
  store i64 %new, ptr %object
  br label %done
done:
  ret void
}

; Frees an object and what only it owns; objects that wait are a list through their counts, so no stack is needed.
define internal void @relay.heap.destroy(ptr %heap, ptr %first) noinline {
entry:
  br label %object
object:
  %current = phi ptr [ %first, %entry ], [ %waiting, %next ]
  %list = phi ptr [ null, %entry ], [ %others, %next ]
  %wordsp = getelementptr i8, ptr %current, i64 12
  %words = load i32, ptr %wordsp
  %fields = getelementptr i8, ptr %current, i64 16
  br label %field
field:
  %i = phi i32 [ 0, %object ], [ %i1, %after ]
  %pending = phi ptr [ %list, %object ], [ %pending1, %after ]
  %more = icmp ult i32 %i, %words
  br i1 %more, label %look, label %put
look:
  %fieldp = getelementptr ptr, ptr %fields, i32 %i
  %value = load ptr, ptr %fieldp
  %word = ptrtoint ptr %value to i64
  %bit = and i64 %word, 1
  %immediate = icmp ne i64 %bit, 0
  br i1 %immediate, label %after, label %count
count:
  %old = load i64, ptr %value
  %last = icmp eq i64 %old, 1
  br i1 %last, label %push, label %less
push:
  store ptr %pending, ptr %value
  br label %after
less:
  %new = sub i64 %old, 1
  store i64 %new, ptr %value
  br label %after
after:
  %pending1 = phi ptr [ %pending, %look ], [ %value, %push ], [ %pending, %less ]
  %i1 = add i32 %i, 1
  br label %field
put:
  call void @relay.heap.put(ptr %heap, ptr %current)
  %none = icmp eq ptr %pending, null
  br i1 %none, label %done, label %next
next:
  %waiting = phi ptr [ %pending, %put ]
  %others = load ptr, ptr %pending
  br label %object
done:
  ret void
}

define internal i32 @relay.heap.tag(ptr %object) alwaysinline {
entry:
  %word = ptrtoint ptr %object to i64
  %bit = and i64 %word, 1
  %immediate = icmp ne i64 %bit, 0
  br i1 %immediate, label %here, label %header
here:
  %shifted = lshr i64 %word, 1
  %small = trunc i64 %shifted to i32
  br label %done
header:
  %tagp = getelementptr i8, ptr %object, i64 8
  %tag16 = load i16, ptr %tagp
  %tag32 = zext i16 %tag16 to i32
  br label %done
done:
  %tag = phi i32 [ %small, %here ], [ %tag32, %header ]
  ret i32 %tag
}

; The code of a closure: an object whose first word it is, or, where nothing is captured, the word itself.
define internal ptr @relay.heap.code(ptr %closure) alwaysinline {
entry:
  %word = ptrtoint ptr %closure to i64
  %bit = and i64 %word, 1
  %immediate = icmp ne i64 %bit, 0
  br i1 %immediate, label %done, label %object
object:
  %codep = getelementptr i8, ptr %closure, i64 16
  %inside = load i64, ptr %codep
  br label %done
done:
  %odd = phi i64 [ %word, %entry ], [ %inside, %object ]
  %even = sub i64 %odd, 1
  %code = inttoptr i64 %even to ptr
  ret ptr %code
}

define internal void @relay.heap.check_stack(ptr %heap, i32 %status) alwaysinline {
entry:
  %here = call ptr @llvm.stacksave.p0()
  %limit = load ptr, ptr %heap
  %low = icmp ult ptr %here, %limit
  br i1 %low, label %out, label %done
out:
  call void @relay.heap.fail(ptr %heap, i32 %status)
  unreachable
done:
  ret void
}
declare ptr @llvm.stacksave.p0()

define internal void @relay.heap.fail(ptr %heap, i32 %status) noinline noreturn cold {
  %saved = getelementptr i8, ptr %heap, i64 56
  call void @relay.stack.leave(ptr %saved, i32 %status)
  unreachable
}

; Frees everything.
define internal void @relay.heap.reset(ptr %heap) noinline {
entry:
  %chunksp = getelementptr i8, ptr %heap, i64 40
  %first = load ptr, ptr %chunksp
  br label %look
look:
  %chunk = phi ptr [ %first, %entry ], [ %next, %one ]
  %none = icmp eq ptr %chunk, null
  br i1 %none, label %clear, label %one
one:
  %next = load ptr, ptr %chunk
  call void @free(ptr %chunk)
  br label %look
clear:
  %from = getelementptr i8, ptr %heap, i64 24
  call void @llvm.memset.p0.i64(ptr %from, i8 0, i64 32, i1 false)
  %lists = getelementptr i8, ptr %heap, i64 128
  call void @llvm.memset.p0.i64(ptr %lists, i8 0, i64 2048, i1 false)
  %bigp = getelementptr i8, ptr %heap, i64 64
  store i64 262144, ptr %bigp
  %bytesp = getelementptr i8, ptr %heap, i64 104
  store i64 0, ptr %bytesp
  ret void
}

define internal ptr @relay.heap.create(i64 %scratch) {
entry:
  %size = add i64 %scratch, 4224
  %heap = call ptr @aligned_alloc(i64 64, i64 %size)
  %failed = icmp eq ptr %heap, null
  br i1 %failed, label %none, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %heap, i8 0, i64 4224, i1 false)
  call void @relay.heap.reset(ptr %heap)
  %scratchp = getelementptr i8, ptr %heap, i64 16
  %memory = getelementptr i8, ptr %heap, i64 4224
  store ptr %memory, ptr %scratchp
  br label %map
map:
  ; Only what is touched takes memory: ask for much, and for less where the system refuses.
  %bytes = phi i64 [ @STACK@, %clear ], [ %less, %smaller ]
  %stack = call ptr @mmap(ptr null, i64 %bytes, i32 3, i32 @MAPFLAGS@, i32 -1, i64 0)
  %refused = icmp eq ptr %stack, inttoptr (i64 -1 to ptr)
  br i1 %refused, label %smaller, label %mapped
smaller:
  %less = lshr i64 %bytes, 2
  %small = icmp ult i64 %less, 4194304
  br i1 %small, label %drop, label %map
drop:
  call void @free(ptr %heap)
  br label %none
mapped:
  %guard = call i32 @mprotect(ptr %stack, i64 65536, i32 0)
  %stackp = getelementptr i8, ptr %heap, i64 72
  store ptr %stack, ptr %stackp
  %sizep = getelementptr i8, ptr %heap, i64 80
  store i64 %bytes, ptr %sizep
  %limit = getelementptr i8, ptr %stack, i64 524288
  store ptr %limit, ptr %heap
  ret ptr %heap
none:
  ret ptr null
}

define internal void @relay.heap.dispose(ptr %heap) {
entry:
  %null = icmp eq ptr %heap, null
  br i1 %null, label %done, label %free
free:
  call void @relay.heap.reset(ptr %heap)
  %stackp = getelementptr i8, ptr %heap, i64 72
  %stack = load ptr, ptr %stackp
  %sizep = getelementptr i8, ptr %heap, i64 80
  %size = load i64, ptr %sizep
  %unmapped = call i32 @munmap(ptr %stack, i64 %size)
  call void @free(ptr %heap)
  br label %done
done:
  ret void
}

; Gives back the memory of a stack beyond its first 4 MiB, where the run went further than that.
define internal void @relay.heap.trim_stack(ptr %stack, ptr %top) {
entry:
  %resident = alloca i8
  store i8 0, ptr %resident
  %edge = getelementptr i8, ptr %top, i64 -4194304
  %failed = call i32 @mincore(ptr %edge, i64 4096, ptr %resident)
  %there = load i8, ptr %resident
  %bit = and i8 %there, 1
  %deep = icmp ne i8 %bit, 0
  br i1 %deep, label %trim, label %done
trim:
  %lowest = getelementptr i8, ptr %stack, i64 65536
  %from = ptrtoint ptr %lowest to i64
  %to = ptrtoint ptr %edge to i64
  %size = sub i64 %to, %from
  %advised = call i32 @madvise(ptr %lowest, i64 %size, i32 4)
  %last = call i32 @madvise(ptr %edge, i64 4096, i32 4)
  br label %done
done:
  ret void
}

; Runs a program on the stack of its heap; gives its status. Whatever it left is freed.
define internal i32 @relay.heap.run(ptr %heap, ptr %program) {
  %status = call i32 @relay.heap.enter(ptr %heap, ptr %program)
  call void @relay.heap.settle(ptr %heap, i32 %status)
  ret i32 %status
}

; Memory for objects that are written from outside; null where there is none.
define internal ptr @relay.heap.image(ptr %heap, i64 %size, i64 %objects) {
entry:
  %padded = add i64 %size, 127
  %total = and i64 %padded, -64
  %memory = call ptr @aligned_alloc(i64 64, i64 %total)
  %failed = icmp eq ptr %memory, null
  br i1 %failed, label %none, label %link
link:
  %chunksp = getelementptr i8, ptr %heap, i64 40
  %chunks = load ptr, ptr %chunksp
  store ptr %chunks, ptr %memory
  store ptr %memory, ptr %chunksp
  %bytesp = getelementptr i8, ptr %heap, i64 104
  %sofar = load i64, ptr %bytesp
  %sum = add i64 %sofar, %total
  store i64 %sum, ptr %bytesp
  %livep = getelementptr i8, ptr %heap, i64 48
  %live = load i64, ptr %livep
  %live1 = add i64 %live, %objects
  store i64 %live1, ptr %livep
  %first = getelementptr i8, ptr %memory, i64 64
  ret ptr %first
none:
  ret ptr null
}

define internal i32 @relay.heap.enter(ptr %heap, ptr %program) {
entry:
  %stackp = getelementptr i8, ptr %heap, i64 72
  %stack = load ptr, ptr %stackp
  %sizep = getelementptr i8, ptr %heap, i64 80
  %size = load i64, ptr %sizep
  %top = getelementptr i8, ptr %stack, i64 %size
  %saved = getelementptr i8, ptr %heap, i64 56
  %status = call i32 @relay.stack.enter(ptr %program, ptr %heap, ptr %top, ptr %saved)
  call void @relay.heap.trim_stack(ptr %stack, ptr %top)
  ret i32 %status
}

; After a run: counts what is left, and frees all of it.
define internal void @relay.heap.settle(ptr %heap, i32 %status) {
entry:
  %livep = getelementptr i8, ptr %heap, i64 48
  %live = load i64, ptr %livep
  %leftp = getelementptr i8, ptr %heap, i64 112
  %good = icmp eq i32 %status, 0
  %left = select i1 %good, i64 %live, i64 0
  store i64 %left, ptr %leftp
  %bytesp = getelementptr i8, ptr %heap, i64 104
  %bytes = load i64, ptr %bytesp
  %large = icmp ugt i64 %bytes, 268435456
  %some = icmp ne i64 %live, 0
  %bad = xor i1 %good, true
  %some1 = or i1 %some, %bad
  %clean = or i1 %some1, %large
  br i1 %clean, label %reset, label %done
reset:
  call void @relay.heap.reset(ptr %heap)
  br label %done
done:
  ret void
}
