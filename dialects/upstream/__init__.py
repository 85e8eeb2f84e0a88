"""Operations of upstream MLIR dialects that xDSL lacks, with upstream's names, syntax and semantics."""
