import { z } from 'zod';
import { imageRequestSchema } from '../requests.ts';
import { count } from '../schemas/fields.ts';
import { attributionHeaders, type Endpoint, idempotencyKey, inferenceErrors } from './endpoint.ts';

const imageListSchema = z
  .strictObject({
    created: count.describe('Unix seconds.'),
    data: z
      .array(z.strictObject({ url: z.string().min(1).describe('Where the provider keeps the image.') }))
      .min(1)
      .describe('One entry per image.'),
  })
  .meta({ id: 'ImageList', description: 'The images. They are sent only once their charge is committed.' });

const model = 'sandbox-image';

export const createImages: Endpoint = {
  method: 'post',
  path: '/v1/images/generations',
  operationId: 'createImages',
  tag: 'Images',
  summary: 'Create images',
  description:
    "Billed per image, at the model's unit price or the rate of the size. The images are stored by the provider; " +
    'fetch them soon, because their URLs may expire.',
  parameters: [idempotencyKey, ...attributionHeaders],
  body: {
    schema: imageRequestSchema,
    examples: {
      plain: {
        summary: 'One image',
        value: { model, prompt: 'A lighthouse at dusk, oil on canvas', size: '1024x1024' },
      },
      several: { summary: 'Two images', value: { model, prompt: 'A paper crane', size: '512x512', n: 2 } },
    },
  },
  response: {
    description: 'Where the images are.',
    schema: imageListSchema,
    examples: {
      plain: {
        summary: 'One image',
        value: { created: 1793520000, data: [{ url: 'https://images.example.com/0199a3f2.png' }] },
      },
    },
  },
  events: null,
  isInference: true,
  errors: [...inferenceErrors, 'invalid_n', 'invalid_size', 'invalid_response_format', 'provider_error'],
};
