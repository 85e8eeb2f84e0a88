// RUN: relay-opt %s --split-input-file --verify-diagnostics -o %t

relay.func @before(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{operand 0 %b is used before it is defined}}
  %a = relay.nn.relu %b : tensor<2xf32>
  %b = relay.nn.relu %x : tensor<2xf32>
  relay.return %a : tensor<2xf32>
}

// -----

func.func @itself(%x: f32) -> f32 {
  // expected-error @below {{operand 0 %a is used before it is defined}}
  %a = arith.addf %a, %x : f32
  func.return %a : f32
}

// -----

func.func @side(%c: i1, %x: f32) -> f32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %a = arith.addf %x, %x : f32
  cf.br ^bb2
^bb2:
  // expected-error @below {{operand 0 %a is defined in a block that does not dominate its use}}
  func.return %a : f32
}

// -----

func.func @region(%c: i1, %x: f32) -> f32 {
  // expected-error @+3 {{operand 0 %a is defined in a region that does not hold its use}}
  scf.if %c {
    scf.if %c {
      %b = arith.addf %a, %x : f32
    }
  } else {
    %a = arith.addf %x, %x : f32
  }
  func.return %x : f32
}

// -----

func.func @first(%x: f32) -> f32 {
  // expected-error @below {{operand 0 %a is defined outside the isolated region of 'func.func'}}
  func.return %a : f32
}
func.func @second(%x: f32) -> f32 {
  %a = arith.addf %x, %x : f32
  func.return %a : f32
}

// -----

// What dominates is accepted: loops, regions inside, blocks in any order, blocks that nothing reaches.
func.func @valid(%c: i1, %x: f32) -> f32 {
  %a = arith.addf %x, %x : f32
  cf.br ^head(%a : f32)
^exit:
  func.return %h : f32
^head(%h: f32):
  %n = scf.if %c -> (f32) {
    %i = arith.addf %h, %a : f32
    scf.yield %i : f32
  } else {
    scf.yield %h : f32
  }
  cf.cond_br %c, ^head(%n : f32), ^exit
^dead:
  %d = arith.addf %n, %n : f32
  func.return %d : f32
}
