import APNSModel
import Crypto
import Foundation
import JSONText
import Testing

@testable import APNSSimulator

/// The app's own Swift types, as ActivityKit would have them.
struct OrderAttributes: SimulatedActivityAttributes {
    struct ContentState: Codable, Hashable, Sendable {
        enum Step: String, Codable, Hashable, Sendable { case cooking, delivering, delivered }
        var step: Step
        var eta: Int
        var note: String?
    }
    var orderId: String
}

enum Fixture {
    static let start = UnixTime(seconds: 1_800_000_000)
    static let bundle = "com.acme.pizza"
    static let topic = "com.acme.pizza.push-type.liveactivity"
    static let bundleID = bundle(bundle)

    static func bundle(_ text: String) -> BundleID {
        guard let bundleID = BundleID(text) else { fatalError("the test's own bundle id is wrong") }
        return bundleID
    }

    static func specification(_ change: (inout PhoneSpecification) -> Void = { _ in }) -> PhoneSpecification {
        var phone = PhoneSpecification(user: "ann", bundleID: bundleID)
        phone.installs(OrderAttributes.self)
        phone.runsClient = false
        change(&phone)
        return phone
    }

    static func state(_ step: String = "cooking", eta: JSONValue = 5) -> JSONValue {
        ["step": .string(step), "eta": eta]
    }

    static func startBody(
        at seconds: Int64 = Fixture.start.seconds, _ changes: [String: JSONValue?] = [:]
    ) -> JSONObject {
        var aps: JSONObject = [
            "timestamp": .init(Int(seconds)), "event": "start", "attributes-type": "OrderAttributes",
            "attributes": ["orderId": "A1"], "content-state": state(), "alert": ["title": "Order", "body": "A1"],
        ]
        for (key, value) in changes { aps[key] = value }
        return ["aps": .object(aps)]
    }

    static func updateBody(
        at seconds: Int64, _ state: JSONValue = Fixture.state("delivering"), _ changes: [String: JSONValue?] = [:]
    ) -> JSONObject {
        var aps: JSONObject = ["timestamp": .init(Int(seconds)), "event": "update", "content-state": state]
        for (key, value) in changes { aps[key] = value }
        return ["aps": .object(aps)]
    }

    static func endBody(at seconds: Int64, _ changes: [String: JSONValue?] = [:]) -> JSONObject {
        var aps: JSONObject = ["timestamp": .init(Int(seconds)), "event": "end"]
        for (key, value) in changes { aps[key] = value }
        return ["aps": .object(aps)]
    }
}

/// A team's key with its secret half.
struct Team {
    let secret = P256.Signing.PrivateKey()
    var keyID = "KEY4567890"
    var teamID = "TEAM567890"

    func key(
        environments: Set<APNSEnvironment> = [.sandbox], topics: Set<BundleID>? = nil, related: String? = nil
    ) -> ProviderKey {
        ProviderKey(
            keyID: keyID, teamID: teamID, publicKey: secret.publicKey, environments: environments, topics: topics,
            relatedKeyID: related)
    }

    func authorization(
        iat: JSONValue? = .init(Int(Fixture.start.seconds)), alg: String = "ES256", iss: String? = nil,
        kid: String? = nil,
        breaking: Bool = false
    ) throws -> String {
        let header: JSONValue = ["alg": .string(alg), "kid": .string(kid ?? keyID)]
        var claims: JSONObject = ["iss": .string(iss ?? teamID)]
        claims["iat"] = iat
        let text = Self.base64URL(header.bytes) + "." + Self.base64URL(JSONValue.object(claims).bytes)
        let signed = breaking ? text + "x" : text
        return "bearer \(text).\(Self.base64URL(try secret.signature(for: Data(signed.utf8)).rawRepresentation))"
    }

    private static func base64URL(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}

/// One phone without anything around it.
struct PhoneBench {
    var phone: VirtualPhone
    var now = Fixture.start
    var reports: [PhoneReport] = []
    var ends: [(hex: String, end: TokenEnd, at: UnixTime)] = []
    private var pushes: UInt64 = 0

    init(
        limits: DeviceLimits = DeviceLimits(), seed: UInt64 = 7, _ change: (inout PhoneSpecification) -> Void = { _ in }
    ) throws {
        phone = VirtualPhone(
            id: try #require(PhoneID("p")), specification: Fixture.specification(change), limits: limits,
            dice: SeededDice(seed: seed))
        keep(phone.install(at: now))
    }

    mutating func keep(_ effects: [PhoneEffect]) {
        for effect in effects {
            switch effect {
            case .report(let report): reports.append(report)
            case .retired(let hex, let end, let at): ends.append((hex, end, at))
            case .issued, .cameOnline, .changed, .call: break
            }
        }
    }

    mutating func push(
        _ body: JSONObject, to use: TokenUse = .pushToStart, priority: Int = 5, type: PushType = .liveactivity,
        collapseID: String? = nil
    ) {
        pushes += 1
        let push = DevicePush(
            id: PushID(high: 0, low: pushes), use: use, type: type, priority: priority, body: body,
            collapseID: collapseID)
        keep(phone.receive(push, at: now))
    }

    /// A push to the only card there is, or was.
    mutating func pushToCard(_ body: JSONObject, priority: Int = 5) throws {
        let card = try #require(phone.cards.first ?? phone.dismissed.last)
        push(body, to: .update(localID: card.localID), priority: priority)
    }

    @discardableResult
    mutating func act(_ action: PhoneAction) throws -> String? {
        let (localID, effects) = try phone.perform(action, at: now)
        keep(effects)
        return localID
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        keep(phone.elapse(to: now))
    }

    var codes: [DeviceLogEntry.Code] { phone.log.map(\.code) }

    var instances: [InstanceReport] {
        reports.compactMap { if case .instance(let report) = $0 { report } else { nil } }
    }
}

extension TimeSource {
    /// A clock that stands still; the simulator's own `advance` moves it.
    static let standing = TimeSource(wall: { Fixture.start }, monotonic: { MonotonicTime(nanoseconds: 0) })
}
