import EmbeddedIslet
import JSONText
import LiveActivityServer

extension ConfigurationReport {
    /// Lines that say whether the app accepts people's own tokens, and which.
    static func words(_ people: ServerParts.AppPeople?) -> [String] {
        guard let people else {
            return ["  people: sign-in is not configured; phones need your backend (API key) to call for them"]
        }
        let keys =
            switch people.keys {
            case .fixed(let keys):
                keys.count == 1 ? "a key for \(keys[0].algorithm.rawValue)" : "one of \(keys.count) keys"
            case .set(let url, _, let allowPrivate):
                "a key of the set at \(url)" + (allowPrivate ? ", which may have a private address" : "")
            }
        return [
            "  people: tokens of \(people.issuers.joined(separator: " or ")) for `\(people.audience)`, "
                + "signed with \(keys)",
            "    \(people.user) names the person; clocks may differ by \(Wording.duration(people.leeway))",
        ]
    }
}
