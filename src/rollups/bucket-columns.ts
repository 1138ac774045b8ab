/** The columns of the sums that have a bucket of durations each, as SQL. */
import { bucketCount } from './buckets.ts';

type Bucketed = 'duration' | 'first_token';

const numbers = Array.from({ length: bucketCount }, (_, index) => index + 1);

export function bucketsOf(name: Bucketed): string {
  return numbers.map((number) => `${name}_${number}`).join(', ');
}

/** The same columns of requests or calls whose bucket is known: how many they are in that one, and null in the others. */
export function ownBucketsOf(name: Bucketed, count = '1'): string {
  return numbers
    .map((number) => `case when ${name}_bucket = ${number} then ${count} end as ${name}_${number}`)
    .join(', ');
}

/** An array of their sums, null for those without any. */
export function bucketSums(name: Bucketed): string {
  return `array[${numbers.map((number) => `sum(${name}_${number})`).join(', ')}]::float8[]`;
}
