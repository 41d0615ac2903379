// The installed dashboard shows offline.html while the coordinator does not answer. This is the only page that is kept:
// requests of the API, with their keys, never come here, because nothing but the opening of a page is answered.
const kept = 'svc-offline-1';
const page = 'offline.html';

self.addEventListener('install', (event) => {
  const add = async () => {
    await (await caches.open(kept)).add(page);
    await self.skipWaiting();
  };
  event.waitUntil(add());
});

self.addEventListener('activate', (event) => {
  const tidy = async () => {
    const names = await caches.keys();
    const former = names.filter((name) => name.startsWith('svc-offline-') && name !== kept);
    await Promise.all(former.map((name) => caches.delete(name)));
    await self.clients.claim();
  };
  event.waitUntil(tidy());
});

self.addEventListener('fetch', (event) => {
  if (event.request.mode !== 'navigate') return;
  event.respondWith(fetch(event.request).catch(() => caches.match(page)));
});
