// RUN: relay-opt %s | relay-opt | filecheck %s

// What xDSL would print in the generic form has upstream's syntax.

// CHECK: memref.global "private" constant @table : memref<2xf32> = dense<[1.000000e+00, -2.500000e+00]> {alignment = 64 : i64}
memref.global "private" constant @table : memref<2xf32> = dense<[1.0, -2.5]> {alignment = 64 : i64}
// CHECK: memref.global @shared : memref<4xi32> = uninitialized
memref.global @shared : memref<4xi32> = uninitialized
// CHECK: memref.global "private" @elsewhere : memref<4xi32>
memref.global "private" @elsewhere : memref<4xi32>

// CHECK-LABEL: @memrefs
func.func @memrefs(%a: memref<4xf32>, %b: memref<4xf32>) {
  // CHECK: memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  // CHECK: memref.cast %a : memref<4xf32> to memref<?xf32>
  %c = memref.cast %a : memref<4xf32> to memref<?xf32>
  // CHECK: memref.get_global @table : memref<2xf32>
  %t = memref.get_global @table : memref<2xf32>
  return
}

// CHECK-LABEL: @parallel
func.func @parallel(%n: index, %zero: f32, %x: memref<?xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK:      scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
  // CHECK-NEXT:   memref.load
  // CHECK-NEXT:   memref.store
  // CHECK-NEXT: }
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%j] : memref<?xf32>
  }
  // CHECK:      %s = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
  // CHECK:        scf.reduce(%w : f32) {
  // CHECK-NEXT:   ^{{.*}}(%a: f32, %b: f32):
  // CHECK-NEXT:     %t = arith.addf %a, %b : f32
  // CHECK-NEXT:     scf.reduce.return %t : f32
  %s = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
    %w = memref.load %x[%k] : memref<?xf32>
    scf.reduce(%w : f32) {
    ^bb0(%a: f32, %b: f32):
      %t = arith.addf %a, %b : f32
      scf.reduce.return %t : f32
    }
  }
  return %s : f32
}

// CHECK-LABEL: @vectors
func.func @vectors(%m: vector<4xi1>, %p: i1, %f: vector<4xf32>, %i: vector<4xi32>) {
  // CHECK: arith.select %m, %f, %f : vector<4xi1>, vector<4xf32>
  %0 = arith.select %m, %f, %f : vector<4xi1>, vector<4xf32>
  // CHECK: arith.select %p, %f, %f : vector<4xf32>
  %1 = arith.select %p, %f, %f : vector<4xf32>
  // CHECK: arith.extui %m : vector<4xi1> to vector<4xi32>
  %2 = arith.extui %m : vector<4xi1> to vector<4xi32>
  // CHECK: arith.fptosi %f : vector<4xf32> to vector<4xi32>
  %3 = arith.fptosi %f : vector<4xf32> to vector<4xi32>
  // CHECK: arith.index_cast %i : vector<4xi32> to vector<4xindex>
  %4 = arith.index_cast %i : vector<4xi32> to vector<4xindex>
  // CHECK: arith.remf %f, %f fastmath<nnan> : vector<4xf32>
  %5 = arith.remf %f, %f fastmath<nnan> : vector<4xf32>
  // CHECK: vector.step : vector<4xindex>
  %6 = vector.step : vector<4xindex>
  return
}

// CHECK-LABEL: @generic
func.func @generic(%x: tensor<2x3xf32>, %a: tensor<2xf32>, %b: tensor<2xi64>) -> (tensor<2xf32>, tensor<2xi64>) {
  // CHECK:      %m, %n = linalg.generic {indexing_maps = [{{.*}}], iterator_types = ["parallel", "reduction"]}
  // CHECK-SAME:   ins(%x : tensor<2x3xf32>) outs(%a, %b : tensor<2xf32>, tensor<2xi64>) attrs =  {note = 1 : i64} {
  // CHECK:      } -> (tensor<2xf32>, tensor<2xi64>)
  %m, %n = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<2x3xf32>) outs(%a, %b : tensor<2xf32>, tensor<2xi64>) attrs = {note = 1 : i64} {
  ^bb0(%v: f32, %o: f32, %p: i64):
    linalg.yield %v, %p : f32, i64
  } -> (tensor<2xf32>, tensor<2xi64>)
  return %m, %n : tensor<2xf32>, tensor<2xi64>
}
