/** What POST /v1/images/generations answers. */
import { z } from 'zod';
import { count } from './fields.ts';

export const imageListSchema = z
  .strictObject({
    created: count.describe('Unix seconds.'),
    data: z
      .array(z.strictObject({ url: z.string().min(1).describe('Where the provider keeps the image.') }))
      .min(1)
      .describe('One entry an image.'),
  })
  .meta({ id: 'ImageList', description: 'The images. They are sent only when their charge is committed.' });
