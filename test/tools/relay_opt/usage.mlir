// RUN: not relay-opt %s -p fold-constnt 2>&1 | filecheck %s --check-prefix=PASS
// PASS: relay-opt: error: unknown pass 'fold-constnt'; did you mean 'fold-constant'?
// RUN: not relay-opt %s --verify-diagnostic 2>&1 | filecheck %s --check-prefix=OPTION
// OPTION: relay-opt: error: unrecognized arguments: --verify-diagnostic; did you mean '--verify-diagnostics'?
// RUN: not relay-opt %s --until fuse-ops -p canonicalize 2>&1 | filecheck %s --check-prefix=UNTIL
// UNTIL: relay-opt: error: the pipeline does not run the pass 'fuse-ops'; it runs canonicalize
// RUN: not relay-opt %s -p 'canonicalize{foo=1}' 2>&1 | filecheck %s --check-prefix=NOOPTION
// NOOPTION: relay-opt: error: pass 'canonicalize' has no option 'foo'; it has no options
// RUN: not relay-opt %s -p 'scf-parallel-loop-tiling{parallel-loop-tile-sizes=a}' 2>&1 | filecheck %s --check-prefix=VALUE
// VALUE: relay-opt: error: pass 'scf-parallel-loop-tiling': Incompatible types
// RUN: not relay-opt %s -p 'canonicalize,,cse' 2>&1 | filecheck %s --check-prefix=SYNTAX
// SYNTAX: relay-opt: error: cannot read the pipeline 'canonicalize,,cse': Expected pass name here
// RUN: not relay-opt %s -t llm 2>&1 | filecheck %s --check-prefix=TARGET
// TARGET: relay-opt: error: unknown target 'llm'; did you mean 'llvm'?
// RUN: not relay-opt %t.missing 2>&1 | filecheck %s --check-prefix=MISSING
// MISSING: relay-opt: error: cannot read '{{.*}}.missing': No such file or directory
// RUN: not relay-opt %S 2>&1 | filecheck %s --check-prefix=FOLDER
// FOLDER: relay-opt: error: cannot read '{{.*}}': Is a directory
// RUN: not relay-opt %s -o /nonexistent/x.mlir 2>&1 | filecheck %s --check-prefix=OUTPUT
// OUTPUT: relay-opt: error: cannot write '/nonexistent/x.mlir': No such file or directory

relay.func @f() -> () {
  relay.return
}
