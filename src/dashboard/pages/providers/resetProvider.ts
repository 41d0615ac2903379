import { notify } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

/** Clear the limits and failures of a provider, and show that. @throws ApiError, Unreachable. */
export async function resetProvider(name: string): Promise<void> {
  await api.peek().resetProvider(name);
  notify(`${name} is available; jobs go to it at once`);
}
