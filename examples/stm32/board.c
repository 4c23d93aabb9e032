/* NUCLEO-L4R5ZI: 120 MHz from the PLL, LPUART1 at 115,200 baud on PG7 and PG8, and the
 * counter of cycles. Registers by the reference manual RM0432 and the Armv7-M manual. */
#include "board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

#define RCC 0x40021000u
#define RCC_CR REGISTER(RCC + 0x00)
#define RCC_CFGR REGISTER(RCC + 0x08)
#define RCC_PLLCFGR REGISTER(RCC + 0x0C)
#define RCC_AHB2ENR REGISTER(RCC + 0x4C)
#define RCC_APB1ENR1 REGISTER(RCC + 0x58)
#define RCC_APB1ENR2 REGISTER(RCC + 0x5C)
#define RCC_CCIPR REGISTER(RCC + 0x88)
#define PWR_CR1 REGISTER(0x40007000)
#define PWR_CR2 REGISTER(0x40007004)
#define PWR_SR2 REGISTER(0x40007014)
#define PWR_CR5 REGISTER(0x40007080)
#define FLASH_ACR REGISTER(0x40022000)
#define GPIOG_MODER REGISTER(0x48001800)
#define GPIOG_AFRL REGISTER(0x48001820)
#define LPUART1 0x40008000u
#define LPUART1_CR1 REGISTER(LPUART1 + 0x00)
#define LPUART1_BRR REGISTER(LPUART1 + 0x0C)
#define LPUART1_ISR REGISTER(LPUART1 + 0x1C)
#define LPUART1_TDR REGISTER(LPUART1 + 0x28)
#define CPACR REGISTER(0xE000ED88)
#define DEMCR REGISTER(0xE000EDFC)
#define DWT_CTRL REGISTER(0xE0001000)
#define DWT_CYCCNT REGISTER(0xE0001004)

#define CLOCK 120000000u
#define BAUD 115200u

extern uint32_t stack_top[], data_from[], data_start[], data_end[], zero_start[], zero_end[];
int main(void);

static void halt(void) {
  for (;;) {
  }
}

void reset(void);
void reset(void) {
  uint32_t *from = data_from, *to;
  CPACR |= 0xFu << 20; /* the unit for floats */
  for (to = data_start; to < data_end;) *to++ = *from++;
  for (to = zero_start; to < zero_end;) *to++ = 0;
  main();
  halt();
}

typedef void (*handler)(void);
__attribute__((section(".vectors"), used)) static const handler vectors[16] = {
    (handler)stack_top, reset, halt, halt, halt, halt, halt, halt,
    halt, halt, halt, halt, halt, halt, halt, halt};

/* 120 MHz: MSI (4 MHz) / 1 * 60 / 2, range 1 with boost, five wait states. */
static void set_clock(void) {
  volatile int i;
  RCC_APB1ENR1 |= 1u << 28;                             /* PWR */
  PWR_CR5 &= ~(1u << 8);                                /* boost */
  FLASH_ACR = 5u | 1u << 8 | 1u << 9 | 1u << 10;        /* prefetch, both caches */
  RCC_PLLCFGR = 1u | 60u << 8 | 1u << 24;               /* MSI, N = 60, R = 2 */
  RCC_CR |= 1u << 24;                                   /* PLL on */
  while (!(RCC_CR & 1u << 25)) {
  }
  RCC_CFGR = 3u | 8u << 4; /* the PLL, first at half of its speed */
  while ((RCC_CFGR >> 2 & 3u) != 3u) {
  }
  for (i = 0; i < 100; i++) { /* at least a microsecond */
  }
  RCC_CFGR = 3u;
}

static void set_port(void) {
  PWR_CR2 |= 1u << 9; /* the supply of port G */
  RCC_AHB2ENR |= 1u << 6;
  RCC_APB1ENR2 |= 1u;
  RCC_CCIPR = (RCC_CCIPR & ~(3u << 10)) | 1u << 10; /* LPUART1 by the system clock */
  GPIOG_MODER = (GPIOG_MODER & ~(0xFu << 14)) | 0xAu << 14; /* PG7, PG8: alternate */
  GPIOG_AFRL = (GPIOG_AFRL & ~(0xFu << 28)) | 8u << 28;
  LPUART1_BRR = (uint32_t)(256ull * CLOCK / BAUD);
  LPUART1_CR1 = 1u | 1u << 3;
}

void board_start(void) {
  set_clock();
  set_port();
  DEMCR |= 1u << 24; /* trace on */
  DWT_CYCCNT = 0;
  DWT_CTRL |= 1u;
}

uint32_t board_cycles(void) { return DWT_CYCCNT; }

void board_print(const char *text) {
  for (; *text; text++) {
    while (!(LPUART1_ISR & 1u << 7)) {
    }
    LPUART1_TDR = (unsigned char)*text;
  }
}

void board_print_number(int32_t number) {
  char digits[12], *at = digits + 11;
  uint32_t left = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
  *at = 0;
  do *--at = (char)('0' + left % 10); while (left /= 10);
  if (number < 0) *--at = '-';
  board_print(at);
}

void board_stop(void) {}
