import HTTPTypes
import LiveActivityStorage

extension Route {
    /// The query parameters for a dry run and for one page of its phones.
    private static let dry = ["after", "dryRun", "limit"]

    /// All routes of the API. `docs/api.md` describes each call.
    package static let all: [Route] = [
        Route(
            .put, "/v1/activities/{activity}", body: .standard, query: dry, takesIfMatch: true,
            .key([.backend], ActivityCalls.set)),
        Route(
            .patch, "/v1/activities/{activity}", body: .standard, query: dry, takesIfMatch: true,
            .key([.backend], ActivityCalls.patch)),
        Route(
            .post, "/v1/activities/{activity}/end", body: .standard, query: dry, takesIfMatch: true,
            .key([.backend], ActivityCalls.end)),
        Route(
            .delete, "/v1/activities/{activity}", query: dry + ["sequence"], takesIfMatch: true,
            .key([.backend], ActivityCalls.delete)),
        Route(
            .post, "/v1/activities/{activity}/audience", body: .large, query: dry, takesIfMatch: true,
            takesPages: true, .key([.backend], AudienceCalls.change)),
        Route(
            .get, "/v1/activities", query: ["after", "limit", "newest", "phase", "type", "user"],
            .key([.read], ListCalls.activities)),
        Route(
            .get, "/v1/activities/{activity}", query: ["after", "limit"], takesIfMatch: true,
            .key([.read], ActivityCalls.view)),
        Route(
            .get, "/v1/activities/{activity}/timeline", query: ["after", "limit", "newest", "payloads"],
            .key([.read], ActivityCalls.timeline)),
        Route(.put, "/v1/devices/{device}", body: .standard, .phone(PhoneCalls.register)),
        Route(
            .put, "/v1/devices/{device}/push-to-start-tokens/{type}", body: .standard,
            .phone(PhoneCalls.registerPushToStartToken)),
        Route(.put, "/v1/devices/{device}/instances/{localID}", body: .standard, .phone(PhoneCalls.reportCard)),
        Route(.put, "/v1/devices/{device}/instances", body: .large, .phone(PhoneCalls.reportInventory)),
        Route(.delete, "/v1/devices/{device}", .phone(PhoneCalls.signOut)),
        Route(.get, "/v1/activities/{activity}/join", query: ["app", "environment"], .joining),
        Route(.delete, "/v1/devices/{device}/credential", .key([.backend, .admin], PhoneCalls.revokeCredentials)),
        Route(.get, "/v1/devices/{device}/diagnosis", query: ["activity"], .key([.read], DiagnosisCalls.device)),
        Route(
            .post, "/v1/users/{user}/notifications", body: .standard, .key([.backend], NotificationCalls.notify)),
        Route(.post, "/v1/users/{user}/refresh", body: .standard, .key([.backend], RefreshCalls.ask)),
        Route(.get, "/v1/users/{user}/refresh", .key([.read], RefreshCalls.view)),
        Route(.post, "/v1/refreshes", body: .large, .key([.backend], RefreshCalls.askMany)),
        Route(.post, "/v1/batch", body: .large, .lines),
        Route(.get, "/v1/events", query: ["activity", "kinds"], .events([.read])),
        Route(.get, "/v1/webhooks", .key([.read], WebhookCalls.list)),
        Route(
            .get, "/v1/webhooks/{webhook}/dead", query: ["after", "limit"], .key([.read], WebhookCalls.dead)),
        Route(
            .post, "/v1/webhooks/{webhook}/replay", body: .standard, takesKey: false,
            .key([.backend], WebhookCalls.replay)),
        Route(
            .post, "/v1/webhooks/{webhook}/discard", body: .standard, takesKey: false,
            .key([.backend], WebhookCalls.discard)),
        Route(
            .post, "/v1/webhooks/{webhook}/enable", takesKey: false, .key([.backend], WebhookCalls.enable)),
        Route(.get, "/v1/types", .key([.read], SettingsCalls.types)),
        Route(
            .post, "/v1/types/{type}/what-if", body: .standard, takesKey: false, .key([.read], WhatIfCalls.play)),
        Route(.get, "/v1/keys", .key([.backend, .admin], SettingsCalls.keys)),
        Route(.get, "/v1/overview", .key([.read], OverviewCalls.overview)),
        Route(.get, "/v1/alerts", .key([.read], AlertCalls.list)),
        Route(.get, "/v1/nodes", .key([.read], OverviewCalls.nodes)),
        Route(.get, "/v1/channels", query: ["after", "limit"], .key([.read], ChannelCalls.list)),
        Route(.get, "/healthz", .open(HealthCalls.alive)),
        Route(.get, "/readyz", .open(HealthCalls.ready)),
        Route(.get, "/metrics", .open(HealthCalls.metrics)),
        Route(.get, "/openapi.json", .open(HealthCalls.description)),
    ]
}
