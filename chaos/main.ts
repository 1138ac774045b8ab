/**
 * npm run chaos: see docs/chaos.md. If the first word is the name of a program, this is that program, which a run starts
 * as its own process.
 */
import type { ProgramName } from './world/program.ts';

type Program = (words: readonly string[]) => Promise<number>;

/** Each is loaded only when it runs, so that the rest does not slow down the start of a gateway. */
const programs: Readonly<Record<ProgramName, () => Promise<Program>>> = {
  gateway: async () => (await import('./world/gateway.ts')).runGateway,
  'deaf-port': async () => (await import('./world/deaf-port.ts')).listenAndIgnore,
  admission: async () => (await import('./trials/admission.ts')).runAdmission,
  'early-calls': async () => (await import('./trials/early-calls.ts')).runEarlyCalls,
  confirmations: async () => (await import('./trials/confirmations.ts')).runConfirmations,
  retries: async () => (await import('./trials/retries.ts')).runRetries,
  rolling: async () => (await import('./trials/rolling.ts')).runRolling,
};

function isProgram(word: string | undefined): word is ProgramName {
  return word !== undefined && Object.hasOwn(programs, word);
}

async function main(words: readonly string[]): Promise<number> {
  const [name, ...rest] = words;
  if (isProgram(name)) return await (await programs[name]())(rest);
  return await (await import('./command.ts')).runCommand(words);
}

process.exitCode = await main(process.argv.slice(2));
