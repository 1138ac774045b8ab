import { readConfigApartFromSecret } from '../config.ts';
import type { UnconfiguredCommand } from './command.ts';

const doctor: UnconfiguredCommand = {
  name: 'doctor',
  summary:
    'Check everything that the gateway needs, and say how to fix what is wrong. Exit 1 if the gateway cannot work. Changes nothing.',
  options: [{ name: 'offline', value: null }],
  runUnconfigured: async (words) => {
    const { config, secretProblem } = readConfigApartFromSecret();
    // The other commands need none of it.
    const [{ examine }, { formatReport }] = await Promise.all([
      import('../doctor/examine.ts'),
      import('../doctor/report.ts'),
    ]);
    const findings = await examine(config, { isOffline: words.flag('offline'), secretProblem });
    const works = findings.every(({ level }) => level !== 'problem');
    return { json: { works, findings }, text: formatReport(findings), exitCode: works ? 0 : 1 };
  },
};

export const doctorCommands = [doctor];
