import { classNames } from './class-names.ts';
import { modelColour } from './model-colours.ts';

/** A small square in the colour of the model, before its name. */
export function ModelMark({
  model,
  colour = modelColour(model),
}: Readonly<{ model: string; colour?: string }>) {
  return (
    <span aria-hidden className={classNames('mr-1.5 inline-block size-2 shrink-0 rounded-xs', colour)} />
  );
}
