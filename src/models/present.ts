/** A model as the contract's Model object, its fields in the contract's order. */
import { presentPrice } from '../pricing/present.ts';
import type { CallableModel } from './access.ts';

export type PublicModel = ReturnType<typeof presentModel>;

export function presentModel(model: CallableModel, priceVersion: string) {
  const { capabilities } = model;
  return {
    id: model.id,
    object: 'model' as const,
    created: model.createdSeconds,
    owned_by: model.ownedBy,
    name: model.name,
    workload: model.workload,
    availability: 'available' as const,
    pricing: presentPrice(model.price, priceVersion),
    capabilities: {
      text_input: capabilities.textInput,
      image_input: capabilities.imageInput,
      text_output: capabilities.textOutput,
      streaming: capabilities.streaming,
      function_calling: capabilities.functionCalling,
      structured_output: capabilities.structuredOutput,
    },
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
  };
}
