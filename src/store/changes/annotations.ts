import { type Annotation, annotationCharactersMax, annotationsMax } from '../../domain/annotation.ts';

/** Notes about answers, in the order of their last change. Where there are too many, those that changed first are forgotten. */
export class Annotations {
  readonly #byJob = new Map<string, Annotation>();
  #characters = 0;

  constructor(stored: Iterable<Annotation>) {
    for (const annotation of stored) this.put(annotation);
  }

  get(jobId: string): Annotation | undefined {
    return this.#byJob.get(jobId);
  }

  put(annotation: Annotation): void {
    this.#remove(annotation.jobId);
    this.#byJob.set(annotation.jobId, annotation);
    this.#characters += charactersOf(annotation);
    for (const jobId of this.#byJob.keys()) {
      if (this.#byJob.size <= annotationsMax && this.#characters <= annotationCharactersMax) break;
      this.#remove(jobId);
    }
  }

  values(): Annotation[] {
    return [...this.#byJob.values()];
  }

  #remove(jobId: string): void {
    const known = this.#byJob.get(jobId);
    if (known === undefined) return;
    this.#byJob.delete(jobId);
    this.#characters -= charactersOf(known);
  }
}

function charactersOf({ metadata }: Annotation): number {
  if (metadata === null) return 0;
  return Object.entries(metadata).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}
