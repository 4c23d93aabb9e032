/* Runs a model and prints the least cycles of ten runs, and its first outputs. */
#include <inttypes.h>
#include <stdio.h>

#include "esp_cpu.h"
#include "model.h"

#define RUNS 10
#define SHOWN 12

static uint64_t arena[(MODEL_ARENA_BYTES + 7) / 8]; /* its alignment is at most 8 */
static uint64_t input[MODEL_INPUT_COUNT];           /* room for elements of any type */
static uint64_t output[MODEL_OUTPUT_COUNT];

/* The same bytes each time. */
static void draw_input(unsigned char *bytes) {
  uint32_t state = 1;
  for (int i = 0; i < MODEL_INPUT_COUNT; i++) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = (unsigned char)(state >> 24);
  }
}

void app_main(void) {
  uint32_t least = UINT32_MAX;
  int32_t status = MODEL_OK;
  draw_input((unsigned char *)input);
  for (int i = 0; i < RUNS && status == MODEL_OK; i++) {
    const uint32_t before = esp_cpu_get_cycle_count();
    status = model_run((void *)input, (void *)output, arena, sizeof arena);
    const uint32_t taken = esp_cpu_get_cycle_count() - before;
    if (taken < least) least = taken;
  }
  if (status != MODEL_OK) {
    printf("status %" PRId32 "\n", status);
    return;
  }
  printf("cycles %" PRIu32 "\nfirst outputs", least);
  for (int i = 0; i < SHOWN && i < MODEL_OUTPUT_COUNT; i++) {
    printf(" %d", ((const signed char *)output)[i]);
  }
  printf("\n");
}
