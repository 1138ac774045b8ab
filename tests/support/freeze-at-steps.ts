/**
 * Loaded before a gateway: at each step of its start it stops as a process does that a busy machine has no time for, until
 * someone lets it go on. Hashing a password, the slowest thing that a start does, is a step too.
 */
import { Closers } from '../../src/operations/lifecycle.ts';

const { add } = Closers.prototype;
Closers.prototype.add = function addFrozen(what, close) {
  add.call(this, what, close);
  freeze();
};

const { hash } = Bun.password;
Bun.password.hash = (...args) => {
  freeze();
  return hash(...args);
};

function freeze(): void {
  process.kill(process.pid, 'SIGSTOP');
}
