"""aioapns. Arguments: port, authority, key, payload, pushes, outstanding, rate (ignored)."""
import asyncio, json, resource, ssl, sys, time

import aioapns
from aioapns.common import NotificationResult
from aioapns.connection import APNsDevelopmentClientProtocol

port, authority, key, payload, pushes, outstanding = sys.argv[1:7]
message = json.load(open(payload))


class Protocol(APNsDevelopmentClientProtocol):
    """Matches answers by stream. aioapns uses `apns-id`, which the server of this comparison does not send."""

    APNS_SERVER, APNS_PORT = "127.0.0.1", int(port)

    def on_response_received(self, headers):
        if headers.get(b":status") != b"200":
            sys.exit(f"not accepted: {headers}")

    def on_data_received(self, data, stream_id):
        pass

    def on_stream_ended(self, stream_id):
        notification = self.request_streams.pop(stream_id)
        self.requests.pop(notification).set_result(NotificationResult(notification, "200"))
        super().on_stream_ended(stream_id)


async def run(client, count, times):
    numbers = iter(range(count))

    async def worker():
        for number in numbers:
            begin = time.monotonic()
            request = aioapns.NotificationRequest(
                device_token=f"{number % 1000:064x}", message=message, push_type=aioapns.PushType.LIVEACTIVITY,
                notification_id=f"00000000-0000-0001-0000-{number:012x}")
            answer = await client.send_notification(request)
            if not answer.is_successful:
                sys.exit(f"not accepted: {answer.status} {answer.description}")
            times.append(time.monotonic() - begin)

    await asyncio.gather(*[worker() for _ in range(int(outstanding))])


async def main():
    context = ssl.create_default_context(cafile=authority)
    context.set_alpn_protocols(["h2"])
    client = aioapns.APNs(
        key=open(key).read(), key_id="ABC123DEFG", team_id="XYZ987MNOP", use_sandbox=True, max_connections=1,
        topic="com.example.bench.push-type.liveactivity", ssl_context=context)
    client.pool.protocol_class = Protocol
    await run(client, 500, [])
    times, before, begin = [], resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    await run(client, int(pushes), times)
    after, times = resource.getrusage(resource.RUSAGE_SELF), sorted(times)
    print(json.dumps({
        "pushes": int(pushes), "seconds": time.monotonic() - begin,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "rss_mb": after.ru_maxrss * 1024 / 1e6, "p50_ms": times[len(times) // 2] * 1000,
        "p99_ms": times[len(times) * 99 // 100] * 1000}))


asyncio.run(main())
