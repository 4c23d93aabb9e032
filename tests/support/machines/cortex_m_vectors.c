/* Where a Cortex-M begins: the top of its stack, and the start of the C library. */
void _start(void);
void stack_top(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {
    stack_top, _start};
