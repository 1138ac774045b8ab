import { serve } from '../main.ts';
import type { LocalCommand } from './command.ts';

const start: LocalCommand = {
  name: 'serve',
  summary: 'Run the gateway until it is told to stop.',
  runLocally: async (config) => {
    await serve(config);
    return null;
  },
};

export const serveCommands = [start];
