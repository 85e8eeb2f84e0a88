// RUN: relay-opt %s -p heap-to-llvm | filecheck %s

// A call of the function by itself in tail position is a branch, any other a jump. There is nothing to check.
// CHECK-LABEL: llvm.func internal tailcc @loop(
// CHECK-NOT:     check_stack
// CHECK:         llvm.br ^[[HEAD:bb[0-9]+]](%{{.*}}, %{{.*}} : i32, !llvm.ptr)
// CHECK-NEXT:  ^[[HEAD]](
// CHECK:         llvm.br ^[[HEAD]](%{{.*}}, %{{.*}} : i32, !llvm.ptr)
// CHECK:         llvm.call tailcc musttail @other(
heap.func private @loop(%n: i32, %x: !heap.object) -> !heap.object {
  %c = arith.constant true
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %r = heap.call tail @loop(%n, %x) : (i32, !heap.object) -> !heap.object
  heap.return %r : !heap.object
^bb2:
  %q = heap.call tail @other(%x) : (!heap.object) -> !heap.object
  heap.return %q : !heap.object
}

// A function that needs the stack checks it; the status is that of its failure.
// CHECK-LABEL: llvm.func internal tailcc @other(
// CHECK:         %[[STATUS:.*]] = llvm.mlir.constant(3 : i32) : i32
// CHECK:         llvm.call @relay.heap.check_stack(%{{.*}}, %[[STATUS]]) : (!llvm.ptr, i32) -> ()
// CHECK:         llvm.call tailcc @other(
heap.func private @other(%x: !heap.object) -> !heap.object {
  %y = heap.call @other(%x) : (!heap.object) -> !heap.object
  %z = heap.record 1(%y) : (!heap.object) -> !heap.object
  heap.return %z : !heap.object
}

// An immediate is its bits above the low 32, and 1.
// CHECK-LABEL: llvm.func internal tailcc @box(
// CHECK:         %[[BITS:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK-NEXT:    %[[WIDE:.*]] = llvm.zext %[[BITS]] : i32 to i64
// CHECK-NEXT:    %[[HIGH:.*]] = llvm.shl %[[WIDE]], %{{.*}} : i64
// CHECK-NEXT:    %[[ODD:.*]] = llvm.or %[[HIGH]], %{{.*}} : i64
// CHECK-NEXT:    %[[WORD:.*]] = llvm.inttoptr %[[ODD]] : i64 to !llvm.ptr
// CHECK-NEXT:    llvm.return %[[WORD]]
heap.func private @box(%x: f32) -> !heap.object {
  %o = heap.box %x : f32 -> !heap.immediate
  heap.return %o : !heap.immediate
}

// A closure that captures nothing is the address of its entry, and 1: it takes no memory.
// CHECK-LABEL: llvm.func internal tailcc @closure(
// CHECK:         %[[F:.*]] = llvm.mlir.addressof @other : !llvm.ptr
// CHECK-NEXT:    %[[W:.*]] = llvm.getelementptr inbounds %[[F]][1]
// CHECK-NEXT:    llvm.return %[[W]]
heap.func private @closure() -> !heap.object {
  %f = heap.closure @other() : () -> !heap.object
  heap.return %f : !heap.object
}

// CHECK-LABEL: llvm.func internal tailcc @fails(
// CHECK:         llvm.call @relay.heap.fail(%{{.*}}, %{{.*}}) : (!llvm.ptr, i32) -> ()
// CHECK-NEXT:    llvm.unreachable
heap.func private @fails() -> !heap.object {
  heap.fail "no case matches"
}

// CHECK-LABEL: llvm.func @main(%heap{{.*}}: !llvm.ptr) attributes
// CHECK-SAME:    failures = ["the stack is full in @other: it calls itself too deeply", "no case matches in @fails"
heap.func @main() {
  %r = heap.call @fails() : () -> !heap.object
  heap.return
}
