// RUN: relay-opt %s -p fuse-ops --split-input-file | filecheck %s

// Each branch is fused for itself, and not with what surrounds the relay.if.
relay.func @main(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = relay.negative %x : tensor<4xf32>
  %1 = relay.if %c : tensor<i1> -> (tensor<4xf32>) {
    %2 = relay.sqrt %0 : tensor<4xf32>
    %3 = relay.negative %2 : tensor<4xf32>
    relay.yield %3 : tensor<4xf32>
  } else {
    relay.yield %0 : tensor<4xf32>
  }
  %4 = relay.sqrt %1 : tensor<4xf32>
  relay.return %4 : tensor<4xf32>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[A:.*]] = relay.call @negative(%x)
// CHECK-NEXT:    %[[B:.*]] = relay.if %c
// CHECK-NEXT:      %[[C:.*]] = relay.call @sqrt_negative(%[[A]])
// CHECK-NEXT:      relay.yield %[[C]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      relay.yield %[[A]]
// CHECK-NEXT:    }
// CHECK-NEXT:    relay.call @sqrt(%[[B]])

// -----

// What several results come from stays one function; only results in use are returned.
relay.func @main(%x: tensor<4xf32>) -> (tensor<2xf32>, tuple<tensor<2xf32>>) {
  %0, %1 = relay.split %x {indices_or_sections = [2]} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xf32>)
  %2 = relay.negative %1 : tensor<2xf32>
  %3 = relay.tuple %2 : tuple<tensor<2xf32>>
  relay.return %0, %3 : tensor<2xf32>, tuple<tensor<2xf32>>
}
// CHECK-LABEL: relay.func @main
// CHECK-NEXT:    %[[S0:.*]], %[[S1:.*]] = relay.call @split(%x)
// CHECK-NEXT:    %[[N:.*]] = relay.call @negative(%[[S1]])
// CHECK-NEXT:    %[[T:.*]] = relay.tuple %[[N]]
// CHECK-NEXT:    relay.return %[[S0]], %[[T]]
