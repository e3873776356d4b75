#!/usr/bin/env python3
"""An HTTP/2 server of another implementation, on the package h2, that misbehaves on purpose.

usage: misbehaving.py CERTIFICATE KEY SCENARIO

Prints `port N` and serves until a line comes in. Every push (POST /3/device/...) is answered with 200, or as the
scenario defines. Most scenarios abuse only the first connection and are correct on later ones. The last output is
the line `received N distinct M connections C`.
"""
import os, socket, ssl, sys, threading

import h2.config
import h2.connection
import h2.events
import h2.settings
from hyperframe.frame import (
    ContinuationFrame, DataFrame, Frame, GoAwayFrame, HeadersFrame, PingFrame, PushPromiseFrame, RstStreamFrame,
    SettingsFrame, WindowUpdateFrame)

STREAMS = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS
WINDOW = h2.settings.SettingCodes.INITIAL_WINDOW_SIZE
lock = threading.Lock()
received = 0
ids = set()
connections = 0


class Gone(Exception):
    """This side ended the connection."""


class Session:
    def __init__(self, sock, number, scenario):
        self.sock, self.number, self.scenario = sock, number, scenario
        config = h2.config.H2Configuration(client_side=False, validate_inbound_headers=True)
        self.h2 = h2.connection.H2Connection(config=config)
        self.requests = {}
        self.count = 0
        self.answered = 0

    # --- shared by all scenarios

    def flush(self):
        data = self.h2.data_to_send()
        if not data:
            return
        if self.scenario == "bytewise":
            for i in range(len(data)):
                self.sock.sendall(data[i:i + 1])
        else:
            self.sock.sendall(data)

    def raw(self, data):
        """Sends bytes that h2 would never send, after its pending output."""
        self.flush()
        try:
            self.sock.sendall(data)
        except OSError:
            raise Gone()

    def serve(self):
        initial = {STREAMS: 1000}
        if self.scenario == "tiny-windows":
            initial[WINDOW] = 3
        if self.scenario == "no-window":
            initial[WINDOW] = 0
        self.h2.local_settings = h2.settings.Settings(client=False, initial_values={**{
            h2.settings.SettingCodes.HEADER_TABLE_SIZE: 0 if self.scenario == "no-table" else 4096}, **initial})
        if self.scenario == "http1":
            self.sock.recv(100)
            self.sock.sendall(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            raise Gone()
        self.h2.initiate_connection()
        self.flush()
        while True:
            data = self.sock.recv(65536)
            if not data:
                return
            for event in self.h2.receive_data(data):
                self.handle(event)
            self.flush()

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.requests[event.stream_id] = dict(event.headers)
            if self.scenario == "no-window":
                # The headers have arrived and the body waits. Let it in now, in pieces.
                for _ in range(8):
                    self.window(event.stream_id, 100)
        elif isinstance(event, h2.events.DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if self.scenario == "tiny-windows" and event.stream_ended is None:
                self.window(event.stream_id, 17)
        elif isinstance(event, h2.events.StreamEnded):
            self.push(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self.requests.pop(event.stream_id, None)

    def window(self, stream_id, increment):
        try:
            self.h2.increment_flow_control_window(increment, stream_id)
        except Exception:
            pass

    def push(self, stream_id):
        global received
        headers = self.requests.pop(stream_id)
        assert headers[b":method" if b":method" in headers else ":method"] in (b"POST", "POST")
        apns_id = headers.get(b"apns-id") or headers.get("apns-id")
        self.count += 1
        with lock:
            received += 1
            ids.add(apns_id)
        action = getattr(self, "on_" + self.scenario.replace("-", "_"), None)
        if action is None or not action(stream_id, apns_id):
            self.answer(stream_id, apns_id)

    def fields(self, status, apns_id):
        return [(":status", str(status)), ("apns-id", apns_id.decode() if isinstance(apns_id, bytes) else apns_id),
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("x-count", str(self.count % 7))]

    def answer(self, stream_id, apns_id, status=200, body=None):
        self.answered += 1
        self.h2.send_headers(stream_id, self.fields(status, apns_id), end_stream=body is None)
        if body is not None:
            self.h2.send_data(stream_id, body, end_stream=True)

    @property
    def is_abused(self):
        return self.number == 1 and self.count >= 5

    # --- scenarios: True if the push is handled

    def on_refuse(self, stream_id, _):
        if self.count % 5 == 2:
            self.h2.reset_stream(stream_id, error_code=7)
            return True

    def on_internal_error(self, stream_id, _):
        if self.count % 5 == 2:
            self.h2.reset_stream(stream_id, error_code=2)
            return True

    def on_goaway(self, stream_id, apns_id):
        if self.number > 4 or self.count < 10:
            return False
        if self.count == 10:
            self.answer(stream_id, apns_id)
            self.raw(GoAwayFrame(0, last_stream_id=stream_id, error_code=0,
                                 additional_data=b'{"reason":"Shutdown"}').serialize())
        return True

    def on_goaway_twice(self, stream_id, apns_id):
        """Sends the warning of RFC 9113 6.8, then the last stream, then ends."""
        if self.number > 3:
            return False
        if self.count == 5:
            self.raw(GoAwayFrame(0, last_stream_id=2**31 - 1, error_code=0).serialize())
        if self.count == 8:
            self.answer(stream_id, apns_id)
            self.raw(GoAwayFrame(0, last_stream_id=stream_id, error_code=0).serialize())
            return True
        return self.count > 8

    def on_streams_change(self, stream_id, apns_id):
        if self.count % 20 == 0:
            limit = [1, 1000, 3][self.count // 20 % 3]
            self.h2.update_settings({STREAMS: limit})
        return False

    def on_windows_change(self, stream_id, apns_id):
        if self.count % 10 == 0:
            self.h2.update_settings({WINDOW: [0, 65535, 1, 100000][self.count // 10 % 4]})
        if self.count % 10 == 3:
            self.h2.update_settings({WINDOW: 65535})
        return False

    def on_fragments(self, stream_id, apns_id):
        """Sends HEADERS in pieces, padded and with a priority, then an empty padded DATA frame."""
        block = self.h2.encoder.encode(self.fields(200, apns_id))
        first = HeadersFrame(stream_id, block[:3], pad_length=9, depends_on=0, stream_weight=7,
                             flags=["PADDED", "PRIORITY"])
        middle = [ContinuationFrame(stream_id, block[i:i + 7]) for i in range(3, len(block), 7)]
        middle[-1].flags.add("END_HEADERS")
        if len(middle) > 8:
            middle = [ContinuationFrame(stream_id, block[3:], flags=["END_HEADERS"])]
        last = DataFrame(stream_id, b"", pad_length=31, flags=["PADDED", "END_STREAM"])
        self.raw(b"".join(frame.serialize() for frame in [first, *middle, last]))
        return True

    def on_interim(self, stream_id, apns_id):
        for status in (103, 102):
            self.h2.send_headers(stream_id, [(":status", str(status))])
        return False

    def on_refusals(self, stream_id, apns_id):
        """Answers 410 with the body in pieces of one byte and trailers."""
        self.h2.send_headers(stream_id, self.fields(410, apns_id))
        for byte in b'{"reason":"Unregistered","timestamp":1763700000123}':
            self.h2.send_data(stream_id, bytes([byte]), pad_length=3)
        self.h2.send_headers(stream_id, [("x-trailer", "1")], end_stream=True)
        return True

    def on_chatter(self, stream_id, apns_id):
        """Sends frames that RFC 9113 allows and nobody needs."""
        unknown = bytes([0, 0, 4, 0xBE, 0xFF]) + stream_id.to_bytes(4, "big") + b"abcd"
        priority = bytes([0, 0, 5, 2, 0]) + stream_id.to_bytes(4, "big") + bytes([0, 0, 0, 0, 9])
        self.raw(unknown + priority + PingFrame(0, b"12345678").serialize()
                 + WindowUpdateFrame(0, window_increment=1).serialize())
        return False

    def abuse(self, frames):
        """Sends the same bytes repeatedly until the other side closes."""
        if not self.is_abused:
            return False
        for _ in range(200000):
            self.raw(frames)
        raise Gone()

    def on_continuation_flood(self, stream_id, _):
        if not self.is_abused:
            return False
        self.raw(HeadersFrame(stream_id, b"\x88").serialize())
        return self.abuse(ContinuationFrame(stream_id, b"").serialize() * 100)

    def on_ping_flood(self, stream_id, _):
        return self.abuse(PingFrame(0, b"flooding").serialize() * 100)

    def on_settings_flood(self, stream_id, _):
        return self.abuse(SettingsFrame(0, settings={4: 1000}).serialize() * 100)

    def on_window_flood(self, stream_id, _):
        return self.abuse(WindowUpdateFrame(0, window_increment=1).serialize() * 100)

    def on_empty_data_flood(self, stream_id, _):
        return self.abuse(DataFrame(stream_id, b"").serialize() * 100)

    def on_reset_storm(self, stream_id, _):
        return self.abuse(RstStreamFrame(stream_id, error_code=2).serialize() * 100)

    def on_goaway_flood(self, stream_id, _):
        return self.abuse(GoAwayFrame(0, last_stream_id=2**31 - 1).serialize() * 100)

    def on_header_bomb(self, stream_id, _):
        if not self.is_abused:
            return False
        entry = b"\x40\x06x-bomb\x7f\xa1\x1e" + b"a" * 4000
        self.raw(HeadersFrame(stream_id, b"\x88" + entry + b"\xbe" * 4000, flags=["END_HEADERS"]).serialize())
        return True

    def on_bad_huffman(self, stream_id, _):
        if not self.is_abused:
            return False
        self.raw(HeadersFrame(stream_id, b"\x00\x01x\x84\xff\xff\xff\xff", flags=["END_HEADERS"]).serialize())
        return True

    def on_huge_frame(self, stream_id, _):
        if not self.is_abused:
            return False
        self.raw(b"\xff\xff\xff\x00\x00" + stream_id.to_bytes(4, "big") + b"x" * 100000)
        return True

    def on_push_promise(self, stream_id, _):
        if not self.is_abused:
            return False
        block = self.h2.encoder.encode([(":method", "GET"), (":path", "/"), (":scheme", "https"), (":authority", "x")])
        self.raw(PushPromiseFrame(stream_id, 2, block, flags=["END_HEADERS"]).serialize())
        return True

    def on_garbage(self, stream_id, _):
        if not self.is_abused:
            return False
        self.raw(os.urandom(5000))
        return True

    def on_mid_frame(self, stream_id, apns_id):
        if not self.is_abused:
            return False
        block = self.h2.encoder.encode(self.fields(200, apns_id))
        self.raw(HeadersFrame(stream_id, block, flags=["END_HEADERS", "END_STREAM"]).serialize()[:-3])
        raise Gone()

    def on_truncated_tls(self, stream_id, _):
        """Ends TCP without the closing alert of TLS, which RFC 8446 6.1 calls a truncation."""
        if not self.is_abused:
            return False
        self.flush()
        socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
        raise Gone()

    def on_silence(self, stream_id, _):
        """Accepts everything and answers nothing, PING included."""
        if not self.is_abused:
            return False
        while self.sock.recv(65536):
            pass
        raise Gone()


def run(raw, context, number, scenario):
    global connections
    try:
        raw.settimeout(120)
        with context.wrap_socket(raw, server_side=True) as sock:
            Session(sock, number, scenario).serve()
    except (Gone, OSError, ssl.SSLError):
        pass
    finally:
        raw.close()


def main():
    certificate, key, scenario = sys.argv[1:4]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["h2"])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    print("port", listener.getsockname()[1], flush=True)

    def accept():
        global connections
        while True:
            raw, _ = listener.accept()
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connections += 1
            threading.Thread(target=run, args=(raw, context, connections, scenario), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.readline()
    print("received", received, "distinct", len(ids), "connections", connections, flush=True)
    os._exit(0)


main()
