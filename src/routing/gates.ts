/** The gates of all providers, which outlive the catalogue that they were made for. */
import type { Provider } from '../models/model.ts';
import { allowanceOf, type Demand, noDemand } from './allowance.ts';
import { Gate, type GateObserver } from './gate.ts';
import { Slots } from './slots.ts';

/** One gate per provider and model, the same one for as long as the process lives. */
export class Gates {
  readonly #gates = new Map<string, Gate>();
  /** By provider, for all its models. */
  readonly #slots = new Map<string, Slots>();
  readonly #observer: GateObserver;

  constructor(observer: GateObserver = () => undefined) {
    this.#observer = observer;
  }

  /** With another address or key it counts as another provider, of which nothing is known yet. */
  at(provider: Provider, model: string, apiKey: string | null = null): Gate {
    const name = JSON.stringify([provider.id, provider.baseUrl, `${Bun.hash(apiKey ?? '')}`, model]);
    const gate =
      this.#gates.get(name) ?? new Gate(provider, model, this.#slotsOf(provider.id), this.#observer);
    this.#gates.set(name, gate);
    gate.configure(provider);
    return gate;
  }

  /** What this node asked of each provider since the last time, where it asked for anything. */
  takeDemands(): ReadonlyMap<string, Demand> {
    const demands = new Map<string, Demand>();
    for (const [providerId, slots] of this.#slots) {
      const demand = slots.takeDemand();
      if (demand.inFlight + demand.turnedAway > 0) demands.set(providerId, demand);
    }
    return demands;
  }

  /** Divides the slots of every provider among the live nodes, of which this is the one at `place`. */
  share(
    providers: ReadonlyMap<string, Provider>,
    nodes: readonly ReadonlyMap<string, Demand>[],
    place: number,
  ): void {
    for (const [providerId, slots] of this.#slots) {
      const max = providers.get(providerId)?.maxConcurrency;
      const demands = nodes.map((node) => node.get(providerId) ?? noDemand);
      const isAlone = nodes.length < 2 || max === undefined;
      slots.allow(isAlone ? Number.POSITIVE_INFINITY : allowanceOf(max, demands, place));
    }
  }

  #slotsOf(providerId: string): Slots {
    const slots = this.#slots.get(providerId) ?? new Slots();
    this.#slots.set(providerId, slots);
    return slots;
  }
}
