package import APNSModel
import Crypto
package import LiveActivityCore
package import LiveActivityStorage

/// The authenticated maker of a call. Access, limits, logs and metrics identify callers by it.
package enum Caller: Sendable, Equatable {
    /// The holder of an API key: the app's backend, or somebody to whom it gave a key.
    case key(APIKeyRecord)
    /// A person with a token of the app's identity provider. Covers the phones of this person and no others.
    case person(app: BundleID, user: UserID)
    /// One phone of one person, with the credential that the server gave it.
    case phone(app: BundleID, PhoneCredentialHolder)

    package enum Kind: String, Sendable, CaseIterable { case key, person, phone }

    package var kind: Kind {
        switch self {
        case .key: .key
        case .person: .person
        case .phone: .phone
        }
    }

    package var app: BundleID {
        switch self {
        case .key(let record): record.app
        case .person(let app, _), .phone(let app, _): app
        }
    }

    /// Random in each process, because a plain hash of an e-mail address or a short number could be found by trying.
    private static let labelKey = SymmetricKey(size: .bits256)

    /// A label of this caller to count and log by, at most 24 characters long and without a secret.
    ///
    /// It is the same for every call of this caller to this process, and different from every other caller's. A
    /// person's label is a keyed hash: a log does not reveal the person, and labels of two runs of the server cannot be
    /// compared.
    package var label: String {
        switch self {
        case .key(let record): return "key-\(record.id)"
        case .person(let app, let user):
            let hash = HMAC<SHA256>.authenticationCode(
                for: Array("\(app.text) \(user.text)".utf8), using: Self.labelKey)
            let digits = hash.prefix(8).map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }
            return "person-" + digits.joined()
        case .phone(_, let holder): return "phone-" + String(holder.device, radix: 36)
        }
    }

    /// The person for whom the call is made. `nil` if the app's backend makes it.
    package var user: UserID? {
        switch self {
        case .key: nil
        case .person(_, let user): user
        case .phone(_, let holder): holder.user
        }
    }
}

/// The holder of a phone credential.
package struct PhoneCredentialHolder: Sendable, Equatable {
    package var device: DeviceKey
    /// The person who was signed in when the credential was issued. It ends when this person signs out.
    package var user: UserID
    /// The SHA-256 hash of the credential's secret half.
    package var secretHash: [UInt8]

    package init(device: DeviceKey, user: UserID, secretHash: [UInt8]) {
        self.device = device
        self.user = user
        self.secretHash = secretHash
    }
}
