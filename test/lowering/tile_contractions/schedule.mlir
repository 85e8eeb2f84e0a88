// RUN: relay-opt %s -p relay-to-linalg,tile-contractions --split-input-file | filecheck %s
// RUN: relay-opt %s -p 'relay-to-linalg,tile-contractions{vector-bits=256 registers=16}' --split-input-file | filecheck %s --check-prefix=AVX2

// Rows of the output times vectors along its last dimension, within the registers there are.
// CHECK-LABEL: func.func @dense(
// CHECK:         schedule = {lane_loop = 1 : i64, rows_loop = 0 : i64, outer_rows_loop = -1 : i64, lanes = 16 : i64, vectors = 2 : i64, rows = 14 : i64, outer_rows = 1 : i64}
// AVX2:          lanes = 8 : i64, vectors = 2 : i64, rows = 6 : i64
relay.func @dense(%x: tensor<84x256xf32>, %w: tensor<128x256xf32>) -> tensor<84x128xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<84x256xf32>, tensor<128x256xf32>) -> tensor<84x128xf32>
  relay.return %0 : tensor<84x128xf32>
}

// -----

// One row: more vectors, so that there are sums enough to hide the latency of the multiply-add.
// CHECK-LABEL: func.func @one_row(
// CHECK:         rows_loop = -1 : i64, {{.*}} vectors = 8 : i64, rows = 1 : i64
relay.func @one_row(%x: tensor<1x256xf32>, %w: tensor<1000x256xf32>) -> tensor<1x1000xf32> {
  %0 = relay.nn.dense %x, %w : (tensor<1x256xf32>, tensor<1000x256xf32>) -> tensor<1x1000xf32>
  relay.return %0 : tensor<1x1000xf32>
}

// -----

// Short rows: the tile spans two of them.
// CHECK-LABEL: func.func @conv7(
// CHECK:         lane_loop = 3 : i64, rows_loop = 2 : i64, outer_rows_loop = 1 : i64, lanes = 16 : i64, vectors = 2 : i64, rows = 7 : i64, outer_rows = 2 : i64
relay.func @conv7(%x: tensor<1x7x7x64xf32>, %w: tensor<1x1x64x64xf32>) -> tensor<1x7x7x64xf32> {
  %0 = relay.nn.conv2d %x, %w {data_layout = "NHWC", kernel_layout = "HWIO"} : (tensor<1x7x7x64xf32>, tensor<1x1x64x64xf32>) -> tensor<1x7x7x64xf32>
  relay.return %0 : tensor<1x7x7x64xf32>
}

// -----

// An output of one column has no loop to run vectors along; a reduction that is no contraction gets no schedule.
// CHECK-LABEL: func.func @none(
// CHECK-NOT:     schedule
relay.func @none(%x: tensor<8x256xf32>, %w: tensor<1x256xf32>) -> (tensor<8x1xf32>, tensor<8xf32>) {
  %0 = relay.nn.dense %x, %w : (tensor<8x256xf32>, tensor<1x256xf32>) -> tensor<8x1xf32>
  %1 = relay.sum %x {axis = [1]} : (tensor<8x256xf32>) -> tensor<8xf32>
  relay.return %0, %1 : tensor<8x1xf32>, tensor<8xf32>
}
