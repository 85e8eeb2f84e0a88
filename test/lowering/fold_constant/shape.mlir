// RUN: relay-opt %s -p fold-constant | filecheck %s

// The shape of a tensor is known without its elements, unless a dimension is not.
relay.func @main(%x: tensor<2x3xf32>, %y: tensor<?xf32>) -> (tensor<2xi64>, tensor<1xi64>) {
  %0 = relay.shape_of %x : (tensor<2x3xf32>) -> tensor<2xi64>
  %1 = relay.shape_of %y : (tensor<?xf32>) -> tensor<1xi64>
  relay.return %0, %1 : tensor<2xi64>, tensor<1xi64>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    relay.constant dense<[2, 3]> : tensor<2xi64>
// CHECK-NEXT:    relay.shape_of %y
