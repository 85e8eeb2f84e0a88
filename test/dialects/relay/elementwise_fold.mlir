// RUN: relay-opt %s -p fold-constant --split-input-file | filecheck %s

// x + -0.0 is x; x + 0.0 is not, where x is -0.0.
relay.func @add(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %minus = relay.constant dense<-0.0> : tensor<2xf32>
  %plus = relay.constant dense<0.0> : tensor<2xf32>
  %0 = relay.add %minus, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.add %x, %plus : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: relay.func @add
// CHECK:         %[[SUM:.*]] = relay.add %x
// CHECK-NEXT:    relay.return %x, %[[SUM]]

// -----

// x - 0.0 is x, x - -0.0 is not.
relay.func @subtract(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %plus = relay.constant dense<0.0> : tensor<2xf32>
  %minus = relay.constant dense<-0.0> : tensor<2xf32>
  %0 = relay.subtract %x, %plus : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.subtract %x, %minus : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: relay.func @subtract
// CHECK:         %[[DIFFERENCE:.*]] = relay.subtract %x
// CHECK-NEXT:    relay.return %x, %[[DIFFERENCE]]

// -----

// x * 0 is not folded to 0: x may be NaN.
relay.func @zero(%x: tensor<2xf32>) -> tensor<2xf32> {
  %zero = relay.constant dense<0.0> : tensor<2xf32>
  %0 = relay.multiply %x, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %0 : tensor<2xf32>
}
// CHECK-LABEL: relay.func @zero
// CHECK:         relay.multiply

// -----

// An identity that changes the shape stays.
relay.func @broadcast(%x: tensor<2xf32>, %n: tensor<3x2xi32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %one = relay.constant dense<1.0> : tensor<3x2xf32>
  %all = relay.constant dense<-1> : tensor<2xi32>
  %0 = relay.multiply %x, %one : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = relay.bitwise_and %n, %all : (tensor<3x2xi32>, tensor<2xi32>) -> tensor<3x2xi32>
  relay.return %0, %1 : tensor<3x2xf32>, tensor<3x2xi32>
}
// CHECK-LABEL: relay.func @broadcast
// CHECK:         %[[PRODUCT:.*]] = relay.multiply
// CHECK-NEXT:    relay.return %[[PRODUCT]], %n

// -----

relay.func @unary(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %0 = relay.negative %x : tensor<2xf32>
  %1 = relay.negative %0 : tensor<2xf32>
  %2 = relay.nn.relu %x : tensor<2xf32>
  %3 = relay.nn.relu %2 : tensor<2xf32>
  %4 = relay.cast %x {dtype = f32} : (tensor<2xf32>) -> tensor<2xf32>
  relay.return %1, %3, %4 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: relay.func @unary
// CHECK:         %[[RELU:.*]] = relay.nn.relu %x
// CHECK-NEXT:    relay.return %x, %[[RELU]], %x

// -----

// Clips with other bounds do not swallow each other.
relay.func @clips(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = relay.clip %x {a_min = 0.0, a_max = 6.0} : tensor<2xf32>
  %1 = relay.clip %0 {a_min = 0.0, a_max = 6.0} : tensor<2xf32>
  %2 = relay.clip %1 {a_min = 1.0, a_max = 6.0} : tensor<2xf32>
  relay.return %2 : tensor<2xf32>
}
// CHECK-LABEL: relay.func @clips
// CHECK-NEXT:    %[[CLIP:.*]] = relay.clip %x {a_min = 0.0
// CHECK-NEXT:    relay.clip %[[CLIP]] {a_min = 1.0

// -----

relay.func @where(%c: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %true = relay.constant dense<true> : tensor<2xi1>
  %0 = relay.where %c, %x, %x : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = relay.where %true, %y, %x : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  relay.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// CHECK-LABEL: relay.func @where
// CHECK:         relay.return %x, %y
