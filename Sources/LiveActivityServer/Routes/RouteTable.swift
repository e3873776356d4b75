import HTTPTypes
import LiveActivityStorage

extension Route {
    /// What asks for a dry run, and for one page of its phones.
    private static let dry = ["after", "dryRun", "limit"]

    /// Every call there is. `docs/api.md` explains them in this order.
    package static let all: [Route] = [
        Route(
            .put, "/v1/activities/{activity}", body: .standard, query: dry, takesIfMatch: true,
            .key(.backend, ActivityCalls.set)),
        Route(
            .patch, "/v1/activities/{activity}", body: .standard, query: dry, takesIfMatch: true,
            .key(.backend, ActivityCalls.patch)),
        Route(
            .post, "/v1/activities/{activity}/end", body: .standard, query: dry, takesIfMatch: true,
            .key(.backend, ActivityCalls.end)),
        Route(
            .delete, "/v1/activities/{activity}", query: dry + ["sequence"], takesIfMatch: true,
            .key(.backend, ActivityCalls.delete)),
        Route(
            .post, "/v1/activities/{activity}/audience", body: .large, query: dry, takesIfMatch: true,
            takesPages: true, .key(.backend, AudienceCalls.change)),
        Route(
            .get, "/v1/activities", query: ["after", "limit", "phase", "type", "user"],
            .key(.read, ListCalls.activities)),
        Route(
            .get, "/v1/activities/{activity}", query: ["after", "limit"], takesIfMatch: true,
            .key(.read, ActivityCalls.view)),
        Route(
            .get, "/v1/activities/{activity}/timeline", query: ["after", "limit"], .key(.read, ActivityCalls.timeline)),
        Route(.put, "/v1/devices/{device}", body: .standard, .key(.device, PhoneCalls.register)),
        Route(
            .put, "/v1/devices/{device}/push-to-start-tokens/{type}", body: .standard,
            .key(.device, PhoneCalls.registerPushToStartToken)),
        Route(.put, "/v1/devices/{device}/instances/{localID}", body: .standard, .key(.device, PhoneCalls.reportCard)),
        Route(.put, "/v1/devices/{device}/instances", body: .large, .key(.device, PhoneCalls.reportInventory)),
        Route(.delete, "/v1/devices/{device}", .key(.device, PhoneCalls.signOut)),
        Route(.get, "/v1/devices/{device}/diagnosis", query: ["activity"], .key(.read, DiagnosisCalls.device)),
        Route(
            .post, "/v1/users/{user}/notifications", body: .standard, .key(.backend, NotificationCalls.notify)),
        Route(.post, "/v1/users/{user}/refresh", body: .standard, .key(.backend, RefreshCalls.ask)),
        Route(.get, "/v1/users/{user}/refresh", .key(.read, RefreshCalls.view)),
        Route(.post, "/v1/refreshes", body: .large, .key(.backend, RefreshCalls.askMany)),
        Route(.post, "/v1/batch", body: .large, .lines(.device)),
        Route(.get, "/healthz", .open(HealthCalls.alive)),
        Route(.get, "/readyz", .open(HealthCalls.ready)),
        Route(.get, "/metrics", .open(HealthCalls.metrics)),
    ]
}
