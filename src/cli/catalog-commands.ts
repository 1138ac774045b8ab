import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { explainFileError } from '../lib/file-error.ts';
import { OperatorError } from '../lib/operator-error.ts';
import { rootFolder } from '../lib/root-folder.ts';
import { readCatalogFile } from '../models/catalog-store.ts';
import { chargedAsInputIn, soldBelowCostIn } from '../models/review.ts';
import type { LocalCommand } from './command.ts';

const check: LocalCommand = {
  name: 'catalog check',
  summary: 'Check a catalogue file: list every problem, and what may be sold below cost.',
  positionals: ['[FILE]'],
  runLocally: async (config, words) => {
    const [given] = words.positionals;
    const { result } = await readCatalogFile(given === undefined ? config.catalogFile : resolve(given));
    if (!result.ok) {
      const { problems } = result;
      return { json: { ok: false, problems }, text: problems.join('\n'), exitCode: 1 };
    }
    const { priceVersion, models, providers } = result.catalog;
    const warnings = soldBelowCostIn(result.catalog);
    const notes = chargedAsInputIn(result.catalog);
    const summary = `The catalogue is valid: ${models.size} models, ${providers.size} providers, price version ${priceVersion}.`;
    return {
      json: {
        ok: true,
        price_version: priceVersion,
        models: models.size,
        providers: providers.size,
        warnings,
        notes,
      },
      text: [summary, ...warnings.map((warning) => `Warning: ${warning}`), ...notes].join('\n'),
    };
  },
};

const init: LocalCommand = {
  name: 'catalog init',
  summary: 'Write the default catalogue to a file, for you to edit.',
  positionals: ['[FILE]'],
  runLocally: async (config, words) => {
    const [given] = words.positionals;
    const file = given === undefined ? config.catalogFile : resolve(given);
    try {
      writeFileSync(file, readFileSync(join(rootFolder, 'catalog.yaml')), { flag: 'wx' });
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (code === 'EEXIST') throw new OperatorError(`${file} already exists and was not changed.`);
      const folder = dirname(file);
      if (code === 'ENOENT')
        throw new OperatorError(`The folder ${folder} does not exist. Create it first: mkdir -p "${folder}"`);
      throw explainFileError(error, file, 'written');
    }
    return { json: { file }, text: `Wrote ${file}. After editing it, run: tollgate catalog check` };
  },
};

export const catalogCommands = [check, init];
