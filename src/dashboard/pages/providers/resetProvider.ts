import { told } from '../../components/toasts.tsx';
import { api } from '../../session.ts';

/** Forget the limits and failures of a provider, and say so. @throws ApiError, Unreachable. */
export async function resetProvider(name: string): Promise<void> {
  await api.peek().resetProvider(name);
  told(`${name} is available; jobs go to it at once`);
}
