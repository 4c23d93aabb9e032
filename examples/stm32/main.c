/* Runs a model and prints the least cycles of ten runs, and its first outputs. */
#include <stdint.h>

#include "board.h"
#include "model.h"

#define RUNS 10
#define SHOWN 12

static uint64_t arena[(MODEL_ARENA_BYTES + 7) / 8]; /* its alignment is at most 8 */

#ifdef MODEL_INPUT_OFFSET
#define INPUT ((void *)((unsigned char *)arena + MODEL_INPUT_OFFSET))
#define OUTPUT ((void *)((unsigned char *)arena + MODEL_OUTPUT_OFFSET))
#else
static uint64_t input[MODEL_INPUT_COUNT]; /* room for elements of any type */
static uint64_t output[MODEL_OUTPUT_COUNT];
#define INPUT ((void *)input)
#define OUTPUT ((void *)output)
#endif

/* The same bytes each time: a call may overwrite an input that lies in the arena. */
static void draw_input(unsigned char *bytes) {
  uint32_t state = 1;
  int i;
  for (i = 0; i < MODEL_INPUT_COUNT; i++) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = (unsigned char)(state >> 24);
  }
}

int main(void) {
  uint32_t least = UINT32_MAX;
  int32_t status = MODEL_OK;
  int i;
  board_start();
  for (i = 0; i < RUNS && status == MODEL_OK; i++) {
    uint32_t before, taken;
    draw_input(INPUT);
    before = board_cycles();
    status = model_run(INPUT, OUTPUT, arena, sizeof arena);
    taken = board_cycles() - before;
    if (taken < least) least = taken;
  }
  if (status != MODEL_OK) {
    board_print("status ");
    board_print_number(status);
  } else {
    board_print("cycles ");
    board_print_number((int32_t)least);
    board_print("\nfirst outputs");
    for (i = 0; i < SHOWN && i < MODEL_OUTPUT_COUNT; i++) {
      board_print(" ");
      board_print_number(((const signed char *)OUTPUT)[i]);
    }
  }
  board_print("\n");
  board_stop();
  return 0;
}
