import APNSModel
import HTTPTypes
import LiveActivityStorage
import Synchronization

/// The admission of requests, within the limits of the server and of each caller.
struct Admission: Sendable {
    /// Backends have few keys, but people and devices are many.
    private static let keyPlaces = 4096
    private static let devicePlaces = 65_536
    private static let addressPlaces = 4096
    /// A match may begin for very many phones at once. The table takes 1 MiB.
    private static let joiningPlaces = 131_072

    private let places: Places
    private let limits: LiveActivityServer.Limits
    /// Places of the calls that need no key. Each call has a share.
    private let open: Places
    /// Places of authenticated callers. Nobody has more than a share.
    private let callers: Places
    private let keys: RateLimiter?
    private let devices: RateLimiter?
    private let signIns: RateLimiter?
    private let joins: RateLimiter?

    init(_ limits: LiveActivityServer.Limits) {
        self.limits = limits
        places = Places(maximum: limits.openRequests)
        open = Places(maximum: .max)
        callers = Places(maximum: limits.openRequests)
        keys = limits.requestsPerSecond.map { RateLimiter(perSecond: $0, places: Self.keyPlaces) }
        signIns = limits.signInsPerSecond.map { RateLimiter(perSecond: $0, places: Self.addressPlaces) }
        joins = limits.joinsPerMinutePerAddress.map { RateLimiter(perMinute: $0, places: Self.joiningPlaces) }
        devices = limits.requestsPerSecondPerDevice.map { RateLimiter(perSecond: $0, places: Self.devicePlaces) }
    }

    /// Takes a place for one more request, held until it is released.
    func enter() throws(Problem) -> Places.Place {
        guard let place = places.take() else {
            throw Problem(
                .overloaded, "\(places.maximum) requests are being answered already; nothing was changed",
                fix: "repeat the call later", headers: [.retryAfter: "1"])
        }
        return place
    }

    /// Takes a place for this call, which needs no key, held until it is released.
    func enter(open route: Route) throws(Problem) -> Places.Place {
        guard let place = open.take(of: route.path.description, upTo: limits.keylessRequests) else {
            throw Problem(
                .overloaded, "\(limits.keylessRequests) requests of this call are being answered already",
                fix: "repeat the call later", headers: [.retryAfter: "1"])
        }
        return place
    }

    /// Takes one of this caller's own places, held until it is released. A slow or busy caller leaves room for others.
    ///
    /// - Throws: `rate_limited`.
    func enter(_ caller: Caller) throws(Problem) -> Places.Place {
        let share = caller.kind == .key ? limits.openRequestsOfKey : limits.openRequestsOfPerson
        guard let place = callers.take(of: caller.label, upTo: share) else {
            throw Problem(
                .rateLimited, "\(share) calls of this caller are being answered already; nothing was changed",
                expected: "at most \(share) calls at the same time", fix: "repeat the call later",
                headers: [.retryAfter: "1"])
        }
        return place
    }

    /// Takes a place for a call without a credential that asks the database, held until it is released. All such calls
    /// together leave room for callers that are known.
    func enterAnybody() throws(Problem) -> Places.Place {
        let share = limits.openRequestsOfKey
        guard let place = callers.take(of: "anybody", upTo: share) else {
            throw Problem(
                .overloaded, "\(share) calls without a credential are being answered already; nothing was changed",
                fix: "repeat the call later", headers: [.retryAfter: "1"])
        }
        return place
    }

    /// Counts a call from this address to join an activity without a credential.
    ///
    /// - Throws: `rate_limited`.
    func countJoin(from address: String, at now: MonotonicTime) throws(Problem) {
        try Self.count(joins, address, of: "this address", at: now)
    }

    /// Counts an attempt to sign in to the console from this address.
    ///
    /// - Throws: `rate_limited`.
    func countSignIn(from address: String, at now: MonotonicTime) throws(Problem) {
        try Self.count(signIns, address, at: now)
    }

    /// Counts a call of this caller. A key's call about a device also counts for that device.
    ///
    /// - Throws: `rate_limited`.
    func count(_ caller: Caller, device: String?, at now: MonotonicTime) throws(Problem) {
        let limiter = caller.kind == .key ? keys : devices
        try Self.count(limiter, caller.label, at: now)
        guard let device, caller.kind == .key else { return }
        try Self.count(devices, "\(caller.app.text) \(device)", at: now)
    }

    private static func count(
        _ limiter: RateLimiter?, _ label: String, of caller: String = "this caller or device", at now: MonotonicTime
    ) throws(Problem) {
        guard let limiter, let wait = limiter.take(label, at: now) else { return }
        let seconds = "\(max((wait.wholeMilliseconds + 999) / 1000, 1))"
        var headers: HTTPFields = [.retryAfter: seconds]
        let facts = [("Limit", "\(limiter.calls)"), ("Remaining", "0"), ("Reset", seconds)]
        for (name, value) in facts {
            if let field = HTTPField.Name("RateLimit-\(name)") { headers[field] = value }
        }
        throw Problem(
            .rateLimited,
            "\(caller) made more than \(limiter.calls) calls per \(limiter.period.rawValue); nothing was changed",
            expected: "at most \(limiter.calls) calls a \(limiter.period.rawValue)",
            fix: "wait as long as `Retry-After` says", headers: headers)
    }
}
