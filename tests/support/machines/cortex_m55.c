/* A Cortex-M55 that calls a function once, with no memory but what it is given, and
 * writes its results to a file. All that it is to do is at JOB. */
#include <stdint.h>

#define JOB ((const struct Job *)0x21180000)
#define REGISTER(address) (*(volatile uint32_t *)(address))

struct Job {
  void (*function)(void *arguments, void *results, void *arena);
  void *arguments, *results, *arena;
  uint32_t regions, outputs;
  struct { uint32_t first, last; } region[13];
  struct { uint32_t address, bytes; } output[8];
  char path[256];
};

static int semihost(int operation, const void *block) {
  register int number __asm("r0") = operation;
  register const void *argument __asm("r1") = block;
  __asm volatile("bkpt 0xab" : "+r"(number) : "r"(argument) : "memory");
  return number;
}

static void stop(uint32_t status) {
  uint32_t block[2] = {0x20026, status}; /* ADP_Stopped_ApplicationExit */
  semihost(0x20, block);
  for (;;) {
  }
}

static void fault(void) { stop(3); }

static void allow(uint32_t number, uint32_t first, uint32_t last) {
  REGISTER(0xE000ED98) = number;
  REGISTER(0xE000ED9C) = first & ~31u;
  REGISTER(0xE000EDA0) = (last & ~31u) | 1;
}

static void begin(void) {
  const struct Job *job = JOB;
  uint32_t i, file, length = 0;
  REGISTER(0xE000ED88) |= 0xF00000; /* floats and vectors */
  REGISTER(0xE000EDC0) = 0x44;      /* memory without a cache */
  allow(0, 0, 0x7FFFF);
  allow(1, 0x01000000, 0x011FFFFF);
  allow(2, 0x21000000, 0x211FFFFF);
  for (i = 0; i < job->regions; i++)
    allow(3 + i, job->region[i].first, job->region[i].last);
  REGISTER(0xE000ED94) = 1;
  __asm volatile("dsb\n isb" ::: "memory");
  job->function(job->arguments, job->results, job->arena);
  REGISTER(0xE000ED94) = 0;
  while (job->path[length]) length++;
  uint32_t opening[3] = {(uint32_t)job->path, 5, length}; /* "wb" */
  file = semihost(1, opening);
  for (i = 0; i < job->outputs; i++) {
    uint32_t writing[3] = {file, job->output[i].address, job->output[i].bytes};
    semihost(5, writing);
  }
  semihost(2, &file);
  stop(0);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))0x21180000, begin, fault, fault, fault, fault, fault};
