// RUN: relay-opt %s -p insert-reference-counts | filecheck %s

// The last use that consumes a value takes it over; every other one gets an owner of its own.
// CHECK-LABEL: heap.func private @twice(%x: !heap.object) -> !heap.object {
// CHECK-NEXT:    heap.retain %x : !heap.object
// CHECK-NEXT:    %[[R:.*]] = heap.record 0(%x, %x)
// CHECK-NEXT:    heap.return %[[R]]
heap.func private @twice(%x: !heap.object) -> !heap.object {
  %r = heap.record 0(%x, %x) : (!heap.object, !heap.object) -> !heap.object
  heap.return %r : !heap.object
}

// What is never used, and what is only looked at, is released as soon as that is known.
// CHECK-LABEL: heap.func private @unused(%x: !heap.object, %y: !heap.object) -> !heap.object {
// CHECK-NEXT:    heap.release %x : !heap.object
// CHECK-NEXT:    %[[I:.*]] = heap.unbox %y : !heap.object -> i64
// CHECK-NEXT:    heap.release %y : !heap.object
// CHECK-NEXT:    %[[O:.*]] = heap.box %[[I]]
// CHECK-NEXT:    heap.return %[[O]]
heap.func private @unused(%x: !heap.object, %y: !heap.object) -> !heap.object {
  %i = heap.unbox %y : !heap.object -> i64
  %o = heap.box %i : i64 -> !heap.object
  heap.return %o : !heap.object
}

// A value that one branch needs is released at the start of the other.
// CHECK-LABEL: heap.func private @branch(
// CHECK:       ^{{.*}}:
// CHECK-NEXT:    heap.release %y : !heap.object
// CHECK-NEXT:    heap.return %x
// CHECK:       ^{{.*}}:
// CHECK-NEXT:    heap.release %x : !heap.object
// CHECK-NEXT:    heap.return %y
heap.func private @branch(%c: i1, %x: !heap.object, %y: !heap.object) -> !heap.object {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  heap.return %x : !heap.object
^bb2:
  heap.return %y : !heap.object
}

// A record that dies where it is read is taken apart, and its memory goes to the next record of its size.
// CHECK-LABEL: heap.func private @map(%f: !heap.object, %xs: !heap.object) -> !heap.object {
// CHECK-NEXT:    %[[X:.*]], %[[L:.*]], %[[T:.*]] = heap.take %xs[0, 1] of 2 : !heap.object -> (!heap.object, !heap.object)
// CHECK-NEXT:    heap.retain %f : !heap.object
// CHECK-NEXT:    %[[Y:.*]] = heap.apply %f(%[[X]])
// CHECK-NEXT:    %[[YS:.*]] = heap.call @map(%f, %[[L]])
// CHECK-NEXT:    %[[R:.*]] = heap.record 1(%[[Y]], %[[YS]]) reuse %[[T]]
// CHECK-NEXT:    heap.return %[[R]]
heap.func private @map(%f: !heap.object, %xs: !heap.object) -> !heap.object {
  %x = heap.field %xs[0 of 2] : !heap.object -> !heap.object
  %l = heap.field %xs[1 of 2] : !heap.object -> !heap.object
  %y = heap.apply %f(%x) : (!heap.object) -> !heap.object
  %ys = heap.call @map(%f, %l) : (!heap.object, !heap.object) -> !heap.object
  %r = heap.record 1(%y, %ys) : (!heap.object, !heap.object) -> !heap.object
  heap.return %r : !heap.object
}

// Where no record can use the memory it is freed at once; a field that outlives its record has an owner of its own.
// CHECK-LABEL: heap.func private @head(%xs: !heap.object) -> !heap.object {
// CHECK-NEXT:    %[[X:.*]], %[[T:.*]] = heap.take %xs[0] of 2 : !heap.object -> (!heap.object)
// CHECK-NEXT:    heap.free %[[T]]
// CHECK-NEXT:    heap.return %[[X]]
heap.func private @head(%xs: !heap.object) -> !heap.object {
  %x = heap.field %xs[0 of 2] : !heap.object -> !heap.object
  heap.return %x : !heap.object
}

// A record that lives on is only read.
// CHECK-LABEL: heap.func private @pair(%xs: !heap.object) -> !heap.object {
// CHECK-NEXT:    %[[X:.*]] = heap.field %xs[0 of 2] : !heap.object -> !heap.object
// CHECK-NEXT:    heap.retain %[[X]] : !heap.object
// CHECK-NEXT:    %[[R:.*]] = heap.record 0(%[[X]], %xs)
heap.func private @pair(%xs: !heap.object) -> !heap.object {
  %x = heap.field %xs[0 of 2] : !heap.object -> !heap.object
  %r = heap.record 0(%x, %xs) : (!heap.object, !heap.object) -> !heap.object
  heap.return %r : !heap.object
}

// A call whose result is returned is a tail call; one after which something is released is not.
// CHECK-LABEL: heap.func private @tail(
// CHECK:         heap.call tail @head(%{{.*}})
// CHECK-NEXT:    heap.return
heap.func private @tail(%xs: !heap.object) -> !heap.object {
  %r = heap.call @head(%xs) : (!heap.object) -> !heap.object
  heap.return %r : !heap.object
}

// A kernel may write over an argument that dies, where it says so.
// CHECK-LABEL: heap.func private @kernels(%x: !heap.object) -> !heap.object {
// CHECK-NEXT:    %[[Y:.*]] = heap.kernel @negate(%x) as (tensor<4xf32>) -> tensor<4xf32> : (!heap.object) -> !heap.object
// CHECK-NEXT:    %[[Z:.*]] = heap.kernel @negate(%[[Y]]) as (tensor<4xf32>) -> tensor<4xf32> in_place [array<i64: 0, 0>]
// CHECK-NEXT:    %[[R:.*]] = heap.record 0(%x, %[[Z]])
func.func private @negate(%x: memref<4xf32>, %y: memref<4xf32>) attributes {in_place = [array<i64: 0, 1>]} {
  func.return
}
heap.func private @kernels(%x: !heap.object) -> !heap.object {
  %y = heap.kernel @negate(%x) as (tensor<4xf32>) -> tensor<4xf32> : (!heap.object) -> !heap.object
  %z = heap.kernel @negate(%y) as (tensor<4xf32>) -> tensor<4xf32> : (!heap.object) -> !heap.object
  %r = heap.record 0(%x, %z) : (!heap.object, !heap.object) -> !heap.object
  heap.return %r : !heap.object
}
