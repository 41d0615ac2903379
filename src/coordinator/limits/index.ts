/*
 * What a provider allows: its limit, its circuit breaker, the window it works in and its slow return. Promises that no more
 * requests are under way than it allows. Its machine decides all of that; here its actors are hosted. A crash leaves until when
 * it is limited or open; counts begin again. It imports no other room: `ProviderAttempt` and `ProviderWorkers` say what it needs
 * of the fleet.
 */

export { ProviderHolds } from './providerHolds.ts';
export { Providers } from './providers.ts';
