/** The gates of all providers, in one place because they outlive the catalogue that they were made for. */
import type { Provider } from '../models/model.ts';
import { Gate } from './gate.ts';
import type { GateObserver } from './gate-event.ts';
import { Places } from './places.ts';

/** One gate for each provider and model, the same one for as long as the process lives. */
export class Gates {
  readonly #gates = new Map<string, Gate>();
  /** Of each provider, for all its models. */
  readonly #places = new Map<string, Places>();
  readonly #observer: GateObserver;

  constructor(observer: GateObserver = () => undefined) {
    this.#observer = observer;
  }

  /** With another address or another key it is another provider, of which nothing is known yet. */
  at(provider: Provider, model: string, apiKey: string | null = null): Gate {
    const name = JSON.stringify([provider.id, provider.baseUrl, `${Bun.hash(apiKey ?? '')}`, model]);
    const gate =
      this.#gates.get(name) ?? new Gate(provider, model, this.#placesOf(provider.id), this.#observer);
    this.#gates.set(name, gate);
    gate.configure(provider);
    return gate;
  }

  #placesOf(providerId: string): Places {
    const places = this.#places.get(providerId) ?? new Places();
    this.#places.set(providerId, places);
    return places;
  }
}
