import APNSModel
import Crypto
import Foundation
import IsletBasics
import JSONText
import LiveActivityAPI
import LiveActivityRegistration
import Testing

@testable import APNSSimulator

/// The app's own Swift types, in ActivityKit's form.
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

/// A team's signing key with its private half.
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

/// An app's report to its backend, read from its calls.
enum PhoneReport: Equatable {
    case register(DeviceRequest)
    case pushToStartToken(type: String, token: TokenText)
    case instance(localID: String, InstanceRequest)
    case inventory(InventoryRequest)
    case signOut

    init?(_ call: PhoneCall) {
        let parts = call.path.split(separator: "/").map(String.init)
        let body = call.body.flatMap { try? JSONValue(parsing: $0) } ?? .null
        let report: PhoneReport? =
            switch (call.method, parts.count) {
            case (.delete, 3): .signOut
            case (.put, 3): (try? body.decode(DeviceRequest.self)).map(PhoneReport.register)
            case (.put, 4): (try? body.decode(InventoryRequest.self)).map(PhoneReport.inventory)
            case (.put, 5) where parts[3] == "instances":
                (try? body.decode(InstanceRequest.self)).map { .instance(localID: parts[4], $0) }
            case (.put, 5):
                (try? body.decode(PushToStartTokenRequest.self)).map {
                    .pushToStartToken(type: parts[4], token: $0.token)
                }
            default: nil
            }
        guard let report else { return nil }
        self = report
    }

    var isInventory: Bool { if case .inventory = self { true } else { false } }
}

extension TokenText {
    init?(_ token: PushToken<some Any>?) {
        guard let token else { return nil }
        self.init(token.hex)
    }
}

/// A phone whose server accepts everything at once and wants nothing.
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
            dice: SplitMix64(seed: seed))
        keep(phone.install(at: now))
    }

    mutating func keep(_ effects: [PhoneEffect]) {
        for effect in effects {
            switch effect {
            case .call(let call, _):
                guard let report = PhoneReport(call) else {
                    Issue.record("an unknown call: \(call)")
                    continue
                }
                reports.append(report)
                let answer = PhoneAnswer(
                    status: 200, body: Array(#"{"activities":[]}"#.utf8), date: Int(now.seconds))
                keep(phone.answer(call.number, answer, at: now))
            case .retired(let hex, let end, let at): ends.append((hex, end, at))
            case .issued, .subscribed, .cameOnline, .changed: break
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

    /// Sends a push to the only card that exists or existed.
    mutating func pushToCard(_ body: JSONObject, priority: Int = 5) throws {
        let card = try #require(phone.cards.first ?? phone.dismissed.last)
        push(body, to: .update(localID: card.localID), priority: priority)
    }

    @discardableResult
    mutating func act(_ action: PhoneAction) throws -> String? {
        let known = Set(phone.cards.map(\.localID))
        let (_, effects) = try phone.perform(action, at: now)
        keep(effects)
        return phone.cards.first { !known.contains($0.localID) }?.localID
    }

    mutating func pass(_ duration: Duration) {
        now = now + duration
        keep(phone.elapse(to: now))
    }

    var codes: [DeviceLogEntry.Code] { phone.log.map(\.code) }

    /// Every report of a single card.
    var instances: [InstanceRequest] {
        reports.compactMap { if case .instance(_, let report) = $0 { report } else { nil } }
    }

    /// Every state of a card that was reported, alone or in an inventory.
    var states: [InstanceRequest.State] {
        reports.flatMap { report -> [InstanceRequest.State] in
            switch report {
            case .instance(_, let instance): [instance.state]
            case .inventory(let inventory): inventory.instances.map(\.instance.state)
            case .register, .pushToStartToken, .signOut: []
            }
        }
    }
}

extension TimeSource {
    /// A clock that stands still. Only the simulator's own `advance` moves it.
    static let standing = TimeSource(wall: { Fixture.start }, monotonic: { MonotonicTime(nanoseconds: 0) })
}
