import type { ListedModel } from './models.ts';

export function whyNotCallable({ workload }: Pick<ListedModel, 'workload'>): string {
  return workload === 'video'
    ? 'This gateway has no endpoint for video yet. The model is listed for its price.'
    : 'None of its providers can serve it on this gateway. The operator has to change the catalogue.';
}
