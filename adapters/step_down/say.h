/* What cgibridge-step-down says on standard error before it leaves. */
#ifndef CGIBRIDGE_STEP_DOWN_SAY_H
#define CGIBRIDGE_STEP_DOWN_SAY_H

void say(const char *text);
void say_number(unsigned long number);
/* In words, or as a number. */
void say_error(long error);
/* Leaves with exit code 126. */
_Noreturn void leave(void);

#endif
