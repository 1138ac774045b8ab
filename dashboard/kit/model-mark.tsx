import { createContext, useContext } from 'react';
import { classNames } from './class-names.ts';
import { modelColour } from './model-colours.ts';

/** The names of all models that there are; none until they are loaded. */
export const CatalogueContext = createContext<readonly string[]>([]);

type ModelMarkProps = Readonly<{
  model: string;
  /** Next to a chart: the colour that it has there. */
  colour?: string | undefined;
}>;

/** A small square in the colour of the model, before its name. */
export function ModelMark({ model, colour }: ModelMarkProps) {
  const own = modelColour(model, useContext(CatalogueContext));
  return (
    <span
      aria-hidden
      className={classNames('mr-1.5 inline-block size-2 shrink-0 rounded-xs', colour ?? own)}
    />
  );
}
