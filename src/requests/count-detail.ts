/**
 * How finely refusals are counted. Each combination of a key, a model and a code is a row for each minute and each hour, and
 * clients choose them without paying. So within an hour only the first combinations of a key and of an account are counted by
 * themselves. Each node decides for itself, in memory of fixed size.
 */
import { nilId } from '../lib/ids.ts';
import { hourMs } from '../lib/time-units.ts';

/** Of a key; then all models are counted together, by code. */
export const maxModelsOfKey = 20;
/** Of an account; then all models are counted together, for each key and code. */
export const maxWithModelOfAccount = 200;
/** Of an account; then all keys are counted together, by code. */
export const maxOfAccount = 1_000;
/** Of everybody, in an hour; then only what is reserved for each account, without models. */
export const maxOfAll = 10_000;
export const reservedOfAccount = 20;
/** A request is refused within an hour of its arrival. One that is not is counted by code only. */
const maxHours = 2;

type Hour = {
  size: number;
  readonly ofAccounts: Map<string, Set<string>>;
  readonly ofKeys: Map<string, number>;
};

export class CountDetail {
  readonly #hours = new Map<number, Hour>();

  /** Under which key and model to count; the model is empty where it is not known. */
  of(
    timeMs: number,
    accountId: string,
    keyId: string,
    model: string,
    code: string,
  ): Readonly<{ keyId: string; model: string }> {
    const hour = this.#hourOf(timeMs - (timeMs % hourMs));
    if (hour !== null)
      for (const kept of model === '' ? [''] : [model, ''])
        if (isKept(hour, accountId, keyId, kept, code)) return { keyId, model: kept };
    return { keyId: nilId, model: '' };
  }

  /** Null for an hour before those that are remembered. */
  #hourOf(startMs: number): Hour | null {
    const known = this.#hours.get(startMs);
    if (known !== undefined) return known;
    const oldestMs = Math.min(...this.#hours.keys());
    if (this.#hours.size >= maxHours) {
      if (startMs < oldestMs) return null;
      this.#hours.delete(oldestMs);
    }
    const hour = { size: 0, ofAccounts: new Map(), ofKeys: new Map() };
    this.#hours.set(startMs, hour);
    return hour;
  }
}

function isKept(hour: Hour, accountId: string, keyId: string, model: string, code: string): boolean {
  const name = `${keyId} ${code} ${model}`;
  const ofAccount = hour.ofAccounts.get(accountId);
  if (ofAccount?.has(name)) return true;
  const count = ofAccount?.size ?? 0;
  const modelCount = hour.ofKeys.get(keyId) ?? 0;
  if (model !== '' && (modelCount >= maxModelsOfKey || count >= maxWithModelOfAccount)) return false;
  const isReserved = model === '' && count < reservedOfAccount;
  if (count >= maxOfAccount || (hour.size >= maxOfAll && !isReserved)) return false;
  if (ofAccount === undefined) hour.ofAccounts.set(accountId, new Set([name]));
  else ofAccount.add(name);
  if (model !== '') hour.ofKeys.set(keyId, modelCount + 1);
  hour.size += 1;
  return true;
}
