/*
 * What a provider allows: its limit, its circuit breaker, the window it works in and its slow return. Promises that no more
 * requests are under way than it allows. A crash leaves until when it is limited or open; counts begin again.
 */

export { ProviderHolds } from './providerHolds.ts';
export { Providers } from './providers.ts';
