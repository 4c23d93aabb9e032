/* What a board has to offer: a clock, a port, and a counter of cycles. */
#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

void board_start(void);
uint32_t board_cycles(void);
void board_print(const char *text);
void board_print_number(int32_t number);
void board_stop(void);

#endif
