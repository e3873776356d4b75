/// The reason why a provider key cannot be used. Its description says what to do, and contains nothing of the key.
public struct ProviderKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of errors.
    public struct Code: Sendable, Hashable {
        enum Kind: Hashable {
            case malformedKeyID(Int)
            case malformedTeamID(Int)
            case notPEM
            case certificate
            case encrypted
            case publicKey
            case notP256
            case signingFailed
        }

        let kind: Kind

        /// The key id does not have 10 letters and digits. The number is its length in bytes.
        public static func malformedKeyID(_ length: Int) -> Self { Self(kind: .malformedKeyID(length)) }
        /// The team id does not have 10 letters and digits. The number is its length in bytes.
        public static func malformedTeamID(_ length: Int) -> Self { Self(kind: .malformedTeamID(length)) }
        /// The text has no PEM block.
        public static var notPEM: Self { Self(kind: .notPEM) }
        /// The text is a certificate, which cannot push to Live Activities.
        public static var certificate: Self { Self(kind: .certificate) }
        /// The key is protected with a password.
        public static var encrypted: Self { Self(kind: .encrypted) }
        /// The text is a public key.
        public static var publicKey: Self { Self(kind: .publicKey) }
        /// The PEM block is not a private key on the curve P-256.
        public static var notP256: Self { Self(kind: .notP256) }
        /// The cryptographic library refused to sign.
        public static var signingFailed: Self { Self(kind: .signingFailed) }
    }

    /// The kind of error.
    public let code: Code

    init(_ code: Code) {
        self.code = code
    }

    /// A description for people: the error, and what to do about it.
    public var description: String {
        switch code.kind {
        case .malformedKeyID(let length):
            "a key id has 10 letters and digits; this one has \(length) bytes: copy it from the portal's "
                + "list of keys, or from the file's name AuthKey_<key id>.p8"
        case .malformedTeamID(let length):
            "a team id has 10 letters and digits; this one has \(length) bytes: copy it from \"Membership details\""
        case .notPEM:
            "this is not a .p8 file, whose first line is -----BEGIN PRIVATE KEY-----. "
                + "Give the text of AuthKey_<key id>.p8"
        case .certificate:
            "this is a certificate, and Live Activities can be pushed with token authentication only: make a key "
                + "under \"Keys\" in the developer portal, with APNs enabled, and give the .p8 file"
        case .encrypted:
            "this key is protected with a password; Apple's .p8 files are not: give the file as it was downloaded"
        case .publicKey:
            "this is a public key: give the .p8 file with the private one, as it was downloaded"
        case .notP256:
            "this PEM block is not a private key on the curve P-256 (or it is damaged): give AuthKey_<key id>.p8 "
                + "as it was downloaded"
        case .signingFailed:
            "the provider token could not be signed with this key"
        }
    }
}
