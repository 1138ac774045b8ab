import { basename, resolve } from 'node:path';
import { OperatorError } from '../lib/operator-error.ts';
import { parseCatalog } from '../models/catalog.ts';
import type { LocalCommand } from './command.ts';

const check: LocalCommand = {
  name: 'catalog check',
  summary: 'Check a catalogue file whole and say everything that is wrong with it.',
  positionals: ['[FILE]'],
  runLocally: async (config, words) => {
    const [given] = words.positionals;
    const file = given === undefined ? config.catalogFile : resolve(given);
    const text = await Bun.file(file)
      .text()
      .catch(() => null);
    if (text === null) throw new OperatorError(`The catalogue ${file} cannot be read.`);
    const result = parseCatalog(text, basename(file));
    if (!result.ok) {
      const { problems } = result;
      return { json: { ok: false, problems }, text: problems.join('\n'), exitCode: 1 };
    }
    const { priceVersion, models, providers } = result.catalog;
    return {
      json: { ok: true, price_version: priceVersion, models: models.size, providers: providers.size },
      text: `The catalogue is good: ${models.size} models, ${providers.size} providers, prices of ${priceVersion}.`,
    };
  },
};

export const catalogCommands = [check];
