// Started by the script `express-rate-limit` beside this file, which says what the arguments are.
'use strict';

const express = require('express');
const { rateLimit } = require('express-rate-limit');

const [address, dialect, limit, windowMs] = process.argv.slice(2);
const legacy = dialect === 'legacy';

const app = express();
app.use(
  rateLimit({
    limit: Number(limit),
    windowMs: Number(windowMs),
    legacyHeaders: legacy,
    standardHeaders: legacy ? false : dialect,
    // Everybody is one client, also over a Unix socket, where nobody has an address.
    keyGenerator: () => 'everybody',
  }),
);
app.get('/robots.txt', (_request, response) => response.sendStatus(404));
app.get('/{*path}', (_request, response) => response.type('text/plain').send('ok\n'));

if (address.includes('/')) {
  app.listen(address);
} else {
  app.listen(Number(address), '127.0.0.1');
}
