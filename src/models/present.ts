/** A model as the contract's Model object, its fields in the contract's order. */
import { type PublicPricing, presentPrice } from '../pricing/present.ts';
import type { CallableModel } from './access.ts';
import type { Workload } from './model.ts';

export type PublicModel = {
  id: string;
  object: 'model';
  created: number;
  owned_by: string;
  name: string;
  workload: Workload;
  availability: 'available';
  pricing: PublicPricing;
  capabilities: {
    text_input: boolean;
    image_input: boolean;
    text_output: boolean;
    streaming: boolean;
    function_calling: boolean;
    structured_output: boolean;
  };
  context_window: number | null;
  max_output_tokens: number | null;
};

export function presentModel(model: CallableModel, priceVersion: string): PublicModel {
  const { capabilities } = model;
  return {
    id: model.id,
    object: 'model',
    created: model.createdSeconds,
    owned_by: model.ownedBy,
    name: model.name,
    workload: model.workload,
    availability: 'available',
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
