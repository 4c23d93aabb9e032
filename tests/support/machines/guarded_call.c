/* Calls a model once. All that it is given is in a file: how many inputs and outputs
 * there are, whether arrays end or start at pages that can't be touched, the bytes of
 * each array, of the arena too, and the inputs. Outputs go to another file. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ul

int32_t ENTRY(void **arguments, void **results, void *arena);

static unsigned char *place(uint64_t bytes, int at_end) {
  uint64_t size = (bytes + PAGE - 1) / PAGE * PAGE;
  unsigned char *memory = mmap(0, size + 2 * PAGE, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (size) mprotect(memory + PAGE, size, PROT_READ | PROT_WRITE);
  return memory + PAGE + (at_end ? size - bytes : 0);
}

int main(int count, char **given) {
  uint64_t head[3], bytes[64], i;
  void *arrays[64];
  FILE *from = fopen(given[1], "rb"), *to = fopen(given[2], "wb");
  if (count != 3 || fread(head, 8, 3, from) != 3) return 1;
  uint64_t ports = head[0] + head[1];
  if (fread(bytes, 8, ports + 1, from) != ports + 1) return 1;
  for (i = 0; i <= ports; i++) {
    arrays[i] = place(bytes[i], head[2] && i < ports);
    if (i < head[0]) {
      if (fread(arrays[i], 1, bytes[i], from) != bytes[i]) return 1;
    } else {
      memset(arrays[i], 0x5A, bytes[i]);
    }
  }
#ifdef __arm__ /* subnormal numbers are flushed, and all is rounded toward zero */
  __asm__ volatile("vmsr fpscr, %0" : : "r"(0x1C00000));
#endif
  ENTRY(arrays, arrays + head[0], arrays[ports]);
  for (i = head[0]; i < ports; i++) fwrite(arrays[i], 1, bytes[i], to);
  return fclose(to);
}
