/**
 * Loaded before a gateway: at each step of its start it stops, as if a busy machine had no time for it, until someone lets
 * it go on. Hashing a password, the slowest part of a start, is a step too.
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
