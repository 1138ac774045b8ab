/**
 * Writes settlements to the spool of a folder until no more fit, in its own process: a limit on the size of its files
 * (`ulimit -f`) has the effect of a full disk. Prints how many the spool said it has.
 */
import { openSpool } from '../../src/ledger/spool.ts';
import { newId } from '../../src/lib/ids.ts';
import { newGeneration, newSettlement } from './ledger-operations.ts';

const [folder = '', isReserving = '', bytes = '0'] = process.argv.slice(2);
const spool = openSpool(folder, process.pid, newId());
const problem = isReserving === 'reserve' ? spool.problem() : null;
const provider = 'P'.repeat(Number(bytes));

function keepOne(): boolean {
  const generation = newGeneration({ accountId: newId(), keyId: newId(), priceListId: 1 });
  try {
    spool.keep(newSettlement(generation, 7n, { provider }));
    return true;
  } catch {
    return false;
  }
}

while (keepOne());
console.log(JSON.stringify({ problem, count: spool.count(), unstored: spool.unstoredCount() }));
