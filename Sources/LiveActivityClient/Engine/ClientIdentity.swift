internal import Foundation
internal import JSONText
internal import LiveActivityRegistration

/// The id of this installation and its credentials, for this device only.
struct ClientIdentity: Sendable, Codable {
    var device: String
    var credentials = PhoneCredentials()

    init(device: String) { self.device = device }

    init?(_ data: Data) {
        guard let identity = try? JSONValue(parsing: Array(data)).decode(ClientIdentity.self) else { return nil }
        self = identity
    }

    var data: Data { Data((try? JSONValue(encoding: self))?.bytes ?? []) }
}
