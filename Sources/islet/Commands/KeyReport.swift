import APNSModel
import ArgumentParser
import JSONText
import LiveActivityStorage

/// The printed form of API keys, for people and as JSON. It contains the secret only of a key that was just made.
enum KeyReport {
    static let idHelp: ArgumentHelp =
        "The key's id: the part between its two underscores, which is the first column of `islet keys list`."
    /// Remaining lifetime below which a valid key is reported as expiring soon.
    static let soon = Duration.seconds(14 * 86_400)

    // MARK: - For people

    static func table(_ keys: [APIKeyRecord], at now: UnixTime) -> String {
        guard !keys.isEmpty else { return "no keys; `islet keys create` makes one\n" }
        return Columns.text(
            ["ID", "SCOPE", "APP", "NAME", "CREATED", "LAST USED", "STANDING"], keys.map { cells($0, now) })
    }

    static func lines(_ key: APIKeyRecord, at now: UnixTime) -> String {
        let names = ["id", "scope", "app", "name", "created", "last used", "standing"]
        return zip(names, cells(key, now)).map { name, cell in
            "\(name)\(String(repeating: " ", count: 11 - name.count))\(cell)\n"
        }.joined()
    }

    private static func cells(_ key: APIKeyRecord, _ now: UnixTime) -> [String] {
        [
            key.id, key.scope.rawValue, key.app.text, key.name ?? "-", day(key.createdAt),
            key.usedAt?.description ?? "never", standing(key, now),
        ]
    }

    static func standing(_ key: APIKeyRecord, _ now: UnixTime) -> String {
        if let revoked = key.revokedAt { return "revoked \(revoked)" }
        guard let end = key.expiresAt else { return "valid" }
        if end <= now { return "expired \(end)" }
        return isSoon(key, now) ? "valid, expires in \(Wording.duration(end - now))" : "valid until \(day(end))"
    }

    private static func isSoon(_ key: APIKeyRecord, _ now: UnixTime) -> Bool {
        key.standing(at: now) == .valid && key.expiresAt.map { $0 < now + soon } ?? false
    }

    private static func day(_ time: UnixTime) -> String { String(time.description.prefix(10)) }

    // MARK: - As JSON

    static func json(_ keys: [APIKeyRecord], at now: UnixTime) -> String {
        JSONValue.array(keys.map { .object(object($0, now)) }).text
    }

    /// Returns a key as JSON.
    ///
    /// - Parameter text: Text of a new key, which is shown only once.
    static func json(_ key: APIKeyRecord, at now: UnixTime, key text: String? = nil) -> String {
        JSONValue.object(object(key, now, key: text)).text
    }

    static func object(_ key: APIKeyRecord, _ now: UnixTime, key text: String? = nil) -> JSONObject {
        func time(_ time: UnixTime?) -> JSONValue { time.map { .string($0.description) } ?? .null }
        var object: JSONObject = [
            "id": .string(key.id), "app": .string(key.app.text), "scope": .string(key.scope.rawValue),
            "name": key.name.map(JSONValue.string) ?? .null, "createdAt": time(key.createdAt),
            "expiresAt": time(key.expiresAt), "lastUsedAt": time(key.usedAt), "revokedAt": time(key.revokedAt),
            "standing": .string(key.standing(at: now).rawValue), "expiresSoon": .bool(isSoon(key, now)),
        ]
        object["key"] = text.map(JSONValue.string)
        return object
    }
}
