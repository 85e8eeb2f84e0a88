// RUN: relay-opt %s --split-input-file --verify-diagnostics

func.func @select(%m: vector<2xi1>, %f: vector<4xf32>) {
  // expected-error @below {{needs a condition i1 or of its shape, not vector<2xi1>}}
  %0 = arith.select %m, %f, %f : vector<2xi1>, vector<4xf32>
  return
}

// -----

func.func @shapes(%i: vector<4xi32>) {
  // expected-error @below {{the shapes differ}}
  %0 = arith.trunci %i : vector<4xi32> to vector<2xi8>
  return
}

// -----

func.func @width(%i: vector<4xi32>) {
  // expected-error @below {{Destination bit-width must be smaller}}
  %0 = arith.trunci %i : vector<4xi32> to vector<4xi64>
  return
}

// -----

llvm.func @compare(%x: vector<4xf32>) {
  // expected-error @below {{comparing vector<4xf32> gives vector<4xi1>, not i1}}
  %0 = "llvm.fcmp"(%x, %x) <{predicate = 4 : i64, fastmathFlags = #llvm.fastmath<none>}> : (vector<4xf32>, vector<4xf32>) -> i1
  llvm.return
}

// -----

func.func @no_maps(%x: tensor<2xf32>) {
  // expected-error @below {{expected indexing_maps, a list of affine maps}}
  linalg.generic {iterator_types = ["parallel"]} outs(%x : tensor<2xf32>) {
  ^bb0(%v: f32):
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return
}

// -----

func.func @unknown_iterator(%x: tensor<2xf32>) {
  // expected-error @below {{unknown iterator type "sideways"}}
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["sideways"]} outs(%x : tensor<2xf32>) {
  ^bb0(%v: f32):
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return
}

// -----

func.func @unknown_attribute(%x: tensor<2xf32>) {
  // expected-error @below {{unknown attribute 'speed': others come after `attrs =`}}
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"], speed = 2} outs(%x : tensor<2xf32>) {
  ^bb0(%v: f32):
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return
}
