/* Where a Cortex-M begins: 16 KiB of stack, and the start of the C library. */
void _start(void);

__attribute__((section(".vectors"), used)) static void (*const vectors[2])(void) = {
    (void (*)(void))0x20004000, _start};
