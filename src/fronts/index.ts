/*
 * Fronts: processes that parse, check and answer what the core only has to decide. Each listens on the public port beside
 * the others (SO_REUSEPORT) and serves one request itself, a plain `POST /api/jobs`; what came in one turn of its event loop
 * goes to the core as one frame, and comes back as one. Every other connection is handed to the core's own server, the open
 * socket with the bytes that came (SCM_RIGHTS), as soon as its first bytes show what it is: from then on there is no front
 * between. So nothing is proxied, no header tells the core who a client is, and requests, sockets and streams are read,
 * bounded and refused by the same code as without fronts.
 *
 * A front keeps nothing: a crash breaks its connections, and leaves jobs whose clients do not know of them, as any broken
 * connection does. What it has handed over lives on. It reads the core's schema and presenters and knows nothing else of it.
 */

export { Fronts, frontsByDefault } from './fronts.ts';
