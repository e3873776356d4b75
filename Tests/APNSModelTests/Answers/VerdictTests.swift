import APNSModel
import TestSupport
import Testing

struct VerdictTests {
    static let since = UnixTime(milliseconds: 1_795_000_000_123)

    /// Apple, "Handling notification responses from APNs": status, reason on the wire, and its verdict.
    static let table: [(Int, String, Verdict)] = [
        (400, "BadCollapseId", .requestRefused), (400, "BadDeviceToken", .tokenDead(.badToken)),
        (400, "BadExpirationDate", .requestRefused), (400, "BadMessageId", .requestRefused),
        (400, "BadPriority", .requestRefused), (400, "BadTopic", .requestRefused),
        (400, "DeviceTokenNotForTopic", .tokenDead(.wrongTopic)), (400, "DuplicateHeaders", .requestRefused),
        (400, "IdleTimeout", .newConnection), (400, "InvalidPushType", .requestRefused),
        (400, "MissingDeviceToken", .requestRefused), (400, "MissingTopic", .requestRefused),
        (400, "PayloadEmpty", .requestRefused), (400, "TopicDisallowed", .halted(.topic)),
        (403, "BadCertificate", .halted(.key)), (403, "BadCertificateEnvironment", .halted(.key)),
        (403, "ExpiredProviderToken", .renewProviderToken), (403, "Forbidden", .halted(.key)),
        (403, "InvalidProviderToken", .halted(.key)), (403, "MissingProviderToken", .halted(.key)),
        (403, "UnrelatedKeyIdInToken", .newConnection), (403, "BadEnvironmentKeyIdInToken", .halted(.environment)),
        (404, "BadPath", .requestRefused), (405, "MethodNotAllowed", .requestRefused),
        (410, "ExpiredToken", .tokenDead(.inactive(since: since))),
        (410, "Unregistered", .tokenDead(.inactive(since: since))), (413, "PayloadTooLarge", .requestRefused),
        (429, "TooManyProviderTokenUpdates", .keepProviderToken), (429, "TooManyRequests", .slowDown),
        (500, "InternalServerError", .serviceTrouble), (503, "ServiceUnavailable", .serviceTrouble),
        (503, "Shutdown", .newConnection),
    ]

    @Test(arguments: table) func `each reason of Apple's table has its meaning`(
        status: Int, text: String, verdict: Verdict
    ) {
        let reason = APNSReason(text)
        #expect(reason.text == text)
        #expect(Verdict(status: status, reason: reason, inactiveSince: Self.since) == verdict)
        let answer = PushAnswer(status: status, reason: reason, inactiveSince: Self.since)
        #expect(answer.verdict == verdict)
        guard case .known(let known) = reason else {
            Issue.record("\(text) is not known")
            return
        }
        #expect(known.status == status)
    }

    @Test func `the table has every known reason exactly once`() {
        #expect(Self.table.map(\.1).sorted() == APNSReason.Known.allCases.map(\.rawValue).sorted())
    }

    static let byStatus: [(Int, Verdict)] = [
        (200, .accepted), (400, .requestRefused), (403, .halted(.key)), (404, .requestRefused), (405, .requestRefused),
        (410, .tokenDead(.inactive(since: since))), (413, .requestRefused), (429, .slowDown), (500, .serviceTrouble),
        (502, .serviceTrouble), (503, .serviceTrouble), (599, .serviceTrouble), (600, .requestRefused),
        (100, .requestRefused), (204, .requestRefused), (301, .requestRefused), (0, .requestRefused),
    ]

    @Test(arguments: byStatus) func `without a known reason the status decides`(status: Int, verdict: Verdict) {
        for reason in [nil, APNSReason("InvalidToken"), APNSReason(""), APNSReason("badDeviceToken")] {
            #expect(Verdict(status: status, reason: reason, inactiveSince: Self.since) == verdict)
        }
    }

    @Test func `a reason under a status that is not its own says nothing`() {
        for known in APNSReason.Known.allCases {
            for (status, verdict) in Self.byStatus where status != known.status {
                #expect(
                    Verdict(status: status, reason: .known(known), inactiveSince: Self.since) == verdict,
                    "\(status) \(known.rawValue)")
            }
        }
    }

    @Test func `the forms seen on the wire are the documented reasons`() {
        #expect(APNSReason("BadEnvironmentKeyInToken") == .known(.badEnvironmentKeyIdInToken))
        #expect(APNSReason("BadEnvironmentKeyInToken").text == "BadEnvironmentKeyIdInToken")
        #expect(APNSReason("Service Unavailable") == .known(.serviceUnavailable))
        #expect(APNSReason("BadDate") == .unknown("BadDate"))
        #expect(APNSReason(String(repeating: "x", count: 1000)).text.count == 64)
    }

    @Test func `only an unknown fate may have arrived`() {
        for code in PushFailure.Code.allCases {
            #expect(PushFailure(code, "").mayHaveArrived == (code == .unknownFate))
        }
    }
}
