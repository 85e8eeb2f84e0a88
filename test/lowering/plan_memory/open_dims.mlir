// RUN: relay-opt %s -p plan-memory --split-input-file | filecheck %s

// Buffers that grow alike share a region: %a and %c use the same bytes, %b lies behind them.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %x: memref<?x32xf32>, %y: memref<?x32xf32>, %weights: memref<0xi8>, %arena: memref<?xi8>)
// CHECK:         %[[N:.*]] = memref.dim %x, %{{.*}} : memref<?x32xf32>
// CHECK:         %[[BEHIND:.*]] = arith.muli %[[N]], %{{.*}} : index
// CHECK:         %[[A:[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT:    %a = memref.view %arena[%[[A]]][%n] : memref<?xi8> to memref<?x32xf32>
// CHECK:         %b = memref.view %arena[%[[BEHIND]]][%n] : memref<?xi8> to memref<?x32xf32>
// CHECK:         %[[C:[0-9]+]] = arith.constant 0 : index
// CHECK-NEXT:    %c = memref.view %arena[%[[C]]][%n] : memref<?xi8> to memref<?x32xf32>
// CHECK:       func.func private @main.arena(%[[SIZE:.*]]: index) -> index {
// CHECK:         %[[EACH:.*]] = arith.constant 256 : index
// CHECK:         %[[ALL:.*]] = arith.muli %[[SIZE]], %[[EACH]] : index
// CHECK:         func.return %[[ALL]] : index
func.func @main(%x: memref<?x32xf32>, %y: memref<?x32xf32>) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?x32xf32>
  %a = memref.alloc(%n) : memref<?x32xf32>
  func.call @step(%x, %a) : (memref<?x32xf32>, memref<?x32xf32>) -> ()
  %b = memref.alloc(%n) : memref<?x32xf32>
  func.call @step(%a, %b) : (memref<?x32xf32>, memref<?x32xf32>) -> ()
  %c = memref.alloc(%n) : memref<?x32xf32>
  func.call @step(%b, %c) : (memref<?x32xf32>, memref<?x32xf32>) -> ()
  func.call @step(%c, %y) : (memref<?x32xf32>, memref<?x32xf32>) -> ()
  func.return
}
func.func private @step(%x: memref<?x32xf32>, %y: memref<?x32xf32>) {
  func.return
}

// -----

// The scratch memory of a called function, in the caller's sizes; sizes below a cache line are rounded up at run time.
// CHECK-LABEL: func.func private @step(%x: memref<?xf32>, %scratch: memref<?xi8>)
// CHECK:         memref.view %scratch[%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xf32>
// CHECK:       func.func @main(
// CHECK:         %[[SCRATCH:.*]] = memref.view %arena[%{{.*}}][%{{.*}}] : memref<?xi8> to memref<?xi8>
// CHECK:         func.call @step(%x, %[[SCRATCH]]) : (memref<?xf32>, memref<?xi8>) -> ()
// CHECK:       func.func private @main.arena(%{{.*}}: index) -> index
// CHECK:         arith.floordivsi
func.func private @step(%x: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  %a = memref.alloc(%n) : memref<?xf32>
  memref.copy %x, %a : memref<?xf32> to memref<?xf32>
  func.return
}
func.func @main(%x: memref<?xf32>) {
  func.call @step(%x) : (memref<?xf32>) -> ()
  func.return
}
