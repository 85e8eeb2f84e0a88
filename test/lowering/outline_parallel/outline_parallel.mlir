// RUN: relay-opt %s -p 'outline-parallel{threads=2}' --split-input-file | filecheck %s
// RUN: relay-opt %s -p outline-parallel --split-input-file | filecheck %s --check-prefix=ONE

// Each outermost loop of enough work becomes tiles; the pool is handed down to it.

// ONE-NOT: launch

// CHECK: func.func private @f.0.launch(memref<64x1024xf32>, memref<64x1024xf32>, memref<512xi8>, index)
// CHECK: func.func private @f.0.tile(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>, [[TILE:%.*]]: index)
// CHECK: [[SIZE:%.*]] = arith.constant 4 : index
// CHECK-NEXT: [[LOW:%.*]] = arith.muli [[TILE]], [[SIZE]] : index
// CHECK: [[HIGH:%.*]] = arith.minsi
// CHECK: scf.for {{%.*}} = [[LOW]] to [[HIGH]]
// CHECK: func.func private @f(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>, %pool: memref<512xi8>)
// CHECK: [[TILES:%.*]] = arith.constant 16 : index
// CHECK-NEXT: func.call @f.0.launch(%x, %y, %pool, [[TILES]])
// CHECK-NEXT: func.return
// CHECK: func.func @main({{.*}}, %pool: memref<512xi8>)
// CHECK-NEXT: func.call @f(%x, %y, %pool)
func.func private @f(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c1024 = arith.constant 1024 : index
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    scf.for %j = %c0 to %c1024 step %c1 {
      %v = memref.load %x[%i, %j] : memref<64x1024xf32>
      memref.store %v, %y[%i, %j] : memref<64x1024xf32>
    }
    scf.reduce
  }
  return
}
func.func @main(%x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  func.call @f(%x, %y) : (memref<64x1024xf32>, memref<64x1024xf32>) -> ()
  return
}

// -----

// Little work stays a loop; @main takes the pool all the same.

// CHECK: func.func private @small(%x: memref<4xf32>) {
// CHECK: scf.parallel
// CHECK: func.func @main(%x: memref<4xf32>, %pool: memref<512xi8>)
// CHECK-NEXT: func.call @small(%x)
func.func private @small(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %z = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    memref.store %z, %x[%i] : memref<4xf32>
    scf.reduce
  }
  return
}
func.func @main(%x: memref<4xf32>) {
  func.call @small(%x) : (memref<4xf32>) -> ()
  return
}
