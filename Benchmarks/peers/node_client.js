// node's http2, one session. Arguments: port, authority, key, payload, pushes, outstanding, rate (0: as fast as it can).
const http2 = require('http2'), fs = require('fs');
const [port, authority, , payload, pushes, outstanding, rate] = process.argv.slice(2);
const body = fs.readFileSync(payload);
const session = http2.connect(`https://127.0.0.1:${port}`, {ca: fs.readFileSync(authority)});
const headers = n => ({
  ':method': 'POST', ':path': '/3/device/' + (n % 1000).toString(16).padStart(64, '0'),
  'authorization': 'bearer ' + 'j'.repeat(200), 'apns-topic': 'com.example.bench.push-type.liveactivity',
  'apns-push-type': 'liveactivity', 'apns-priority': '10', 'apns-expiration': '0',
  'apns-id': '00000000-0000-0001-0000-000000000007'});
function push(n, begin, done) {
  const stream = session.request(headers(n));
  stream.on('response', h => { if (h[':status'] !== 200) { console.error('status', h[':status']); process.exit(1); } });
  stream.on('data', () => {});
  stream.on('end', () => done(Number(process.hrtime.bigint() - begin) / 1e6));
  stream.end(body);
}
function run(count, m, perSecond) {
  return new Promise(resolve => {
    let sent = 0, ended = 0;
    const times = [];
    const end = time => { times.push(time); if (++ended === count) resolve(times); else if (!perSecond) next(); };
    const next = () => { if (sent < count) push(sent++, process.hrtime.bigint(), end); };
    if (!perSecond) { for (let i = 0; i < m; i++) next(); return; }
    const begin = process.hrtime.bigint();
    const step = () => {
      const due = Math.min(count, Math.floor(Number(process.hrtime.bigint() - begin) / 1e9 * perSecond));
      while (sent < due) { const n = sent++; push(n, begin + BigInt(Math.floor(n / perSecond * 1e9)), end); }
      if (sent < count) setTimeout(step, 1);
    };
    step();
  });
}
(async () => {
  await run(2000, Number(outstanding), 0);
  const cpu = process.cpuUsage(), begin = process.hrtime.bigint();
  const times = (await run(Number(pushes), Number(outstanding), Number(rate))).sort((a, b) => a - b);
  const used = process.cpuUsage(cpu);
  console.log(JSON.stringify({
    pushes: Number(pushes), seconds: Number(process.hrtime.bigint() - begin) / 1e9,
    cpu_s: (used.user + used.system) / 1e6, rss_mb: process.resourceUsage().maxRSS * 1024 / 1e6,
    p50_ms: times[times.length >> 1], p99_ms: times[Math.floor(times.length * 0.99)]}));
  session.close();
})();
