import { resolve } from 'node:path';
import { readCatalogFile } from '../models/catalog-store.ts';
import type { LocalCommand } from './command.ts';

const check: LocalCommand = {
  name: 'catalog check',
  summary: 'Check a catalogue file and list every problem.',
  positionals: ['[FILE]'],
  runLocally: async (config, words) => {
    const [given] = words.positionals;
    const { result } = await readCatalogFile(given === undefined ? config.catalogFile : resolve(given));
    if (!result.ok) {
      const { problems } = result;
      return { json: { ok: false, problems }, text: problems.join('\n'), exitCode: 1 };
    }
    const { priceVersion, models, providers } = result.catalog;
    return {
      json: { ok: true, price_version: priceVersion, models: models.size, providers: providers.size },
      text: `The catalogue is valid: ${models.size} models, ${providers.size} providers, price version ${priceVersion}.`,
    };
  },
};

export const catalogCommands = [check];
