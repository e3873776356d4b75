// The table of all calls in the API's description.
import LiveActivityAPI

extension Operation {
    /// The operations by method and path, one for each route.
    package static let all: [String: Operation] = activities.merging(people) { first, _ in first }
        .merging(phones) { first, _ in first }.merging(server) { first, _ in first }

    private static let order = ["activity": "order-12345"]
    private static let phone = ["device": "phone-1"]
    private static let webhook = ["webhook": "backend"]

    private static let changed = #"""
        {"revision": 3, "changed": true, "phase": "active",
         "phones": {"start": 0, "update": 1, "pending": 1, "none": 0},
         "reasons": [{"reason": "start-unconfirmed", "count": 1}],
         "summary": "will update 1 of 2; 1 started and not confirmed"}
        """#

    private static let desired = #"""
        {"activities": [
          {"activity": "order-12345", "type": "OrderTracking", "state": {"status": "delivering", "eta": 5},
           "attributes": {"shop": "Roma", "islet": {"activity": "order-12345"}}, "revision": 3, "phase": "active",
           "localID": "7E0C2F1A", "staleAt": "2026-11-21T15:00:00Z", "lastTimestamp": "2026-11-21T14:45:01Z"}]}
        """#

    private static let content: [Problem.Code] = [.contractViolation, .payloadTooLarge, .ignoredByIOS, .unknownType]

    private static let activities: [String: Operation] = [
        "PUT /v1/activities/{activity}": Operation(
            "setActivity", .activities, "Set an activity's desired state", path: order,
            request: Body(
                .activityRequest,
                #"""
                {"type": "OrderTracking", "state": {"status": "delivering", "eta": 5}, "attributes": {"shop": "Roma"},
                 "audience": {"users": ["ada"]}, "alert": {"title": "On its way", "body": "5 minutes"},
                 "staleAfter": "15m"}
                """#), answer: Body(.activityAnswer, changed),
            problems: content + [
                .activityEnded, .typeDiffers, .attributesDiffer, .activityIDConflict, .audienceTooLarge,
                .typeMisconfigured,
            ]),
        "PATCH /v1/activities/{activity}": Operation(
            "patchActivity", .activities, "Change parts of an activity", path: order,
            request: Body(.patchRequest, #"{"state": {"eta": 4}}"#), answer: Body(.activityAnswer, changed),
            problems: content + [.unknownActivity, .activityEnded, .noStateYet, .typeMisconfigured]),
        "POST /v1/activities/{activity}/end": Operation(
            "endActivity", .activities, "End an activity", path: order,
            request: Body(
                .endRequest, #"{"state": {"status": "delivered", "eta": 0}, "dismissAfter": "10m"}"#,
                isRequired: false),
            answer: Body(.activityAnswer, changed.replacing("active", with: "ended")),
            problems: content + [.unknownActivity, .noStateYet, .typeMisconfigured]),
        "DELETE /v1/activities/{activity}": Operation(
            "deleteActivity", .activities, "End an activity now", path: order,
            answer: Body(.activityAnswer, changed.replacing("active", with: "ended")),
            problems: content + [.unknownActivity, .noStateYet, .typeMisconfigured]),
        "POST /v1/activities/{activity}/audience": Operation(
            "changeAudience", .activities, "Change an activity's audience", path: order,
            request: Body(.audienceRequest, #"{"add": ["bob"]}"#),
            answer: Body(
                .audienceAnswer,
                #"""
                {"added": 1, "removed": 0, "unchanged": 0, "members": 2, "revision": 3, "phase": "active",
                 "phones": {"start": 0, "update": 1, "pending": 0, "none": 0}, "reasons": [],
                 "summary": "will update 1 of 1"}
                """#),
            problems: [
                .unknownActivity, .activityEnded, .noStateYet, .sessionReplaced, .sessionClosed, .audienceTooLarge,
            ]),
        "GET /v1/activities": Operation(
            "listActivities", .activities, "List activities",
            answer: Body(
                .activityList,
                #"""
                {"activities": [{"activity": "order-12345", "type": "OrderTracking", "phase": "active", "run": 1,
                  "revision": 3, "createdAt": "2026-11-21T14:40:00Z", "updatedAt": "2026-11-21T14:45:00Z",
                  "phones": 2}], "next": "3f"}
                """#), problems: [.unknownType]),
        "GET /v1/activities/{activity}": Operation(
            "viewActivity", .activities, "Read an activity: its desired state, and what phones show", path: order,
            answer: Body(
                .activityView,
                #"""
                {"activity": "order-12345", "type": "OrderTracking", "phase": "active", "run": 1, "revision": 3,
                 "state": {"status": "delivering", "eta": 5}, "attributes": {"shop": "Roma"},
                 "createdAt": "2026-11-21T14:40:00Z", "updatedAt": "2026-11-21T14:45:00Z", "counts": {"live": 1},
                 "fanOut": {"done": 0, "phones": 1},
                 "devices": [{"device": "phone-1", "user": "ada", "localID": "7E0C2F1A", "state": "live",
                  "revision": 3, "shownRevision": 2, "confirmation": "accepted",
                  "lastDelivery": {"kind": "update", "at": "2026-11-21T14:45:01Z", "status": 200,
                   "verdict": "accepted"},
                  "reason": {"code": "up-to-date", "text": "the phone holds the newest state"}}]}
                """#), problems: [.unknownActivity, .noStateYet]),
        "GET /v1/activities/{activity}/timeline": Operation(
            "viewTimeline", .activities, "Read an activity's timeline", path: order,
            answer: Body(
                .timeline,
                #"""
                {"entries": [{"at": "2026-11-21T14:45:01Z", "kind": "update", "device": "phone-1", "revision": 3,
                  "code": "accepted", "text": "APNs accepted the push", "status": 200,
                  "apnsID": "EC1BF194-B3B2-424A-89C9-5A918A6E6B5D", "priority": 10, "alert": true,
                  "timestamp": 1795272301}], "next": "17.3"}
                """#), problems: [.unknownActivity]),
    ]

    private static let asked = Body(.refreshAsked, #"{"asked": 1}"#)

    private static let people: [String: Operation] = [
        "POST /v1/users/{user}/notifications": Operation(
            "notifyUser", .people, "Send an ordinary notification", path: ["user": "ada"],
            request: Body(
                .notificationRequest,
                #"{"id": "note-7", "alert": {"title": "Dr. Who", "body": "Ring me back", "sound": "default"}}"#),
            answer: Body(
                .notificationAnswer,
                #"{"devices": 1, "others": 1, "reasons": [{"reason": "no-device-token", "count": 1}]}"#),
            problems: [.payloadTooLarge, .ignoredByIOS]),
        "POST /v1/users/{user}/refresh": Operation(
            "askRefresh", .people, "Recompute what a person should see", path: ["user": "ada"],
            request: Body(.refreshRequest, #"{"type": "NextUp"}"#, isRequired: false), answer: asked,
            problems: [.unknownType, .noProvider]),
        "GET /v1/users/{user}/refresh": Operation(
            "viewRefresh", .people, "Read the state of a person's computations", path: ["user": "ada"],
            answer: Body(
                .refreshView,
                #"""
                {"refreshes": [{"type": "NextUp", "asked": 2, "done": 1, "running": true,
                  "finishedAt": "2026-11-21T14:40:00Z", "tries": 0}]}
                """#)),
        "POST /v1/refreshes": Operation(
            "askRefreshes", .people, "Recompute what many people should see",
            request: Body(.refreshesRequest, #"{"users": ["ada"]}"#), answer: asked,
            problems: [.unknownType, .noProvider]),
    ]

    private static let phones: [String: Operation] = [
        "PUT /v1/devices/{device}": Operation(
            "registerDevice", .phones, "Register a device", path: phone,
            request: Body(
                .deviceRequest,
                #"{"user": "ada", "osVersion": "18.1", "environment": "sandbox", "activitiesEnabled": true}"#),
            answer: Body(.desiredStates, desired.replacing("]}", with: #"], "credential": "islet_device_…"}"#)),
            problems: [.deadToken, .deviceTaken, .tooManyDevices, .tooManyTokens, .deviceChangesHands]),
        "PUT /v1/devices/{device}/push-to-start-tokens/{type}": Operation(
            "reportPushToStartToken", .phones, "Report the push-to-start token of a type",
            path: ["device": "phone-1", "type": "OrderTracking"],
            request: Body(
                .tokenRequest, #"{"token": "80f2c0a4d1e64c3f9b7a55d0c8e1f2a3b4c5d6e7f8091a2b3c4d5e6f70819203"}"#),
            answer: Body(.desiredStates, desired),
            problems: [.unknownDevice, .unknownType, .deadToken, .tooManyTokens]),
        "PUT /v1/devices/{device}/instances/{localID}": Operation(
            "reportCard", .phones, "Report one card", path: ["device": "phone-1", "localID": "7E0C2F1A"],
            request: Body(
                .instanceRequest,
                #"""
                {"type": "OrderTracking", "activity": "order-12345", "state": "active",
                 "token": "80f2c0a4d1e64c3f9b7a55d0c8e1f2a3b4c5d6e7f8091a2b3c4d5e6f70819204"}
                """#), answer: Body(.desiredStates, desired),
            problems: [
                .unknownDevice, .unknownType, .typeDiffers, .activityNotNamed, .tooManyAwaiting, .tooManyCards,
                .tooManyTokens,
            ]),
        "PUT /v1/devices/{device}/instances": Operation(
            "reportInventory", .phones, "Report all cards", path: phone,
            request: Body(
                .inventoryRequest,
                #"""
                {"sequence": 8, "instances": [{"localID": "7E0C2F1A", "type": "OrderTracking",
                  "activity": "order-12345", "state": "active"}]}
                """#), answer: Body(.desiredStates, desired),
            problems: [.unknownDevice, .unknownType, .tooManyAwaiting]),
        "DELETE /v1/devices/{device}": Operation(
            "signOutDevice", .phones, "Sign a device out", path: phone,
            answer: Body(.desiredStates, #"{"activities": []}"#), problems: [.unknownDevice]),
        "GET /v1/activities/{activity}/join": Operation(
            "joinActivity", .phones, "Read what an app needs to start a card itself", path: order,
            answer: Body(
                .desiredState,
                #"""
                {"activity": "order-12345", "type": "OrderTracking", "state": {"status": "delivering", "eta": 5},
                 "attributes": {"shop": "Roma", "islet": {"activity": "order-12345"}},
                 "channel": "dHN0LXNyY2gtY2hubA==", "revision": 3, "phase": "active",
                 "staleAt": "2026-11-21T15:00:00Z", "lastTimestamp": "2026-11-21T14:45:01Z"}
                """#), problems: [.unknownActivity, .activityEnded, .commitUnknown]),
        "DELETE /v1/devices/{device}/credential": Operation(
            "revokeCredentials", .phones, "Revoke the phone's own credentials", path: phone,
            answer: Body(.credentialsRevoked, #"{"revoked": 1}"#), problems: [.unknownDevice]),
        "GET /v1/devices/{device}/diagnosis": Operation(
            "diagnoseDevice", .phones, "Diagnose why something did not arrive", path: phone,
            answer: Body(
                .diagnosis,
                #"""
                {"device": "phone-1", "user": "ada", "at": "2026-11-21T14:32:00Z", "verdict": "waiting",
                 "findings": [{"id": "start-unconfirmed", "severity": "waiting", "activity": "order-12345",
                  "text": "APNs accepted the start, but the phone has not reported the card",
                  "fix": "the person must tap Allow on the lock screen, or open the app",
                  "evidence": {"state": "unconfirmed", "wanted": 1, "sent": 1, "shown": 0}}]}
                """#)),
    ]

    private static let server: [String: Operation] = [
        "POST /v1/batch": Operation(
            "batch", .server, "Send many writes, line by line",
            request: Body(
                .batchLine,
                #"""
                {"method": "PUT", "path": "/v1/activities/order-1",
                 "body": {"type": "OrderTracking", "state": {"status": "baking", "eta": 20}}}
                """#),
            answer: Body(
                .lineAnswer,
                #"{"line": 1, "status": 200, "body": {"revision": 1, "changed": true, "phase": "active"}}"#)),
        "GET /v1/events": Operation(
            "readEvents", .server, "Stream events as they happen",
            answer: Body(
                .event,
                #"""
                {"id": "42", "type": "started", "timestamp": "2026-11-21T14:45:01Z", "app": "com.acme.pizza",
                 "activity": "order-12345", "run": 1, "revision": 3, "device": "phone-1", "reason": "first-state"}
                """#), problems: [.eventsErased]),
        "GET /v1/webhooks": Operation(
            "listWebhooks", .server, "List webhooks and their delivery progress",
            answer: Body(
                .webhookList,
                #"""
                {"webhooks": [{"name": "backend", "origin": "https://backend.acme.com", "kinds": ["dismissed", "ended"],
                  "state": "off", "since": "2026-11-21T14:45:00Z", "reason": "HTTP 500",
                  "fix": "repair the endpoint, then re-enable it: `islet webhooks enable backend`, or in the console",
                  "failures": 9, "behind": 2, "waiting": 1, "dead": 1}]}
                """#)),
        "GET /v1/webhooks/{webhook}/dead": Operation(
            "listDeadDeliveries", .server, "List events that could not be delivered", path: webhook,
            answer: Body(
                .deadDeliveryList,
                #"""
                {"dead": [{"id": "42", "event": {"id": "42", "type": "ended", "timestamp": "2026-11-21T14:45:01Z",
                  "app": "com.acme.pizza", "activity": "order-12345"}, "tries": 30,
                  "firstTriedAt": "2026-11-21T14:45:01Z", "givenUpAt": "2026-11-22T14:45:01Z",
                  "failure": "HTTP 500"}], "next": "42"}
                """#), problems: [.unknownWebhook]),
        "POST /v1/webhooks/{webhook}/replay": Operation(
            "replayDeliveries", .server, "Replay failed events", path: webhook,
            request: Body(.replayRequest, #"{"events": ["42"]}"#, isRequired: false),
            answer: Body(.replayed, #"{"replayed": 1}"#), problems: [.unknownWebhook]),
        "POST /v1/webhooks/{webhook}/discard": Operation(
            "discardDeliveries", .server, "Discard failed events", path: webhook,
            request: Body(.discardRequest, #"{"events": ["42"]}"#),
            answer: Body(.discarded, #"{"discarded": 1}"#), problems: [.unknownWebhook]),
        "POST /v1/webhooks/{webhook}/enable": Operation(
            "enableWebhook", .server, "Enable a webhook again", path: webhook,
            answer: Body(.webhookEnabled, #"{"changed": true}"#), problems: [.unknownWebhook]),
        "GET /v1/types": Operation(
            "listTypes", .server, "List activity types",
            answer: Body(
                .typeList,
                #"""
                {"types": [{"type": "OrderTracking", "attributesType": "OrderTrackingAttributes",
                  "activityIDAttribute": "/orderId", "isProvided": false, "policy": {"startGrace": "15s"},
                  "view": {"title": "{/restaurant}", "progress": "/progress"}}]}
                """#)),
        "POST /v1/types/{type}/what-if": Operation(
            "tryPolicy", .server, "Replay a recorded day under a policy", path: ["type": "OrderTracking"],
            request: Body(.whatIfRequest, #"{"policy": {"coalescingWindow": "30s"}, "hours": 12}"#),
            answer: Body(
                .whatIf,
                #"""
                {"from": "2026-11-21T02:45:00Z", "to": "2026-11-21T14:45:00Z", "activities": 1, "changes": 3,
                 "phones": 1, "isPart": false, "policy": {"coalescingWindow": "30s"},
                 "sent": {"pushes": 3, "starts": 1, "updates": 2, "ends": 0, "fallbacks": 0, "high": 1, "low": 2,
                  "alerts": 1, "reasons": {"first-state": 1, "new-state": 2},
                  "changes": {"sent": 3, "together": 0, "unsent": 0},
                  "delay": {"p50": 0.1, "p95": 0.4, "longest": 0.4}, "endedIdle": 0},
                 "now": {"pushes": 3, "starts": 1, "updates": 2, "ends": 0, "fallbacks": 0, "high": 1, "low": 2,
                  "alerts": 1, "reasons": {"first-state": 1, "new-state": 2},
                  "changes": {"sent": 3, "together": 0, "unsent": 0},
                  "delay": {"p50": 0, "p95": 0, "longest": 0}, "endedIdle": 0, "held": {"start-grace": 1},
                  "lowered": {"byInterval": 0, "byBudget": 0}, "refused": 0},
                 "then": {"pushes": 2, "starts": 1, "updates": 1, "ends": 0, "fallbacks": 0, "high": 1, "low": 1,
                  "alerts": 1, "reasons": {"first-state": 1, "new-state": 1},
                  "changes": {"sent": 2, "together": 1, "unsent": 0},
                  "delay": {"p50": 0, "p95": 26, "longest": 26}, "endedIdle": 0, "held": {},
                  "lowered": {"byInterval": 0, "byBudget": 0}, "refused": 0},
                 "unknown": ["APNs takes every push at once here."]}
                """#), problems: [.unknownType, .notFound, .trialTooLong]),
        "GET /v1/keys": Operation(
            "listKeys", .server, "List API keys",
            answer: Body(
                .keyList,
                #"""
                {"keys": [{"id": "k3JQ0c9ZtY1a", "scope": "backend", "standing": "valid",
                  "createdAt": "2026-11-21T14:40:00Z"}]}
                """#)),
        "GET /v1/overview": Operation(
            "overview", .server, "Read the server's recent figures",
            answer: Body(
                .overview,
                #"""
                {"startedAt": "2026-11-21T14:40:00Z", "version": "0.1.0", "interval": 2, "samples": [
                  {"at": "2026-11-21T14:45:00Z", "pushes": {"accepted": 12}, "reasons": {},
                   "lag": {"bounds": [0.05, 0.1], "counts": [9, 2, 1]},
                   "failedLag": {"bounds": [0.05, 0.1], "counts": [0, 0, 1]}, "queueAge": 0, "inFlight": 1, "queued": 0,
                   "waiting": 0, "connections": 1, "streams": 1, "streamLimit": 1000,
                   "budgets": {"high": {"bounds": [0.1, 1], "counts": [0, 9, 0]}, "startsPutOff": 0}}], "routes": []}
                """#)),
        "GET /v1/nodes": Operation(
            "listNodes", .server, "List the servers that share the database",
            answer: Body(
                .nodeList,
                #"""
                {"nodes": [
                  {"address": "https://islet-2.internal:8090", "role": "owner", "version": "0.1.0", "upSeconds": 32400,
                   "silentSeconds": 0, "calls": 81204},
                  {"address": "https://islet-1.internal:8090", "role": "door", "version": "0.1.0", "upSeconds": 300,
                   "silentSeconds": 0, "calls": 914}]}
                """#)),
        "GET /v1/channels": Operation(
            "listChannels", .server, "List broadcast channels, and their number in each environment",
            answer: Body(
                .channelList,
                #"""
                {"channels": [
                  {"app": "com.acme.pizza", "environment": "production", "activity": "match-7", "activityNumber": 17,
                   "run": 1, "channel": "dHN0LXNyY2gtY2hubA==", "state": "open", "storage": "mostRecent",
                   "sentRevision": 4, "revision": 5, "isBehind": true, "ends": 0, "lastTimestamp": 1795272301,
                   "lastAt": "2026-11-21T14:45:01Z", "failures": 1,
                   "reason": {"code": "slow-down",
                    "text": "APNs answered 429 TooManyRequests: the next attempt is at 2026-11-21T14:45:12Z"},
                   "nextLookAt": "2026-11-21T14:45:12Z"}],
                 "routes": [{"app": "com.acme.pizza", "environment": "production", "channels": 1, "foreign": 0,
                  "limit": 10000, "automaticLimit": 8000}], "next": "h.1.production"}
                """#)),
        "GET /v1/alerts": Operation(
            "listAlerts", .server, "List firing alerts",
            answer: Body(
                .alertList,
                #"""
                {"evaluatedAt": "2026-11-21T14:45:00Z", "alerts": [
                  {"name": "IsletLate", "severity": "page", "since": "2026-11-21T14:44:35Z", "value": 22.4,
                   "labels": {}, "summary": "States reach APNs more than 10 s after they were set",
                   "meaning": "Look at islet_apns_trouble_seconds."}]}
                """#)),
        "GET /healthz": Operation(
            "alive", .server, "Check whether the process runs", answer: Body(.health, #"{"status": "ok"}"#)),
        "GET /readyz": Operation(
            "ready", .server, "Check whether the database answers",
            answer: Body(.readiness, #"{"status": "ready", "routes": []}"#), problems: [.notReady]),
        "GET /metrics": Operation(
            "metrics", .server, "Read the metrics that docs/metrics.md describes", answer: nil,
            problems: [.notFound, .overloaded, .keyMissing, .keyInvalid, .keyExpired, .scopeMissing]),
        "GET /openapi.json": Operation(
            "describe", .server, "Read this description", answer: Body(.description, #"{"openapi": "3.1.1"}"#)),
    ]
}
