/** The newest stable version: https://learn.microsoft.com/azure/ai-services/openai/api-version-lifecycle */
const apiVersionDefault = '2024-10-21';

/** The addresses of an Azure OpenAI resource. */
export interface AzureAddress {
  /** The part before `/chat/completions`. */
  chatBase(model: string): string;
  /** The address of the list of models. */
  models: string;
  /** Added to every request; empty for none. */
  query: string;
  /** Whether the model is part of the address: it is the name of a deployment. */
  hasModelInPath: boolean;
}

/**
 * Three forms are in use: the resource alone (`https://<resource>.openai.azure.com`), whose models are the deployments
 * under /openai/deployments; one deployment, which ignores the model of a job; and the newer `…/openai/v1`, which needs
 * no version and takes the deployment as the model of the request. Source:
 * https://learn.microsoft.com/azure/ai-services/openai/reference
 * @param baseUrl without a trailing slash. @param query of the configured address; contains `api-version`.
 */
export function azureAddress(baseUrl: string, query: string): AzureAddress {
  const { origin, pathname } = new URL(baseUrl);
  if (/\/v1$/.test(pathname)) {
    return { chatBase: () => baseUrl, models: `${baseUrl}/models`, query, hasModelInPath: false };
  }
  const hasVersion = new URLSearchParams(query).has('api-version');
  const versioned = hasVersion ? query : `${query}${query === '' ? '' : '&'}api-version=${apiVersionDefault}`;
  const rest = { models: `${origin}/openai/models`, query: versioned };
  if (/\/deployments\/[^/]+$/.test(pathname)) {
    return { chatBase: () => baseUrl, ...rest, hasModelInPath: false };
  }
  const deployments = `${baseUrl.replace(/\/openai$/, '')}/openai/deployments`;
  return { chatBase: (model) => `${deployments}/${model}`, ...rest, hasModelInPath: true };
}
