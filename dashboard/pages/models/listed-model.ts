/** A model as the list says it. The server writes decimals into the JSON as they are; read back, they are numbers. */
import type { Model } from '../../../src/console/contract.ts';

type Decimal = NonNullable<Model['pricing']['input']>;
type ReadBack<Value> = Value extends Decimal
  ? number
  : Value extends object
    ? { [Name in keyof Value]: ReadBack<Value[Name]> }
    : Value;

export type Pricing = ReadBack<Model['pricing']>;
export type ListedModel = Omit<Model, 'pricing'> & Readonly<{ pricing: Pricing }>;
