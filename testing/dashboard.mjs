// Drives the live page of a run in a headless Chromium, as a person would.
//
//   node dashboard.mjs MODULES RUN [SHOTS]
//
// MODULES is the folder that playwright-core and axe-core are installed in. RUN is a JSON of addresses:
// `page` of a run with a scope in each kind of trouble (`held`, `suppressed`, `broken`, `fine`: their names), one
// (`evil`) whose server and one (`hostile`) whose name would like to be markup, `many` of one with ten thousand scopes,
// `locked` of one that demands `token`, `ending` of one whose `process` may be stopped, `elsewhere` of another site.
// Where SHOTS is given, pictures are put there. What does not hold ends it with 1 and is told.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [modules, given, shots] = process.argv.slice(2);
const require = createRequire(join(modules, 'node_modules', 'x.js'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const run = JSON.parse(given);

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
/** What a page may take to load, and to show what has happened. */
const SOON = 1000;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--host-resolver-rules=MAP rebound.example 127.0.0.1'],
});

/** A page that is watched for errors and for requests to anybody else. */
async function visit(url, viewport = DESKTOP, colorScheme = 'light') {
  const context = await browser.newContext({ viewport, colorScheme });
  const page = await context.newPage();
  const trouble = [];
  page.on('console', (message) => message.type() === 'error' && trouble.push(message.text()));
  page.on('pageerror', (error) => trouble.push(error.message));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin) trouble.push(`asked ${request.url()}`);
  });
  await page.goto(url);
  return { page, trouble, leave: () => context.close() };
}

const state = (page, scope) => page.locator('#rows [role=row]', { hasText: scope }).locator('.state b');

/** Waits until the table has so many rows. */
async function rowCount(page, holds, most = 10 * SOON) {
  const count = async () => Number(await page.locator('#table').getAttribute('aria-rowcount')) - 1;
  for (const begun = Date.now(); !holds(await count());) {
    assert.ok(Date.now() - begun < most, `${await count()} rows`);
    await page.waitForTimeout(20);
  }
  return count();
}

/** The least of up to three times; one that is short enough shows that it can be. */
async function best(take) {
  let least = Infinity;
  for (let tries = 0; tries < 3 && least >= SOON; tries += 1) least = Math.min(least, await take());
  return least;
}

async function search(page, words) {
  await page.locator('#search').fill(words);
}

/** Waits until an element says this, and answers how long that took. */
async function says(locator, words, most = 10 * SOON) {
  const begun = Date.now();
  await locator.filter({ hasText: words }).first().waitFor({ timeout: most });
  return Date.now() - begun;
}

async function audit(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact));
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes[0].html, nodes[0].failureSummary]), [], what);
}

async function shoot(page, name) {
  if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
}

const tests = {
  async 'the page loads within a second'() {
    const took = await best(async () => {
      const { page, trouble, leave } = await visit(run.page);
      await page.locator('#rows [role=row]').first().waitFor();
      const took = await page.evaluate(() => performance.now());
      assert.deepEqual(trouble, []);
      await leave();
      return took;
    });
    assert.ok(took < SOON, `${took} ms`);
  },

  async 'what happens is shown within a second'() {
    const { page, trouble, leave } = await visit(run.page);
    // The scope in trouble is tried again and again, and each time that is told.
    const late = await best(() => page.evaluate(() => new Promise((told) => {
      const list = document.getElementById('event-list');
      const start = Date.now();
      new MutationObserver(() => {
        const at = Date.parse(list.firstChild.querySelector('time').dateTime);
        if (at > start) told(Date.now() - at);
      }).observe(list, { childList: true });
    })));
    assert.ok(late < SOON, `${late} ms`);
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'the job is paused and resumed, by button and by key'() {
    const { page, trouble, leave } = await visit(run.page);
    await says(page.locator('#pause'), 'Pause');
    await page.locator('#pause').click();
    assert.ok(await says(page.locator('#pause'), 'Resume') < SOON);
    await says(page.locator('#ends'), 'paused');
    await page.locator('#table').focus();
    await page.keyboard.press('Shift+P');
    assert.ok(await says(page.locator('#pause'), 'Pause') < SOON);
    await says(page.locator('#event-list'), 'everything goes on');
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'a scope is opened, paused and resumed by keys alone'() {
    const { page, trouble, leave } = await visit(run.page);
    await page.locator('#rows [role=row]').first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type(run.fine);
    await page.keyboard.press('Escape');
    await rowCount(page, (count) => count === 1);
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await says(page.locator('#scope-name'), run.fine);
    await page.keyboard.press('p');
    assert.ok(await says(page.locator('#scope .state b'), 'paused') < SOON);
    await says(page.locator('.times'), 'paused by hand');
    await page.keyboard.press('p');
    await says(page.locator('.acts button').first(), 'Pause');
    await page.keyboard.press('Escape');
    await page.locator('#scope').waitFor({ state: 'hidden' });
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'a suppression and a breaker are lifted, and a hold is not'() {
    const { page, trouble, leave } = await visit(run.page);
    for (const [scope, before] of [[run.suppressed, 'suppressed'], [run.broken, 'broken']]) {
      await page.goto(`${run.page}#/scope/${scope}`);
      await says(page.locator('#scope .state b'), before, 60 * SOON);
      await page.locator('#scope .lift').click();
      await page.waitForFunction((word) => document.querySelector('#scope .state b').textContent !== word, before, { timeout: SOON });
    }
    await page.goto(`${run.page}#/scope/${run.held}`);
    await says(page.locator('#scope .state b'), 'held');
    assert.ok(await page.locator('#scope .lift').isHidden());
    await says(page.locator('.times .binds'), 'Retry-After');
    assert.equal(await page.locator('.times li').count(), 4);
    await page.locator('#scope svg.pace').waitFor();
    const status = await page.evaluate((scope) => fetch('/act', { method: 'POST', body: JSON.stringify({ act: 'lift', scope }) })
      .then((answer) => answer.status), run.held);
    assert.equal(status, 409);
    assert.equal(await state(page, run.held).textContent(), 'held');
    // The browser tells of the 409 that was asked for here.
    assert.equal(trouble.filter((words) => !words.includes('409')).length, 0, trouble.join());
    await leave();
  },

  async 'nothing serious hinders anybody, on a desk or a phone, in light or dark'() {
    for (const [viewport, kind] of [[DESKTOP, 'desktop'], [PHONE, 'phone']]) {
      for (const scheme of ['light', 'dark']) {
        const { page, trouble, leave } = await visit(run.page, viewport, scheme);
        await page.locator('#rows [role=row]').first().waitFor();
        await page.locator('#event-list li').first().waitFor();
        await audit(page, `${kind} ${scheme}`);
        await shoot(page, `dashboard-${kind}-${scheme}`);
        await page.goto(`${run.page}#/scope/${run.held}`);
        await page.locator('.times .binds').waitFor();
        await audit(page, `${kind} ${scheme}, a scope`);
        await shoot(page, `dashboard-${kind}-${scheme}-scope`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `${kind} scrolls sideways by ${wide}`);
        assert.deepEqual(trouble, []);
        await leave();
      }
    }
  },

  async 'on a phone a scope is opened and closed by a finger'() {
    const { page, trouble, leave } = await visit(run.page, PHONE);
    await page.locator('#rows [role=row]', { hasText: run.held }).click();
    await says(page.locator('#scope-name'), run.held);
    await page.locator('.times li').first().waitFor();
    await page.locator('#scope').getByLabel('Close').click();
    await page.locator('#scope').waitFor({ state: 'hidden' });
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'ten thousand scopes are scrolled, searched and sorted'() {
    const { page, trouble, leave } = await visit(run.many);
    const all = await rowCount(page, (count) => count > 9000, 30 * SOON);
    const names = () => page.locator('#rows .name').evaluateAll((cells) => cells
      .sort((a, b) => a.parentNode.dataset.at - b.parentNode.dataset.at).map((cell) => cell.textContent));
    const first = (name) => says(page.locator('#row-0 .name'), name);
    await page.locator('.head [data-sort=scope]').click();
    await first('127.1.0.100:');
    const shown = await names();
    assert.deepEqual(shown, [...shown].sort());
    await page.locator('.head [data-sort=scope]').click();
    await first('127.1.9.9:');
    const turned = await names();
    assert.deepEqual(turned, [...turned].sort().reverse());
    assert.equal(await page.locator('.head [data-sort=scope]').getAttribute('aria-sort'), 'descending');
    await page.locator('#sort').selectOption('scope');
    await page.locator('#table').focus();
    await page.keyboard.press('End');
    await page.locator(`#row-${all - 1}`).waitFor({ timeout: 2 * SOON });
    assert.ok(await page.locator('#rows [role=row]').count() < 120);
    await search(page, '127.1.7.');
    const found = await rowCount(page, (count) => count < all / 10, 2 * SOON);
    assert.equal(found, 250);
    await says(page.locator('#rows'), '127.1.7.');
    await search(page, 'nowhere');
    await page.locator('#none').waitFor({ timeout: 2 * SOON });
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'who has no token is asked for it, and a link with it opens'() {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(run.locked);
    await page.locator('#token').fill('not the token at all');
    await page.keyboard.press('Enter');
    await says(page.locator('#wrong'), 'not the token');
    await page.locator('#token').fill(run.token);
    await page.keyboard.press('Enter');
    await says(page.locator('#link'), 'live');
    await context.clearCookies();
    await page.goto('about:blank');
    await page.goto(`${run.locked}#token=${run.token}`);
    await says(page.locator('#link'), 'live');
    assert.ok(!page.url().includes(run.token));
    // Again, by who is let in already.
    await page.goto('about:blank');
    await page.goto(`${run.locked}#token=${run.token}`);
    await says(page.locator('#link'), 'live');
    assert.ok(!page.url().includes(run.token));
    // A session that is over is asked for the token when next anything is.
    await context.clearCookies();
    await search(page, 'x');
    await page.locator('#token').waitFor();
    await context.close();
  },

  async 'another site reads nothing and changes nothing'() {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(run.elsewhere);
    const got = await page.evaluate(async (url) => {
      const tried = [
        fetch(`${url}act`, { method: 'POST', mode: 'no-cors', body: '{"act":"pause","scope":null}' }).then(({ type }) => type === 'opaque' ? 'refused' : type, () => 'refused'),
        fetch(`${url}events`).then((answer) => answer.text(), () => 'refused'),
        new Promise((told) => {
          const frame = document.body.appendChild(document.createElement('iframe'));
          frame.onload = () => told(frame.contentDocument === null ? 'refused' : 'shown');
          frame.src = url;
        }),
      ];
      return Promise.all(tried);
    }, run.page);
    assert.deepEqual(got, ['refused', 'refused', 'refused']);
    // A form needs no leave to be sent, and in this type it can hold JSON.
    const [answer] = await Promise.all([
      page.waitForResponse(`${run.page}act`),
      // The answer is shown too, which must be over before the page goes elsewhere.
      page.waitForURL(`${run.page}act`),
      page.evaluate((url) => {
        document.body.innerHTML = `<form method="post" enctype="text/plain" action="${url}act">
          <input name='{"act":"pause","scope":null,"x":"' value='"}'></form>`;
        document.forms[0].submit();
      }, run.page),
    ]);
    assert.equal(answer.status(), 403);
    // A name of another site that has come to mean this machine.
    const rebound = await page.goto(run.page.replace('127.0.0.1', 'rebound.example'));
    assert.equal(rebound.status(), 403);
    await page.goto(run.page);
    await says(page.locator('#pause'), 'Pause');
    await context.close();
  },

  async 'what servers, lists and addresses are called does nothing'() {
    const { page, trouble, leave } = await visit(run.page);
    await page.evaluate(() => { globalThis.owned = () => { globalThis.isOwned = true; }; });
    const harmless = async () => {
      assert.equal(await page.evaluate(() => globalThis.isOwned ?? false), false);
      assert.equal(await page.locator('img').count(), 1, 'the icon alone');
    };
    const open = (scope) => page.evaluate((hash) => { location.hash = hash; }, `#/scope/${encodeURIComponent(scope)}`);
    await search(page, '&lt;img');
    await rowCount(page, (count) => count === 1);
    assert.equal(await page.locator('#rows .name').textContent(), run.hostile);
    await open(run.hostile);
    await says(page.locator('#scope .facts'), 'Departures');
    assert.equal(await page.locator('#scope-name').textContent(), run.hostile);
    await harmless();
    await open(run.evil);
    await says(page.locator('#scope .facts'), '<img src=x');
    await harmless();
    for (const address of ['#/scope/%E0%A4%A', '#/scope/', '#/scope/nobody.example', '#x/y/z']) {
      await page.goto('about:blank');
      await page.goto(`${run.page}${address}`);
      await says(page.locator('#link'), 'live');
    }
    assert.deepEqual(trouble, []);
    await leave();
  },

  async 'dark and light change places, and stay so'() {
    const { page, leave } = await visit(run.page, DESKTOP, 'light');
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.locator('#theme').click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    assert.equal(await ground(), dark);
    await page.locator('#theme').click();
    assert.equal(await ground(), light);
    await leave();
  },

  async 'the end is told'() {
    const { page, leave } = await visit(run.ending);
    await says(page.locator('#link'), 'live');
    process.kill(run.process, 'SIGINT');
    await says(page.locator('#link'), 'ended', 30 * SOON);
    await says(page.locator('#ends'), /^ended with [\d,]+ left$/);
    assert.ok(await page.locator('#pause').isDisabled());
    await page.locator('#row-0').waitFor({ timeout: SOON });
    const shown = await page.locator('#rows [role=row]').evaluateAll((rows) => rows.map((row) => Number(row.dataset.at)));
    assert.deepEqual(shown.sort((a, b) => a - b), [...shown.keys()], 'no gaps');
    await audit(page, 'the end');
    await shoot(page, 'dashboard-ended');
    await leave();
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed ? 1 : 0);
