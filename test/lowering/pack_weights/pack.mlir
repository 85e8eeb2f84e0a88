// RUN: relay-opt %s -p relay-to-linalg,tile-contractions,pack-weights --split-input-file | filecheck %s

// A weight is laid out in panels, its last one padded; the map says where an element went.
// CHECK-NOT:   @"fc.weight" =
// CHECK:       memref.global "private" constant @[[KEY:fc.weight.packed.[0-9a-f]*]] : memref<2x16x32xf32> = uninitialized
// CHECK-LABEL: func.func private @dense(
// CHECK-SAME:    %[[W:[^:]*]]: tensor<2x16x32xf32>
// CHECK:         affine_map<(d0, d1, d2) -> ((d1 floordiv 32), d2, (d1 mod 32))>
// CHECK-SAME:    %[[W]]
// CHECK-LABEL: func.func @main(
// CHECK:         memref.get_global @[[KEY]]
// CHECK:         func.call @dense({{.*}}) : (tensor<14x16xf32>, tensor<2x16x32xf32>)
relay.func private @dense(%x: tensor<14x16xf32>, %w: tensor<40x16xf32>) -> tensor<14x40xf32> attributes {primitive} {
  %0 = relay.nn.dense %x, %w : (tensor<14x16xf32>, tensor<40x16xf32>) -> tensor<14x40xf32>
  relay.return %0 : tensor<14x40xf32>
}
relay.func @main(%x: tensor<14x16xf32>) -> tensor<14x40xf32> {
  %w = relay.weight "fc.weight" : tensor<40x16xf32>
  %0 = relay.call @dense(%x, %w) : (tensor<14x16xf32>, tensor<40x16xf32>) -> tensor<14x40xf32>
  relay.return %0 : tensor<14x40xf32>
}

// -----

// An operand that is computed at run time is transposed where the kernel cannot read it in order.
// CHECK-LABEL: func.func @computed(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<14x16xf32>, %[[W:[^:]*]]: tensor<40x16xf32>
// CHECK:         %[[T:.*]] = linalg.generic {{.*}} ins(%[[W]] : tensor<40x16xf32>)
// CHECK:         } -> tensor<16x40xf32>
// CHECK:         linalg.generic {{.*}}affine_map<(d0, d1, d2) -> (d2, d1)>{{.*}} ins(%[[X]], %[[T]]
relay.func @computed(%x: tensor<14x16xf32>, %w: tensor<40x16xf32>) -> tensor<14x40xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<14x16xf32>, tensor<40x16xf32>) -> tensor<14x40xf32>
  relay.return %0 : tensor<14x40xf32>
}

// -----

// One that already is in order stays as it is.
// CHECK-LABEL: func.func @in_order(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %w
// CHECK-NOT:     linalg.generic
relay.func @in_order(%x: tensor<14x16xf32>, %w: tensor<16x40xf32>) -> tensor<14x40xf32> {
  %0 = relay.nn.matmul %x, %w : (tensor<14x16xf32>, tensor<16x40xf32>) -> tensor<14x40xf32>
  relay.return %0 : tensor<14x40xf32>
}
