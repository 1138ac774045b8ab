/** Small values that several responses have in common. */
import { z } from 'zod';
import { apiErrorCodes, type ErrorCode } from '../../errors.ts';

export const requestId = z.string().regex(/^req_[0-9a-f]{32}$/);

/** Always UTC, always with milliseconds. */
export const timestamp = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .meta({ format: 'date-time' });

/** Decimal text, because a JSON number would be read as a float. */
export const exactUsd = z.string().regex(/^\d+\.\d{12}$/);

/** USD, requests or tokens, without needless zeros. */
export const quantity = z.string().regex(/^\d+(\.\d{1,12})?$/);

export const usdNumber = z.number().min(0);
export const count = z.int().min(0);

export const uuid = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .meta({ format: 'uuid' });

export const anyErrorCode = z
  .enum(apiErrorCodes as [ErrorCode, ...ErrorCode[]])
  .meta({ id: 'ErrorCode', description: 'All codes. More may be added later.' });
