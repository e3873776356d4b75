#!/usr/bin/env python3
"""A second opinion of Apple's broadcast-channel endpoints: a strict HTTP/2 server for tests, on the package h2.

It was written from Apple's documents alone, by somebody who had seen neither the client nor the simulator of this
repository. It must not be changed to fit the client: where the two disagree, Apple's pages decide.

Two TLS listeners on free loopback ports stand for one APNs environment: "send" for broadcasts and "manage" for the
channels. Apple's pages are quoted by these keys: SEND "Sending notification requests to APNs", RESP "Handling
notification responses from APNs", CONN "Establishing a connection to APNs", TOK "Establishing a token-based connection
to APNs", LA "Starting and updating Live Activities with ActivityKit push notifications", LIVE "Displaying live data
with Live Activities", BCH "Sending channel management requests to APNs", BSEND "Sending broadcast push notification
requests to APNs", BERR "Handling error responses from APNs". "(open)" marks what they leave undecided: a mere choice.

stdout: first {"send": port, "manage": port}, then a JSON line per request; one that got no answer (dropped, stream
refused, protocol error) has a line too, with status null. stdin: JSON commands, one per line, each answered in order
with those lines by {"done": name, ...}, with "error" if it was not performed. The end of stdin ends the process.
"""
from __future__ import annotations

import argparse
import asyncio
import base64
import json
import math
import os
import random
import re
import ssl
import sys
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from h2 import events
from h2.config import H2Configuration
from h2.connection import ConnectionInputs, ConnectionState, H2Connection
from h2.errors import ErrorCodes
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

MAX_STREAMS, MAX_BODY, MAX_PAYLOAD = 1000, 1 << 20, 5120
MAX_CHANNEL_ID = 128  # BERR knows "too long" but no page gives the number (open)
HOUR, STORED_FOR, TOKEN_PACE, REFERENCE_DATE = 3600, 8 * 3600, 20 * 60, 978_307_200

STATUS = {  # BERR's table of broadcast and channel management errors; the rest of it is 400
    "TopicMismatch": 403, "MissingProviderToken": 403, "ExpiredProviderToken": 403, "InvalidProviderToken": 403,
    "BadPath": 404, "MethodNotAllowed": 405, "PayloadTooLarge": 413, "TooManyProviderTokenUpdates": 429}
ROUTES = {  # BSEND and BCH: path -> methods
    "send": {r"/4/broadcasts/apps/([^/?#]+)": ("POST",)},
    "manage": {r"/1/apps/([^/?#]+)/channels": ("POST", "GET", "DELETE"), r"/1/apps/([^/?#]+)/all-channels": ("GET",)}}
SUFFIX = re.compile(r"\.push-type\.[^.]+$|\.(complication|pushkit\.fileprovider|location-query|voip-ptt|voip)$")
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
HEADERS = {  # the apns- headers of BSEND (one sample has apns-id) and BCH
    "send": {"apns-channel-id", "apns-push-type", "apns-expiration", "apns-priority", "apns-request-id", "apns-id"},
    "manage": {"apns-channel-id", "apns-request-id"}}
CONNECTION_SPECIFIC = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
APS_KEYS = {"timestamp", "event", "content-state", "alert", "stale-date", "dismissal-date", "relevance-score"}
START_KEYS = {"attributes-type", "attributes", "input-push-token", "input-push-channel"}
# LA writes {"loc-key", "loc-args"} inside title and body and does not speak of the flat forms (open)
ALERT_KEYS = {"title", "body", "sound", "title-loc-key", "title-loc-args", "loc-key", "loc-args"}


class Refusal(Exception):
    """An answer with a reason of BERR's table."""


def refuse_if(*cases: tuple[Any, str]) -> None:
    """Refuses with the reason of the first case that is true: the order of the cases is the order of validation."""
    for wrong, reason in cases:
        if wrong:
            raise Refusal(reason)


def texts(*cases: tuple[Any, str]) -> list[str]:
    return [text for wrong, text in cases if wrong]


@dataclass
class Request:
    """One request as it came; `pairs` are its regular header fields in order, names unchanged."""
    pseudo: dict[str, str]
    pairs: list[tuple[str, str]]
    body: bytearray = field(default_factory=bytearray)  # at most one byte more than any valid payload
    length: int = 0
    ended: bool = False

    def get(self, name: str) -> str | None:
        return next((value for key, value in self.pairs if key.lower() == name), None)

    def request_id(self) -> str | None:
        """BCH: apns-request-id is a UUID (case open); one sample of BSEND has apns-id in its place."""
        return self.get("apns-request-id") or self.get("apns-id")

    def json(self) -> Any:
        """The body as BERR sees it: PayloadEmpty, PayloadTooLarge, or BadRequestPayload if unparseable. BERR says the
        last one of management bodies only (open)."""
        def finite(text: str) -> float:
            if not math.isfinite(value := float(text)):
                raise ValueError(text)
            return value
        refuse_if((not self.length, "PayloadEmpty"), (self.length > MAX_PAYLOAD, "PayloadTooLarge"))
        try:
            return json.loads(self.body.decode("utf-8"), parse_constant=finite, parse_float=finite)
        except (ValueError, RecursionError) as error:
            raise Refusal("BadRequestPayload") from error


@dataclass
class Answer:
    status: int
    reason: str | None = None
    headers: list[tuple[str, str]] = field(default_factory=list)
    document: Any = None
    channel: str | None = None
    violations: list[str] = field(default_factory=list)


@dataclass
class Channel:
    policy: int
    stored: Any = None
    stored_until: float = 0
    timestamp: float | None = None
    last_body: bytes = b""


def report(line: Any) -> None:
    print(json.dumps(line), flush=True)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Tokens:
    """TOK, the provider token: ES256, kid, iss, iat of at most an hour; base64url, signed as RFC 7518 says (r, s)."""

    def __init__(self, public_key: bytes, key_id: str, team_id: str) -> None:
        key = serialization.load_pem_public_key(public_key)
        assert isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1), "not a P-256 key"
        self.key, self.key_id, self.team_id = key, key_id, team_id
        self.known: dict[str, tuple[float, bool]] = {}

    def check(self, authorization: str | None) -> tuple[str, bool]:
        """The token and whether its signature is DER (one of TOK's samples makes such, so it is accepted)."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Refusal("MissingProviderToken")
        if token not in self.known:
            try:
                found = self.verify(token)
            except (ValueError, KeyError, TypeError, RecursionError, InvalidSignature) as error:
                raise Refusal("InvalidProviderToken") from error
            self.known = {**self.known, token: found} if len(self.known) < 64 else {token: found}
        issued, der = self.known[token]
        if issued < time.time() - HOUR:
            raise Refusal("ExpiredProviderToken")
        if issued > time.time() + HOUR:  # TOK: within an hour of now; no page gives the reason (open)
            raise Refusal("InvalidProviderToken")
        return token, der

    def verify(self, token: str) -> tuple[float, bool]:
        parts = token.split(".")
        if len(parts) != 3 or not all(re.fullmatch(r"[A-Za-z0-9_-]+", part) for part in parts):
            raise ValueError("not three base64url parts without padding")
        head, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in parts)
        header, payload = json.loads(head), json.loads(claims)
        if header["alg"] != "ES256" or header["kid"] != self.key_id or payload["iss"] != self.team_id:
            raise ValueError("alg, kid or iss")
        if not is_number(payload["iat"]):
            raise ValueError("iat")
        if raw := len(signature) == 64:
            r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
            signature = utils.encode_dss_signature(r, s)
        self.key.verify(signature, f"{parts[0]}.{parts[1]}".encode(), ec.ECDSA(hashes.SHA256()))
        return payload["iat"], not raw


def header_violations(listener: str, request: Request) -> list[str]:
    """The header tables of SEND, BSEND and BCH; RFC 9113, 8.2: lower-case names, no connection-specific fields."""
    found = texts((request.pseudo.get(":scheme") != "https", ":scheme is not https"))
    for name, low in ((name, name.lower()) for name, _ in request.pairs):
        found += texts(
            (name != low, f"header name {name!r} is not lower case"),
            (low in CONNECTION_SPECIFIC, f"header {low!r} is not allowed in HTTP/2"),
            (low == "content-encoding", "content-encoding: the body must be raw, uncompressed JSON (SEND)"),
            (low.startswith("apns-") and low not in HEADERS[listener], f"header {low!r} is not used here (BSEND, BCH)"))
    return found


def alert_violations(alert: Any) -> list[str]:
    """LA: `alert` is an object; title and body are a string or {"loc-key", "loc-args"}; `sound` is inside it."""
    def text(value: Any) -> bool:
        if not isinstance(value, dict):
            return isinstance(value, str)
        args = value.get("loc-args", [])
        return (isinstance(value.get("loc-key"), str) and not value.keys() - {"loc-key", "loc-args"}
                and isinstance(args, list) and all(isinstance(each, str) for each in args))
    if not isinstance(alert, dict):
        return ["aps.alert is not an object (LA)"]
    found = [f"aps.alert.{key} is not documented (LA)" for key in sorted(alert.keys() - ALERT_KEYS)]
    found += [f"aps.alert.{key} is neither a string nor {{loc-key, loc-args}} (LA)"
              for key in ("title", "body") if not text(alert.get(key, ""))]
    return found + texts((not isinstance(alert.get("sound", ""), str), "aps.alert.sound is not a string (LA)"))


def payload_violations(payload: dict[str, Any], body: bytes, channel: Channel) -> list[str]:
    """LA, the table of `aps` keys for update and end; BSEND and LA: a broadcast cannot start an activity."""
    aps, now = payload["aps"], time.time()
    event, stamp, state = aps.get("event"), aps.get("timestamp"), aps.get("content-state")
    numeric, last = is_number(stamp), channel.timestamp if body != channel.last_body else None  # same bytes: a retry
    size = len(json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))
    found = [f"{key} must be inside aps (LA)" for key in sorted(payload.keys() & (APS_KEYS | START_KEYS))]
    found += [f"aps.{key} belongs to start events only (LA)" for key in sorted(aps.keys() & START_KEYS)]
    found += [f"aps.{key} is no Live Activity key (LA)" for key in sorted(aps.keys() - APS_KEYS - START_KEYS)]
    found += texts(
        (event == "start", "aps.event is start: a broadcast cannot start a Live Activity (LA, BSEND)"),
        (event not in ("start", "update", "end"), "aps.event is neither update nor end (LA)"),
        (not numeric, "aps.timestamp is missing or not a number (LA)"),
        (isinstance(stamp, float), "aps.timestamp is not an integer (LA: seconds since 1970)"),
        (numeric and stamp > now + STORED_FOR, "aps.timestamp is over 8 h ahead (milliseconds?): devices drop it"),
        (numeric and event == "update" and stamp < now - STORED_FOR,
         "aps.timestamp is older than any active Live Activity can be (LIVE: 8 h): devices drop it"),
        (numeric and last is not None and stamp < last, "aps.timestamp is older than the channel's last one (LA)"),
        (numeric and last is not None and stamp == last, "aps.timestamp equals the one of a different payload"),
        (event != "end" and "content-state" not in aps, "aps.content-state is missing (LA)"),
        ("content-state" in aps and not isinstance(state, dict), "aps.content-state is not an object (LA)"),
        (size > 4096, "aps.content-state is larger than 4 KB (LIVE)"),
        (event != "end" and "dismissal-date" in aps, "aps.dismissal-date belongs to end events only (LA)"),
        (not is_number(aps.get("relevance-score", 0)), "aps.relevance-score is not a number (LA)"))
    for name in ("stale-date", "dismissal-date"):
        date, reference = aps.get(name, 0), int(now) - REFERENCE_DATE
        number = is_number(date)
        found += texts(
            (not number, f"aps.{name} is not a number (LA: seconds since 1970)"),
            (number and abs(date) >= 1e11, f"aps.{name} is not in seconds (LA)"),
            (number and abs(date - reference) < 2 * 86400, f"aps.{name} counts from 2001 instead of 1970 (LA)"))
    return found + (alert_violations(aps["alert"]) if "alert" in aps else [])


class Environment:
    """One APNs environment: the channels of each app, and what BSEND, BCH and BERR say about requests for them."""

    def __init__(self, options: argparse.Namespace, tokens: Tokens) -> None:
        self.tokens, self.quota, self.disabled = tokens, options.storage_quota, options.feature_not_enabled
        self.apps: dict[str, dict[str, Channel]] = {app: {} for app in [*options.bundle, *self.disabled]}
        self.issued: set[str] = set()

    def answer(self, listener: str, request: Request, admit: Callable[[str], None]) -> Answer:
        """The answer to a request; `admit` applies the connection's own rules to a valid token."""
        try:
            result = self.perform(listener, request, admit)
        except Refusal as refusal:
            reason = str(refusal)
            result = Answer(STATUS.get(reason, 400), reason, document={"reason": reason})
        result.channel = result.channel or request.get("apns-channel-id")
        return result

    def perform(self, listener: str, request: Request, admit: Callable[[str], None]) -> Answer:
        """Order of checks (open): method, path, token, bundle id, then headers and body."""
        method, path = request.pseudo.get(":method", ""), request.pseudo.get(":path", "")
        refuse_if((not any(method in methods for methods in ROUTES[listener].values()), "MethodNotAllowed"))
        match, methods = next(((found, methods) for pattern, methods in ROUTES[listener].items()
                               if (found := re.fullmatch(pattern, path))), (None, ()))
        names = [name.lower() for name, _ in request.pairs if name.lower().startswith(("apns-", "authorization"))]
        refuse_if((match is None, "BadPath"), (method not in methods, "MethodNotAllowed"),
                  (len(names) > len(set(names)), "DuplicateHeaders"))  # the last: RESP has it, BERR does not (open)
        token, der = self.tokens.check(request.get("authorization"))
        admit(token)
        bundle = match[1] if match else ""
        refuse_if((bundle not in self.apps and SUFFIX.search(bundle), "TopicDisallowed"),  # a push-type suffix
                  (bundle not in self.apps, "TopicMismatch"), (bundle in self.disabled, "FeatureNotEnabled"),
                  (not UUID.fullmatch(request.request_id() or str(uuid.uuid4())), "BadMessageId"))
        if listener == "send":
            result = self.broadcast(self.apps[bundle], request)
        elif method == "POST":
            result = self.create(self.apps[bundle], request)
        else:
            result = self.inspect(self.apps[bundle], method, path.endswith("/all-channels"), request)
        result.violations += header_violations(listener, request)
        result.violations += texts((der, "the provider token's signature is DER instead of r and s (RFC 7518)"))
        return result

    def create(self, channels: dict[str, Channel], request: Request) -> Answer:
        """BCH: 201, no body, a new id; both members required, policy 0 or 1. BERR: an unknown attribute is
        BadRequestParams, push-type has its own reasons; a missing or wrong policy has none: BadRequestParams (open)."""
        document = request.json()
        refuse_if((not isinstance(document, dict), "BadRequestPayload"))
        policy = document.get("message-storage-policy")
        refuse_if((document.keys() - {"message-storage-policy", "push-type"}, "BadRequestParams"),
                  ("push-type" not in document, "MissingPushType"),
                  (document.get("push-type") != "LiveActivity", "InvalidPushType"),
                  (type(policy) is not int or policy not in (0, 1), "BadRequestParams"),
                  (len(channels) >= self.quota, "CannotCreateChannelConfig"))
        name = ""
        while not name or name in self.issued:  # BCH: random, of a size not to be assumed, and never used again
            name = base64.b64encode(os.urandom(random.randint(12, 24))).decode()
        self.issued.add(name)
        channels[name] = Channel(policy)
        return Answer(201, headers=[("apns-channel-id", name)], channel=name)

    def inspect(self, channels: dict[str, Channel], method: str, everything: bool, request: Request) -> Answer:
        """BCH: list 200, read 200, delete 204 without a body."""
        notes = texts((request.length, "this operation has no body (BCH)"))
        if everything:
            return Answer(200, document={"channels": list(channels)}, violations=notes)
        name = self.channel_id(request)
        refuse_if((name not in channels, "ChannelNotRegistered"))
        if method == "DELETE":
            del channels[name]
            return Answer(204, violations=notes)
        document = {"message-storage-policy": channels[name].policy, "push-type": "LiveActivity"}
        return Answer(200, document=document, violations=notes)

    @staticmethod
    def channel_id(request: Request) -> str:
        """BERR: MissingChannelId, BadChannelId ("not base64 or too long")."""
        text = request.get("apns-channel-id") or ""
        refuse_if((not text, "MissingChannelId"),
                  (len(text) % 4 or len(text) > MAX_CHANNEL_ID or not BASE64.fullmatch(text), "BadChannelId"))
        return text

    def broadcast(self, channels: dict[str, Channel], request: Request) -> Answer:
        """BSEND: the header table and the body; BERR: the reasons; their order, and that an absent apns-expiration or
        apns-priority has the reason of a bad one, is open."""
        name, now = self.channel_id(request), time.time()
        push_type, expiration = request.get("apns-push-type") or "", request.get("apns-expiration") or ""
        expires = int(expiration) if re.fullmatch(r"[0-9]{1,15}", expiration) else -1
        channel = channels.get(name)
        refuse_if((not push_type, "MissingPushType"),
                  (push_type.lower() != "liveactivity", "InvalidPushType"),  # the page's own spelling varies
                  (expires < 0, "BadExpirationDate"),
                  (expires > 0 and channel and channel.policy == 0, "BadExpirationDate"),  # BERR: no-storage channel
                  (request.get("apns-priority") not in ("1", "5", "10"), "BadPriority"))  # LA: 5, 10; BSEND knows 1 too
        if channel is None:
            raise Refusal("ChannelNotRegistered")
        payload = request.json()
        refuse_if((not isinstance(payload, dict) or not isinstance(payload.get("aps", {}), dict), "BadRequestPayload"))
        refuse_if((not payload.get("aps"), "PayloadEmpty"))
        found = payload_violations(payload, bytes(request.body), channel) + texts(
            (push_type != "liveactivity", "apns-push-type is not in lower case (BSEND's samples)"),
            (0 < expires < now - 1, "apns-expiration lies in the past (SEND: store until then)"),
            (expires > now + STORED_FOR + 5, "apns-expiration is later than a message may be stored (BCH: 8 h)"))
        stamp = payload["aps"].get("timestamp")
        if is_number(stamp) and (channel.timestamp or 0) <= stamp <= now + STORED_FOR:  # later ones: devices drop them
            channel.timestamp, channel.last_body = stamp, bytes(request.body)
        if channel.policy == 1 and expires > now:  # SEND: 0 is one attempt without storing
            channel.stored, channel.stored_until = payload, min(expires, now + STORED_FOR)
        return Answer(200, violations=found)

    def snapshot(self) -> dict[str, Any]:
        return {name: {"policy": channel.policy, "bundle": bundle,
                       "stored": channel.stored if channel.stored_until > time.time() else None}
                for bundle, channels in self.apps.items() for name, channel in channels.items()}


class Listener:
    """One of the two hosts: its connections, its stream limit and the faults ordered for it."""

    def __init__(self, name: str, environment: Environment, delay: float) -> None:
        self.name, self.environment, self.delay = name, environment, delay
        self.connections: set[Connection] = set()
        self.stream_limit = MAX_STREAMS
        self.faults: deque[dict[str, Any]] = deque()

    def line(self, request: Request, answer: Answer) -> None:
        headers: dict[str, str] = {}
        for name, value in request.pairs:
            if name.lower() != "authorization":
                headers[name] = f"{headers[name]}, {value}" if name in headers else value
        try:
            body = request.json()
        except Refusal:
            body = None
        report({"listener": self.name, "method": request.pseudo.get(":method"), "path": request.pseudo.get(":path"),
                "headers": headers, "body": body, "status": answer.status or None, "reason": answer.reason,
                "channel": answer.channel, "violations": answer.violations})


class Advertised(Settings):
    """SETTINGS with a stream limit for the client only: h2 would close where `Connection` refuses a stream."""
    max_concurrent_streams = 2 ** 31 - 1  # type: ignore[assignment]


class Connection(asyncio.Protocol):
    """One HTTP/2 connection. CONN: one stream until a valid token came. TOK: no new token within 20 minutes."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        # Inbound validation is off so that odd header names get into the report instead of ending the connection.
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding=None, validate_inbound_headers=False))
        # RFC 9113, 6.8: open streams go on after GOAWAY, which h2 takes for the end of the connection.
        self.h2.state_machine._transitions = {**self.h2.state_machine._transitions, **{
            (state, move): (None, state) for state in (ConnectionState.IDLE, ConnectionState.SERVER_OPEN)
            for move in (ConnectionInputs.SEND_GOAWAY, ConnectionInputs.RECV_GOAWAY)}}
        self.requests: dict[int, Request] = {}
        self.output: dict[int, bytes] = {}
        self.token: str | None = None
        self.token_since = 0.0
        self.limits: deque[int] = deque([1])  # the first is in force, the others wait for the client's acknowledgement
        self.last_stream: int | None = None
        self.notes: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.transport: asyncio.Transport = transport
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            self.listener.line(Request({}, []), Answer(0, violations=["the client did not offer h2 by ALPN"]))
            transport.abort()
        else:
            self.listener.connections.add(self)
            self.limits.append(min(1, self.listener.stream_limit))
            self.h2.local_settings = Advertised(client=False, initial_values={
                SettingCodes.MAX_CONCURRENT_STREAMS: self.limits[-1], SettingCodes.MAX_HEADER_LIST_SIZE: 1 << 16})
            self.h2.initiate_connection()
            self.pump()

    def connection_lost(self, exc: Exception | None) -> None:
        self.listener.connections.discard(self)
        self.requests.clear()

    def data_received(self, data: bytes) -> None:
        try:
            batch = self.h2.receive_data(data)
        except ProtocolError as error:
            request = next((each for each in self.requests.values() if not each.ended), Request({}, []))
            self.listener.line(request, Answer(0, "protocol-error", violations=[f"HTTP/2: {error!r}"]))
            self.transport.write(self.h2.data_to_send())
            self.transport.close()
            return
        inside = {id(event.priority_updated) for event in batch if isinstance(event, events.RequestReceived)}
        ended: list[int] = []
        for event in batch:  # what came at once was open at once: answers follow afterwards
            request = self.requests.get(getattr(event, "stream_id", None) or 0)
            if isinstance(event, events.RequestReceived):
                self.opened(event)
            elif isinstance(event, events.DataReceived):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                if request is not None:
                    request.length += len(event.data)
                    request.body += event.data[:MAX_PAYLOAD + 1 - len(request.body)]
                    if request.length > MAX_BODY:
                        self.refuse(event.stream_id, request, ErrorCodes.ENHANCE_YOUR_CALM, "the body has no end")
            elif isinstance(event, events.StreamEnded) and request is not None:
                request.ended = True
                ended.append(event.stream_id)
            elif isinstance(event, events.StreamReset):
                self.requests.pop(event.stream_id, None)
                self.output.pop(event.stream_id, None)
            elif isinstance(event, events.SettingsAcknowledged) and len(self.limits) > 1:
                self.limits.popleft()
            elif isinstance(event, events.PriorityUpdated) and id(event) not in inside:
                self.notes.append("a PRIORITY frame was sent (SEND: don't)")
        for stream in ended:
            if self.listener.delay:
                asyncio.get_running_loop().call_later(self.listener.delay, self.respond, stream)
            else:
                self.respond(stream)
        self.pump()

    def opened(self, event: events.RequestReceived) -> None:
        fields = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers]
        request = Request({name: value for name, value in fields if name.startswith(":")},
                          [(name, value) for name, value in fields if not name.startswith(":")])
        if self.last_stream is not None and event.stream_id > self.last_stream:
            return  # RFC 9113, 6.8: streams above the one that GOAWAY names are not processed
        if len(self.requests) < max(self.limits):
            self.requests[event.stream_id] = request
        else:
            rule = "SETTINGS_MAX_CONCURRENT_STREAMS" if self.token else "CONN: one until a valid token was accepted"
            self.refuse(event.stream_id, request, ErrorCodes.REFUSED_STREAM, f"too many streams ({rule})")

    def refuse(self, stream: int, request: Request, code: ErrorCodes, text: str) -> None:
        self.requests.pop(stream, None)
        self.h2.reset_stream(stream, code)
        self.listener.line(request, Answer(0, "stream-refused", violations=[text]))

    def admit(self, token: str) -> None:
        """TOK: a valid token opens the connection to more streams; another one within 20 minutes is refused."""
        now = time.monotonic()
        if self.token is not None and token != self.token and now - self.token_since < TOKEN_PACE:
            raise Refusal("TooManyProviderTokenUpdates")
        if token != self.token:
            self.token, self.token_since = token, now
            self.advertise()

    def advertise(self) -> None:
        limit = min(self.listener.stream_limit, 1 if self.token is None else MAX_STREAMS)
        if limit != self.limits[-1]:
            self.limits.append(limit)
            self.h2.update_settings({SettingCodes.MAX_CONCURRENT_STREAMS: limit})
            self.pump()

    def respond(self, stream: int) -> None:
        if (request := self.requests.get(stream)) is None or self.transport.is_closing():
            return
        fault = self.listener.faults.popleft() if self.listener.faults else {}
        if "status" in fault:
            answer = Answer(fault["status"], fault["reason"], document={"reason": fault["reason"]})
        elif fault.get("when") == "before":
            answer = Answer(0, channel=request.get("apns-channel-id"))
        else:
            answer = self.listener.environment.answer(self.listener.name, request, self.admit)
        answer.violations += self.notes
        self.notes = []
        if "when" in fault:
            answer.status, answer.reason = 0, f"dropped-{fault['when']}"
        self.listener.line(request, answer)
        if not answer.status:
            self.transport.abort()
            return
        own = request.request_id() or ""  # BCH, BERR: echoed, else generated
        headers = [(":status", str(answer.status)), *answer.headers,
                   ("apns-request-id", own if UUID.fullmatch(own) else str(uuid.uuid4()))]
        if answer.document is None:
            del self.requests[stream]
        else:
            headers.append(("content-type", "application/json"))  # RESP
            self.output[stream] = json.dumps(answer.document, separators=(",", ":")).encode()
        self.h2.send_headers(stream, headers, end_stream=answer.document is None)
        self.pump()

    def pump(self) -> None:
        """Sends what flow control allows (a list of channels may exceed a window) and ends a drained connection."""
        for stream in list(self.output):
            while data := self.output.get(stream):
                size = min(self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
                if size <= 0:
                    break
                self.h2.send_data(stream, data[:size], end_stream=len(data) <= size)
                self.output[stream] = data[size:]
                if len(data) <= size:
                    del self.output[stream], self.requests[stream]
        if (data := self.h2.data_to_send()) and not self.transport.is_closing():
            self.transport.write(data)
        if self.last_stream is not None and not self.requests:
            asyncio.get_running_loop().call_later(1, self.transport.close)

    def go_away(self, reason: str) -> None:
        """SEND and RESP: APNs may close with GOAWAY, whose debug data is JSON with the reason."""
        if self.last_stream is None:
            self.last_stream = self.h2.highest_inbound_stream_id
            self.h2.close_connection(additional_data=json.dumps({"reason": reason}).encode())
            self.pump()


def command(order: Any, environment: Environment, listeners: dict[str, Listener]) -> dict[str, Any]:
    """Performs one command. "times" may be given to both kinds of faults, "reason" to goaway."""
    name = order.get("command") if isinstance(order, dict) else None
    done: dict[str, Any] = {"done": name}
    try:
        times = min(int(order.get("times", 1)), 1000) if name else 0
        if name == "channels":
            done["channels"] = environment.snapshot()
        elif name == "forget-channel":
            done["found"] = any([channels.pop(order["channel"], None) for channels in environment.apps.values()])
        elif name == "refuse-next":
            fault = {"status": int(order["status"]), "reason": str(order["reason"])}
            listeners[order["listener"]].faults.extend([fault] * times)
        elif name == "drop-next" and order["when"] in ("before", "after"):
            listeners[order["listener"]].faults.extend([{"when": order["when"]}] * times)
        elif name == "goaway":
            present = list(listeners[order["listener"]].connections)
            done["connections"] = len(present)
            for connection in present:
                connection.go_away(str(order.get("reason", "Shutdown")))
        elif name == "limit-streams":
            listeners[order["listener"]].stream_limit = max(int(order["max"]), 0)
            for connection in listeners[order["listener"]].connections:
                connection.advertise()
        else:
            done["error"] = "unknown command"
    except (KeyError, ValueError, TypeError) as error:
        done["error"] = repr(error)
    return done


async def serve(options: argparse.Namespace) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2  # SEND: HTTP/2 and TLS 1.2 or later
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(options.certificate, options.key)
    with open(options.public_key, "rb") as file:
        environment = Environment(options, Tokens(file.read(), options.key_id, options.team_id))
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    listeners = {name: Listener(name, environment, options.delay) for name in ROUTES}
    servers = {name: await loop.create_server(
        lambda listener=listener: Connection(listener), "127.0.0.1", 0, ssl=context, ssl_handshake_timeout=10)
        for name, listener in listeners.items()}

    def read() -> None:
        for text in sys.stdin.buffer:
            try:
                order = json.loads(text)
            except ValueError:
                order = None
            loop.call_soon_threadsafe(lambda order=order: report(command(order, environment, listeners)))
        loop.call_soon_threadsafe(stopped.set)

    report({name: server.sockets[0].getsockname()[1] for name, server in servers.items()})
    threading.Thread(target=read, daemon=True).start()
    await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="Apple's broadcast-channel endpoints, for tests.")
    for name in ("certificate", "key", "public-key", "key-id", "team-id"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--bundle", action="append", required=True)
    parser.add_argument("--storage-quota", type=int, default=10_000, help="channels per app (BCH: 10,000)")
    parser.add_argument("--feature-not-enabled", action="append", default=[], metavar="BUNDLE")
    parser.add_argument("--delay", type=float, default=0, help="seconds before each answer, so that streams overlap")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
