/* Carries out a list of steps (bridge/sandbox/steps.h). */
#ifndef CGIBRIDGE_STEP_DOWN_STEPS_H
#define CGIBRIDGE_STEP_DOWN_STEPS_H

struct steps {
  const char *next;
  const char *end;
};

/* Takes the list that fd holds. Leaves if it cannot be read. */
struct steps steps_of(int fd);

/* Carries out the steps up to the first STEP_BECOME; called again, those after it. If a step fails,
 * this is reported on standard error, and the process leaves. */
void take_steps(struct steps *steps);

#endif
