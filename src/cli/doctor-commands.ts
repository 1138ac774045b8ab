import type { LocalCommand } from './command.ts';

const doctor: LocalCommand = {
  name: 'doctor',
  summary: 'Check what the gateway needs and say what to do; exit 1 if it cannot work. Changes nothing.',
  options: [{ name: 'offline', value: null }],
  runLocally: async (config, words) => {
    // The other commands need none of it.
    const [{ examine }, { formatReport }] = await Promise.all([
      import('../doctor/examine.ts'),
      import('../doctor/report.ts'),
    ]);
    const findings = await examine(config, { isOffline: words.flag('offline') });
    const works = findings.every(({ level }) => level !== 'problem');
    return { json: { works, findings }, text: formatReport(findings), exitCode: works ? 0 : 1 };
  },
};

export const doctorCommands = [doctor];
