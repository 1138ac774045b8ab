/** Loaded before a program, this shifts its clock by the number of milliseconds that a file contains at the moment. */
import { readFileSync } from 'node:fs';

const file = process.env.CLOCK_SHIFT_FILE ?? '';
const unshifted = Date.now;
let shiftMs = 0;

function readShift(): void {
  shiftMs = Number(readFileSync(file, 'utf8'));
}

readShift();
setInterval(readShift, 50).unref();
Date.now = () => unshifted() + shiftMs;
