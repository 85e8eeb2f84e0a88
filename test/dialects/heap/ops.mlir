// RUN: relay-opt %s | relay-opt | filecheck %s
// RUN: relay-opt %s --print-op-generic | relay-opt | filecheck %s

// Every operation prints and parses, in its own syntax and in the generic one.
// CHECK-LABEL: heap.func private @f(
// CHECK:         heap.tag %{{.*}} : !heap.object
// CHECK:         heap.field %{{.*}}[0 of 2] : !heap.object -> !heap.immediate
// CHECK:         heap.take %{{.*}}[0, 1] of 2 : !heap.object -> (!heap.immediate, !heap.object)
// CHECK:         heap.record 1(%{{.*}}, %{{.*}}) reuse %{{.*}} : (!heap.immediate, !heap.object) -> !heap.object
// CHECK:         heap.record 0() : () -> !heap.immediate
// CHECK:         heap.closure @f(%{{.*}}) : (!heap.object) -> !heap.object
// CHECK:         heap.apply %{{.*}}(%{{.*}}) : (!heap.immediate) -> !heap.object
// CHECK:         heap.unbox %{{.*}} : !heap.immediate -> i32
// CHECK:         heap.box %{{.*}} : i32 -> !heap.immediate
// CHECK:         heap.box %{{.*}} : i64 -> !heap.object
// CHECK:         heap.weight @w at 64 : !llvm.ptr
// CHECK:         heap.kernel @k(%{{.*}}, %{{.*}}) as (tensor<4xf32>, tensor<i32>) -> tensor<4xf32> in_place [array<i64: 0, 0>] : (!heap.object, i32) -> !heap.object
// CHECK:         heap.view %{{.*}} : tensor<4xf32> -> !heap.object
// CHECK:         heap.load %{{.*}} : f32
// CHECK:         heap.array "output" 1 : !llvm.ptr
// CHECK:         heap.store %{{.*}}, %{{.*}} : tensor<4xf32>, !heap.object
// CHECK:         heap.ref_create %{{.*}} : !heap.object -> !heap.object
// CHECK:         heap.ref_write %{{.*}}, %{{.*}} : !heap.object, !heap.immediate
// CHECK:         heap.ref_read %{{.*}} : !heap.object -> !heap.object
// CHECK:         heap.retain %{{.*}} : !heap.object
// CHECK:         heap.release %{{.*}} : !heap.object
// CHECK:         heap.call tail @f(%{{.*}}) : (!heap.object) -> !heap.object
// CHECK:         heap.fail "no case matches"
heap.func private @f(%x: !heap.object) -> !heap.object {
  %tag = heap.tag %x : !heap.object
  %head = heap.field %x[0 of 2] : !heap.object -> !heap.immediate
  %a, %b, %t = heap.take %x[0, 1] of 2 : !heap.object -> (!heap.immediate, !heap.object)
  %r = heap.record 1(%a, %b) reuse %t : (!heap.immediate, !heap.object) -> !heap.object
  %unit = heap.record 0() : () -> !heap.immediate
  %c = heap.closure @f(%r) : (!heap.object) -> !heap.object
  %y = heap.apply %c(%unit) : (!heap.immediate) -> !heap.object
  %i = heap.unbox %a : !heap.immediate -> i32
  %o = heap.box %i : i32 -> !heap.immediate
  %big = arith.constant 7 : i64
  %p = heap.box %big : i64 -> !heap.object
  %w = heap.weight @w at 64 : !llvm.ptr
  %k = heap.kernel @k(%y, %i) as (tensor<4xf32>, tensor<i32>) -> tensor<4xf32> in_place [array<i64: 0, 0>] : (!heap.object, i32) -> !heap.object
  %v = heap.view %w : tensor<4xf32> -> !heap.object
  %s = heap.load %w : f32
  %out = heap.array "output" 1 : !llvm.ptr
  heap.store %k, %out : tensor<4xf32>, !heap.object
  %ref = heap.ref_create %k : !heap.object -> !heap.object
  heap.ref_write %ref, %o : !heap.object, !heap.immediate
  %z = heap.ref_read %ref : !heap.object -> !heap.object
  heap.retain %z : !heap.object
  heap.release %z : !heap.object
  %done = arith.constant true
  cf.cond_br %done, ^bb1, ^bb2
^bb1:
  %last = heap.call tail @f(%z) : (!heap.object) -> !heap.object
  heap.return %last : !heap.object
^bb2:
  heap.fail "no case matches"
}
