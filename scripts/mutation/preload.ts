/** Replaces the tests' own preload: the same properties for every mutant, and no search for a smaller failure. */
import fc from 'fast-check';

fc.configureGlobal({ seed: 1, endOnFailure: true });
