/* What a Perl program changes outside its process while it is compiled (a file, a connection, a
 * child) would be done once for nobody at each start. So perl starts over before the call is made,
 * by its adapter's own code: CGIBridge::before_effect(). */
#ifndef CGIBRIDGE_PERL_EFFECTS_H
#define CGIBRIDGE_PERL_EFFECTS_H

/* The adapter has loaded that function. */
void perl_effects_begin(void);
int perl_effects_matter(void);
/* The watch (load_watch.h) has found such a call. Returns if perl does not start over. */
void perl_effects_see(void);

#endif
