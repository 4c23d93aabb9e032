/* Output by the serial port of an ATmega, and the end of a program: the emulator stops
 * where the processor sleeps without interrupts. */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdio.h>

static int put(char byte, FILE *stream) {
  (void)stream;
  while ((UCSR0A & (1 << UDRE0)) == 0) {
  }
  UDR0 = (uint8_t)byte;
  return 0;
}

static FILE serial = FDEV_SETUP_STREAM(put, NULL, _FDEV_SETUP_WRITE);

__attribute__((constructor)) static void open_serial(void) {
  UCSR0B = 1 << TXEN0;
  stdout = &serial;
}

__attribute__((destructor)) static void stop(void) {
  put('\n', stdout);
  cli();
  sleep_mode();
}
