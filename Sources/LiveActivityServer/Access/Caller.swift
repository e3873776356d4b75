package import APNSModel
import Crypto
package import LiveActivityCore
package import LiveActivityStorage

/// Who makes a call, as far as it was proven: what access, limits, logs and metrics know callers by.
package enum Caller: Sendable, Equatable {
    /// Who holds an API key: the app's backend, or whom it gave one.
    case key(APIKeyRecord)
    /// A person, by a token of the app's identity provider: the phones of this person, and no others.
    case person(app: BundleID, user: UserID)
    /// One phone of one person, by the credential that it was handed.
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

    /// Another one in each process. A plain hash of an e-mail address or a short number would be found by trying.
    private static let labelKey = SymmetricKey(size: .bits256)

    /// The same for every call of this caller to this process and for nobody else's, of at most 24 characters and
    /// without a secret: to count and log by. A person's is made of a keyed hash, so that a log does not say who it
    /// was, and two runs of the server cannot be compared by it.
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

    /// The person that the call is made for; `nil`: the app's backend answers for it.
    package var user: UserID? {
        switch self {
        case .key: nil
        case .person(_, let user): user
        case .phone(_, let holder): holder.user
        }
    }
}

/// Whose credential it is.
package struct PhoneCredentialHolder: Sendable, Equatable {
    package var device: DeviceKey
    /// Who was signed in when it was handed out; signing out ends it.
    package var user: UserID
    /// The SHA-256 of its secret half.
    package var secretHash: [UInt8]

    package init(device: DeviceKey, user: UserID, secretHash: [UInt8]) {
        self.device = device
        self.user = user
        self.secretHash = secretHash
    }
}
