/** The standard error body, narrowed to the codes that can occur in one place. */
import { z } from 'zod';
import { apiErrorCodes, type ErrorCode, errorTable } from '../../errors.ts';

type ErrorCodes = readonly [ErrorCode, ...ErrorCode[]];

export function errorBodySchema(codes: ErrorCodes) {
  const types = [...new Set(codes.map((code) => errorTable[code].type))] as [string, ...string[]];
  return z.strictObject({
    error: z.strictObject({
      message: z.string().min(1).describe('For people; it may change.'),
      type: z.enum(types),
      param: z.string().optional().describe('The parameter that caused the error, where there is one.'),
      code: z.enum(codes),
    }),
  });
}

function codesWhere(isMeant: (row: (typeof errorTable)[ErrorCode]) => boolean): ErrorCodes {
  return apiErrorCodes.filter((code) => isMeant(errorTable[code])) as [ErrorCode, ...ErrorCode[]];
}

export const errorSchema = errorBodySchema(
  codesWhere(({ status, inBand }) => status !== null || inBand),
).meta({
  // Not `Error`: generated clients would have a class of that name with a field of that name.
  id: 'ErrorResponse',
  description: 'The body of every error. Codes may be added later.',
});

export const errorEventSchema = errorBodySchema(codesWhere(({ inBand }) => inBand)).meta({
  id: 'ErrorEvent',
  description: 'The data of the event that ends a failed stream. `[DONE]` follows it.',
});
