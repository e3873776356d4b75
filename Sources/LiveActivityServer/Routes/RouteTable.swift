import HTTPTypes
import LiveActivityStorage

extension Route {
    /// Every call there is. `docs/api.md` explains them in this order.
    package static let all: [Route] = [
        Route(.put, "/v1/activities/{activity}", body: .standard, .key(.backend, ActivityCalls.set)),
        Route(.post, "/v1/activities/{activity}/end", body: .standard, .key(.backend, ActivityCalls.end)),
        Route(.get, "/v1/activities/{activity}", query: ["after", "limit"], .key(.read, ActivityCalls.view)),
        Route(
            .get, "/v1/activities/{activity}/timeline", query: ["after", "limit"], .key(.read, ActivityCalls.timeline)),
        Route(.put, "/v1/devices/{device}", body: .standard, .key(.device, PhoneCalls.register)),
        Route(
            .put, "/v1/devices/{device}/push-to-start-tokens/{type}", body: .standard,
            .key(.device, PhoneCalls.registerPushToStartToken)),
        Route(.put, "/v1/devices/{device}/instances/{localID}", body: .standard, .key(.device, PhoneCalls.reportCard)),
        Route(.put, "/v1/devices/{device}/instances", body: .inventory, .key(.device, PhoneCalls.reportInventory)),
        Route(.delete, "/v1/devices/{device}", .key(.device, PhoneCalls.signOut)),
        Route(.get, "/healthz", .open(HealthCalls.alive)),
        Route(.get, "/readyz", .open(HealthCalls.ready)),
    ]
}
