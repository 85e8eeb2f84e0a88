// RUN: relay-opt %s --split-input-file --verify-diagnostics

relay.adt @T {
  relay.constructor @A(tensor<f32>)
}
relay.func @main(%x: tensor<i32>) -> !relay.adt<@T> {
  // expected-error @below {{@A has type (tensor<f32>) -> !relay.adt<@T>, but is used as (tensor<i32>) -> !relay.adt<@T>}}
  %0 = relay.construct @A(%x) : (tensor<i32>) -> !relay.adt<@T>
  relay.return %0 : !relay.adt<@T>
}

// -----

relay.func @main(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{no data type of this module has a constructor @B}}
  %0 = relay.construct @B(%x) : (tensor<f32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}

// -----

relay.func @main(%f: (tensor<f32>) -> tensor<f32>, %x: tensor<i32>) -> tensor<f32> {
  // expected-error @below {{the function is (tensor<f32>) -> tensor<f32>, but is called as (tensor<i32>) -> tensor<f32>}}
  %0 = relay.apply %f(%x) : (tensor<f32>) -> tensor<f32>, (tensor<i32>) -> tensor<f32>
  relay.return %0 : tensor<f32>
}

// -----

relay.func @main(%x: tensor<f32>) -> tensor<i32> {
  // expected-error @below {{case 0 yields (tensor<f32>), but (tensor<i32>) is declared}}
  %0 = relay.match %x : tensor<f32> -> tensor<i32> {
  case %y: tensor<f32> {
    relay.yield %y : tensor<f32>
  }
  }
  relay.return %0 : tensor<i32>
}

// -----

relay.func @main(%r: !relay.ref<tensor<f32>>, %x: tensor<i32>) -> tuple<> {
  // expected-error @below {{a !relay.ref<tensor<f32>> does not hold a tensor<i32>}}
  %0 = relay.ref_write %r, %x : !relay.ref<tensor<f32>>, tensor<i32> -> tuple<>
  relay.return %0 : tuple<>
}

// -----

// expected-error @below {{the extern type @S can have no constructors}}
"relay.adt"() <{sym_name = "S", type_params = [], extern}> ({
  "relay.constructor"() <{sym_name = "A", fields = []}> : () -> ()
}) : () -> ()
