/* Start, output and end of a program by calls of Linux, for the C library of embedded
 * systems: an emulator of one process runs it. */
#include <stdint.h>
#include <stdio.h>

#if defined(__xtensa__)
__asm__(
    ".global _start\n"
    "_start:\n"
    "  movi a0, 0\n"
    "  call0 main\n"
    "  mov a6, a2\n"
    "  movi a2, 118\n"
    "  syscall\n");
static long write_bytes(const char *bytes, long count) {
  register long number __asm__("a2") = 13;
  register long file __asm__("a6") = 1;
  register const char *from __asm__("a3") = bytes;
  register long size __asm__("a4") = count;
  __asm__ volatile("syscall" : "+r"(number) : "r"(file), "r"(from), "r"(size) : "memory");
  return number;
}

/* The compiler's runtime leaves these to the ROM of the ESP8266. */
uint32_t __udivsi3(uint32_t x, uint32_t y) {
  uint32_t rest = 0, quotient = 0;
  for (int bit = 31; bit >= 0; bit--) {
    rest = (rest << 1) | ((x >> bit) & 1u);
    if (rest >= y) {
      rest -= y;
      quotient |= 1u << bit;
    }
  }
  return quotient;
}
uint32_t __umodsi3(uint32_t x, uint32_t y) { return x - __udivsi3(x, y) * y; }
int32_t __divsi3(int32_t x, int32_t y) {
  uint32_t size = __udivsi3(x < 0 ? -(uint32_t)x : (uint32_t)x, y < 0 ? -(uint32_t)y : (uint32_t)y);
  return (int32_t)((x < 0) != (y < 0) ? -size : size);
}
int64_t __muldi3(int64_t x, int64_t y) {
  const uint32_t a = (uint32_t)x, b = (uint32_t)y;
  const uint32_t low = (a & 0xffff) * (b & 0xffff);
  const uint32_t first = (a >> 16) * (b & 0xffff) + (low >> 16);
  const uint32_t second = (a & 0xffff) * (b >> 16) + (first & 0xffff);
  uint32_t high = (a >> 16) * (b >> 16) + (first >> 16) + (second >> 16);
  high += a * (uint32_t)((uint64_t)y >> 32) + (uint32_t)((uint64_t)x >> 32) * b;
  return (int64_t)((uint64_t)high << 32 | (second << 16 | (low & 0xffff)));
}
int64_t __mulsidi3(int32_t x, int32_t y) { return __muldi3(x, y); }
uint64_t __umulsidi3(uint32_t x, uint32_t y) { return (uint64_t)__muldi3(x, y); }
uint64_t __udivdi3(uint64_t x, uint64_t y) {
  uint64_t rest = 0, quotient = 0;
  for (int bit = 63; bit >= 0; bit--) {
    rest = (rest << 1) | ((x >> bit) & 1u);
    if (rest >= y) {
      rest -= y;
      quotient |= (uint64_t)1 << bit;
    }
  }
  return quotient;
}
int64_t __divdi3(int64_t x, int64_t y) {
  uint64_t size = __udivdi3(x < 0 ? -(uint64_t)x : (uint64_t)x, y < 0 ? -(uint64_t)y : (uint64_t)y);
  return (int64_t)((x < 0) != (y < 0) ? -size : size);
}
#else
__asm__(
    ".global _start\n"
    "_start:\n"
    ".option push\n"
    ".option norelax\n"
    "  la gp, __global_pointer$\n"
    ".option pop\n"
    "  call main\n"
    "  li a7, 93\n"
    "  ecall\n");
static long write_bytes(const char *bytes, long count) {
  register long file __asm__("a0") = 1;
  register const char *from __asm__("a1") = bytes;
  register long size __asm__("a2") = count;
  register long number __asm__("a7") = 64;
  __asm__ volatile("ecall" : "+r"(file) : "r"(from), "r"(size), "r"(number) : "memory");
  return file;
}
#endif

static int put(char letter, FILE *file) {
  (void)file;
  return write_bytes(&letter, 1) == 1 ? letter : EOF;
}

static FILE output = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &output;
