import { messageOf } from '../domain/errors.ts';
import type { ModelList } from './models.ts';

/** The models that a worker advertises: all in each hello, and again in a heartbeat after they have changed. */
export class AdvertisedModels {
  #list: ModelList;
  #hasChanged = false;
  /** The last reported problem with listing models. */
  #problem: string | null = null;

  constructor(list: ModelList) {
    this.#list = list;
  }

  /** Request them for the first time. @throws ProviderUnreachable when a local server does not answer. */
  load(): Promise<void> {
    return this.#list.load();
  }

  get current(): Record<string, string[]> {
    return this.#list.current;
  }

  /** The models for the next heartbeat; undefined when they have not changed since the last `sent`. */
  get changed(): Record<string, string[]> | undefined {
    return this.#hasChanged ? this.current : undefined;
  }

  /** They were sent in a hello or a heartbeat. */
  sent(): void {
    this.#hasChanged = false;
  }

  /** Advertise the models of another list; a new hello has to follow. */
  replace(list: ModelList): void {
    this.#list = list;
  }

  /** Request them again. The last list remains on an error: a restarting server soon has its models again. */
  async refresh(onNewProblem: (problem: string) => void): Promise<void> {
    try {
      const changed = await this.#list.refresh();
      this.#hasChanged ||= changed === true;
      if (changed !== null) this.#problem = null;
    } catch (error) {
      const problem = `the models cannot be listed: ${messageOf(error).slice(0, 200)}`;
      if (problem !== this.#problem) onNewProblem(problem);
      this.#problem = problem;
    }
  }
}
