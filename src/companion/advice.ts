import type { ErrorClass } from '../domain/failure.ts';

/** What to do about a failed job, by the class of its error. */
const jobAdvice: Partial<Record<ErrorClass, string>> = {
  auth: 'Check the key of the provider on this machine.',
  rate_limited: 'Lower the number of slots, or set providers.<name>.rate_limit at the coordinator.',
  model_not_found: 'Load or pull the model on its server, or correct the name in the job.',
  model_not_loaded: 'Load the model on its server.',
  network: 'Check that the model server runs; the coordinator tries the job again.',
  server_error: 'Look into the log of the model server; the coordinator tries the job again.',
  overloaded: 'Lower the number of slots.',
  quota_exhausted: 'Check the account at the provider.',
  context_overflow: 'The job needs a model with a larger context, or a shorter prompt.',
  timeout: 'Raise jobs.timeout_seconds at the coordinator, or ask for a shorter answer.',
};

export function adviceForJob(errorClass: ErrorClass | null): string {
  return (
    (errorClass === null ? undefined : jobAdvice[errorClass]) ??
    'The job has the details; open the dashboard.'
  );
}

/** Problems of a worker by a part of their message, and what to do. */
const workerAdvice: readonly (readonly [RegExp, string])[] = [
  [
    /key .*(refused|rejected)|refuses the key|401 Unauthorized/i,
    'Enter a valid key. An admin of the coordinator creates one with: svc keys create --role worker --name <name>',
  ],
  [/needs the role worker/i, 'Enter a key with the role worker: svc keys create --role worker --name <name>'],
  [
    /belongs to another key/i,
    'Choose another name, or have this one freed at the coordinator: svc workers forget <name>',
  ],
  [
    /another live worker has the name/i,
    'If it is a former worker of this machine, wait: it ends after its jobs. Otherwise choose another name, or stop the other worker.',
  ],
  [/does not allow its settings/i, 'Change the settings that the message names, or have the key changed.'],
  [/no API key/i, 'Enter a key with the role worker.'],
  [/no provider/i, 'Choose at least one model server.'],
  [/could not connect to/i, 'Start the model server, or remove it from this worker.'],
  [/cannot be reached|does not reach/i, 'Check the address and the network; the worker keeps trying.'],
];

/** What to do about a problem of the worker; null when its message is all there is to say. */
export function adviceForWorker(message: string): string | null {
  return workerAdvice.find(([pattern]) => pattern.test(message))?.[1] ?? null;
}
