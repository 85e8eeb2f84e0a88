// RUN: relay-opt %s --split-input-file --verify-diagnostics

heap.func private @f(%x: !heap.object, %n: i32) -> !heap.object {
  // expected-error @below {{is given (!heap.object), but @f is (!heap.object, i32) -> !heap.object}}
  %y = heap.call @f(%x) : (!heap.object) -> !heap.object
  heap.return %y : !heap.object
}

// -----

heap.func private @f(%x: !heap.object) -> !heap.object {
  // expected-error @below {{@g is not a heap.func of this module}}
  %y = heap.closure @g(%x) : (!heap.object) -> !heap.object
  heap.return %y : !heap.object
}

// -----

heap.func private @f(%x: !heap.object) -> !heap.object {
  // expected-error @below {{there is no field 2 of 2}}
  %y = heap.field %x[2 of 2] : !heap.object -> !heap.object
  heap.return %y : !heap.object
}
