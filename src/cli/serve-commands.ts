import type { LocalCommand } from './command.ts';

const start: LocalCommand = {
  name: 'serve',
  summary: 'Run the gateway until it is told to stop.',
  runLocally: async (config) => {
    // The other commands are quick, and need none of what the gateway is made of.
    const { serve } = await import('../main.ts');
    await serve(config);
    return null;
  },
};

export const serveCommands = [start];
