import type { WorkerConfigFile } from '../../../config/workerConfig.ts';
import type { WireConfig, WireConfigReload } from '../../../domain/wire/config.ts';
import {
  anything,
  count,
  fields,
  list,
  loosely,
  named,
  nullable,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  text,
} from '../../shape/shape.ts';

const needsRestartShape: Shape<string[]> = named(
  'NeedsRestart',
  list(text(), 'Keys whose value in the file differs from the one in effect; a restart applies them.'),
);

export const configShape = named(
  'Config',
  object<WireConfig>({
    config: fields('With the keys of the file; docs/configuration.md has them all.'),
    sources: record(oneOf(['flag', 'environment', 'file', 'default']), 'By key path.'),
    file: nullable(text(), 'Where it is read from; null when there is none.'),
    needs_restart: needsRestartShape,
    warnings: list(text()),
  }),
);

export const configReloadShape = named(
  'ConfigReload',
  object<WireConfigReload>({
    changed: list(object({ key: text(), from: anything(), to: anything() })),
    needs_restart: needsRestartShape,
    warnings: list(text()),
  }),
);

const jobsBlock = object<{ reap_stale_after_seconds?: number; heartbeat_interval_seconds?: number }>({
  reap_stale_after_seconds: optional(number({ minimum: 0 })),
  heartbeat_interval_seconds: optional(number({ exclusiveMinimum: 0 })),
});

const providerBlock = object<{
  model?: string;
  base_url?: string;
  api_key_env?: string;
  models?: string[];
  api?: 'chat' | 'responses';
  timeouts?: Record<string, unknown>;
}>({
  model: optional(text()),
  base_url: optional(text()),
  api_key_env: optional(text("Name of the variable that holds the provider's key.")),
  models: optional(list(text(), 'The models that it has, if it has no model list.')),
  api: optional(oneOf(['chat', 'responses'], "Which of OpenAI's APIs is used.")),
  timeouts: optional(fields('null means the default.')),
});

const workerBlock = object<{
  providers?: string[];
  concurrency?: number;
  tags?: string[];
  coordinator?: string;
}>({
  providers: optional(list(text())),
  concurrency: optional(count()),
  tags: optional(list(text())),
  coordinator: optional(text()),
});

const localModel = object({ model: text() }, "The model of a local provider, under the provider's name.");

export const workerConfigShape = named(
  'WorkerConfig',
  loosely<WorkerConfigFile>(
    object(
      { jobs: jobsBlock, providers: record(providerBlock), worker: workerBlock },
      { additionalProperties: localModel.schema },
    ),
  ),
);
