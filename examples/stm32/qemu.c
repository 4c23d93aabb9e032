/* QEMU's mps2-an386, to try the program without a board: a port, and no counter. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART_DATA REGISTER(0x40004000)
#define UART_CONTROL REGISTER(0x40004008)
#define UART_DIVIDER REGISTER(0x40004010)
#define CPACR REGISTER(0xE000ED88)

extern uint32_t stack_top[];
int main(void);
void reset(void);

void reset(void) {
  CPACR |= 0xFu << 20;
  main();
  for (;;) {
  }
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const handler vectors[16] = {
    (handler)stack_top, reset};

void board_start(void) {
  UART_DIVIDER = 16;
  UART_CONTROL = 1;
}

uint32_t board_cycles(void) { return 0; }

void board_print(const char *text) {
  for (; *text; text++) UART_DATA = (unsigned char)*text;
}

void board_print_number(int32_t number) {
  if (number < 0) board_print("-"), number = -number;
  if (number >= 10) board_print_number(number / 10);
  UART_DATA = '0' + (uint32_t)(number % 10);
}

/* Ends QEMU, which was started with -semihosting. */
void board_stop(void) {
  __asm volatile("mov r0, #0x18\n ldr r1, =0x20026\n bkpt 0xab" ::: "r0", "r1", "memory");
}
