// RUN: relay-opt %s -p relay-to-heap | filecheck %s

relay.func private @scale(%x: tensor<4xf32>, %w: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> attributes {primitive} {
  %y = relay.multiply %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %z = relay.multiply %y, %s : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  relay.return %z : tensor<4xf32>
}
relay.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  relay.return %x : tensor<4xf32>
}

// Weights go to kernels as pointers. The entry reads and writes the caller's arrays; what it does not need is gone.
// CHECK:       memref.global "private" constant @w
// CHECK-NOT:   @unused
// CHECK-LABEL: heap.func private @main.body(%x: !heap.object, %s: f32) -> !heap.object {
// CHECK-NEXT:    %[[W:.*]] = heap.weight @w : !llvm.ptr
// CHECK-NEXT:    %[[Y:.*]] = heap.kernel @scale(%x, %[[W]], %s) as (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32> : (!heap.object, !llvm.ptr, f32) -> !heap.object
// CHECK:         %[[T:.*]] = heap.record 0(%[[Y]], %{{.*}}) : (!heap.object, !heap.immediate) -> !heap.object
// CHECK-NEXT:    heap.return %[[T]]
// CHECK-LABEL: heap.func @main() attributes {input_names = ["x", "s"]} {
// CHECK-NEXT:    %[[P:.*]] = heap.array "input" 0 : !llvm.ptr
// CHECK-NEXT:    %[[X:.*]] = heap.view %[[P]] : tensor<4xf32> -> !heap.object
// CHECK-NEXT:    %[[Q:.*]] = heap.array "input" 1 : !llvm.ptr
// CHECK-NEXT:    %[[S:.*]] = heap.load %[[Q]] : f32
// CHECK-NEXT:    %[[R:.*]] = heap.call @main.body(%[[X]], %[[S]]) : (!heap.object, f32) -> !heap.object
// CHECK-NEXT:    %[[Z:.*]] = heap.field %[[R]][0 of 2] : !heap.object -> !heap.object
// CHECK-NEXT:    %[[O:.*]] = heap.array "output" 0 : !llvm.ptr
// CHECK-NEXT:    heap.store %[[Z]], %[[O]] : tensor<4xf32>, !heap.object
relay.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> (tensor<4xf32>, tensor<f32>) attributes {input_names = ["x", "s"]} {
  %w = relay.weight "w" : tensor<4xf32>
  %y = relay.call @scale(%x, %w, %s) : (tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  relay.return %y, %s : tensor<4xf32>, tensor<f32>
}
