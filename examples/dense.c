// Calls the compiled examples/dense.mlir: see README.md.
#include <stdio.h>
#include "dense.h"
int main(void) {
  static float x[56 * 256], w[128 * 256], b[128], y[56 * 128];
  for (int i = 0; i < 56 * 256; i++) x[i] = 1.0f;
  for (int i = 0; i < 128 * 256; i++) w[i] = 0.5f;
  const void *inputs[] = {x, w, b};
  void *outputs[] = {y};
  relay_model *model;
  int status = relay_model_create(&model);
  if (!status) status = relay_model_run(model, inputs, outputs);
  if (status) { puts(relay_model_error(status)); return 1; }
  printf("%s[0] = %g\n", relay_model_output_name(0), y[0]);
  relay_model_destroy(model);
}
