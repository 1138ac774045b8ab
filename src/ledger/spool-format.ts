import type { Settlement } from './operations.ts';

/** Amounts are the only numbers that JSON cannot hold, so they are written as text with a mark. */
export function serializeSettlement(settlement: Settlement): string {
  return JSON.stringify(settlement, (_name, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
}

/** Null for a line that a crash cut short. The file is this program's own, so its shape is not checked further. */
export function parseSettlement(line: string): Settlement | null {
  try {
    const settlement = JSON.parse(line, (name, value: unknown) =>
      isAmount(name) && typeof value === 'string' ? BigInt(value.slice(0, -1)) : value,
    ) as Settlement;
    // A version that kept no answers may have written it.
    return { ...settlement, kept: settlement.kept ?? null };
  } catch {
    return null;
  }
}

function isAmount(name: string): boolean {
  return name === 'input' || name === 'output' || name === 'total';
}
