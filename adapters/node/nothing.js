// The main module of a rehearsal.
